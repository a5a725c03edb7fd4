"""Refines scores with labelled pairs: the weights, and the probabilities that follow from scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lookalike.engine.run import Run
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.scoring.calibration import calibrate
from lookalike.linkage.scoring.labels import Labels
from lookalike.linkage.scoring.logistic import Pull, fit_logistic, score_rows
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.score import Agreement, Scores
from lookalike.linkage.scoring.words import LN2, WordWeights, bounds_of, partner_bits
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Bool, Float32, Float64, Int64

STIFF = 4.0
"""How strongly weights are held at the values learned without labels; the label of a doubtful pair counts a quarter."""
ENOUGH = 3
"""With fewer matches or fewer non-matches among the labels, nothing is refined."""


def has_enough(labels: Labels, places: Int64) -> bool:
    """Whether there are enough labelled candidates to refine scores."""
    known = labels.match[places >= 0]
    return int(known.sum()) >= ENOUGH and int((~known).sum()) >= ENOUGH


def refine_scores(
    scores: Scores, pairs: CandidatePairs, agreement: Agreement, labels: Labels, run: Run[LinkSettings]
) -> Scores:
    """Adjust the weights to the labels (for records made of words only), and calibrate the probabilities.

    Points have no probability and remain unchanged.
    """
    places = labels.places(pairs.left, pairs.right)
    if isinstance(scores.scoring, Points) or not has_enough(labels, places):
        return scores
    known = places >= 0
    some, match = places[known], labels.match[known]
    weight = labels.weight[known] / labels.weight[known].mean()
    if isinstance(scores.scoring, WordWeights):
        scores = _refine_words(scores.scoring, pairs, agreement, some, match, run)
    calibration = calibrate(scores.score[some], match, weight)
    return scores._replace(probability=calibration.probability(scores.score), calibration=calibration)


def _refine_words(
    made: WordWeights,
    pairs: CandidatePairs,
    agreement: Agreement,
    some: Int64,
    match: Bool,
    run: Run[LinkSettings],
) -> Scores:
    each = run.workers.map
    measured = made.evidence.measure(pairs.left, pairs.right, agreement.levels, each)
    helps = [one.helps for one in made.features]
    weights, prior = move_weights(measured[some], match, made.weights, made.prior_bits, helps)
    score = score_rows(measured, weights, prior)
    records, common = int(pairs.right.max()) + 1, made.evidence.in_common(measured)
    score += partner_bits(pairs.left, pairs.right, score, records, made.single, common)
    moved = replace(made, weights=weights, prior_bits=prior, doubts=())
    with np.errstate(over="ignore"):
        return Scores(moved, score, 1 / (1 + np.exp2(-score)))


def move_weights(
    measured: Float32, match: Bool, weights: Float64, prior: float, helps: list[bool]
) -> tuple[Float64, float]:
    """Move weights and prior towards values that make the labels likelier; no weight gets the wrong sign.

    Examples
    --------
    The second number, which had no weight, separates matches from non-matches:

    >>> measured = np.array([[1, 1], [1, 0]] * 50, np.float32)
    >>> moved, prior = move_weights(measured, np.arange(100) % 2 == 0, np.array([4.0, 0.0]), -2.0, [True, True])
    >>> bool(moved[1] > 2), bool(moved[0] + prior < 0)
    (True, True)
    """
    table, start = LN2 * np.c_[np.ones(len(match)), measured.astype(np.float64)], np.append(prior, weights)
    spread = np.maximum(np.abs(start), 1.0)  # a heavy weight may move further
    pull = Pull(start, STIFF / spread**2)
    found = fit_logistic(table, match.astype(np.float64), np.ones(len(match)), *bounds_of(helps), pull, start)
    return found[1:], float(found[0])
