"""Pairs of bit strings that differ in few bits: by blocks of bits or by comparing all pairs, whichever costs less."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lookalike.candidates import bit_blocks
from lookalike.engine.workers import Workers
from lookalike.kernels.bit_blocks import near_in_buckets
from lookalike.kernels.vectors import near_bits
from lookalike.types import Int32, Int64, Span, UInt64, VectorKind, stretch_by_stretch

if TYPE_CHECKING:
    from lookalike.verify.measures import Measure

SIDE = 512
"""Bit strings that a thread compares with all earlier ones at a time."""
ROOM = 1 << 20
"""The least room for pairs that are returned at a time, and about the number of comparisons of one task."""
SAMPLE = 2048
"""The size of the sample from which the number of pairs that agree in blocks is estimated."""


class NearPairs(NamedTuple):
    """Pairs of vectors (left < right) that reach the threshold, and how many were compared."""

    left: Int64
    right: Int64
    compared: int
    reached: int = 0
    """Where the comparison can be continued after this: a number of matrix products or other tasks, or a bit string."""


def near_bit_strings(
    kind: VectorKind,
    measure: Measure,
    rows: tuple[Int64, Int64, UInt64],
    earlier: int,
    workers: Workers,
    first: int = 0,
    blocks: bool | None = None,
    room: int = ROOM,
) -> Iterator[NearPairs]:
    """Every pair that differs in at most as many bits as the measure's threshold; see `near_pairs`.

    `blocks` says whether to use blocks of bits; by default, the cheaper way according to an estimate.
    """
    if not len(rows[0]):
        return
    strings, most = strings_of(rows), min(int(measure.threshold), kind.dimension)
    positions = _positions(strings, kind, most, earlier, blocks)
    if positions is not None:
        yield from _by_blocks(strings, positions, most, earlier, workers, first, room)
    else:
        yield from _by_comparing_all(strings, most, earlier, workers, first, room)


def _positions(strings: UInt64, kind: VectorKind, most: int, earlier: int, blocks: bool | None) -> Int64 | None:
    """The bits of each block; None if comparing all pairs costs less."""
    if blocks is False or not bit_blocks.block_rows(kind.dimension, most):
        return None
    items = len(strings)
    sample = np.ascontiguousarray(strings[:: -(-items // SAMPLE)])
    positions = bit_blocks.choose_positions(sample, kind.dimension, most)
    if blocks:
        return positions
    share = 2 * earlier * (items - earlier) / items**2 if earlier else 1.0
    meetings = bit_blocks.expected_meetings(sample, positions, items)
    cost = bit_blocks.blocks_cost(items, positions.shape[0], positions.shape[1], meetings * share)
    return positions if cost < share * bit_blocks.all_pairs_cost(items, strings.shape[1]) else None


class _Task(NamedTuple):
    """Members of buckets, each to be compared with the later members of its bucket."""

    block: int
    members: Int32
    ends: Int64
    places: Span
    room: int


def _by_blocks(
    strings: UInt64, positions: Int64, most: int, earlier: int, workers: Workers, first: int, room: int
) -> Iterator[NearPairs]:
    masks = bit_blocks.masks_of(positions, strings.shape[1])

    def tasks() -> Iterator[_Task]:
        found = workers.map(lambda block: bit_blocks.agreeing(strings, block), positions)
        for block, buckets in enumerate(found):
            ends = np.repeat(buckets.starts[1:], buckets.sizes)
            yield from _cut(block, buckets.members, ends, room)

    def compare(task: _Task) -> NearPairs:
        left, right = np.empty(task.room, np.int32), np.empty(task.room, np.int32)
        count = near_in_buckets(
            strings, task.members, task.ends, *task.places, earlier, most, masks, task.block, left, right
        )
        return NearPairs(left[:count].astype(np.int64), right[:count].astype(np.int64), task.room)

    for done, found in enumerate(workers.map(compare, islice(tasks(), first, None)), first + 1):
        yield found._replace(reached=done)


def _cut(block: int, members: Int32, ends: Int64, most: int) -> Iterator[_Task]:
    """Tasks of about `most` comparisons, the same whatever the number of threads."""
    after = np.cumsum(ends - np.arange(1, len(ends) + 1))
    low = done = 0
    while low < len(ends):
        high = max(low + 1, int(np.searchsorted(after, done + most)))
        room = int(after[min(high, len(ends)) - 1]) - done
        yield _Task(block, members, ends, (low, min(high, len(ends))), room)
        low, done = high, done + room


def _by_comparing_all(
    strings: UInt64, most: int, earlier: int, workers: Workers, first: int, room: int
) -> Iterator[NearPairs]:
    size = max(room, len(strings))

    def compare(span: Span) -> tuple[NearPairs, int, int]:
        left, right = np.empty(size, np.int64), np.empty(size, np.int64)
        stopped, count = near_bits(strings, *span, earlier, most, left, right)
        return (
            NearPairs(left[:count].copy(), right[:count].copy(), (stopped - span[0]) * (earlier or span[0]), stopped),
            stopped,
            span[1],
        )

    start = max(earlier, first)
    spans = [(low, min(low + SIDE, len(strings))) for low in range(start, len(strings), SIDE)]
    yield from stretch_by_stretch(compare, workers.map, spans)


def strings_of(rows: tuple[Int64, Int64, UInt64]) -> UInt64:
    """Bit strings as a matrix of words."""
    begins, ends, words = rows
    width = int(ends[0] - begins[0]) if len(begins) else 1
    strings: UInt64 = words[begins[:, None] + np.arange(width)]
    return strings
