"""Random lines: points near each other mostly fall in one bucket of a line.

A hash function is a random line, divided into buckets of equal width from a random offset; a point is in the bucket of
its projection.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_matrix, check_seed, generator
from lookalike.tuning.collisions import line_collision, unit_line_collision
from lookalike.types import Float32, Float64

DIRECTIONS = ("gaussian", "unit")
_OFFSETS = len(DIRECTIONS)
_LARGEST_BUCKET = 2.0**62


class Lines(Family):
    """Buckets on random lines, for the Euclidean distance.

    Parameters
    ----------
    width
        The width of a bucket, in the unit of the distances.
    seed
        Another seed gives other, independent lines.
    direction
        `gaussian`: a vector of independent normal numbers; its formula holds in any number of dimensions. `unit`: a
        vector of length 1, as in the book; how far it spreads points depends on the dimensions.
    dimensions
        The dimensions of the points; only for the formula of `unit`.

    Examples
    --------
    The lecture's (a/2, 2a, 1/2, 1/3) are bounds. These are the probabilities themselves:

    >>> [round(p, 3) for p in Lines(width=1, direction="unit").sensitivity(0.5, 2)]
    [0.5, 2, 0.682, 0.163]
    >>> [round(p, 3) for p in Lines(width=1).sensitivity(0.5, 2)]
    [0.5, 2, 0.61, 0.195]
    """

    distance = "Euclidean distance"

    def __init__(self, width: float = 1.0, seed: int = 1, direction: str = "gaussian", dimensions: int = 2) -> None:
        if direction not in DIRECTIONS:
            raise UsageError(f"direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}")
        if not 0 < width < math.inf:
            raise UsageError(f"width must be a number above 0, not {width}")
        if dimensions < 2:
            raise UsageError(f"dimensions must be a whole number of at least 2, not {dimensions}")
        self.width, self.seed, self.direction, self.dimensions = width, check_seed(seed), direction, dimensions

    def probability(self, distance: float) -> float:
        """The probability that two points at this distance are in one bucket of a line."""
        if self.direction == "unit":
            return unit_line_collision(float(distance), self.width, self.dimensions)
        return line_collision(float(distance), self.width)

    def lines_for(self, dimension: int, count: int) -> tuple[Float32, Float64]:
        """The first `count` lines: float32[dimension, count] and their offsets, as shares of the width.

        The bucket of a point x is floor(x . line / width + offset).

        Examples
        --------
        >>> lines, offsets = Lines().lines_for(3, 10)
        >>> lines.shape, offsets.shape, bool((lines[:, :2] == Lines().lines_for(3, 2)[0]).all())
        ((3, 10), (10,), True)
        """
        random = generator(self.seed, DIRECTIONS.index(self.direction))
        drawn = random.standard_normal((count, dimension), np.float32)
        if self.direction == "unit":
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return np.ascontiguousarray(drawn.T), generator(self.seed, _OFFSETS).random(count)

    def hash(self, items: Any, count: int) -> Hashed:
        """The number of the bucket on every line."""
        rows = check_matrix(items)
        lines, offsets = self.lines_for(rows.shape[1], count)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.floor(rows @ lines.astype(np.float64) / self.width + offsets)
        # Not "larger than": a double overflow is NaN.
        far = ~(np.abs(places) < _LARGEST_BUCKET)
        if far.any():
            row = int(np.argwhere(far)[0, 0])
            raise UsageError(f"row {row} (counted from 0) is too many buckets of width {self.width:g} away from 0")
        return Hashed(np.ascontiguousarray(places.T).astype(np.int64)[:, :, None])
