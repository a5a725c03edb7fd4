"""Buckets: group by key, select, concatenate and renumber."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.kernels import join
from lookalike.kernels.sorting import sort_bits
from lookalike.types import Bool, Buckets, Int32, Int64, UInt64

SPARE_BITS = 6
"""With this many bits more than the number of keys has, at most one in 64 different keys collides with another."""
FEW = 1 << 16
"""Up to this many keys are copied if they are a column of a table."""


def group_keys(keys: UInt64) -> Buckets:
    """Buckets of the indices that share a key with another, ascending within each.

    The upper bits of a key and its index are packed in one word. Only as many bytes of the keys are sorted as are
    needed to distinguish most of them; different keys that agree in these bytes are then separated by their remaining
    bits.

    Examples
    --------
    >>> group_keys(np.array([7, 3, 7, 9], np.uint64)).members.tolist()
    [0, 2]
    """
    keys = _together(keys)
    index_bits = max(1, (len(keys) - 1).bit_length())
    passes = min(-(-(index_bits + SPARE_BITS) // 8), (64 - index_bits) // 8)
    packed = join.pack_keys(keys, index_bits, 8 * passes)
    other = np.empty_like(packed)
    packed = other if sort_bits(packed, other, index_bits, passes) else packed
    del other
    members, ends = np.empty(len(keys), np.int64), np.empty(len(keys) // 2 + 1, np.int64)
    buckets, filled = join.group_runs(packed, index_bits, keys, members, ends)
    return Buckets(np.concatenate([np.zeros(1, np.int64), ends[:buckets]]), members[:filled].astype(np.int32))


def group_prints(halves: UInt64, others: UInt64) -> Int64:
    """For each item, the first item with the same fingerprint, given as two halves of 64 bits.

    Examples
    --------
    >>> group_prints(np.array([5, 6, 5], np.uint64), np.array([1, 1, 1], np.uint64)).tolist()
    [0, 1, 0]
    """
    first = np.arange(len(halves), dtype=np.int64)
    same = group_keys(halves)
    join.first_with_print(same.starts, same.members, _together(others), first)
    return first


def _together(keys: UInt64) -> UInt64:
    """Copy keys to contiguous memory if there are few: a small job then needs no kernels for strided arrays."""
    return np.ascontiguousarray(keys) if len(keys) <= FEW else keys


def concatenate(parts: Sequence[Buckets]) -> Buckets:
    """Concatenate buckets.

    Examples
    --------
    >>> one = Buckets(np.array([0, 2]), np.array([0, 1], np.int32))
    >>> concatenate([one, one]).starts.tolist()
    [0, 2, 4]
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return Buckets(np.zeros(1, np.int64), np.empty(0, np.int32))
    shifts = np.cumsum([0] + [len(part.members) for part in parts[:-1]])
    starts = [part.starts[:-1] + shift for part, shift in zip(parts, shifts)]
    last = np.array([sum(len(part.members) for part in parts)], np.int64)
    return Buckets(np.concatenate([*starts, last]), np.concatenate([part.members for part in parts]))


def select(buckets: Buckets, chosen: Bool) -> Buckets:
    """The chosen buckets only.

    Examples
    --------
    >>> two = Buckets(np.array([0, 2, 5]), np.array([0, 1, 4, 5, 6], np.int32))
    >>> select(two, np.array([False, True])).members.tolist()
    [4, 5, 6]
    """
    sizes = buckets.sizes
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[chosen])])
    return Buckets(starts, buckets.members[np.repeat(chosen, sizes)])


def renumber(buckets: Buckets, number: Int32) -> Buckets:
    """Renumber the members; drop members without a number (-1) and buckets left with fewer than two.

    Numbers must rise with the members.

    Examples
    --------
    >>> two = Buckets(np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.int32))
    >>> renumber(two, np.array([0, 1, -1], np.int32)).members.tolist()
    [0, 1]
    """
    return Buckets(*join.renumber_buckets(buckets.starts, buckets.members, number))
