"""Who stays: in order of priority, a set goes if an earlier one that stays is similar enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.kernels import join
from lookalike.types import Bool, Buckets, Int32, Int64, Mapper, UInt64

BLOCK = 2048
"""Sets that are compared on threads with those kept before, until the next are settled. Any value gives the
same result; this one keeps threads busy and the sequential part small."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """For each set its keeper (-1: it stays) and their overlap, and how much was compared."""

    keeper: Int32
    overlaps: Int32
    candidates: int
    pairs: int


@dataclass(slots=True)
class _Desk:
    """Room that one thread works in."""

    mark: Int32
    found: Int32
    counts: Int64

    @classmethod
    def of_size(cls, sets: int) -> _Desk:
        return cls(np.full(sets, -1, np.int32), np.empty(sets, np.int32), np.zeros(2, np.int64))


def decide(
    buckets: Buckets,
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
    fixed: int = 0,
    earlier: int = 0,
    asked: Bool | None = None,
    threads: int = 1,
    each: Mapper = map,
    ratio: tuple[int, int] = (0, 1),
) -> Decisions:
    """Go through the sets in order of priority and find each one's keeper.

    Buckets list only the sets that stay, so a thousand copies cost a thousand comparisons and not a million.

    Parameters
    ----------
    buckets
        Where sets meet; a set is compared with the kept ones in its buckets, the first in order first.
    sets
        (begins, ends, elements): set i is elements[begins[i]:ends[i]].
    fixed
        The sets before this one stay whatever they resemble (reference items).
    earlier
        If given, the sets before this one stay, and the others are compared with these only.
    asked
        For which sets a keeper is sought; all but the fixed ones unless told.
    ratio
        Numerator and denominator of what shorter / longer must be at least for two sets to be compared.
    """
    count = len(sets[0])
    keeper, overlaps = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    members = buckets.members.copy()
    fills = buckets.sizes_below(earlier)
    graph = (*join.buckets_by_item(buckets.starts, members, count), buckets.starts, fills, members, ratio)
    desks = [_Desk.of_size(count) for _ in range(threads)]
    shared = (keeper, overlaps)
    asked = np.arange(count) >= fixed if asked is None else asked

    def compare(job: tuple[_Desk, Int64]) -> None:
        desk, items = job
        join.find_keepers(items, 0, graph, sets, *measure, desk.mark, desk.found, *shared, desk.counts)

    for first in range(earlier, count, BLOCK):
        last = min(first + BLOCK, count)
        items = first + np.flatnonzero(asked[first:last])
        for _ in each(compare, zip(desks, np.array_split(items, threads))):
            pass
        desk = desks[0]
        if not earlier:
            join.settle_block(
                first, last, fixed, asked, graph, sets, *measure, desk.mark, desk.found, *shared, desk.counts
            )
    counts = np.sum([desk.counts for desk in desks], axis=0)
    return Decisions(keeper, overlaps, int(counts[join.COMPARED]), int(counts[join.MATCHED]))
