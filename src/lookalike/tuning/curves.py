"""The S-curve of banding: the probability that two items of a given similarity become a candidate pair.

Two items are a candidate pair if their signatures agree in every row of at least one band. At similarity s that
happens with probability 1 - (1 - s^rows)^bands. Nothing here chooses bands and rows: see `plan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import overload

import numpy as np

from lookalike.errors import UsageError
from lookalike.tuning.collisions import quadrature
from lookalike.types import Float64, distinct

_LOG_HALF = math.log(0.5)
# Breakpoints of the integrals, as probabilities: between two of them the curve is smooth, however steep.
_LEVELS = np.concatenate([10.0 ** np.arange(-16, 0), np.arange(2, 10) / 10, 1 - 10.0 ** np.arange(-2, -16, -1)])


@overload
def probability(similarity: float, bands: int, rows: int) -> float: ...
@overload
def probability(similarity: Float64, bands: int, rows: int) -> Float64: ...
def probability(similarity: float | Float64, bands: int, rows: int) -> float | Float64:
    """The probability that a pair of this similarity is a candidate pair: 1 - (1 - s^rows)^bands.

    Parameters
    ----------
    similarity : float or float64 array
        From 0 to 1.
    bands, rows : int
        At least 1.

    Returns
    -------
    float or float64 array
        Of the same shape. The relative precision is close to that of a float down to the smallest values.

    Examples
    --------
    >>> round(probability(0.3, bands=20, rows=5), 4)
    0.0475
    >>> probability(np.array([0.2, 0.4, 0.6, 0.8]), bands=20, rows=5).round(4).tolist()
    [0.0064, 0.186, 0.8019, 0.9996]
    """
    chance = -np.expm1(bands * _log_band_missed(similarity, bands, rows))
    return chance if isinstance(similarity, np.ndarray) else float(chance)


@overload
def miss_probability(similarity: float, bands: int, rows: int) -> float: ...
@overload
def miss_probability(similarity: Float64, bands: int, rows: int) -> Float64: ...
def miss_probability(similarity: float | Float64, bands: int, rows: int) -> float | Float64:
    """The probability that a pair of this similarity is missed: (1 - s^rows)^bands, to full precision near 0.

    Examples
    --------
    >>> round(miss_probability(0.8, bands=20, rows=5), 5)
    0.00036
    >>> f"{miss_probability(0.95, bands=20, rows=5):.3g}"
    '1.23e-13'
    """
    chance = np.exp(bands * _log_band_missed(similarity, bands, rows))
    return chance if isinstance(similarity, np.ndarray) else float(chance)


def _log_band_missed(similarity: float | Float64, bands: int, rows: int) -> Float64:
    """log(1 - s^rows), in the form that loses no digits, whether s^rows is near 1 or near 0."""
    check_bands(bands, rows)
    values = np.asarray(similarity, np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise UsageError(f"similarity must be from 0 to 1, not {similarity}")
    with np.errstate(divide="ignore"):
        exponent = rows * np.log(values)
        missed: Float64 = np.where(
            exponent > _LOG_HALF,
            np.log(-np.expm1(np.maximum(exponent, _LOG_HALF))),
            np.log1p(-np.exp(np.minimum(exponent, _LOG_HALF))),
        )
    return missed


def check_bands(bands: int, rows: int) -> None:
    """Refuse bands or rows below 1.

    Examples
    --------
    >>> check_bands(20, 0)
    Traceback (most recent call last):
    lookalike.errors.UsageError: bands and rows must be whole numbers of at least 1, not 20 and 0
    """
    if not (isinstance(bands, int | np.integer) and isinstance(rows, int | np.integer) and min(bands, rows) >= 1):
        raise UsageError(f"bands and rows must be whole numbers of at least 1, not {bands} and {rows}")


def lecture_threshold(bands: int, rows: int) -> float:
    """The rule of thumb for where the curve rises: (1/bands)^(1/rows).

    Examples
    --------
    >>> round(lecture_threshold(bands=20, rows=5), 3), round(lecture_threshold(bands=10, rows=5), 3)
    (0.549, 0.631)
    """
    check_bands(bands, rows)
    return float((1 / bands) ** (1 / rows))


def similarity_at(chance: float, bands: int, rows: int) -> float:
    """The similarity at which a pair is a candidate pair with this probability: the inverse of the curve.

    Examples
    --------
    >>> round(similarity_at(0.47, bands=20, rows=5), 3)
    0.5
    """
    check_bands(bands, rows)
    if not 0 <= chance <= 1:
        raise UsageError(f"chance must be from 0 to 1, not {chance}")
    if chance == 1:
        return 1.0
    return float((-math.expm1(math.log1p(-chance) / bands)) ** (1 / rows))


def false_negatives(threshold: float, bands: int, rows: int) -> float:
    """The area above the curve from the threshold on: pairs that are similar enough but missed.

    If all similarities were equally common, this would be the share of all pairs that is lost.

    Examples
    --------
    >>> round(false_negatives(0.5, bands=10, rows=5), 3), round(false_negatives(0.8, bands=20, rows=5), 6)
    (0.097, 5e-06)
    """
    _check_share("threshold", threshold)
    return area(lambda s: miss_probability(s, bands, rows), threshold, 1.0, bends(bands, rows))


def false_positives(threshold: float, bands: int, rows: int) -> float:
    """The area below the curve up to the threshold: candidate pairs that are not similar enough.

    Examples
    --------
    >>> round(false_positives(0.5, bands=10, rows=5), 3), round(false_positives(0.8, bands=20, rows=5), 3)
    (0.024, 0.299)
    """
    _check_share("threshold", threshold)
    return area(lambda s: probability(s, bands, rows), 0.0, threshold, bends(bands, rows))


def bends(bands: int, rows: int) -> Float64:
    """Similarities between which the curve is smooth, however steep it is.

    Examples
    --------
    >>> bool((bends(20, 5) < 1).all())
    True
    """
    check_bands(bands, rows)
    return np.asarray((-np.expm1(np.log1p(-_LEVELS) / bands)) ** (1 / rows), np.float64)


def area(height: Callable[[Float64], Float64], start: float, end: float, between: Float64) -> float:
    """The area below a curve from start to end, by Gauss-Legendre quadrature between breakpoints where it bends.

    Examples
    --------
    >>> round(area(lambda x: x**2, 0.0, 3.0, np.array([1.0])), 9)
    9.0
    """
    edges = distinct(np.clip(np.concatenate([[start], between, [end]]), start, end))
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    nodes, weights = quadrature(24)
    points = np.clip(middles[:, None] + halves[:, None] * nodes, start, end)
    return float(halves @ (height(points) @ weights))


def hashes_needed(error: float, probability: float) -> int:
    """The number of hashes that keep the estimate of a similarity within `error`, except with this probability.

    The smallest r with 2 exp(-2 error^2 r) <= probability (the bound of Chernoff and Hoeffding).

    Examples
    --------
    >>> hashes_needed(error=0.05, probability=0.01)
    1060
    """
    _check_open("error", error)
    _check_open("probability", probability)
    needed = max(1, math.ceil(math.log(2 / probability) / (2 * error**2)))
    # The quotient is rounded: step back if one hash less is enough.
    while needed > 1 and error_bound(needed - 1, error) <= probability:
        needed -= 1
    while error_bound(needed, error) > probability:
        needed += 1
    return needed


def error_bound(hashes: int, error: float) -> float:
    """An upper bound on the probability that an estimate from this many hashes is off by `error` or more.

    The bound of Chernoff and Hoeffding: 2 exp(-2 error^2 hashes).

    Examples
    --------
    >>> round(error_bound(hashes=1060, error=0.05), 4), error_bound(hashes=100, error=0.05)
    (0.01, 1.0)
    """
    _check_open("error", error)
    if hashes < 1:
        raise UsageError(f"hashes must be a whole number from 1, not {hashes}")
    return min(1.0, 2 * math.exp(-2 * error**2 * hashes))


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must be from 0 to 1, not {value}")


def _check_open(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} must be above 0 and below 1, not {value}")
