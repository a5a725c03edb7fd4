"""Candidates by brute force: every pair, for small collections and for checking."""

from __future__ import annotations

import numpy as np

from lookalike.types import Buckets, Int64


def all_together(items: Int64) -> Buckets:
    """One bucket with all the items (ascending).

    Examples
    --------
    >>> all_together(np.array([2, 5, 7])).members.tolist()
    [2, 5, 7]
    """
    if len(items) < 2:
        return Buckets(np.zeros(1, np.int64), np.empty(0, np.int32))
    return Buckets(np.array([0, len(items)], np.int64), items.astype(np.int32))
