"""Candidates by brute force: everything with everything, for small collections and for checking."""

from __future__ import annotations

import numpy as np

from lookalike.types import Buckets


def all_together(items: int) -> Buckets:
    """One bucket with all the items 0..items-1.

    Examples
    --------
    >>> all_together(3).members.tolist()
    [0, 1, 2]
    """
    if items < 2:
        return Buckets(np.zeros(1, np.int64), np.empty(0, np.int32))
    return Buckets(np.array([0, items], np.int64), np.arange(items, dtype=np.int32))
