"""Logistic regression with bounds, by Newton's method: it takes a dozen steps, a general minimiser a hundred."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.scoring import sum_products, weigh_rows
from lookalike.types import Bool, Float32, Float64

STEPS = 100
CLOSE = 1e-7
"""The fit ends when a step lowers the loss by less than this share."""
SUFFICIENT = 1e-4
"""The least share of the predicted descent that a step must achieve."""
SHORTEST = 1e-10


class Pull(NamedTuple):
    """Holds values near a centre: the loss grows by stiffness / 2 times the square of the distance."""

    centre: Float64
    stiffness: Float64


def score_rows(measured: Float32 | Float64, weights: Float64, start: float = 0.0) -> Float64:
    """The weighted sum of each row plus `start`: the score of a pair by its features.

    Examples
    --------
    >>> score_rows(np.array([[1, 0.5]], np.float32), np.array([2.0, 4.0]), -1.0).tolist()
    [3.0]
    """
    scores = np.empty(len(measured))
    weigh_rows(np.ascontiguousarray(measured), np.asarray(weights, np.float64), start, scores)
    return scores


def fit_logistic(
    table: Float64, aim: Float64, belief: Float64, low: Float64, high: Float64, pull: Pull, start: Float64 | None = None
) -> Float64:
    """The values within the bounds for which 1 / (1 + e^-(table @ values)) is nearest to the aim, by log-loss.

    Parameters
    ----------
    table
        float64[examples, values].
    aim
        The probability of each example.
    belief
        The weight of each example.
    low, high
        The bounds of each value.
    pull
        The stiffness must be positive in every direction that the examples do not determine.
    start
        The initial values; by default 0, or the bound nearest to it.

    Examples
    --------
    >>> table = np.c_[np.ones(4), [0.0, 1.0, 2.0, 3.0]]
    >>> limits, pull = np.array([np.inf, 1.5]), Pull(np.zeros(2), np.full(2, 1e-6))
    >>> found = fit_logistic(table, np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), -limits, limits, pull)
    >>> found.round(2).tolist()
    [-2.25, 1.5]
    """

    def loss(values: Float64) -> tuple[float, Float64]:
        score = score_rows(table, values)
        off = values - pull.centre
        losses = belief * (np.logaddexp(0, score) - aim * score)
        total = losses.sum() + (pull.stiffness * off**2).sum() / 2
        return float(total), score

    table = np.ascontiguousarray(table, np.float64)
    values = np.clip(np.zeros(table.shape[1]) if start is None else start, low, high)
    now, score = loss(values)
    for _ in range(STEPS):
        slope, step = _newton(table, aim, belief, pull, values, score, low, high)
        length = 1.0
        while length > SHORTEST:
            tried = np.clip(values - length * step, low, high)
            then, score_then = loss(tried)
            if then <= now - SUFFICIENT * float(slope @ (values - tried)):
                break
            length /= 2
        else:
            break
        gained, values, now, score = now - then, tried, then, score_then
        if gained <= CLOSE * abs(now):
            break
    return values


def _newton(
    table: Float64, aim: Float64, belief: Float64, pull: Pull, values: Float64, score: Float64, low: Float64,
    high: Float64,
) -> tuple[Float64, Float64]:  # fmt: skip
    """The gradient of the loss, and the step to subtract; values held at a bound follow the gradient alone."""
    share = 1 / (1 + np.exp(-np.clip(score, -500, 500)))
    slope, bend = np.zeros(len(values)), np.zeros((len(values), len(values)))
    sum_products(table, belief * (share - aim), belief * share * (1 - share), slope, bend)
    slope += pull.stiffness * (values - pull.centre)
    bend[np.diag_indices_from(bend)] += pull.stiffness
    held: Bool = ((values <= low) & (slope > 0)) | ((values >= high) & (slope < 0))
    step, free = np.where(held, slope, 0.0), np.flatnonzero(~held)
    step[free] = np.linalg.lstsq(bend[np.ix_(free, free)], slope[free], rcond=None)[0]
    return slope, step
