"""Recognise items that are vectors, and predict what comparing them costs with each method.

The plan of the bands does not depend on the items (see `tuning/plan.py`); only the choice between the methods does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np

from lookalike.candidates.bit_blocks import all_pairs_cost, block_rows, blocks_cost
from lookalike.engine.forecast import count_items
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, UsageError
from lookalike.features.vectors import VectorError, is_numbers, kind_of, rows_of, words_of
from lookalike.kernels.vectors import bit_distances_of, values_of
from lookalike.tuning.plan import Plan
from lookalike.types import Bool, Float64, Source, VectorKind, Wanted
from lookalike.types.frozen import frozen
from lookalike.verify.measures import Measure

SAMPLE = 512
"""The size of the sample, the first vectors of the input; every pair of them is measured."""
CHANCES = 1025
"""Values for which the chance to share a bucket is computed."""
KINDS_READ = 64
"""The most sources that are read to find out what kind of numbers they contain."""

# Nanoseconds of one thread, measured; docs/log.md tests the predictions on data that was not used to fit them.
MULTIPLY, PAIR = 0.028, 1.2
"""One product of two numbers in a matrix product; and for each pair, checking the sum."""
PRODUCTS = 6e6
"""Before the first product: loading its library and setting its number of threads."""
DRAW, JOIN = 14.0, 5e4
"""Before the first key, one number of a hash function is drawn; and each band is joined, however few its items are."""
PROJECT = {"cosine": 0.087, "euclidean": 0.23, "hamming": 0.8}
"""One number of a vector times one number of a hash function; for hamming, one bit looked up."""
BAND = 60.0
"""An item in one band: its key is stored and sorted, and its bucket scanned."""
COMPARE, COMPARE_NUMBER, COMPARE_WORD = 50.0, 0.4, 2.0
"""A comparison of two vectors, and the additional time for each of their numbers, or words of bits."""
FETCH, CACHE_BYTES = 250.0, 32 << 20
"""Additional time for a comparison if the vectors take more memory than this: they come from outside of the cache."""


@frozen
class VectorSample:
    """An estimate of the whole collection from its first vectors."""

    kind: VectorKind
    items: int
    sampled: int
    """How many vectors were measured."""
    values: Float64
    """The cosine or distance of every pair of them, those of the first half first."""
    near: Bool
    """Which of these reach the threshold."""

    def grown(self, weights: Float64) -> float:
        """The sum of a weight of each pair over the whole collection.

        Sums usually grow with the square of the number of vectors, but only linearly if similar vectors are next to
        each other in the input. The sample shows which: its sum is four or two times that of its first half.
        """
        half = self.sampled // 2
        whole, first = float(weights.sum()), float(weights[: half * (half - 1) // 2].sum())
        if not whole or self.sampled < 2:
            return 0.0
        power = min(2.0, max(1.0, log2(whole / first))) if first else 2.0
        return whole * float((self.items / self.sampled) ** power)


def vectors_of(sources: list[Source], column: str, measure: Measure) -> VectorKind | None:
    """The kind of vectors, if the items are vectors; None if they are sets."""
    if measure.name not in ("cosine", "euclidean", "hamming"):
        return None
    kinds = []
    for source in sources[:KINDS_READ]:
        for block in source.blocks():
            features = block.items(Wanted(column, (), True)).features
            if not (measure.of_vectors or getattr(source, "holds_vectors", False) or is_numbers(features)):
                return None
            try:
                kind = kind_of(features, measure.name == "hamming")
            except VectorError as error:
                raise BadDataError(f"{source.name}: row {error.row}: column {column!r} {error}") from error
            if kind is not None:
                kinds.append(kind)
                break
        source.rejected_rows.clear()
    if not kinds:
        # only nulls, which are similar to nothing
        return VectorKind(64, "bits" if measure.name == "hamming" else "float32") if measure.of_vectors else None
    widest = "float64" if any(kind.scalar == "float64" for kind in kinds) else kinds[0].scalar
    return replace(kinds[0], scalar=widest)


def for_vectors(settings: Settings, kind: VectorKind) -> Settings:
    """Adapt the settings to vectors, before the method is chosen."""
    if settings.matching.method == "merge":
        raise UsageError(
            f"--method merge works on sets; for {settings.matching.measure.name} of vectors use auto, lsh or brute"
        )
    if settings.matching.length_ratio:
        raise UsageError("--length-ratio applies to sets: vectors all have the same length; leave it out")
    measure = replace(settings.matching.measure, of_vectors=True)
    return replace(settings, items=replace(settings.items, vectors=kind)).with_matching(measure=measure, plan=None)


def sample_vectors(sources: list[Source], settings: Settings, kind: VectorKind) -> VectorSample:
    """Sample the first vectors in input order, so that the choice does not depend on how files are split."""
    items, _ = count_items(sources)
    parts = list(_first_rows(sources, settings, kind))
    parts.append(np.empty((0, kind.words if kind.scalar == "bits" else kind.dimension), _dtype(kind)))
    rows = np.concatenate(parts)
    right, left = np.tril_indices(len(rows), -1)
    values = _values(rows, left.astype(np.int64), right.astype(np.int64), settings.matching.measure, kind)
    return VectorSample(kind, items, len(rows), values, settings.matching.measure.reached_by(values))


def _first_rows(sources: list[Source], settings: Settings, kind: VectorKind) -> Iterator[Any]:
    left = SAMPLE
    for source in sources:
        for block in source.blocks():
            features = block.items(Wanted(settings.items.column, (), True)).features[:left]
            try:
                rows, _ = rows_of(features, kind)
            except VectorError:
                continue  # reported when the items are read
            yield rows[rows.any(axis=1)]
            left -= len(features)
            if left <= 0:
                break
        source.rejected_rows.clear()
        if left <= 0:
            return


def _dtype(kind: VectorKind) -> str:
    return "uint64" if kind.scalar == "bits" else kind.scalar


def _values(rows: Any, left: Any, right: Any, measure: Measure, kind: VectorKind) -> Float64:
    sets = words_of(rows.astype(_dtype(kind)), np.ones(len(rows), bool), kind)
    given = kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)
    values = np.empty(len(left))
    if kind.scalar == "bits":
        bit_distances_of(left, right, *given, values)
    else:
        values_of(measure.arguments[0], left, right, *given, values)
    return values


@frozen
class Cost:
    """What a method is predicted to take, in nanoseconds."""

    once: float
    """Before any vector is compared, on one thread."""
    shared: float
    """What threads share."""

    def seconds(self, threads: int) -> float:
        """The time with a number of threads.

        Examples
        --------
        >>> Cost(once=1e9, shared=4e9).seconds(2)
        3.0
        """
        return (self.once + self.shared / threads) / 1e9


def lsh_cost(sample: VectorSample, plan: Plan) -> Cost:
    """Drawing the hash functions, hashing the vectors and comparing those that share buckets."""
    values = np.clip(sample.values, -1.0, 1.0) if plan.measure == "cosine" else sample.values
    # A pair that shares several buckets is compared in each of them.
    meetings = sample.grown(plan.bands * _per_value(plan, values))
    numbers = plan.used_hashes * (1 if plan.measure == "hamming" else sample.kind.dimension)
    hashing = numbers * PROJECT[plan.measure] + plan.bands * BAND
    return Cost(numbers * DRAW + plan.bands * JOIN, sample.items * hashing + meetings * _comparing(sample))


def _per_value(plan: Plan, values: Float64) -> Float64:
    """The chance that pairs share a bucket in a band, computed for values rounded to 1/1,024."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    steps = np.linspace(low, high, CHANCES)
    chances = plan.scale.collision(steps) ** plan.rows
    found: Float64 = chances[np.rint((values - low) * ((CHANCES - 1) / ((high - low) or 1.0))).astype(np.int64)]
    return found


def _comparing(sample: VectorSample) -> float:
    """The nanoseconds that comparing two vectors takes."""
    kind = sample.kind
    own = COMPARE_WORD * kind.words if kind.scalar == "bits" else COMPARE_NUMBER * kind.dimension
    return COMPARE + own + (FETCH if 8 * kind.words * sample.items > CACHE_BYTES else 0.0)


def brute_cost(sample: VectorSample, threshold: float) -> Cost:
    """Comparing every pair (for bit strings, every pair that can be near enough)."""
    if sample.kind.scalar == "bits":
        return Cost(0.0, _bits_cost(sample, int(threshold)))
    pairs = sample.items * (sample.items - 1) / 2
    near = sample.grown(sample.near.astype(np.float64))
    return Cost(PRODUCTS, pairs * (sample.kind.dimension * MULTIPLY + PAIR) + near * _comparing(sample))


def _bits_cost(sample: VectorSample, most: int) -> float:
    bits, items = sample.kind.dimension, sample.items
    cost, rows = all_pairs_cost(items, sample.kind.words), block_rows(bits, most)
    if rows:
        meetings = sample.grown((most + 1) * (1 - sample.values / bits) ** rows)
        cost = min(cost, blocks_cost(items, most + 1, rows, meetings))
    return cost
