"""Calibrate probabilities on labelled pairs: a linear function of the score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.types import Bool, Float64

LN2 = float(np.log(2))
BELIEF = 4.0
"""The strength of the prior on the model's own probabilities: with few labels, little changes."""
SLOPES = (0.05, 20.0)


class Calibration(NamedTuple):
    """The log2 odds of a match are factor * score + shift."""

    factor: float
    shift: float

    def probability(self, score: Float64) -> Float64:
        """The probability that pairs of these scores are matches."""
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp2(-(self.factor * score + self.shift))), np.float64)

    def score_of(self, bits: float) -> float:
        """The score of pairs with these log2 odds.

        Examples
        --------
        >>> Calibration(2.0, -1.0).score_of(3.0)
        2.0
        """
        return (bits - self.shift) / self.factor


def calibrate(score: Float64, matches: Bool, weights: Float64) -> Calibration:
    """The most likely factor and shift given the labelled pairs (Platt 1999), with a prior at 1 and 0.

    Parameters
    ----------
    score
        The scores of the labelled pairs, in bits.
    matches
        Their labels.
    weights
        The relative weight of each.

    Examples
    --------
    Scores that are too sure of themselves are brought together:

    >>> draw = np.random.default_rng(1)
    >>> score = draw.uniform(-20, 20, 4000)
    >>> labels = draw.random(4000) < 1 / (1 + np.exp2(-0.25 * score))
    >>> found = calibrate(score, labels, np.ones(4000))
    >>> round(found.factor, 2), abs(found.shift) < 0.3
    (0.25, True)
    """
    from scipy.optimize import minimize

    weights = weights / weights.mean() if len(weights) else weights
    # Scores far from 0 are certain anyway, and must not decide the slope.
    x, aim = np.clip(np.asarray(score, np.float64), -60, 60), np.asarray(matches, np.float64)

    def loss(values: Float64) -> tuple[float, Float64]:
        factor, shift = float(np.exp(values[0])), float(values[1])
        bits = LN2 * (factor * x + shift)
        off = weights * (1 / (1 + np.exp(-bits)) - aim)
        total = float((weights * (np.logaddexp(0, bits) - aim * bits)).sum())
        total += BELIEF / 2 * float(values[0] ** 2) + BELIEF / 50 * shift**2
        by_factor = LN2 * factor * float((off * x).sum()) + BELIEF * values[0]
        slope = [by_factor, LN2 * float(off.sum()) + BELIEF / 25 * shift]
        return total, np.array(slope)

    low, high = np.log(SLOPES)
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(low, high), (-60, 60)]).x
    return Calibration(float(np.exp(found[0])), float(found[1]))
