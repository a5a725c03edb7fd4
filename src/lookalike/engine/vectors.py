"""Recognise vectors among the items, and predict what comparing them costs by each method.

The plan of the bands does not depend on the items (see `tuning/plan.py`); only the choice between the methods does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lookalike.engine.forecast import count_items
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, UsageError
from lookalike.features.vectors import VectorError, is_numbers, kind_of, rows_of, words_of
from lookalike.kernels.vectors import bit_distances_of, values_of
from lookalike.tuning.plan import Plan
from lookalike.types import Float64, Source, VectorKind, Wanted
from lookalike.types.frozen import frozen
from lookalike.verify.measures import Measure

SAMPLE = 1000
"""Vectors that are sampled, the first ones of the input, and SAMPLED_PAIRS pairs of them."""
SAMPLED_PAIRS = 20_000
KINDS_READ = 64
"""Of more sources than this, only the first ones are read to find out what kind of numbers they hold."""

# Nanoseconds of one thread, measured: those for cosine by benchmarks/vectors.py, the others on 20,000 items in memory.
MULTIPLY = 0.06
"""One product of two numbers in a matrix product."""
PROJECT = {"cosine": 0.06, "euclidean": 0.15, "hamming": 0.8}
"""One number of a vector times one number of a hash function; for hamming, one bit looked up."""
BAND = 150.0
"""An item in one band: its key is stored and sorted, and its bucket scanned."""
COMPARE, COMPARE_NUMBER = 400.0, 0.3
"""A comparison of two vectors, and the additional time for each of their numbers."""
BIT_COMPARE = 0.7
"""A comparison of two words of bit strings when all pairs are compared in order."""


@frozen
class VectorSample:
    """An estimate of the whole collection from its first vectors."""

    kind: VectorKind
    items: int
    values: Float64
    """Cosines or distances of random pairs below the threshold: the number of such pairs grows with the square."""


def vectors_of(sources: list[Source], column: str, measure: Measure) -> VectorKind | None:
    """The kind of vectors that the items are; None if they are sets."""
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
        # only nulls, which are similar to nothing whatever their kind
        return VectorKind(64, "bits" if measure.name == "hamming" else "float32") if measure.of_vectors else None
    widest = "float64" if any(kind.scalar == "float64" for kind in kinds) else kinds[0].scalar
    return replace(kinds[0], scalar=widest)


def for_vectors(settings: Settings, kind: VectorKind) -> Settings:
    """Settings of a job on vectors, before the method is chosen."""
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
    draw = np.random.default_rng(settings.matching.seed)
    left, right = draw.integers(0, max(1, len(rows)), (2, SAMPLED_PAIRS))
    different = (left != right) & (len(rows) > 1)
    values = _values(rows, left[different], right[different], settings.matching.measure, kind)
    return VectorSample(kind, items, values[~settings.matching.measure.reached_by(values)])


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


def lsh_cost(sample: VectorSample, plan: Plan) -> float:
    """The nanoseconds that hashing the vectors and comparing those that share buckets will take."""
    values = np.clip(sample.values, -1.0, 1.0) if plan.measure == "cosine" else sample.values
    # A pair that shares several buckets is compared in each of them.
    meetings = plan.bands * float(np.mean(plan.scale.collision(values) ** plan.rows)) if len(values) else 0.0
    bits = plan.measure == "hamming"
    hashing = plan.used_hashes * PROJECT[plan.measure] * (1 if bits else sample.kind.dimension)
    comparing = COMPARE + COMPARE_NUMBER * (sample.kind.words if bits else sample.kind.dimension)
    pairs = sample.items * (sample.items - 1) / 2
    return sample.items * (hashing + plan.bands * BAND) + pairs * meetings * comparing


def brute_cost(sample: VectorSample, measure: str) -> float:
    """The nanoseconds that comparing every pair will take."""
    pairs = sample.items * (sample.items - 1) / 2
    return pairs * (sample.kind.words * BIT_COMPARE if measure == "hamming" else sample.kind.dimension * MULTIPLY + 1.0)
