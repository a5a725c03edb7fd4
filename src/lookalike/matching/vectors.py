"""Compare vectors: all with all in matrix products, and the exact values of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.engine.run import Run
from lookalike.engine.workers import Workers
from lookalike.kernels import vectors as kernels
from lookalike.types import Float64, Int64, Span, UInt64, VectorKind, stretch_by_stretch

if TYPE_CHECKING:
    from lookalike.verify.measures import Measure

SIDE = 2048
"""Vectors per block; two blocks are compared in one matrix product."""
ASKED_SIDE = 512
"""Vectors for which a thread seeks neighbours at a time."""
BITS_SIDE = 512
"""Bit strings that a thread compares with all earlier ones at a time."""
ROOM = 1 << 20
"""Room for pairs of bit strings that are returned at a time, at least."""


def values_of_pairs(kind: VectorKind, measure: Measure, rows: tuple[Any, ...], left: Int64, right: Int64) -> Float64:
    """The exact cosine or distance of pairs of vectors, as `VectorKind.as_rows` gives them."""
    values = np.empty(len(left))
    if kind.scalar == "bits":
        kernels.bit_distances_of(left, right, *rows, values)
    else:
        kernels.values_of(measure.arguments[0], left, right, *rows, values)
    return values


def _one_thread_each() -> AbstractContextManager[Any]:
    """Matrix products on one thread: the workers are the threads."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limited: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limited


class NearPairs(NamedTuple):
    """Pairs of vectors (left < right by their number) that reach the threshold, and how many were compared."""

    left: Int64
    right: Int64
    compared: int
    reached: int = 0
    """Where the comparison can be continued after this: a number of matrix products, or a bit string."""


def near_pairs(
    kind: VectorKind,
    measure: Measure,
    rows: tuple[Int64, Int64, Any],
    earlier: int,
    workers: Workers,
    side: int = SIDE,
    first: int = 0,
) -> Iterator[NearPairs]:
    """Every pair that reaches the threshold, by comparing all with all, block by block.

    A matrix product shows which pairs may; these are measured one by one. With `earlier`, only pairs of a vector below
    it with one that is not. With `first`, what an earlier call has reached is left out.
    """
    if kind.scalar == "bits":
        yield from _near_bits(measure, rows, earlier, workers, first)
        return
    count = len(rows[0])
    blocks = _Blocks(kind, measure, rows[0], rows[2])

    def compare(pair: tuple[Span, Span]) -> NearPairs:
        left, right = blocks.likely(*pair)
        good = measure.reached_by(values_of_pairs(kind, measure, rows, left, right))
        return NearPairs(left[good], right[good], len(left))

    spans = [(low, min(low + side, count)) for low in range(earlier, count, side)]
    pairs = [
        ((low, min(low + side, earlier or count)), span) for span in spans for low in range(0, earlier or span[1], side)
    ]
    with _one_thread_each():
        for done, found in enumerate(workers.map(compare, pairs[first:]), first + 1):
            yield found._replace(reached=done)


LONGEST_SINGLE = 1e18
"""Vectors shorter than this can be multiplied in 32 bits."""


class _Blocks:
    """Matrix products of blocks of vectors, and which pairs in them may be near enough."""

    def __init__(self, kind: VectorKind, measure: Measure, begins: Int64, numbers: npt.NDArray[Any]) -> None:
        self._begins, self._numbers, self._dimension = begins, numbers, kind.dimension
        self._cosine = measure.name == "cosine"
        self._threshold = float(measure.threshold)
        self._error = (kind.dimension + 8) * float(
            np.finfo(np.float32).eps
        )  # an upper bound on the rounding error of a sum

    def block(self, first: int, last: int) -> tuple[npt.NDArray[np.float32], Float64]:
        """Some vectors (scaled to length 1 for the cosine) and their original lengths."""
        places = self._begins[first:last, None] + np.arange(self._dimension)
        found = self._numbers[places]
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found, dtype=np.float64))
        if self._cosine:
            return (found / lengths[:, None]).astype(np.float32), lengths
        # products of longer vectors would overflow
        single = self._numbers.dtype == np.float32 and lengths.max(initial=0) < LONGEST_SINGLE
        return found.astype(np.float32 if single else np.float64), lengths

    def distances(self, one: Span, other: Span) -> tuple[npt.NDArray[Any], Any]:
        """Approximate distances of the vectors of the other block (rows) from those of the one, and their error bound.

        The negative cosine, or the squared distance.
        """
        a, a_lengths = self.block(*one)
        b, b_lengths = self.block(*other)
        products = b @ a.T
        if self._cosine:
            return -products, self._error
        squares = a_lengths[None, :] ** 2 + b_lengths[:, None] ** 2
        return squares - 2 * products, self._error * squares + 1e-300

    def likely(self, one: Span, other: Span) -> tuple[Int64, Int64]:
        """The pairs (a < b) of a vector of each block that may be near enough."""
        far, error = self.distances(one, other)
        right, left = np.nonzero(far <= (-self._threshold if self._cosine else self._threshold**2) + error)
        left, right = left + one[0], right + other[0]
        below = left < right
        return left[below], right[below]


