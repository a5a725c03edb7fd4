"""Capture and recapture: how many there are in all, from what two independent searches found."""

from __future__ import annotations

import math

import numpy as np

from lookalike.tuning.intervals import SURE, wilson_interval
from lookalike.types import Float64, UInt8

TRACE = 1e-9
"""So little of a match is none."""


def estimate_total(first: float, second: float, both: float) -> float:
    """Chapman's estimate of how many there are, where two searches found so many, and so many of them both did.

    (first + 1)(second + 1) / (both + 1) - 1: if the second search finds a share of what the first found, it finds that
    share of all, since the two know nothing of each other. The ones keep it finite and nearly unbiased.

    Examples
    --------
    >>> estimate_total(90, 80, 72)  # 9/10 and 8/10 of 100
    99.97260273972603
    """
    return (first + 1) * (second + 1) / (both + 1) - 1


def estimate_recall(groups: UInt8, probability: Float64) -> tuple[float, float, float]:
    """The share of all true matches that is among the candidates, and an interval that holds it in 95% of cases.

    Two groups of hashes search independently of each other, if all goes well; what neither of them finds may still be
    found by the remaining hashes. The estimate is what was found, by Chapman's estimate of all that there are. For the
    interval, both groups' own recall (the share of one's matches that the other finds, too) is taken at its lower and
    at its upper end; that gives how many both miss on average, and their number varies around that as Poisson's does.

    Groups that find and miss the same matches (a record with errors in every field is hard for both) make the estimate
    too high, interval and all; groups on fields of their own are the best that can be had without labels. Where the
    groups have no match in common nothing is known, and the interval is all of 0 to 1.

    Parameters
    ----------
    groups : uint8[pairs]
        Bit 0: found by the first group, bit 1: found by the second.
    probability : float64[pairs]
        How likely each is a match; a count of matches is a sum of these.

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
    # What either group finds, at both ends; not so little that as good as infinitely many are missed.
    caught = [max(one + other - one * other, TRACE) for one, other in own]
    either = first + second - both
    misses = [either * (1 - one) * (1 - other) / share for (one, other), share in zip(own, caught)]
    fewest, most = (
        mean + SURE**2 / 2 + sign * SURE * math.sqrt(mean + SURE**2 / 4) - (found - either)
        for mean, sign in zip(reversed(misses), (-1, 1))
    )
    # A match is missed or not: there are no parts of one.
    low, high = found / (found + max(0, math.ceil(most))), found / (found + max(0, math.floor(fewest)))
    recall = found / max(found, estimate_total(first, second, both))
    return recall, min(low, recall), max(high, recall)
