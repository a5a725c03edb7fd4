"""Scores pairs of records made of words: evidence, weights learned from best partners, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.engine.run import Run
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import chance_pairs
from lookalike.linkage.scoring.chance import Chance
from lookalike.linkage.scoring.evidence import Evidence
from lookalike.linkage.scoring.score import Agreement, Scores
from lookalike.linkage.scoring.weights import WeightsRow
from lookalike.linkage.scoring.words import WordWeights, learn_weights, partner_bits, scale_scores
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Float32, Float64

DOUBTFUL = 1.0
"""With fewer expected matches than this, nothing stands out from chance."""


def has_words(columns: Sequence[Column], two_tables: bool, settings: LinkSettings) -> bool:
    """Whether pairs are scored by this module: two tables, with a field of kind text."""
    return two_tables and settings.scoring == "weights" and any(column.kind == "text" for column in columns)


def score_words(
    columns: Sequence[Column],
    pairs: CandidatePairs,
    agreement: Agreement,
    sizes: tuple[int, int],
    run: Run[LinkSettings],
) -> Scores:
    """The weight of all that two records have in common, and the score and probability of each candidate pair."""
    each, evidence = run.workers.map, Evidence(columns, agreement.random)
    measured = evidence.measure(pairs.left, pairs.right, agreement.levels, each)
    chance = Chance(*chance_pairs(columns, evidence.texts, sizes[0], each), sizes)
    inside = evidence.measure(chance.left, chance.right, evidence.levels_of(chance.left, chance.right, each), each)
    found = learn_weights(pairs.left, pairs.right, measured, evidence.features, chance, inside)
    weights, start, mutual, likely, learned = found
    raw = measured @ weights + start
    factor, shift = scale_scores(raw[mutual], likely) if mutual.any() else (1.0, 0.0)
    score = factor * raw + shift
    if run.settings.one_to_one != "no":
        score += partner_bits(pairs.left, pairs.right, score, sum(sizes))
    with np.errstate(over="ignore"):
        probability = 1 / (1 + np.exp2(-score))
    expected = float(likely.sum())
    made = WordWeights(
        evidence, factor * weights, factor * start + shift, expected, learned, tuple(_notes(expected, learned))
    )
    made = replace(made, rows=tuple(_rows(made, measured, agreement, probability)))
    return Scores(made, score, probability)


def _notes(expected: float, learned: bool) -> list[str]:
    if expected < DOUBTFUL:
        return ["no pair stands out from what records of the same table have in common: the tables seem to share none"]
    if not learned:
        return [f"about {expected:.0f} matches: too few to learn weights from, so that similarities are summed"]
    return []


def _rows(made: WordWeights, measured: Float32, agreement: Agreement, probability: Float64) -> list[WeightsRow]:
    """How often each level of each field occurs among matches and among random pairs, and its mean weight."""
    rows, parts = [], made.by_field(measured)
    for field, names in enumerate(agreement.level_names):
        levels, size = agreement.levels[:, field], len(names) + 1
        seen = np.bincount(levels, probability, minlength=size)
        heavy = np.bincount(levels, probability * parts[:, field], minlength=size)
        others = np.bincount(agreement.random[:, field], minlength=size)
        for level in range(1, size):
            weight = float(heavy[level] / seen[level]) if seen[level] > 0 else 0.0
            often, seldom = (float(one[level] / max(1e-9, one[1:].sum())) for one in (seen, others))
            rows.append(WeightsRow(field, level, often, seldom, weight, -1, weight))
    return rows
