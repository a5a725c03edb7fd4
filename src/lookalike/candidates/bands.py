"""Candidates by bands: items that share a bucket key in any band."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookalike.candidates.buckets import concatenate, group_keys
from lookalike.types import Bool, Buckets, Int64, Mapper, UInt64


def join_bands(band_of: Callable[[int], UInt64], bands: int, items: Int64, each: Mapper = map) -> Buckets:
    """The buckets of every band, one band at a time.

    Parameters
    ----------
    band_of
        Gives the bucket keys of one band: uint64[all items]. Asked for one band after the other, since all of
        them can be more than fits in memory.
    items : int64[...]
        The items to be joined, by priority; the others are left out.

    Returns
    -------
    Buckets whose members are positions in `items`.

    Examples
    --------
    >>> keys = np.array([[1, 1, 2], [5, 6, 6]], np.uint64)
    >>> join_bands(lambda band: keys[band], 2, np.arange(3)).members.tolist()
    [0, 1, 1, 2]
    """
    return concatenate(list(each(lambda band: group_keys(band_of(band)[items]), range(bands))))


def members_of(buckets: Buckets, items: int) -> Bool:
    """Which of the items 0..items-1 are in some bucket.

    Examples
    --------
    >>> members_of(Buckets(np.array([0, 2]), np.array([0, 2], np.int32)), 4).tolist()
    [True, False, True, False]
    """
    found = np.zeros(items, np.bool_)
    found[buckets.members] = True
    return found
