"""Candidates by bands: items that share a bucket key in any band."""

from __future__ import annotations

from lookalike.candidates.buckets import group_keys
from lookalike.types import Buckets, Int32, UInt64

KEYS = 1 << 64
"""The number of possible bucket keys."""


def join_band(keys: UInt64, places: Int32) -> Buckets:
    """The buckets of one band, or of one range of its keys.

    Parameters
    ----------
    keys : uint64[n]
    places : int32[n], ascending
        The place (position in the order of items) that has each key.

    Returns
    -------
    Buckets whose members are places.

    Examples
    --------
    >>> import numpy as np
    >>> join_band(np.array([7, 3, 7], np.uint64), np.array([10, 11, 12], np.int32)).members.tolist()
    [10, 12]
    """
    found = group_keys(keys)
    return Buckets(found.starts, places[found.members])


def key_ranges(count: int) -> list[tuple[int, int]]:
    """Split all keys into `count` ranges (first, last): a band that is too large is joined range by range.

    Examples
    --------
    >>> key_ranges(1) == [(0, KEYS - 1)], key_ranges(2)[1] == (KEYS // 2, KEYS - 1)
    (True, True)
    """
    return [(KEYS * number // count, KEYS * (number + 1) // count - 1) for number in range(count)]
