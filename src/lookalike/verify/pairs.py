"""List all similar pairs among the sets that share buckets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lookalike.kernels import join
from lookalike.types import Buckets, Int32, Int64, Mapper, Span, UInt64, stretch_by_stretch

CHUNK = 512
"""Sets whose pairs one thread finds at a time."""
BAND_CHUNK = 1 << 16
"""Members of the buckets of a band whose pairs one thread finds at a time."""
ROOM = 1 << 19
"""The least number of pairs that a thread collects before it returns them."""


class FoundPairs(NamedTuple):
    """Pairs of set numbers with their overlap, and the number of pairs compared to find them."""

    left: Int32
    right: Int32
    overlaps: Int32
    candidates: int


class _WorkArrays(NamedTuple):
    """The arrays that one thread works in."""

    mark: Int32
    found: Int32
    left: Int32
    right: Int32
    overlaps: Int32

    @classmethod
    def make(cls, count: int, room: int) -> _WorkArrays:
        room = max(room, 2 * count)  # room for a set that is similar to all others, in both directions
        left, right, overlaps = (np.empty(room, np.int32) for _ in range(3))
        return cls(np.full(count, -1, np.int32), np.empty(count, np.int32), left, right, overlaps)


def list_pairs(
    buckets: Buckets,
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
    earlier: int = 0,
    each: Mapper = map,
    ratio: tuple[int, int] = (0, 1),
    room: int = ROOM,
) -> Iterator[FoundPairs]:
    """Yield the pairs of sets that share a bucket and are similar enough, as they are found, ordered by the later set.

    The parameters are those of lookalike.cluster.keepers.decide. With `earlier`, only pairs of a set before this number
    and one from it on are listed. `room` is the number of pairs that a thread collects before it returns them.
    """
    count = len(sets[0])
    graph = (
        *join.buckets_by_item(buckets.starts, buckets.members, count),
        buckets.starts,
        buckets.sizes_below(earlier) if earlier else buckets.sizes,
        buckets.members,
        ratio,
    )
    idle: list[_WorkArrays] = []

    def pairs_of(chunk: Span) -> tuple[FoundPairs, int, int]:
        try:
            work = idle.pop()
        except IndexError:  # all are in use by other threads
            work = _WorkArrays.make(count, room)
        counts = np.zeros(2, np.int64)
        stopped, written = join.find_pairs(*chunk, graph, sets, *measure, *work, counts)
        left, right, overlaps = (part[:written].copy() for part in work[2:])
        found = FoundPairs(left, right, overlaps, int(counts[join.COMPARED]))
        idle.append(work)
        return found, stopped, chunk[1]

    yield from stretch_by_stretch(pairs_of, each, pairwise([*range(earlier, count, CHUNK), count]))


def list_pairs_of_band(
    buckets: Buckets,
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
    earlier: int = 0,
    each: Mapper = map,
    room: int = ROOM,
    chunk: int = BAND_CHUNK,
) -> Iterator[FoundPairs]:
    """List the pairs of the buckets of one band, which have no set in common; overlaps are not counted (0)."""
    places = len(buckets.members)
    largest = int(buckets.sizes.max(initial=0))

    def pairs_of(span: Span) -> tuple[FoundPairs, int, int]:
        left, right = np.empty(max(room, largest), np.int32), np.empty(max(room, largest), np.int32)
        counts = np.zeros(2, np.int64)
        stopped, written = join.find_pairs_of_band(
            *span, buckets.starts, buckets.members, earlier, sets, *measure, left, right, counts
        )
        found = left[:written].copy(), right[:written].copy(), np.zeros(written, np.int32)
        return FoundPairs(*found, int(counts[join.COMPARED])), stopped, span[1]

    yield from stretch_by_stretch(pairs_of, each, pairwise([*range(0, places, chunk), places]))


def all_pairs(parts: Iterator[FoundPairs]) -> FoundPairs:
    """Concatenate the parts."""
    none = np.empty(0, np.int32)
    found = [FoundPairs(none, none, none, 0), *parts]
    return FoundPairs(
        np.concatenate([part.left for part in found]),
        np.concatenate([part.right for part in found]),
        np.concatenate([part.overlaps for part in found]),
        sum(part.candidates for part in found),
    )
