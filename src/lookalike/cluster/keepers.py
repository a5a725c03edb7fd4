"""Choose the keepers: in order of priority, a set is removed if an earlier kept set is similar enough."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lookalike.kernels import join
from lookalike.types import Bool, Buckets, Int32, Int64, Mapper, UInt64
from lookalike.types.frozen import frozen, mutable

BLOCK = 2048
"""Sets that threads compare with those kept before, before the next ones are decided. Any value gives the same result;
this one keeps threads busy and the sequential part small."""


@frozen
class Decisions:
    """The keeper of each set (-1: the set itself is kept) and their overlap, and the number of comparisons."""

    keeper: Int32
    overlaps: Int32
    candidates: int
    pairs: int


class DecidedSoFar(Protocol):
    """Saves the decisions made so far for a resumed run."""

    def restore(self, keeper: Int32, overlaps: Int32, counts: Int64) -> int:
        """Fill in the decisions of an earlier run; return the first set that it has not decided."""
        ...

    def note(self, reached: int, keeper: Int32, overlaps: Int32, counts: Int64) -> None:
        """Record that the sets before `reached` are decided."""
        ...


@mutable
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
    so_far: DecidedSoFar | None = None,
) -> Decisions:
    """Find the keeper of each set, in order of priority.

    Buckets list only the sets that are kept, so a thousand copies cost a thousand comparisons, not a million.

    Parameters
    ----------
    buckets
        A set is compared with the kept sets in its buckets, in order of priority.
    sets
        (begins, ends, elements): set i is elements[begins[i]:ends[i]].
    fixed
        The sets before this number are always kept (reference items).
    earlier
        If above 0, the sets before this number are kept, and the others are compared only with these.
    asked
        The sets to find a keeper for; by default, all but the fixed ones.
    ratio
        The least size ratio (shorter / longer) of two sets to be compared: numerator, denominator.
    block
        Sets that are compared on threads at a time; any value gives the same result.
    so_far
        The decisions of an earlier run; it is notified of every block.
    """
    count = len(sets[0])
    keeper, overlaps = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    members = buckets.members.copy()
    fills = buckets.sizes_below(earlier)
    by_item = join.buckets_by_item(buckets.starts, members, count)
    arrays = [_WorkArrays.of_size(count) for _ in range(threads)]
    start = max(earlier, so_far.restore(keeper, overlaps, arrays[0].counts) if so_far else 0)
    if start > earlier and not earlier:
        fills = _list_kept(buckets, members, (keeper < 0) | (np.arange(count) < fixed), start)
    graph = (*by_item, buckets.starts, fills, members, ratio)
    shared = (keeper, overlaps)
    asked = np.arange(count) >= fixed if asked is None else asked

    def compare(job: tuple[_WorkArrays, Int64]) -> None:
        work, items = job
        join.find_keepers(items, 0, graph, sets, *measure, work.mark, work.found, *shared, work.counts)

    for first in range(start, count, block):
        last = min(first + block, count)
        items = first + np.flatnonzero(asked[first:last])
        for _ in each(compare, zip(arrays, np.array_split(items, threads))):
            pass
        work = arrays[0]
        if not earlier:
            join.settle_block(
                first, last, fixed, asked, graph, sets, *measure, work.mark, work.found, *shared, work.counts
            )
        if so_far:
            so_far.note(last, keeper, overlaps, np.sum([work.counts for work in arrays], axis=0))
    counts = np.sum([work.counts for work in arrays], axis=0)
    return Decisions(keeper, overlaps, int(counts[join.COMPARED]), int(counts[join.MATCHED]))


def _list_kept(buckets: Buckets, members: Int32, kept: Bool, reached: int) -> Int64:
    """List the kept sets below `reached` at the front of their buckets, in `members`; return how many each has."""
    bucket = np.repeat(np.arange(len(buckets)), buckets.sizes)
    listed = np.flatnonzero((buckets.members < reached) & kept[buckets.members])
    listed = listed[np.lexsort((buckets.members[listed], bucket[listed]))]
    fills = np.bincount(bucket[listed], minlength=len(buckets))
    before = np.cumsum(fills) - fills
    members[buckets.starts[bucket[listed]] + np.arange(len(listed)) - before[bucket[listed]]] = buckets.members[listed]
    return fills.astype(np.int64)
