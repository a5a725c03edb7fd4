"""Confidence intervals of a measured share: Wilson intervals, also for draws in groups."""

from __future__ import annotations

import math

import numpy as np

from lookalike.types import Int64

SURE = 1.959963984540054
"""Standard deviations on each side that cover 95% of a normal distribution."""


def wilson_interval(found: float, draws: float, deviations: float = SURE) -> tuple[float, float]:
    """The 95% interval of a share if `found` of `draws` independent draws were found.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson_interval(99, 100)]
    [0.9455, 0.9982]
    >>> wilson_interval(0, 0)
    (0.0, 1.0)
    """
    if draws <= 0:
        return 0.0, 1.0
    share, squared = found / draws, deviations**2
    centre = (share + squared / (2 * draws)) / (1 + squared / draws)
    half = deviations / (1 + squared / draws) * math.sqrt(share * (1 - share) / draws + squared / (4 * draws**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def grouped_interval(found: Int64, draws: Int64) -> tuple[float, float]:
    """The 95% interval of a share if draws come in groups: in group g, found[g] of draws[g] were found.

    Draws of one group tend to be found or missed together, so they are worth fewer independent draws. The variance
    between groups gives this effective number, and the interval is computed for it. With few groups, or a few large
    ones, that variance is uncertain: Student's quantile replaces the normal one.

    Examples
    --------
    >>> alike = grouped_interval(np.array([9] * 20), np.array([10] * 20))
    >>> apart = grouped_interval(np.array([10] * 18 + [0] * 2), np.array([10] * 20))
    >>> apart[0] < alike[0]
    True
    """
    total, groups = float(draws.sum()), int(np.count_nonzero(draws))
    if not groups:
        return 0.0, 1.0
    share = float(found.sum()) / total
    plain = share * (1 - share) / total
    if groups < 2 or plain == 0:
        return wilson_interval(share * groups, groups)
    residuals = found - share * draws
    between = float((residuals**2).sum()) / total**2 * groups / (groups - 1)
    effect = max(1.0, between / plain)
    freedom = max(1.0, total**2 / float((draws.astype(np.float64) ** 2).sum()) - 1)
    return wilson_interval(share * total / effect, total / effect, student_quantile(freedom))


def student_quantile(freedom: float) -> float:
    """The approximate 97.5% quantile of Student's distribution (an expansion around the normal one).

    Examples
    --------
    >>> [round(student_quantile(n), 2) for n in (5, 10, 30, 1000)]
    [2.55, 2.23, 2.04, 1.96]
    """
    z = SURE
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
