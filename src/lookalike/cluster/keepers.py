"""Choose the keepers: in order of priority, a set is removed if an earlier kept set is similar enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.kernels import join
from lookalike.types import Bool, Buckets, Int32, Int64, Mapper, UInt64

BLOCK = 2048
"""Sets that threads compare with those kept before, before the next ones are decided. Any value gives the same result;
this one keeps threads busy and the sequential part small."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The keeper of each set (-1: the set itself is kept) and their overlap, and the number of comparisons."""

    keeper: Int32
    overlaps: Int32
    candidates: int
    pairs: int


@dataclass(slots=True)
class _WorkArrays:
    """The arrays that one thread works in."""

    mark: Int32
    found: Int32
    counts: Int64

    @classmethod
    def of_size(cls, sets: int) -> _WorkArrays:
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
    block: int = BLOCK,
) -> Decisions:
    """Find the keeper of each set, in order of priority.

    Buckets list only the sets that are kept, so a thousand copies cost a thousand comparisons and not a million.

    Parameters
    ----------
    buckets
        A set is compared with the kept sets in its buckets, in order of priority.
    sets
        (begins, ends, elements): set i is elements[begins[i]:ends[i]].
    fixed
        The sets before this one are kept whatever they resemble (reference items).
    earlier
        If above 0, the sets before this one are kept, and the others are compared only with these.
    asked
        The sets to find a keeper for; by default, all but the fixed ones.
    ratio
        The least size ratio (shorter / longer) of two sets to be compared: numerator, denominator.
    block
        Sets that are compared on threads at a time; any value gives the same result.
    """
    count = len(sets[0])
    keeper, overlaps = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    members = buckets.members.copy()
    fills = buckets.sizes_below(earlier)
    graph = (*join.buckets_by_item(buckets.starts, members, count), buckets.starts, fills, members, ratio)
    arrays = [_WorkArrays.of_size(count) for _ in range(threads)]
    shared = (keeper, overlaps)
    asked = np.arange(count) >= fixed if asked is None else asked

    def compare(job: tuple[_WorkArrays, Int64]) -> None:
        work, items = job
        join.find_keepers(items, 0, graph, sets, *measure, work.mark, work.found, *shared, work.counts)

    for first in range(earlier, count, block):
        last = min(first + block, count)
        items = first + np.flatnonzero(asked[first:last])
        for _ in each(compare, zip(arrays, np.array_split(items, threads))):
            pass
        work = arrays[0]
        if not earlier:
            join.settle_block(
                first, last, fixed, asked, graph, sets, *measure, work.mark, work.found, *shared, work.counts
            )
    counts = np.sum([work.counts for work in arrays], axis=0)
    return Decisions(keeper, overlaps, int(counts[join.COMPARED]), int(counts[join.MATCHED]))
