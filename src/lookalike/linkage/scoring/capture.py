"""Capture-recapture: the total number of matches, estimated from what two independent searches found."""

from __future__ import annotations

import math

import numpy as np

from lookalike.tuning.intervals import SURE, wilson_interval
from lookalike.types import Float64, UInt8

TRACE = 1e-9
"""Expected numbers of matches below this count as none."""


def estimate_total(first: float, second: float, both: float) -> float:
    """Chapman's estimate of a total, from the numbers that two independent searches found, and that both found.

    (first + 1)(second + 1) / (both + 1) - 1: the share of the first search's finds that the second one finds as well is
    the share of all that it finds, because the two are independent. The ones keep it finite and nearly unbiased.

    Examples
    --------
    >>> estimate_total(90, 80, 72)  # 9/10 and 8/10 of 100
    99.97260273972603
    """
    return (first + 1) * (second + 1) / (both + 1) - 1


def estimate_recall(groups: UInt8, probability: Float64) -> tuple[float, float, float]:
    """The share of all true matches that are among the candidates, with a 95% confidence interval.

    Ideally, two groups of hashes search independently; matches that neither finds may still be found by the other
    hashes. The estimate is the number found, divided by Chapman's estimate of the total. For the interval, each group's
    own recall (the share of the other's matches that it finds) is taken at its lower and at its upper bound. That gives
    the mean number of matches missed by both; the number itself follows a Poisson distribution.

    If the groups find and miss the same matches (a record with errors in every field is hard for both), the estimate
    and its interval are too high; separate fields for each group are the best remedy without labels. If the groups have
    no match in common, nothing can be concluded, and the interval is 0 to 1.

    Parameters
    ----------
    groups : uint8[pairs]
        Bit 0: found by the first group, bit 1: found by the second.
    probability : float64[pairs]
        The probability that each is a match; numbers of matches are sums of these.

    Examples
    --------
    >>> groups = np.repeat(np.array([3, 1, 2], np.uint8), [720, 180, 80])
    >>> [round(float(share), 3) for share in estimate_recall(groups, np.ones(980))]
    [0.98, 0.96, 0.992]
    """
    neither, one, other, both = np.bincount(groups, probability, 4).tolist()
    first, second, found = one + both, other + both, neither + one + other + both
    if both < TRACE:
        return (1.0 if found else 0.0), 0.0, 1.0
    own = list(zip(wilson_interval(both, second), wilson_interval(both, first)))
    # The share that either group finds, at both bounds; kept above 0, so that the number missed stays finite.
    caught = [max(one + other - one * other, TRACE) for one, other in own]
    either = first + second - both
    misses = [either * (1 - one) * (1 - other) / share for (one, other), share in zip(own, caught)]
    fewest, most = (
        mean + SURE**2 / 2 + sign * SURE * math.sqrt(mean + SURE**2 / 4) - (found - either)
        for mean, sign in zip(reversed(misses), (-1, 1))
    )
    # Numbers of missed matches are whole.
    low, high = found / (found + max(0, math.ceil(most))), found / (found + max(0, math.floor(fewest)))
    recall = found / max(found, estimate_total(first, second, both))
    return recall, min(low, recall), max(high, recall)
