"""Choose the pairs whose labels would help most: near the cut, from many agreement patterns, by their size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.linkage.linked import Linked
from lookalike.linkage.output import joined_ids
from lookalike.linkage.scoring.cut import LEAST_LIKELY
from lookalike.linkage.scoring.patterns import patterns_of
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.tables import RecordTable
from lookalike.read import join_column
from lookalike.types import Float64, Int64, to_arrow
from lookalike.types import compute as pc

CERTAIN = 0.2
"""The share of the pairs drawn uniformly from all links, however certain: they show whether the certainty is
justified."""
SPREAD = 25.0
"""A pair that would represent more than this many times as many pairs as the usual one is not drawn: a single label
would decide all figures, and no number of labels that a person can give would show how many matches there are."""
POINTS = 0.05
"""With points, a distance from the cut of this share of all points is as doubtful as one bit with weights."""


def review_pairs(found: Linked, left: RecordTable, right: RecordTable | None, count: int) -> pa.Table:
    """At most `count` candidate pairs to label: ids, an empty column match, weight, and the fields of both records.

    `weight` is the number of candidate pairs that a pair represents, so that figures weighted by it hold for all
    doubtful pairs and links (see `SPREAD`).
    """
    places, weight = draw_pairs(found, count)
    ends = found.candidates.left[places], found.candidates.right[places]
    ids = joined_ids(left, right)
    columns: dict[str, pa.Array] = {
        "left": pc.take(ids, to_arrow(ends[0])),
        "right": pc.take(ids, to_arrow(ends[1])),
        "match": pa.nulls(len(places), pa.int64()),
        "weight": to_arrow(weight.round(3)),
        "score": to_arrow(found.score[places].round(3)),
    }
    if found.probability is not None:
        columns["probability"] = to_arrow(found.probability[places].round(4))
    compared = {column.name for column in found.columns}
    for field in found.settings.fields:
        if field.name in compared:
            sides = [left.table.column(field.left)] + ([right.table.column(field.right)] if right else [])
            values = join_column([chunk for side in sides for chunk in side.chunks])
            for side, records in zip(("left", "right"), ends):
                columns[f"{field.name} {side}"] = pc.take(values, to_arrow(records)).combine_chunks()
    return pa.table(columns)


def draw_pairs(found: Linked, count: int) -> tuple[Int64, Float64]:
    """The positions of the pairs, best scores first, and how many pairs each represents.

    Systematic sampling: pairs are laid out on a line, each with a length proportional to its doubt, and drawn at equal
    steps. Pairs of one pattern are adjacent, so each pattern gets its share.
    """
    share = doubtful_share(_usefulness(found, count), count)
    patterns = patterns_of(found.levels).of_pair if len(share) else np.empty(0, np.int32)
    order = np.lexsort((found.score, patterns))
    ends = np.cumsum(share[order])
    first = np.random.default_rng(found.settings.seed).random()
    # Rounding must not lose the last step.
    steps = np.arange(first, (ends[-1] if len(ends) else 0.0) - 1e-9)
    places = order[np.minimum(np.searchsorted(ends, steps, side="right"), max(0, len(ends) - 1))]
    places = np.unique(places)
    places = places[np.argsort(-found.score[places], kind="stable")]
    return places, 1 / share[places]


def _usefulness(found: Linked, count: int) -> Float64:
    """How much the label of each candidate pair would help, relative to others."""
    likely = found.probability
    # The scale of scores by words is learned from the probabilities of best partners: if these are 0, it is unknown.
    if isinstance(found.scoring, WordWeights) and likely is not None and likely.max(initial=0.0) < LEAST_LIKELY:
        return by_rank(found.score, count)
    if isinstance(found.scoring, Points):
        bits = (found.score - found.cut) / (POINTS * found.scoring.total)
    else:
        cut = found.cut if np.isfinite(found.cut) else float(found.score.max(initial=0.0))
        bits = found.score - cut
    doubt = _doubt(1 / (1 + np.exp2(-np.clip(bits, -500, 500))))
    if found.probability is not None:
        doubt = (doubt + _doubt(found.probability)) / 2
    links = found.chosen / max(1, found.chosen.sum())
    return np.asarray((1 - CERTAIN) * doubt / max(float(doubt.sum()), 1e-300) + CERTAIN * links)


def by_rank(score: Float64, count: int) -> Float64:
    """How useful the label of each pair is if nothing but the order of the scores means anything: best pairs first.

    Examples
    --------
    >>> by_rank(np.array([1.0, 3.0, 3.0, 2.0]), 1).round(2).tolist()
    [0.06, 1.0, 1.0, 0.11]
    """
    higher = len(score) - np.searchsorted(np.sort(score), score, side="right")
    return np.asarray((count / (count + higher)) ** 2)


def _doubt(probability: Float64) -> Float64:
    return np.asarray(probability * (1 - probability))


def doubtful_share(useful: Float64, count: int) -> Float64:
    """The probability that each pair is drawn; 0 if it would represent too many others (see `SPREAD`).

    Examples
    --------
    >>> hopeless = np.full(20_000, 1e-4)
    >>> share = doubtful_share(np.append(np.ones(100), hopeless), 60)
    >>> share[:100].sum().round(6), share[100:].sum()
    (np.float64(60.0), np.float64(0.0))
    """
    share = inclusion(useful, count)
    falling = -np.sort(-share)
    usual = falling[np.searchsorted(np.cumsum(falling), falling.sum() / 2)] if len(falling) else 0.0
    return inclusion(np.where(SPREAD * share >= usual, useful, 0.0), count)


def inclusion(useful: Float64, count: int) -> Float64:
    """The probability that each pair is drawn: proportional to its usefulness, at most 1, and `count` in total.

    Examples
    --------
    >>> inclusion(np.array([8.0, 1.0, 1.0]), 2).tolist(), inclusion(np.ones(2), 5).tolist()
    ([1.0, 0.5, 0.5], [1.0, 1.0])
    """
    share, left = np.zeros(len(useful)), useful > 0
    wanted = min(count, int(left.sum()))
    while left.any():
        rest = wanted - float(share[~left].sum())
        share[left] = rest * useful[left] / useful[left].sum()
        full = left & (share >= 1)
        if not full.any():
            break
        share[full] = 1.0
        left &= ~full
    return share
