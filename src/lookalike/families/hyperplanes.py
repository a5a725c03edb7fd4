"""Random hyperplanes: vectors at a small angle are mostly on the same side of one.

A hash function is a random vector; the bucket is the sign of the dot product with it. Only directions matter, not
lengths, and the zero vector, which has no direction, is in no bucket.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_matrix, check_seed, generator
from lookalike.tuning.collisions import hyperplane_collision
from lookalike.types import NOWHERE, Float32

VECTORS = ("gaussian", "signs")


class Hyperplanes(Family):
    """Sides of random hyperplanes, for the angle between vectors.

    Parameters
    ----------
    seed
        Another seed gives other, independent hyperplanes.
    vectors
        `gaussian`: independent normal numbers, for which the formula 1 - angle/180 is exact. `signs`: +1 and -1 only,
        for which it is an approximation, good if many components matter. With few dimensions, or few components
        that are not close to 0, it can be far off: in the plane there are only two different hyperplanes.

    Examples
    --------
    >>> planes = Hyperplanes()
    >>> planes.sensitivity(60, 120)
    Sensitivity(d1=60, d2=120, p1=0.6666666666666667, p2=0.33333333333333337)
    >>> hashed = planes.hash([[1.0, 2.0], [10.0, 20.0], [-1.0, -2.0], [0.0, 0.0]], count=100)
    >>> one, others = np.array([0, 0, 3]), np.array([1, 2, 3])
    >>> sum(hashed.agree(function, one, others).astype(int) for function in range(100)).tolist()
    [100, 0, 0]
    """

    distance = "angle in degrees"
    farthest = 180.0

    def __init__(self, seed: int = 1, vectors: str = "gaussian") -> None:
        if vectors not in VECTORS:
            raise UsageError(f"vectors must be one of {', '.join(VECTORS)}, not {vectors!r}")
        self.seed, self.vectors = check_seed(seed), vectors

    def probability(self, distance: float) -> float:
        """1 - angle/180; approximate for vectors of signs."""
        return hyperplane_collision(float(distance))

    def vectors_for(self, dimension: int, count: int) -> Float32:
        """The vectors of the first `count` functions, as columns: float32[dimension, count].

        Examples
        --------
        >>> planes = Hyperplanes(vectors="signs")
        >>> bool((planes.vectors_for(3, 10)[:, :4] == planes.vectors_for(3, 4)).all())
        True
        """
        random = generator(self.seed, VECTORS.index(self.vectors))
        if self.vectors == "signs":
            drawn = random.integers(0, 2, (count, dimension), np.int8).astype(np.float32) * 2 - 1
        else:
            drawn = random.standard_normal((count, dimension), np.float32)
        return np.ascontiguousarray(drawn.T)

    def hash(self, items: Any, count: int) -> Hashed:
        """1 if the dot product is 0 or more, otherwise 0; zero vectors are in no bucket."""
        rows = check_matrix(items)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        # Scaling by a power of two changes no sign and rounds nothing, and no product can overflow.
        scaled = np.ldexp(rows, -np.frexp(largest)[1][:, None])
        buckets = (scaled @ self.vectors_for(rows.shape[1], count) >= 0).astype(np.int64)
        buckets[largest == 0] = NOWHERE
        return Hashed(np.ascontiguousarray(buckets.T)[:, :, None])
