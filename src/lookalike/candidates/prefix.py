"""Candidates by rare elements, for items in oversize buckets. This is exact: no similar pair is lost.

Boilerplate puts thousands of different items in one bucket. Comparing them all is quadratic, and splitting the bucket
by more rows would lose pairs. Instead, the elements of each set are put in one fixed order, rare ones first. Two sets
of sizes n and m that share at least o elements share one of the first n - o + 1 of one set and the first m - o + 1 of
the other. Boilerplate is common, so it comes last and produces no candidates.
"""

from __future__ import annotations

import numpy as np

from lookalike.candidates.buckets import concatenate, group_keys, select
from lookalike.kernels import prefix as kernels
from lookalike.types import Bool, Buckets, Int64, UInt64

_ODD = np.uint64(0x9E3779B97F4A7C15)
OVERSIZE = 200
"""A bucket with more members is refined. The value does not change the pairs, and hardly the time (docs/log.md)."""

SPLIT = 1 << 22
"""Entries that are split at a time."""


def oversize(buckets: Buckets, limit: int = OVERSIZE) -> Bool:
    """Which buckets have too many members to compare all their pairs.

    Examples
    --------
    >>> oversize(Buckets(np.array([0, 201]), np.arange(201, dtype=np.int32))).tolist()
    [True]
    """
    return np.asarray(buckets.sizes > limit)


def join_prefixes(
    items: Int64,
    begins: Int64,
    ends: Int64,
    elements: UInt64,
    measure: int,
    num: int,
    den: int,
    floor: tuple[int, int],
    limit: int = OVERSIZE,
) -> Buckets:
    """Buckets such that every similar pair of `items` shares one.

    Parameters
    ----------
    items : int64[...]
        Item numbers, ascending; item i has the set elements[begins[i]:ends[i]].
    measure, num, den
        The measure and its threshold num/den.
    floor
        The least share (numerator, denominator) of its elements that a set has in common with a similar set.
    limit
        Entries with more members are checked for members that cannot be in a similar pair.
    """
    counters = kernels.count_elements(items, begins, ends, elements)
    starts, symbols, places = kernels.list_prefixes(items, begins, ends, elements, counters, *floor)
    owners = np.repeat(np.arange(len(items)), np.diff(starts))
    entries = group_keys(symbols)
    entry_items = owners[entries.members]
    sizes = (ends - begins)[items][entry_items]
    useful = kernels.useful_entries(
        entries.starts, sizes, places[entries.members].astype(np.int64), limit, measure, num, den
    )
    return _keep_entries(entries, useful, items[entry_items].astype(np.int32))


def _keep_entries(entries: Buckets, useful: Bool, members: np.ndarray) -> Buckets:
    kept = np.add.reduceat(useful, entries.starts[:-1]) if len(entries) else np.empty(0, np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    remaining = Buckets(starts, members[useful])
    return select(remaining, remaining.sizes > 1)


def split_by_buckets(entries: Buckets, buckets: Buckets, limit: int = SPLIT) -> Buckets:
    """Split entries so that only pairs that also share one of some buckets remain together.

    Otherwise the candidates would depend on what else is compared at the same time: a batch of several parts, a task of
    a cluster, or a single item and an index.

    Examples
    --------
    >>> entries = Buckets(np.array([0, 3]), np.array([0, 1, 2], np.int32))
    >>> split_by_buckets(entries, Buckets(np.array([0, 2, 4]), np.array([0, 2, 1, 3], np.int32))).members.tolist()
    [0, 2]
    """
    if len(buckets) < 2:
        return entries
    order = np.argsort(buckets.members, kind="stable")
    owners = np.repeat(np.arange(len(buckets)), buckets.sizes)[order]
    first = np.searchsorted(buckets.members[order], np.arange(int(buckets.members.max(initial=-1)) + 2))
    counts = np.diff(first)[entries.members]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])[entries.starts]
    found, low = [], 0
    while low < len(entries):
        high = max(low + 1, int(np.searchsorted(ends, ends[low] + limit, side="right")) - 1)
        some = slice(entries.starts[low], entries.starts[high])
        entry = np.repeat(np.arange(low, high), np.diff(entries.starts[low : high + 1]))
        members, times = entries.members[some], counts[some]
        steps = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        shared = owners[np.repeat(first[members], times) + steps]
        keys = np.repeat(entry, times) * len(buckets) + shared
        grouped = group_keys(keys.astype(np.uint64) * _ODD)  # grouping expects keys that differ in their upper bits
        found.append(Buckets(grouped.starts, np.repeat(members, times)[grouped.members]))
        low = high
    return concatenate(found)
