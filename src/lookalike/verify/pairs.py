"""All similar pairs among the sets that meet in buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.kernels import join
from lookalike.types import Buckets, Int32, Int64, Mapper, UInt64

CHUNK = 2048
"""Sets whose pairs are found at a time by one thread."""


class FoundPairs(NamedTuple):
    """Pairs of set numbers with their overlap, and how many pairs were compared for them."""

    left: Int32
    right: Int32
    overlaps: Int32
    candidates: int


def list_pairs(
    buckets: Buckets,
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
    earlier: int = 0,
    each: Mapper = map,
) -> FoundPairs:
    """Every pair of sets that share a bucket and are similar enough, in order of the later set.

    Parameters as for lookalike.cluster.keepers.decide; with `earlier`, only pairs of a set below it with one that is
    not.
    """
    count = len(sets[0])
    graph = (
        *join.buckets_by_item(buckets.starts, buckets.members, count),
        buckets.starts,
        buckets.sizes_below(earlier) if earlier else buckets.sizes,
        buckets.members,
    )

    def one_chunk(first: int) -> list[FoundPairs]:
        return list(_pairs_of(first, min(first + CHUNK, count), count, graph, sets, measure))

    found = [part for parts in each(one_chunk, range(earlier, count, CHUNK)) for part in parts]
    if not found:
        none = np.empty(0, np.int32)
        return FoundPairs(none, none, none, 0)
    return FoundPairs(
        np.concatenate([part.left for part in found]),
        np.concatenate([part.right for part in found]),
        np.concatenate([part.overlaps for part in found]),
        sum(part.candidates for part in found),
    )


def _pairs_of(
    first: int,
    last: int,
    count: int,
    graph: tuple[Int64, Int32, Int64, Int64, Int32],
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
) -> Iterator[FoundPairs]:
    mark, found = np.full(count, -1, np.int32), np.empty(count, np.int32)
    room = max(1 << 16, 2 * count)  # one set can be similar to all others, in both directions
    left, right, overlaps = (np.empty(room, np.int32) for _ in range(3))
    while first < last:
        counts = np.zeros(2, np.int64)
        first, written = join.find_pairs(first, last, graph, sets, *measure, mark, found, left, right, overlaps, counts)
        yield FoundPairs(
            left[:written].copy(),
            right[:written].copy(),
            overlaps[:written].copy(),
            int(counts[join.COMPARED]),
        )
