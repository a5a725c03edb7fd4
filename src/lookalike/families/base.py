"""Locality-sensitive families: random hash functions, and the probability that one says yes to two items.

A hash function puts an item in one bucket, in several, or in none, and says yes to two items that share a bucket. To
add a family, implement that probability at a distance, and the buckets; AND and OR, curves, candidates and plans follow
(`families/constructions.py`).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.types import NOWHERE, Bool, Int64
from lookalike.types.frozen import frozen


class Sensitivity(NamedTuple):
    """Items at distance d1 or less are candidates with probability p1 or more, at d2 or more with p2 or less."""

    d1: float
    d2: float
    p1: float
    p2: float


@frozen
class Hashed:
    """The buckets of items under some hash functions.

    Examples
    --------
    >>> hashed = Hashed(np.array([[[7], [7], [8]]]))
    >>> hashed.agree(0, np.array([0, 0]), np.array([1, 2])).tolist()
    [True, False]
    """

    buckets: Int64
    """functions x items x choices; NOWHERE means no bucket."""

    @property
    def functions(self) -> int:
        """The number of hash functions."""
        return int(self.buckets.shape[0])

    def __len__(self) -> int:
        return int(self.buckets.shape[1])

    def agree(self, function: int, left: Int64, right: Int64) -> Bool:
        """Which pairs of items share a bucket of a function."""
        one, other = self.buckets[function, left], self.buckets[function, right]
        shared = np.zeros(len(left), np.bool_)
        for a in range(one.shape[1]):
            for b in range(other.shape[1]):
                shared |= (one[:, a] == other[:, b]) & (one[:, a] != NOWHERE)
        return shared


class Family(ABC):
    """A family of hash functions; each says yes or no to two items."""

    distance: str
    """The name of the distance: "Jaccard distance", "angle in degrees"."""
    farthest: float = float("inf")
    """The largest possible distance."""
    functions: int = 1
    """The number of elementary hash functions that one decision takes."""

    def __repr__(self) -> str:
        """The call that creates it: MinHash(seed=2). Every argument is an attribute of the same name."""
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is parameter.empty:
                shown.append(repr(value))
            elif value != parameter.default:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @abstractmethod
    def probability(self, distance: float) -> float:
        """The probability that a function says yes to two items at this distance."""

    @abstractmethod
    def hash(self, items: Any, count: int) -> Hashed:
        """The buckets of items under the first `count` elementary functions, drawn from the seed."""

    def curve(self, p: float) -> float:
        """The probability of a yes if an elementary function says yes with probability p."""
        return p

    def sensitivity(self, d1: float, d2: float) -> Sensitivity:
        """(d1, d2, p1, p2): the guarantees for items as near as d1 and for items as far as d2.

        Examples
        --------
        >>> from lookalike.families import MinHash
        >>> MinHash().sensitivity(0.25, 0.75)
        Sensitivity(d1=0.25, d2=0.75, p1=0.75, p2=0.25)
        """
        if not 0 <= d1 < d2 <= self.farthest:
            raise UsageError(
                f"distances {d1:g} and {d2:g}: the first must be below the second, both from 0 to {self.farthest:g}"
            )
        return Sensitivity(d1, d2, self.probability(d1), self.probability(d2))
