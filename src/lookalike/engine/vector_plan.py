"""How vectors are compared: all with all, or by bands of a family's hash functions; a look at some tells which.

A plan is chosen by what it will cost. Every further row of a band makes fewer false candidates and takes more bands to
keep the recall; how far apart the vectors are tells how many false candidates there would be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lookalike.engine.forecast import count_items
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, UsageError
from lookalike.features.vectors import VectorError, is_numbers, kind_of, rows_of, words_of
from lookalike.kernels.vectors import bit_distances_of, values_of
from lookalike.tuning.collisions import angle_of, bit_collision, hyperplane_collision, line_collision
from lookalike.tuning.curves import probability
from lookalike.tuning.plan import percent
from lookalike.types import Float64, Source, VectorKind, Wanted
from lookalike.verify.measures import Measure

SAMPLE = 1000
"""Vectors that are looked at, the first ones of the input, and SAMPLED_PAIRS of them."""
SAMPLED_PAIRS = 20_000
KINDS_ASKED = 64
"""Of more sources than this only the first ones are asked what kind of numbers they hold."""
BITS_PER_HASH = 64
"""A hash is a number of 64 bits, and a sign or a sampled bit only one."""
MOST_ROWS = 64
WIDTHS = (1, 1.5, 2, 3, 4, 6, 8)
"""Widths of the buckets on lines that are tried, as multiples of the threshold."""
MOST_BANDS = 2000

# Nanoseconds of one thread, measured: those for cosine by benchmarks/vectors.py, the others on 20,000 items in memory.
MULTIPLY = 0.06
"""A product of two numbers in a matrix product."""
PROJECT = {"cosine": 0.06, "euclidean": 0.15, "hamming": 0.8}
"""A number of a vector times one of a hash function's; for hamming a bit that is looked up."""
BAND = 150.0
"""An item in one band: its key stored, sorted, and its bucket looked through."""
COMPARE, COMPARE_NUMBER = 400.0, 0.3
"""Two vectors that are compared, and so much for each of their numbers."""
BIT_COMPARE = 0.7
"""Two words of bit strings that are compared one after the other."""


@dataclass(frozen=True)
class VectorPlan:
    """Bands and rows of a family's hash functions, and what they find."""

    measure: str
    threshold: float
    wanted_recall: float
    hashes: int
    bands: int
    rows: int
    recall: float
    """How likely a pair right at the threshold is to be found; nearer ones are more likely."""
    bits: int = 0
    """hamming: of the bit strings."""
    width: float = 0.0
    """euclidean: of the buckets on the lines."""

    @property
    def used_hashes(self) -> int:
        """How many hash functions the bands use."""
        return self.bands * self.rows

    def curve(self, values: Float64) -> Float64:
        """How likely pairs of these cosines or distances are to be candidates."""
        return probability(collision(self.measure, values, self.width, self.bits), self.bands, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """What `run.json` shows."""
        shown = {"hamming": "bits", "euclidean": "width"}.get(self.measure)
        facts = {name: value for name, value in asdict(self).items() if name not in ("bits", "width") or name == shown}
        return {**facts, "used_hashes": self.used_hashes}

    def describe(self) -> str:
        """The plan in a few sentences for people."""
        functions = {
            "cosine": "random hyperplanes",
            "euclidean": f"random lines in buckets of {self.width:g}",
            "hamming": f"bits of {self.bits:,}",
        }[self.measure]
        what = "cosine" if self.measure == "cosine" else "distance"
        return (
            f"{self.bands:,} bands of {self.rows} {functions}. A pair of {what} {self.threshold:g} is found with "
            f"probability {percent(self.recall)} (wanted: {percent(self.wanted_recall)}), nearer ones more likely."
        )


def collision(measure: str, values: Float64, width: float, bits: int) -> Float64:
    """How likely one hash function puts pairs of these cosines or distances in one bucket."""
    if measure == "cosine":
        return hyperplane_collision(angle_of(np.clip(values, -1.0, 1.0)))
    return line_collision(values, width) if measure == "euclidean" else bit_collision(values, bits)


@dataclass(frozen=True, slots=True)
class Look:
    """What the first vectors tell about all."""

    kind: VectorKind
    items: int
    values: Float64
    """Cosines or distances of random pairs of them that do not reach the threshold: these grow with the square."""


def vectors_of(sources: list[Source], column: str, measure: Measure) -> VectorKind | None:
    """What kind of vectors the items are; None if they are sets."""
    if measure.name not in ("cosine", "euclidean", "hamming"):
        return None
    kinds = []
    for source in sources[:KINDS_ASKED]:
        for block in source.blocks():
            features = block.items(Wanted(column, (), True)).features
            meant = measure.of_vectors or getattr(source, "holds_vectors", False) or is_numbers(features)
            if not meant:
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
        # nothing but nulls: whatever they are, they are similar to nothing
        return VectorKind(64, "bits" if measure.name == "hamming" else "float32") if measure.of_vectors else None
    widest = "float64" if any(kind.scalar == "float64" for kind in kinds) else kinds[0].scalar
    return replace(kinds[0], scalar=widest)


def for_vectors(settings: Settings, kind: VectorKind) -> Settings:
    """Settings of a job on vectors; the method is still to be chosen."""
    if settings.matching.method == "merge":
        raise UsageError(
            f"--method merge is for sets; for {settings.matching.measure.name} of vectors choose auto, lsh or brute"
        )
    if settings.matching.length_ratio:
        raise UsageError("--length-ratio is about sets: vectors all have the same length; leave it out")
    measure = replace(settings.matching.measure, of_vectors=True)
    return replace(settings, items=replace(settings.items, vectors=kind)).with_matching(measure=measure, plan=None)


def look(sources: list[Source], settings: Settings, kind: VectorKind) -> Look:
    """The first vectors in the order of the input, so that the choice is the same however files are split."""
    items, _ = count_items(sources)
    parts = list(_first_rows(sources, settings, kind))
    parts.append(np.empty((0, _columns(kind)), "uint64" if kind.scalar == "bits" else kind.scalar))
    rows = np.concatenate(parts)
    draw = np.random.default_rng(settings.matching.seed)
    left, right = draw.integers(0, max(1, len(rows)), (2, SAMPLED_PAIRS))
    different = (left != right) & (len(rows) > 1)
    values = _values(rows, left[different], right[different], settings.matching.measure, kind)
    return Look(kind, items, values[~settings.matching.measure.reached_by(values)])


def _first_rows(sources: list[Source], settings: Settings, kind: VectorKind) -> Iterator[Any]:
    left = SAMPLE
    for source in sources:
        for block in source.blocks():
            features = block.items(Wanted(settings.items.column, (), True)).features[:left]
            try:
                rows, _ = rows_of(features, kind)
            except VectorError:
                continue  # said when it is read
            yield rows[rows.any(axis=1)]
            left -= len(features)
            if left <= 0:
                break
        source.rejected_rows.clear()
        if left <= 0:
            return


def _columns(kind: VectorKind) -> int:
    return kind.words if kind.scalar == "bits" else kind.dimension


def _values(rows: Any, left: Any, right: Any, measure: Measure, kind: VectorKind) -> Float64:
    scalar = "uint64" if kind.scalar == "bits" else kind.scalar
    sets = words_of(rows.astype(scalar), np.ones(len(rows), bool), kind)
    given = kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)
    values = np.empty(len(left))
    if kind.scalar == "bits":
        bit_distances_of(left, right, *given, values)
    else:
        values_of(measure.arguments[0], left, right, *given, values)
    return values


