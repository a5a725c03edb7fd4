"""The probability that a hash function of each family puts two items at a distance in one bucket.

Pure formulas, for plans and for the families. Nothing here draws a hash function or knows an item.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeVar

import numpy as np

from lookalike.errors import UsageError
from lookalike.types import Float64

Number = TypeVar("Number", float, Float64)
"""A number or an array; the result has the same shape."""

_ERF = np.vectorize(math.erf, otypes=[np.float64])


@cache
def quadrature(points: int) -> tuple[Float64, Float64]:
    """Nodes and weights on [-1, 1] for integrals of smooth functions; computed where they are first needed.

    Examples
    --------
    >>> float(quadrature(24)[1].sum())
    2.0
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return nodes, weights


def angle_of(cosine: Number) -> Number:
    """The angle in degrees between two vectors of this cosine.

    Examples
    --------
    >>> round(angle_of(0.5), 9), round(angle_of(-1.0), 9)
    (60.0, 180.0)
    """
    values = _within("cosine", cosine, -1, 1)
    return _like(cosine, np.degrees(np.arccos(values)))


def hyperplane_collision(degrees: Number) -> Number:
    """The probability that two vectors at this angle are on one side of a random hyperplane: 1 - degrees/180.

    Examples
    --------
    >>> hyperplane_collision(45.0), hyperplane_collision(np.array([0.0, 180.0])).tolist()
    (0.75, [1.0, 0.0])
    """
    values = _within("angle in degrees", degrees, 0, 180)
    return _like(degrees, 1 - values / 180)


def line_collision(distance: Number, width: float) -> Number:
    """The probability that two points fall in one bucket of this width on a line with a Gaussian direction.

    Projected on a vector of independent standard normal numbers, points at distance c lie c |N(0, 1)| apart, in any
    number of dimensions. With t = width/c the probability is
    erf(t/sqrt(2)) - sqrt(2/pi) (1 - exp(-t^2/2))/t.

    Examples
    --------
    >>> round(line_collision(0.5, width=1), 4), round(line_collision(2.0, width=1), 4)
    (0.6095, 0.1954)
    >>> line_collision(np.array([0.0, np.inf]), width=1).tolist()
    [1.0, 0.0]
    """
    values = _within("distance", distance, 0, math.inf)
    _check_width(width)
    with np.errstate(divide="ignore", over="ignore"):
        t = width / values
        # At distance 0, t is infinite and the second term 0; at an infinite one both are 0, and 0/0 must be avoided.
        second = np.divide(-np.expm1(-t * t / 2), t, out=np.zeros_like(t), where=t > 0)
    return _like(distance, _ERF(t / math.sqrt(2)) - math.sqrt(2 / math.pi) * second)


def unit_line_collision(distance: Number, width: float, dimensions: int = 2) -> Number:
    """The probability that two points fall in one bucket of this width on a line in a uniformly random direction.

    If the line is at an angle to the one through the points, they lie distance x |cos(angle)| apart on it. In the plane
    the angle is uniform and, with k = distance/width, the probability 1 - 2k/pi for k <= 1, and
    2/pi (arcsin(1/k) - k + sqrt(k^2 - 1)) beyond. In more dimensions most directions are almost perpendicular to any
    given one, and points share a bucket more often.

    Examples
    --------
    >>> [round(unit_line_collision(k, width=1), 4) for k in (0.5, 1.0, 2.0)]
    [0.6817, 0.3634, 0.1628]
    >>> [round(unit_line_collision(2.0, width=1, dimensions=d), 4) for d in (2, 3, 10, 100)]
    [0.1628, 0.25, 0.5071, 0.84]
    """
    values = _within("distance", distance, 0, math.inf)
    _check_width(width)
    if dimensions < 2:
        raise UsageError(
            f"dimensions must be a whole number of at least 2, not {dimensions}: a line has only one direction"
        )
    with np.errstate(divide="ignore", over="ignore"):
        ratio = values / width
        # By the sine x of the angle to the perpendicular: they can only share a bucket if x distance <= width.
        reach = np.arcsin(np.minimum(1, width / values))
    # Probability = density x integral of (1 - ratio sin(a)) cos(a)^(dimensions - 2) for a from 0 to reach.
    density = 2 / math.sqrt(math.pi) * math.exp(math.lgamma(dimensions / 2) - math.lgamma((dimensions - 1) / 2))
    # Beyond 40/sqrt(dimensions) the power of the cosine is below the last digit of a float.
    end = np.minimum(reach, 40 / math.sqrt(dimensions))[..., None]
    nodes, weights = quadrature(48)
    angles = end / 2 * (1 + nodes)
    heights = np.exp((dimensions - 2) * np.log(np.cos(angles)))
    whole = (heights * end / 2) @ weights
    power = -np.expm1((dimensions - 1) * np.log(np.maximum(np.cos(reach), 1e-300))) / (dimensions - 1)
    with np.errstate(invalid="ignore"):
        chance = density * (whole - np.where(np.isfinite(ratio), ratio * power, whole))
    return _like(distance, np.clip(chance, 0.0, 1.0))


def bit_collision(distance: Number, bits: float) -> Number:
    """The probability that a random one of `bits` bits is equal in two items that differ in `distance` of them.

    Examples
    --------
    >>> bit_collision(16.0, bits=64)
    0.75
    """
    if not bits > 0:
        raise UsageError(f"bits must be a whole number of at least 1, not {bits}")
    values = _within(f"distance in {bits:g} bits", distance, 0, bits)
    return _like(distance, 1 - values / bits)


def _within(name: str, value: float | Float64, low: float, high: float) -> Float64:
    values = np.asarray(value, np.float64)
    if not ((values >= low) & (values <= high)).all():
        raise UsageError(f"{name} must be from {low:g} to {high:g}, not {value}")
    return values


def _check_width(width: float) -> None:
    if not 0 < width < math.inf:
        raise UsageError(f"width must be a number above 0, not {width}")


def _like(given: Number, result: Float64) -> Number:
    """An array for an array, a float for a number."""
    return result if isinstance(given, np.ndarray) else float(result)
