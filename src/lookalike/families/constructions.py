"""AND and OR: families made of families, to any depth.

`And(family, r)` says yes if r functions of the family all do, `Or(family, b)` if at least one of b does. Each part has
functions of its own, in order: the first part has the first functions. Nothing here knows what the items are.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from typing import Any

import numpy as np

from lookalike.errors import ResourceError, UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.groups import pairs_in_common
from lookalike.tuning.collisions import Number
from lookalike.types import Bool, Float64, Int64, distinct

MOST_PAIRS = 1 << 26
"""The most candidate pairs held at a time: half a gigabyte."""

Chances = tuple[Float64, Float64]
"""The probabilities of yes and of no: both, since a float close to 1 has few digits for the difference."""


class _Construction(Family):
    """What And and Or have in common."""

    def __init__(self, family: Family, times: int) -> None:
        if not isinstance(family, Family):
            raise UsageError(f"{type(self).__name__} is made of a family such as MinHash(), not {family!r}")
        try:
            whole = operator.index(times)
        except TypeError:
            whole = 0
        if whole < 1:
            raise UsageError(f"{type(self).__name__} takes a whole number of functions, at least 1, not {times!r}")
        self.family, self.times = family, whole
        self.leaf: Family = family.leaf if isinstance(family, _Construction) else family
        self.functions = whole * family.functions
        self.distance, self.farthest = self.leaf.distance, self.leaf.farthest

    @abstractmethod
    def _amplify(self, yes: Float64, no: Float64, power: float) -> Chances:
        """The probabilities of the whole from those of a part; with 1/times as the power, the inverse."""

    @abstractmethod
    def _steepen(self, yes: Float64, no: Float64) -> Float64:
        """The derivative of the probability of the whole with respect to that of a part."""

    @abstractmethod
    def _decide(self, hashed: Hashed, start: int, left: Int64, right: Int64) -> Bool:
        """Decide on pairs by the functions from `start` on."""

    @abstractmethod
    def _pairs(self, hashed: Hashed, start: int, most: int) -> Int64:
        """The pairs it says yes to, as left x items + right, ascending."""

    @property
    def _starts(self) -> range:
        """The first function of each part, relative to the first of the whole."""
        return range(0, self.functions, self.family.functions)

    def _chances(self, p: float | Float64) -> Chances:
        if isinstance(self.family, _Construction):
            yes, no = self.family._chances(p)
        else:
            yes, no = _check_chance(p)
        return self._amplify(yes, no, self.times)

    def curve(self, p: Number) -> Number:
        """The probability of a yes if an elementary function says yes with probability p.

        Examples
        --------
        >>> from lookalike.families import MinHash
        >>> round(Or(And(MinHash(), 4), 4).curve(0.8), 4)
        0.8785
        """
        yes = self._chances(p)[0]
        return yes if isinstance(p, np.ndarray) else float(yes)

    def miss(self, p: Number) -> Number:
        """1 - curve(p), to full precision where the curve is close to 1.

        Examples
        --------
        >>> from lookalike.families import MinHash
        >>> f"{Or(And(MinHash(), 5), 20).miss(0.95):.3g}"
        '1.23e-13'
        """
        no = self._chances(p)[1]
        return no if isinstance(p, np.ndarray) else float(no)

    def inverse(self, chance: Number) -> Number:
        """The p at which it says yes with this probability: the inverse of the curve.

        Examples
        --------
        >>> from lookalike.families import MinHash
        >>> round(Or(And(MinHash(), 5), 20).inverse(0.47), 3)
        0.5
        """
        yes, no = _check_chance(chance)
        family: Family = self
        while isinstance(family, _Construction):
            yes, no = family._amplify(yes, no, 1 / family.times)
            family = family.family
        return yes if isinstance(chance, np.ndarray) else float(yes)

    def slope(self, p: Number) -> Number:
        """The slope of the curve at p.

        Examples
        --------
        >>> from lookalike.families import MinHash
        >>> And(MinHash(), 2).slope(0.5)
        1.0
        """
        chain: list[_Construction] = []
        family: Family = self
        while isinstance(family, _Construction):
            chain.append(family)
            family = family.family
        yes, no = _check_chance(p)
        slope = np.ones_like(yes)
        for part in reversed(chain):
            slope = slope * part._steepen(yes, no)
            yes, no = part._amplify(yes, no, part.times)
        return slope if isinstance(p, np.ndarray) else float(slope)

    def probability(self, distance: float) -> float:
        """The probability that it says yes to two items at this distance."""
        return self.curve(self.leaf.probability(distance))

    def hash(self, items: Any, count: int) -> Hashed:
        """The buckets of items under the first `count` elementary functions."""
        return self.leaf.hash(items, count)

    def decide(self, hashed: Hashed, left: Int64, right: Int64) -> Bool:
        """Which pairs of items it says yes to.

        Parameters
        ----------
        hashed
            The items under (at least) `functions` functions.
        left, right
            Numbers of items.

        Examples
        --------
        >>> hashed = Hashed(np.array([[[7], [7], [7]], [[1], [2], [1]]]))
        >>> from lookalike.families import MinHash
        >>> And(MinHash(), 2).decide(hashed, np.array([0, 0]), np.array([1, 2])).tolist()
        [False, True]
        """
        self._check(hashed)
        return self._decide(hashed, 0, np.asarray(left, np.int64), np.asarray(right, np.int64))

    def says_yes(self, items: Any, i: int, j: int) -> bool:
        """Whether it says yes to two of the items.

        Examples
        --------
        >>> from lookalike.families import BitSampling
        >>> And(BitSampling(), 20).says_yes(np.array([[7], [7], [248]], np.uint8), 0, 1)
        True
        """
        hashed = self.hash(items, self.functions)
        if not (0 <= i < len(hashed) and 0 <= j < len(hashed)):
            raise UsageError(f"items {i} and {j}: there are only {len(hashed)}, numbered from 0")
        return bool(self.decide(hashed, np.array([i]), np.array([j]))[0])

    def candidates(self, items: Any, most: int = MOST_PAIRS) -> tuple[Int64, Int64]:
        """Exactly the pairs of items that it says yes to.

        Items are grouped by their buckets; pairs that share none are never compared.

        Parameters
        ----------
        items
            Items of the family.
        most
            The most pairs to hold at a time; more raise a ResourceError.

        Returns
        -------
        int64 arrays `left` and `right`
            Numbers of items, left < right, sorted by left and then right.

        Examples
        --------
        >>> from lookalike.families import BitSampling
        >>> left, right = And(BitSampling(), 20).candidates(np.array([[7], [248], [7]], np.uint8))
        >>> left.tolist(), right.tolist()
        ([0], [2])
        """
        hashed = self.hash(items, self.functions)
        self._check(hashed)
        codes = self._pairs(hashed, 0, most)
        return codes // max(1, len(hashed)), codes % max(1, len(hashed))

    def _check(self, hashed: Hashed) -> None:
        if hashed.functions < self.functions:
            raise UsageError(f"{self!r} takes {self.functions} functions; the items were hashed by {hashed.functions}")


class And(_Construction):
    """Says yes if `times` functions of a family all do.

    Examples
    --------
    >>> from lookalike.families import MinHash
    >>> And(MinHash(), 4), round(And(MinHash(), 4).curve(0.8), 4)
    (And(MinHash(), 4), 0.4096)
    """

    def _amplify(self, yes: Float64, no: Float64, power: float) -> Chances:
        return _all_of(yes, no, power)

    def _steepen(self, yes: Float64, no: Float64) -> Float64:
        return self.times * _all_of(yes, no, self.times - 1)[0]

    def _decide(self, hashed: Hashed, start: int, left: Int64, right: Int64) -> Bool:
        alive = np.arange(len(left))
        for offset in self._starts:
            alive = alive[_decide(self.family, hashed, start + offset, left[alive], right[alive])]
        decided = np.zeros(len(left), np.bool_)
        decided[alive] = True
        return decided

    def _pairs(self, hashed: Hashed, start: int, most: int) -> Int64:
        if self._is_of_functions():
            return pairs_in_common(hashed, range(start, start + self.functions), most)
        codes = _pairs(self.family, hashed, start, most)
        for offset in self._starts[1:]:
            left, right = np.divmod(codes, max(1, len(hashed)))
            codes = codes[_decide(self.family, hashed, start + offset, left, right)]
        return codes

    def _is_of_functions(self) -> bool:
        """Whether all its functions must agree, so that its pairs share a tuple of buckets."""
        return not isinstance(self.family, _Construction) or (
            isinstance(self.family, And) and self.family._is_of_functions()
        )


class Or(_Construction):
    """Says yes if at least one of `times` functions of a family does.

    Examples
    --------
    >>> from lookalike.families import MinHash
    >>> Or(And(MinHash(), 4), 4).functions, Or(And(MinHash(), 4), 4).sensitivity(0.25, 0.75).p1 > 0.75
    (16, True)
    """

    def _amplify(self, yes: Float64, no: Float64, power: float) -> Chances:
        none, some = _all_of(no, yes, power)
        return some, none

    def _steepen(self, yes: Float64, no: Float64) -> Float64:
        return self.times * _all_of(no, yes, self.times - 1)[0]

    def _decide(self, hashed: Hashed, start: int, left: Int64, right: Int64) -> Bool:
        decided = np.zeros(len(left), np.bool_)
        for offset in self._starts:
            open_ = np.flatnonzero(~decided)
            decided[open_] = _decide(self.family, hashed, start + offset, left[open_], right[open_])
        return decided

    def _pairs(self, hashed: Hashed, start: int, most: int) -> Int64:
        codes = np.empty(0, np.int64)
        for offset in self._starts:
            codes = np.union1d(codes, _pairs(self.family, hashed, start + offset, most))
            if len(codes) > most:
                raise ResourceError(
                    f"{self!r} makes more than {most:,} candidate pairs: use more functions in an And, or fewer "
                    "in an Or"
                )
        return codes


def _decide(family: Family, hashed: Hashed, start: int, left: Int64, right: Int64) -> Bool:
    if isinstance(family, _Construction):
        return family._decide(hashed, start, left, right)
    return hashed.agree(start, left, right)


def _pairs(family: Family, hashed: Hashed, start: int, most: int) -> Int64:
    if isinstance(family, _Construction):
        return family._pairs(hashed, start, most)
    return pairs_in_common(hashed, range(start, start + 1), most)


def _all_of(yes: Float64, no: Float64, power: float) -> Chances:
    """yes^power and 1 - yes^power, by the logarithm of whichever of the two is more precise."""
    with np.errstate(divide="ignore"):
        # 0 x log(0) is not a number, and yes^0 is 1.
        exponent = power * np.where(no < 0.5, np.log1p(-no), np.log(yes)) if power else np.zeros_like(yes)
    return np.exp(exponent), -np.expm1(exponent)


def _check_chance(p: float | Float64) -> Chances:
    yes = np.asarray(p, np.float64)
    if not ((yes >= 0) & (yes <= 1)).all():
        raise UsageError(f"a probability must be from 0 to 1, not {p}")
    return yes, 1 - yes


def fixed_point(construction: And | Or) -> float | None:
    """The p strictly between 0 and 1 at which the curve crosses the diagonal; None if there is none.

    The curve raises what is above, and lowers what is below. There is at most one such p (as Moore and Shannon showed),
    and there is one if neither a single yes nor a single no can decide alone: if there is both an And and an Or of two
    or more.

    Examples
    --------
    >>> from lookalike.families import MinHash
    >>> round(fixed_point(Or(And(MinHash(), 4), 4)), 4), fixed_point(And(MinHash(), 4))
    (0.7245, None)
    """
    kinds = set()
    family: Family = construction
    while isinstance(family, And | Or):
        if family.times > 1:
            kinds.add(type(family))
        family = family.family
    if kinds != {And, Or}:
        return None
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        # Near 1, compare the probabilities of a no: the difference of two numbers near 1 would be noise.
        lifted = construction.curve(middle) > middle if middle < 0.5 else construction.miss(middle) < 1 - middle
        low, high = (low, middle) if lifted else (middle, high)
    return high


def steepest(construction: And | Or) -> tuple[float, float]:
    """Where the curve rises fastest, and how fast: (p, slope).

    Examples
    --------
    >>> from lookalike.families import MinHash
    >>> [round(number, 3) for number in steepest(Or(And(MinHash(), 5), 20))]
    [0.526, 3.506]
    """
    # Points evenly spaced in probability are dense where the curve rises, however steep it is.
    points = distinct(np.concatenate([construction.inverse(np.linspace(0, 1, 2001)), np.linspace(0, 1, 201)]))
    best = int(np.argmax(construction.slope(points)))
    low, high = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    for _ in range(90):  # two thirds of what was left, until nothing is
        third = (high - low) / 3
        if construction.slope(low + third) < construction.slope(high - third):
            low += third
        else:
            high -= third
    # The ends are kept for curves whose slope only rises or only falls.
    ends = [float(points[best]), (low + high) / 2]
    p = max(ends, key=lambda place: construction.slope(place))
    return p, construction.slope(p)