def plan_vectors(seen: Look, settings: Settings) -> tuple[VectorPlan, float]:
    """The cheapest plan that has the recall, and the nanoseconds that it is expected to take."""
    best: tuple[float, VectorPlan] | None = None
    for width in _widths(settings.matching.measure):
        chances = collision(settings.matching.measure.name, seen.values, width, seen.kind.dimension)
        for plan in _plans(seen.kind, settings, width):
            meetings = plan.bands * float(np.mean(chances**plan.rows)) if len(chances) else 0.0
            cost = _lsh_cost(seen, plan, meetings)
            if best is None or cost < best[0]:
                best = cost, plan
    if best is None:
        raise UsageError(
            f"{settings.matching.hashes} hashes cannot find pairs at {settings.matching.measure.name} "
            f"{settings.matching.measure.written} with "
            f"recall {settings.matching.recall:g}: give more with --hashes, lower the recall, or use --method brute"
        )
    return best[1], best[0]


def _widths(measure: Measure) -> list[float]:
    """Widths of buckets on lines to be tried; only where there are lines do they matter."""
    threshold = float(measure.threshold)
    return [factor * threshold if threshold else 1.0 for factor in WIDTHS] if measure.name == "euclidean" else [0.0]


def _plans(kind: VectorKind, settings: Settings, width: float) -> Iterator[VectorPlan]:
    """For each number of rows the fewest bands that have the recall."""
    measure, recall = settings.matching.measure, settings.matching.recall
    threshold = float(measure.threshold)
    most = settings.matching.hashes * (BITS_PER_HASH // 8 if measure.name == "euclidean" else BITS_PER_HASH)
    if measure.name == "hamming" and threshold >= kind.dimension:
        chance = 1.0
    else:
        chance = float(collision(measure.name, np.array([threshold]), width, kind.dimension)[0])
    for rows in range(1, MOST_ROWS + 1):
        bands = _bands_needed(chance**rows, recall)
        if bands is None or bands * rows > most or bands > MOST_BANDS:
            return
        found = 1 - (1 - chance**rows) ** bands
        bits = kind.dimension if measure.name == "hamming" else 0
        yield VectorPlan(measure.name, threshold, recall, settings.matching.hashes, bands, rows, found, bits, width)


def _bands_needed(chance: float, recall: float) -> int | None:
    if chance >= 1:
        return 1
    if chance <= 1e-9:
        return None
    return max(1, math.ceil(math.log1p(-recall) / math.log1p(-chance) - 1e-12))


def _lsh_cost(seen: Look, plan: VectorPlan, false: float) -> float:
    numbers = seen.kind.words if plan.measure == "hamming" else seen.kind.dimension
    hashing = plan.used_hashes * PROJECT[plan.measure] * (1 if plan.measure == "hamming" else seen.kind.dimension)
    compared = seen.items * (seen.items - 1) / 2 * false * (COMPARE + COMPARE_NUMBER * numbers)
    return seen.items * (hashing + plan.bands * BAND) + compared


def brute_cost(seen: Look, measure: str) -> float:
    """Nanoseconds that comparing all with all is expected to take."""
    pairs = seen.items * (seen.items - 1) / 2
    return pairs * (seen.kind.words * BIT_COMPARE if measure == "hamming" else seen.kind.dimension * MULTIPLY + 1.0)