def _near_bits(
    measure: Measure, rows: tuple[Int64, Int64, UInt64], earlier: int, workers: Workers, first: int
) -> Iterator[NearPairs]:
    if not len(rows[0]):
        return
    strings = _strings(rows)
    size, most = max(ROOM, len(strings)), int(measure.threshold)

    def compare(span: Span) -> tuple[NearPairs, int, int]:
        left, right = np.empty(size, np.int64), np.empty(size, np.int64)
        stopped, count = kernels.near_bits(strings, *span, earlier, most, left, right)
        return (
            NearPairs(left[:count].copy(), right[:count].copy(), (stopped - span[0]) * (earlier or span[0]), stopped),
            stopped,
            span[1],
        )

    start = max(earlier, first)
    spans = [(low, min(low + BITS_SIDE, len(strings))) for low in range(start, len(strings), BITS_SIDE)]
    yield from stretch_by_stretch(compare, workers.map, spans)


class Nearest(NamedTuple):
    """The nearest vectors of each vector, nearest first, ties in input order."""

    counts: Int64
    """How many neighbours each vector has."""
    neighbors: Int64
    values: Float64


def nearest_vectors(
    run: Run[Any],
    kind: VectorKind,
    measure: Measure,
    rows: tuple[Int64, Int64, Any],
    asked: Span,
    among: Span,
    k: int,
    bounded: bool,
) -> Nearest:
    """The k nearest vectors `among` some for each vector `asked` about, itself excluded; exactly.

    A matrix product shows which may be among them; these are measured one by one. With `bounded`, only vectors that
    reach the measure's threshold count.
    """
    sign, k = 1.0 if measure.is_distance else -1.0, max(1, min(k, among[1] - among[0]))
    limit = sign * float(measure.threshold) if bounded else np.inf
    blocks = None if kind.scalar == "bits" else _Blocks(kind, measure, rows[0], rows[2])
    strings = rows[2] if blocks else _strings(rows)

    def search(span: Span) -> Nearest:
        count = span[1] - span[0]
        values, numbers, found = np.empty((count, k)), np.empty((count, k), np.int64), np.zeros(count, np.int64)
        for low in range(*among, SIDE):
            others = low, min(low + SIDE, among[1])
            if blocks is None:
                kernels.push_nearest_bits(strings, *span, *others, limit, values, numbers, found)
                continue
            far, error = blocks.distances(others, span)
            margins = np.broadcast_to(np.asarray(error, np.float64), far.shape)
            kernels.push_nearest(measure.arguments[0], far, margins, span[0], low, limit, rows, values, numbers, found)
        filled = np.arange(k) < found[:, None]
        return Nearest(found, numbers[filled], sign * values[filled])

    spans = [(low, min(low + ASKED_SIDE, asked[1])) for low in range(*asked, ASKED_SIDE)]
    parts: list[Nearest] = []
    with _one_thread_each():
        for part in run.workers.map(search, spans):
            parts.append(part)
            run.progress.advance(len(part.counts))
    none = np.empty(0, np.int64)
    return Nearest(
        np.concatenate([none, *(part.counts for part in parts)]),
        np.concatenate([none, *(part.neighbors for part in parts)]),
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
    )


def _strings(rows: tuple[Int64, Int64, UInt64]) -> UInt64:
    """Bit strings as a matrix of words."""
    begins, ends, words = rows
    width = int(ends[0] - begins[0]) if len(begins) else 1
    strings: UInt64 = words[begins[:, None] + np.arange(width)]
    return strings
