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
from lookalike.linkage.scoring.words.distinct import DistinctPairs
from lookalike.linkage.scoring.words.leads import ChanceLeads
from lookalike.linkage.scoring.words.partner_bits import LEAST_DOUBT, partner_bits
from lookalike.linkage.scoring.words.weights import LN2, WordWeights, bounds_of, probability_of
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Bool, Float32, Float64, Int64

STIFF = 4.0
"""How strongly weights are held at the values learned without labels; the label of a doubtful pair counts a quarter."""
LEAST_USUAL = 0.01
"""Weights are never held as if the usual weight were smaller than this, in bits."""
ENOUGH = 3
"""With fewer matches or fewer non-matches among the labels, weights stay as they are."""
FEWEST = 2 * ENOUGH
"""With fewer labels, probabilities stay as they are, too."""


def can_calibrate(labels: Labels, places: Int64) -> bool:
    """Whether there are enough labelled candidates to calibrate probabilities.

    Matches alone are enough only if they were drawn: a list of known matches says nothing about other pairs.
    """
    known = labels.match[places >= 0]
    return len(known) >= FEWEST and (labels.drawn or not known.all())


def show_matches(labels: Labels, places: Int64) -> bool:
    """Whether labels show that there are matches, and how likely they are: no guess to the contrary is needed."""
    return can_calibrate(labels, places) and int(labels.match[places >= 0].sum()) >= ENOUGH


def can_move(match: Bool) -> bool:
    """Whether there are enough labels of both kinds to adjust weights."""
    return min(int(match.sum()), int((~match).sum())) >= ENOUGH


def refine_scores(
    scores: Scores, pairs: CandidatePairs, agreement: Agreement, labels: Labels, run: Run[LinkSettings],
    split: int | None = None,
) -> Scores:  # fmt: skip
    """Calibrate the probabilities on the labels; for records made of words, adjust and calibrate the weights.

    The right table starts at record `split`; None for one table. If nearly all labels are of one kind, weights are only
    calibrated. Points have no probability and remain unchanged.
    """
    places = labels.places(pairs.left, pairs.right)
    if isinstance(scores.scoring, Points) or not can_calibrate(labels, places):
        return scores
    known = places >= 0
    some, match = places[known], labels.match[known]
    if isinstance(scores.scoring, WordWeights):
        return _refine_words(scores.scoring, pairs, agreement, some, match, labels.weight[known], run, split)
    calibration = calibrate(scores.score[some], match, labels.weight[known])
    probability = calibration.probability(scores.score)
    return scores._replace(probability=probability, calibration=calibration, labelled=len(some))


def _refine_words(
    made: WordWeights,
    pairs: CandidatePairs,
    agreement: Agreement,
    some: Int64,
    match: Bool,
    weight: Float64,
    run: Run[LinkSettings],
    split: int | None,
) -> Scores:
    each = run.workers.map
    measured = made.evidence.measure(pairs.left, pairs.right, agreement.levels, each)
    weights, prior = made.weights, made.prior_bits
    if can_move(match):
        weights, prior = move_weights(measured[some], match, weights, prior, [one.helps for one in made.features])
    own = DistinctPairs.find(made.evidence.columns, pairs.left, pairs.right, split)
    distinct = measured[own.where]
    common, columns = made.evidence.in_common(distinct), own.take(made.evidence.columns)

    def score_pairs(weights: Float64, prior: float, leads: ChanceLeads) -> tuple[Float64, Float64]:
        score = score_rows(distinct, weights, prior)
        bits = partner_bits(
            own.left, own.right, score, len(own.kept), made.single, common, columns, made.equal, made.left_over, leads
        )
        return score[own.back], bits[own.back]

    score, bits = score_pairs(weights, prior, made.leads)
    # A better partner costs a pair a fixed number of bits, so such pairs say nothing about the scale of scores. A match
    # among them that represents many pairs would make all scores look meaningless.
    judged = bits[some] > -LEAST_DOUBT
    factor, shift = calibrate((score + bits)[some][judged], match[judged], weight[judged])
    moved = replace(
        made, weights=factor * weights, prior_bits=factor * prior + shift, doubts=(),
        leads=made.leads.rescale(factor, shift),
    )  # fmt: skip
    score, bits = score_pairs(moved.weights, moved.prior_bits, moved.leads)
    score += bits
    probability = probability_of(score)
    expected = float(probability[bits > -LEAST_DOUBT].sum())
    notes = made.notes if made.expected >= 1 else ()  # that there seem to be no matches is for the labels to say
    return Scores(replace(moved, expected=expected, notes=notes), score, probability, labelled=len(some))


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
    # A heavy weight may move further. If scores are uncertain, all weights are small, and a bit would be far too much.
    usual = min(1.0, float(np.sqrt((weights**2).mean())))
    spread = np.maximum(np.abs(start), np.append(1.0, np.full(len(weights), max(usual, LEAST_USUAL))))
    pull = Pull(start, STIFF / spread**2)
    found = fit_logistic(table, match.astype(np.float64), np.ones(len(match)), *bounds_of(helps), pull, start)
    return found[1:], float(found[0])
