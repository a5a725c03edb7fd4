"""Triples of grid squares: hash functions for fingerprints.

A function selects three squares of the grid. A print with a minutia in each of the three is in its only bucket, any
other print in none.
"""

from __future__ import annotations

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_seed
from lookalike.types import NOWHERE, Bool, Int64


class Triples(Family):
    """Three random squares; the distance of two prints is the share of the squares of one that the other lacks.

    Parameters
    ----------
    squares
        The number of squares of the grid.
    occupied
        The share of the squares in which a typical print has a minutia; the probability depends on it.
    seed
        Another seed draws other triples.

    Examples
    --------
    >>> prints = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1]], bool)
    >>> hashed = Triples(4).hash(prints, 50)
    >>> both, neither = (hashed.agree(3, np.array([a]), np.array([b])).tolist() for a, b in ((1, 1), (0, 2)))
    >>> both, neither
    ([True], [False])
    """

    distance = "share of a print's squares that the other lacks"
    farthest = 1.0

    def __init__(self, squares: int = 256, occupied: float = 0.2, seed: int = 1) -> None:
        if squares < 3:
            raise UsageError(f"squares must be at least 3, for a triple, not {squares}")
        if not 0 < occupied <= 1:
            raise UsageError(f"occupied (share of squares with minutiae) must be above 0 and at most 1, not {occupied}")
        self.squares, self.occupied, self.seed = squares, occupied, check_seed(seed)

    def __repr__(self) -> str:
        return f"Triples(squares={self.squares}, occupied={self.occupied:g}, seed={self.seed})"

    def probability(self, distance: float) -> float:
        """The probability that two prints both have three given squares: (occupied x agreement)^3.

        The model of the book: each square has a minutia of the first print with probability `occupied`, and then
        one of the second with probability 1 - distance, independently of the other squares. Prints of different
        fingers are at distance 1 - occupied.

        Examples
        --------
        >>> [round(Triples(occupied=0.2).probability(distance), 6) for distance in (0.2, 0.8)]
        [0.004096, 6.4e-05]
        >>> from lookalike.families import Or
        >>> [round(Or(Triples(occupied=0.2), 1024).probability(distance), 3) for distance in (0.2, 0.8)]
        [0.985, 0.063]
        """
        return float((self.occupied * min(1.0, max(0.0, 1 - distance))) ** 3)

    def triple(self, function: int) -> Int64:
        """The three squares of a function.

        Examples
        --------
        >>> len(set(Triples(256).triple(0).tolist()))
        3
        """
        return np.random.default_rng([self.seed, function]).choice(self.squares, 3, replace=False)

    def hash(self, items: Bool, count: int) -> Hashed:
        """The buckets of prints (one row each, one column per square) under the first functions."""
        squares = np.ascontiguousarray(self._check(items).T)
        buckets = np.empty((count, len(items), 1), np.int64)
        for function in range(count):
            buckets[function, :, 0] = np.where(squares[self.triple(function)].all(axis=0), 0, NOWHERE)
        return Hashed(buckets)

    def buckets_of(self, items: Bool, function: int) -> Int64:
        """The buckets of prints under one function: prints x 1."""
        return np.where(self._check(items)[:, self.triple(function)].all(axis=1), 0, NOWHERE)[:, None]

    def _check(self, items: Bool) -> Bool:
        items = np.asarray(items)
        if items.dtype != np.bool_ or items.ndim != 2 or items.shape[1] != self.squares:
            raise UsageError(f"prints must be a boolean matrix with {self.squares} columns, one per square")
        return items
