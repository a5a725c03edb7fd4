"""Candidate pairs of records are compared in every field, and what they agree in is made a score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from lookalike.engine.workers import Workers
from lookalike.kernels.scoring import add_frequencies, look_up_scores
from lookalike.linkage.blocking.find import Blocked
from lookalike.linkage.compare.levels import LEVELS, Comparer, spans_of
from lookalike.linkage.compare.swapped_names import insert_exchanged
from lookalike.linkage.fields.nicknames import Nicknames
from lookalike.linkage.resume import LinkPieces
from lookalike.linkage.scoring.pattern_counts import Patterns, patterns_of
from lookalike.linkage.scoring.points import EACH, Points, deduct
from lookalike.linkage.scoring.weights import Weights, adjust_by_frequency, fit_weights, frequency_beyond
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Column, Float64, Int8, Int32, Int64, Mapper, Span

Pairs = tuple[Int32, Int32]


def compare_pairs(
    columns: Sequence[Column],
    pairs: Pairs,
    random: Pairs,
    each: Mapper,
    pieces: LinkPieces,
    nicknames: Nicknames | None = None,
) -> tuple[Int8, Int8, list[tuple[str, ...]]]:
    """Agreement in every field of pairs, and of random pairs: int8[pairs, fields], each field's side by side.

    And for each field the names of its levels, from level 1. What a killed run has compared already is taken from its
    pieces.
    """
    found, chance = (np.empty((len(columns), len(left)), np.int8) for left, _ in (pairs, random))
    names = []
    for place, column in enumerate(columns):
        words = nicknames.words_of(column) if nicknames is not None and column.kind == "person" else None
        comparer = Comparer(column, words)
        names.append(comparer.levels)
        comparer.compare(random[0], random[1], each, chance[place])
        pieces.levels(place, found[place], partial(comparer.compare, pairs[0], pairs[1], each, found[place]))
    for place, name in insert_exchanged(columns, (pairs, random), (found, chance), each).items():
        equal, *others = names[place]
        names[place] = (equal, name, *others)
    return found.T, chance.T, names


def score_pairs(
    columns: list[Column],
    names: list[tuple[str, ...]],
    blocked: Blocked,
    levels: Int8,
    random: Int8,
    all_pairs: int,
    settings: LinkSettings,
    workers: Workers,
) -> tuple[Weights | Points, Float64, Float64 | None]:
    """What each agreement is worth, the score of each candidate pair, and its probability (None by points).

    `names` are those of the levels of each field.
    """
    sizes = [len(own) for own in names]
    patterns = patterns_of(levels)
    score = np.empty(len(levels), np.float64)
    if settings.scoring == "points":
        points = deduct(sizes, deductions=[_deductions(size, column.kind) for size, column in zip(sizes, columns)])
        _look_up(points.score(patterns.levels), patterns, score, workers.map)
        return points, score, None
    if not len(random):  # nothing will be scored; a pair that differs in everything stands for chance
        random = np.array([sizes], np.int8)
    chance, chances, _ = patterns_of(random)
    fields = [column.name for column in columns]
    weights = fit_weights(patterns.levels, patterns.counts, chance, chances, sizes, float(max(all_pairs, 1)), fields)
    _look_up(weights.score(patterns.levels) + weights.prior_bits, patterns, score, workers.map)
    _add_frequencies(columns, weights, blocked, levels, score, workers.map)
    probability = np.empty_like(score)

    def fill(span: Span) -> None:
        probability[slice(*span)] = weights.probability_of(score[slice(*span)] - weights.prior_bits)

    list(workers.map(fill, spans_of(len(score))))
    return weights, score, probability


def _deductions(size: int, kind: str) -> list[float] | None:
    """Points taken off by level: levels of some data only, which follow equal, share the step to the next level."""
    usual = len(LEVELS[kind])
    between = size - usual
    if not between:
        return None
    steps = [place / (between + 1) for place in range(between + 1)] + list(range(1, usual))
    return [EACH * step / (usual - 1) for step in steps]


def _look_up(table: Float64, patterns: Patterns, score: Float64, each: Mapper) -> None:
    list(each(lambda span: look_up_scores(patterns.of_pair, table, *span, score), spans_of(len(score))))


def _add_frequencies(
    columns: list[Column], weights: Weights, blocked: Blocked, levels: Int8, score: Float64, each: Mapper
) -> None:
    """Add to each score what the frequency of the values agreed on weighs."""
    nothing = np.empty(0, np.int8)
    for place, (column, parent) in enumerate(zip(columns, weights.others.parent)):
        often, equal = _frequencies_of_values(column, weights, place), float(weights.others.own(place)[0])
        table = adjust_by_frequency(np.ones(len(often), np.int8), often, equal)
        given = levels[:, place], nothing if parent < 0 else levels[:, parent], column.codes, blocked.left, table
        list(each(partial(_add_span, given, score), spans_of(len(score))))


def _add_span(given: tuple[Any, ...], score: Float64, span: Span) -> None:
    add_frequencies(*given, *span, score)


def _frequencies_of_values(column: Column, weights: Weights, place: int) -> Float64:
    """How likely another record has each value of a field: the records beyond the two of a pair tell."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    return frequency_beyond(counts.astype(np.float64) - 2, max(1, len(column)), float(weights.others.own(place)[0]))


def frequencies(columns: list[Column], weights: Weights, records: Int32 | Int64) -> Float64:
    """How likely another record has each record's value, by field; NaN where it has none: records x fields."""
    shares = [
        np.append(_frequencies_of_values(column, weights, place), np.nan)[column.codes[records]]
        for place, column in enumerate(columns)
    ]
    return np.stack(shares, axis=1)
