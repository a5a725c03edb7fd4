"""Compare candidate pairs in every field, and turn their agreement into scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lookalike.engine.run import Run
from lookalike.kernels.scoring import add_frequencies, look_up_scores
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.compare.custom import CustomComparer
from lookalike.linkage.compare.levels import LEVELS, Comparer, spans_of
from lookalike.linkage.compare.swapped_names import insert_exchanged, name_exchanged
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.resume import LinkPieces
from lookalike.linkage.scoring.calibration import Calibration
from lookalike.linkage.scoring.chance_equal import leave_out_matches
from lookalike.linkage.scoring.frequency import adjust_by_frequency, frequency_beyond
from lookalike.linkage.scoring.labels import Labels, patterns_of_labels
from lookalike.linkage.scoring.patterns import Patterns, patterns_of
from lookalike.linkage.scoring.points import EACH, Points, deduct
from lookalike.linkage.scoring.weights import Weights, fit_weights
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Bool, Float64, Int8, Int32, Int64, Mapper, Span

SURE = 0.999
"""Pairs with a higher probability than this count as certain matches."""
MOST_SURE = 2000
"""As many pairs of records made of words count as certain matches at most."""

RANDOM_PAIRS = 1_000_000
"""Random pairs, on which agreement by chance is measured. All pairs of small tables count as this many."""
RANDOM_VALUES = 20 * RANDOM_PAIRS
"""The most values of random pairs that are compared: with more than 20 fields, fewer pairs are drawn."""

Pairs = tuple[Int32, Int32]


class Agreement(NamedTuple):
    """How well pairs agree in each field."""

    levels: Int8
    """int8[pairs, fields] of the candidate pairs; the levels of one field are contiguous in memory."""
    random: Int8
    """The same for random pairs."""
    level_names: list[tuple[str, ...]]
    """For each field, the names of its levels, from level 1."""
    exchanged: tuple[tuple[int, int], ...] = ()
    """Fields whose values may be exchanged: the field that has a level for it, and the other."""


class Scores(NamedTuple):
    """The score of each candidate pair, and the weights or points that it consists of."""

    scoring: Weights | Points | WordWeights
    score: Float64
    probability: Float64 | None
    """According to the model; None with points."""
    calibration: Calibration | None = None
    """How probabilities follow from scores, if labels changed that."""
    labelled: int = 0
    """The number of labelled pairs that probabilities were calibrated on."""

    @property
    def even(self) -> float:
        """The score at which a match is as likely as a non-match."""
        return self.score_of(0.5)

    def score_of(self, probability: float) -> float:
        """The score at which a pair is a match with this probability.

        Examples
        --------
        >>> nothing = np.empty(0)
        >>> Scores(deduct([2]), nothing, nothing).score_of(0.75), Scores(deduct([2]), nothing, nothing).even
        (1.584..., 0.0)
        """
        bits = math.log2(probability / (1 - probability))
        return bits if self.calibration is None else self.calibration.score_of(bits)

    def probability_of(self, score: Float64) -> Float64:
        """The probability that pairs of these scores are matches."""
        return (Calibration(1.0, 0.0) if self.calibration is None else self.calibration).probability(score)

    def sure(self) -> Bool:
        """Which pairs count as certain matches: by their probability; with points, those equal in every field.

        Probabilities of records made of words stay away from 1: the highest scores count, a tenth of the expected
        matches.
        """
        if isinstance(self.scoring, Points):
            return np.asarray(self.score >= self.scoring.total)
        assert self.probability is not None
        if isinstance(self.scoring, WordWeights):
            wanted = min(int(self.scoring.expected / 10), MOST_SURE, len(self.score))
            least = -np.partition(-self.score, wanted - 1)[wanted - 1] if wanted else np.inf
            return np.asarray(self.score >= least)
        return np.asarray(self.probability > SURE)


def compare_pairs(
    columns: Sequence[Column],
    pairs: Pairs,
    random: Pairs,
    run: Run[LinkSettings],
    known: Sequence[tuple[int, int]] | None = None,
) -> Agreement:
    """Compare pairs and random pairs in every field. Comparisons of a killed run are reused.

    `known` are the fields whose values may be exchanged; without it, they are detected from the pairs.
    """
    pieces, each, custom = LinkPieces(run.work), run.workers.map, run.settings.custom
    found, chance = (np.empty((len(columns), len(left)), np.int8) for left, _ in (pairs, random))
    names = []
    for place, column in enumerate(columns):
        comparer = comparer_of(column, run.settings)
        names.append(comparer.levels)
        chance[place] = comparer.compare(*random, each)
        pieces.levels(place, found[place], partial(_compare_some, comparer, pairs, found[place], each))
    # Names that are compared in another way have no level for exchanged ones.
    usual = [replace(column, kind="text") if column.name in custom else column for column in columns]
    swapped = insert_exchanged(usual, (pairs, random), (found, chance), each, known=known)
    for place, name in name_exchanged(columns, swapped).items():
        equal, *others = names[place]
        names[place] = (equal, name, *others)
    return Agreement(found.T, chance.T, names, tuple(swapped))


def comparer_of(column: Column, settings: LinkSettings) -> Comparer | CustomComparer:
    """What compares pairs in this field."""
    if column.name in settings.custom:
        return CustomComparer(column, settings.custom[column.name])
    nicknames = settings.nicknames
    return Comparer(column, nicknames.words_of(column) if nicknames is not None and column.kind == "person" else None)


def _compare_some(comparer: Comparer | CustomComparer, pairs: Pairs, levels: Int8, each: Mapper, span: Span) -> None:
    """Compare the pairs of a span, and fill in their levels."""
    some = slice(*span)
    comparer.compare(pairs[0][some], pairs[1][some], each, levels[some])


def score_pairs(
    columns: Sequence[Column],
    pairs: CandidatePairs,
    agreement: Agreement,
    all_pairs: int,
    run: Run[LinkSettings],
    labels: Labels | None = None,
    *,
    split: int | None = None,
    clean: bool = True,
) -> Scores:
    """The weight or points of each level of agreement, and the score and probability of each candidate pair.

    `split` is where the right table starts; None for one table. Random pairs that must be matches are left out, if they
    are to be `clean`.
    """
    sizes, each = [len(names) for names in agreement.level_names], run.workers.map
    if run.settings.scoring == "points":
        custom = run.settings.custom
        points = deduct(
            sizes,
            deductions=[
                None if column.name in custom else _deductions(size, column.kind)
                for size, column in zip(sizes, columns)
            ],
        )
        return score_by_points(points, agreement, each)
    patterns = patterns_of(agreement.levels)
    # Without random pairs nothing could be scored; a pair that differs in everything represents chance.
    random = agreement.random if len(agreement.random) else np.array([sizes], np.int8)
    chance = patterns_of(random)
    if len(random) == all_pairs:  # small tables: how often levels occur is known exactly
        chance = chance._replace(counts=chance.counts * max(1, RANDOM_PAIRS // all_pairs))
    chances = leave_out_matches(chance, patterns, columns, split, run.settings.custom) if clean else chance.counts
    fields = [column.name for column in columns]
    known = None
    if labels is not None:
        places = labels.places(pairs.left, pairs.right)
        known = patterns_of_labels(labels, places, patterns.of_pair, len(patterns.levels))
    weights = fit_weights(
        patterns.levels, patterns.counts, chance.levels, chances, sizes, float(max(all_pairs, 1)), fields,
        labelled=known,
    )  # fmt: skip
    return score_by_weights(weights, columns, pairs, agreement, each, patterns)


def score_by_points(points: Points, agreement: Agreement, each: Mapper) -> Scores:
    """The points of each candidate pair."""
    patterns, score = patterns_of(agreement.levels), np.empty(len(agreement.levels), np.float64)
    _look_up(points.score(patterns.levels), patterns, score, each)
    return Scores(points, score, None)


def score_by_weights(
    weights: Weights,
    columns: Sequence[Column],
    pairs: CandidatePairs,
    agreement: Agreement,
    each: Mapper,
    patterns: Patterns | None = None,
) -> Scores:
    """The score and probability of each candidate pair by these weights; patterns are computed if not given."""
    patterns = patterns_of(agreement.levels) if patterns is None else patterns
    score = np.empty(len(agreement.levels), np.float64)
    _look_up(weights.score(patterns.levels) + weights.prior_bits, patterns, score, each)
    weights = replace(weights, own_shares=_own_shares(columns, pairs, agreement.levels, weights, score))
    _add_frequencies(columns, weights, pairs, agreement.levels, score, each)
    return Scores(weights, score, _probabilities(weights, score, each))


def _probabilities(weights: Weights, score: Float64, each: Mapper) -> Float64:
    probability = np.empty_like(score)

    def fill(span: Span) -> None:
        probability[slice(*span)] = weights.probability_of(score[slice(*span)] - weights.prior_bits)

    list(each(fill, spans_of(len(score))))
    return probability


def _deductions(size: int, kind: str) -> list[float] | None:
    """Deductions by level: optional levels (which follow level 1) divide the step from level 1 to the next."""
    usual = len(LEVELS[kind])
    between = size - usual
    if not between:
        return None
    steps = [place / (between + 1) for place in range(between + 1)] + list(range(1, usual))
    return [EACH * step / (usual - 1) for step in steps]


def _look_up(table: Float64, patterns: Patterns, score: Float64, each: Mapper) -> None:
    list(each(lambda span: look_up_scores(patterns.of_pair, table, *span, score), spans_of(len(score))))


def _add_frequencies(
    columns: Sequence[Column], weights: Weights, pairs: CandidatePairs, levels: Int8, score: Float64, each: Mapper
) -> None:
    """Adjust each score for how common the shared values are."""
    nothing = np.empty(0, np.int8)
    for place, (column, parent) in enumerate(zip(columns, weights.others.parent)):
        often, equal = _frequencies_of_values(column, weights, place), float(weights.others.own(place)[0])
        table = adjust_by_frequency(np.ones(len(often), np.int8), often, equal)
        given = levels[:, place], nothing if parent < 0 else levels[:, parent], column.codes, pairs.left, table
        list(each(partial(_add_span, given, score), spans_of(len(score))))


def _add_span(given: tuple[Any, ...], score: Float64, span: Span) -> None:
    add_frequencies(*given, *span, score)


def _frequencies_of_values(column: Column, weights: Weights, place: int) -> Float64:
    """The probability that another record has each value of a field, estimated from the records outside a pair."""
    others = (column.counts().astype(np.float64) - 2) * (1 - weights.own_shares.get(place, 0.0))
    records = len(column) if column.apart is None else int(np.count_nonzero(~column.apart))
    return frequency_beyond(others, max(1, records), float(weights.others.own(place)[0]))


def _own_shares(
    columns: Sequence[Column], pairs: CandidatePairs, levels: Int8, weights: Weights, score: Float64
) -> dict[int, Float64]:
    """For each text value, the share of matches among the pairs that share it: matches do not make a value common.

    A text of several words recurs because its entity does: the title of a paper with twenty records is not a common
    title. A name recurs because many people have it.
    """
    found = {}
    for place, column in enumerate(columns):
        if column.kind == "text":
            equal = np.flatnonzero(levels[:, place] == 1)
            values = column.codes[pairs.left[equal]]
            likely = weights.probability_of(score[equal] - weights.prior_bits)
            matches = np.bincount(values, likely, minlength=len(column.values))
            found[place] = matches / np.maximum(np.bincount(values, minlength=len(column.values)), 1)
    return found


def frequencies(columns: Sequence[Column], weights: Weights, records: Int32 | Int64) -> Float64:
    """The probability that another record has each record's value: float64[records, fields]; NaN if it has none."""
    shares = [
        np.append(_frequencies_of_values(column, weights, place), np.nan)[column.codes[records]]
        for place, column in enumerate(columns)
    ]
    return np.stack(shares, axis=1)
