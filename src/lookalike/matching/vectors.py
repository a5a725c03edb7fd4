"""Compare vectors: find all pairs that are near enough by matrix products, and compute the exact values of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lookalike.engine.workers import Workers
from lookalike.kernels import nearest as kernels
from lookalike.kernels.vectors import bit_distances_of, values_of
from lookalike.matching.bit_strings import NearPairs, near_bit_strings
from lookalike.matching.products import Rows, Scaling, one_thread_each
from lookalike.types import Float64, Int64, Span, VectorKind

if TYPE_CHECKING:
    from lookalike.verify.measures import Measure

SIDE = 1024
"""Vectors per block; two blocks are compared in one matrix product."""
LIKELY_ROOM = 1 << 16
"""Room for the pairs of two blocks that have to be measured, at first."""


def values_of_pairs(kind: VectorKind, measure: Measure, rows: Rows, left: Int64, right: Int64) -> Float64:
    """The exact cosine or distance of pairs of vectors in the form of `VectorKind.as_rows`."""
    values = np.empty(len(left))
    if kind.scalar == "bits":
        bit_distances_of(left, right, *rows, values)
    else:
        values_of(measure.arguments[0], left, right, *rows, values)
    return values


def near_pairs(
    kind: VectorKind,
    measure: Measure,
    rows: Rows,
    earlier: int,
    workers: Workers,
    side: int = SIDE,
    first: int = 0,
) -> Iterator[NearPairs]:
    """Every pair that reaches the threshold, by comparing all with all, block by block.

    A matrix product shows which pairs may reach it; these are measured one by one. With `earlier`, only pairs of a
    vector below this number and one that is not. With `first`, the part that an earlier call has completed is omitted.
    """
    if kind.scalar == "bits":
        yield from near_bit_strings(kind, measure, rows, earlier, workers, first)
        return
    count = len(rows[0])
    scaling = Scaling(kind, measure, rows)
    lowest = scaling.score_of(float(measure.threshold))

    def compare(pair: tuple[Span, Span]) -> NearPairs:
        left, right = _likely(scaling, lowest, *pair)
        good = measure.reached_by(values_of_pairs(kind, measure, rows, left, right))
        return NearPairs(left[good], right[good], len(left))

    spans = [(low, min(low + side, count)) for low in range(earlier, count, side)]
    pairs = [
        ((low, min(low + side, earlier or count)), span) for span in spans for low in range(0, earlier or span[1], side)
    ]
    with one_thread_each():
        for done, found in enumerate(workers.map(compare, pairs[first:]), first + 1):
            yield found._replace(reached=done)


def _likely(scaling: Scaling, lowest: float, one: Span, other: Span) -> tuple[Int64, Int64]:
    """The pairs between two blocks that may be near enough; the vector of the first block comes first."""
    columns = scaling.block(*one)
    rows = columns if one == other else scaling.block(*other)
    products = rows.vectors @ columns.vectors.T
    needed = (rows.lows + lowest).astype(scaling.dtype)
    room = LIKELY_ROOM
    while True:
        right, left = np.empty(room, np.int32), np.empty(room, np.int32)
        count = kernels.list_likely(products.ravel(), needed, columns.lows, one == other, right, left)
        if count <= room:
            return left[:count] + np.int64(one[0]), right[:count] + np.int64(other[0])
        room = count
