"""The nearest vectors of each vector, exactly.

Matrix products of blocks in 32 bits show which vectors may be among the nearest; these are then measured one by one. If
the vectors are searched for among themselves, each product serves both of its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.engine.run import Run
from lookalike.kernels import nearest as kernels
from lookalike.matching.bit_strings import strings_of
from lookalike.matching.products import Rows, Scaled, Scaling, one_thread_each
from lookalike.types import Float64, Int32, Int64, Span, VectorKind

if TYPE_CHECKING:
    from lookalike.verify.measures import Measure

SIDE = 512
"""Vectors per block: the products of two blocks stay in the cache until they have been looked at."""
BITS_SIDE = 2048
"""Bit strings per block."""
NOTED = 32
"""Vectors that may be noted for each vector before some must be measured, besides the k wanted."""
Found = tuple[Float64, Int64, Int64]
"""Values and numbers of the nearest of some vectors, and how many each has."""


class Nearest(NamedTuple):
    """The nearest vectors of each vector, nearest first, ties in input order."""

    counts: Int64
    """How many neighbours each vector has."""
    neighbors: Int64
    values: Float64


class _Noted(NamedTuple):
    """The nearest of some vectors found so far; `kernels.note_nearest` describes each array."""

    scores: npt.NDArray[Any]
    numbers: Int32
    uppers: npt.NDArray[Any]
    noted: Int64
    values: Float64
    nearest: Int64
    counts: Int64

    @classmethod
    def nothing(cls, count: int, k: int, lowest: float, dtype: npt.DTypeLike) -> _Noted:
        room = k + NOTED
        return cls(
            np.full((count, k), lowest, dtype),
            np.empty((count, room), np.int32),
            np.empty((count, room), dtype),
            np.zeros(count, np.int64),
            *_nothing_found(count, k),
        )


def _nothing_found(count: int, k: int) -> Found:
    """Empty arrays for the nearest of some vectors: values, numbers and counts."""
    return np.empty((count, k)), np.empty((count, k), np.int64), np.zeros(count, np.int64)


def about_bytes(asked: int, k: int) -> int:
    """The memory needed to search for the nearest of this number of vectors."""
    return asked * (20 * k + 8 * (k + NOTED) + 16)


def nearest_vectors(
    run: Run[Any],
    kind: VectorKind,
    measure: Measure,
    rows: Rows,
    asked: Span,
    among: Span,
    k: int,
    bounded: bool,
    together: bool = True,
    side: int = SIDE,
) -> Nearest:
    """For each vector in `asked`, the k nearest vectors in `among`, excluding itself; exactly.

    With `bounded`, only vectors that reach the measure's threshold count. With `together`, vectors that are searched
    for among themselves are all processed together, which takes `about_bytes` of memory and half of the time.
    """
    sign = 1.0 if measure.is_distance else -1.0
    limit = sign * float(measure.threshold) if bounded else np.inf
    k = max(1, min(k, among[1] - among[0]))
    if kind.scalar == "bits":
        found = _nearest_bits(run, rows, asked, among, k, limit)
    else:
        found = _nearest_by_products(run, _Search(kind, measure, rows, k, limit, bounded), asked, among, together, side)
    values, numbers, counts = (np.concatenate(parts) for parts in zip(_nothing_found(0, k), *found))
    filled = np.arange(k) < counts[:, None]
    return Nearest(counts, numbers[filled], sign * values[filled])


def _spans(whole: Span, side: int) -> list[Span]:
    """Split a range into pieces."""
    return [(low, min(low + side, whole[1])) for low in range(*whole, side)]


class _Search:
    """The nearest vectors of blocks of vectors."""

    def __init__(self, kind: VectorKind, measure: Measure, rows: Rows, k: int, limit: float, bounded: bool) -> None:
        self._k, self._limit, self._measure = k, limit, measure.arguments[0]
        self._vectors = rows[0], rows[2], kind.dimension
        self._scaling = Scaling(kind, measure, rows)
        self._lowest = self._scaling.score_of(float(measure.threshold)) if bounded else -np.inf

    def scaled(self, span: Span) -> Scaled:
        """A block of vectors in the form that products take."""
        return self._scaling.block(*span)

    def nothing(self, span: Span) -> _Noted:
        """The initial state of a block: nothing found yet."""
        return _Noted.nothing(span[1] - span[0], self._k, self._lowest, self._scaling.dtype)

    def compare(
        self, one: tuple[int, Scaled, _Noted], other: tuple[int, Scaled, _Noted], both: bool
    ) -> Callable[[], None]:
        """Multiply two blocks (number of the first vector, vectors, state); return what records the outcome."""
        products = one[1].vectors @ other[1].vectors.T
        sides = ((first, scaled.lows, scaled.highs) for first, scaled, _ in (one, other))

        def note() -> None:
            needs = np.empty(products.shape[1], products.dtype)
            kernels.note_nearest(
                self._measure, self._limit, self._vectors, products.ravel(), *sides, needs, both, one[0] == other[0],
                tuple(one[2]), tuple(other[2]),
            )  # fmt: skip

        return note

    def settle(self, first: int, known: _Noted) -> Found:
        """The final nearest of a block that has been compared with all others: values, numbers, counts."""
        kernels.settle_nearest(self._measure, self._limit, self._vectors, first, tuple(known))
        return known.values, known.nearest, known.counts


def _nearest_by_products(
    run: Run[Any], search: _Search, asked: Span, among: Span, together: bool, side: int
) -> Iterator[Found]:
    """The nearest vectors of each block of `asked`, in order."""
    with one_thread_each():
        if asked == among and together:
            yield from _among_themselves(run, search, _spans(asked, side))
        else:
            yield from _among_others(run, search, _spans(asked, side), _spans(among, side))


def _among_themselves(run: Run[Any], search: _Search, spans: list[Span]) -> Iterator[Found]:
    """Compare each pair of blocks once, for both."""
    blocks = [
        (span[0], scaled, search.nothing(span)) for span, scaled in zip(spans, run.workers.map(search.scaled, spans))
    ]
    locks = [Lock() for _ in blocks]
    vectors = spans[-1][1] - spans[0][0] if spans else 0

    def compare(pair: tuple[int, int]) -> None:
        one, other = pair
        note = search.compare(blocks[other], blocks[one], True)
        with locks[one]:
            if one == other:
                note()
                return
            with locks[other]:
                note()

    # By diagonals: block pairs that are compared at the same time rarely have a block in common.
    pairs = [(one, one + apart) for apart in range(len(blocks)) for one in range(len(blocks) - apart)]
    for done, _ in enumerate(run.workers.map(compare, pairs)):
        run.progress.advance(vectors * (done + 1) // len(pairs) - vectors * done // len(pairs))
    yield from run.workers.map(lambda block: search.settle(block[0], block[2]), blocks)


def _among_others(run: Run[Any], search: _Search, spans: list[Span], others: list[Span]) -> Iterator[Found]:
    """Compare each block with all others, for the results of that block alone."""
    blocks = dict(zip(others, run.workers.map(search.scaled, others)))

    def find(span: Span) -> Found:
        own = span[0], blocks.get(span) or search.scaled(span), search.nothing(span)
        for other, scaled in blocks.items():
            search.compare(own, (other[0], scaled, own[2]), other == span)()
        return search.settle(own[0], own[2])

    for found in run.workers.map(find, spans):
        run.progress.advance(len(found[2]))
        yield found


def _nearest_bits(run: Run[Any], rows: Rows, asked: Span, among: Span, k: int, limit: float) -> Iterator[Found]:
    """The same for bit strings, where every pair is measured."""
    strings = strings_of(rows)

    def find(span: Span) -> Found:
        found = _nothing_found(span[1] - span[0], k)
        for other in _spans(among, BITS_SIDE):
            kernels.push_nearest_bits(strings, *span, *other, limit, *found)
        return found

    for found in run.workers.map(find, _spans(asked, SIDE)):
        run.progress.advance(len(found[2]))
        yield found
