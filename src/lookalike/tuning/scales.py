"""What a measure's threshold means for one hash function, and how its axis runs.

Plans are made with the chance that one hash agrees; users think in similarities and distances. A scale takes one to
the other. Nothing here chooses bands and rows.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lookalike.errors import UsageError
from lookalike.tuning.collisions import Number, angle_of, bit_collision, hyperplane_collision, line_collision
from lookalike.tuning.thresholds import check_threshold, jaccard_floor, parse_threshold
from lookalike.types import Float64

PLANNED = ("jaccard", "dice", "cosine", "euclidean", "hamming")
"""The measures that there are hash functions for. Cosine is that of vectors."""
WIDTHS = 3
"""The width of the buckets on a line, in thresholds, where none is given.

Of the multiples from 1 to 30, it makes the fewest false candidates at twice the threshold, or nearly so, with 64 to
1024 hashes and recalls from 0.9 to 0.999 (tests/tuning/test_scales.py). Narrower buckets miss the pairs that are
wanted, and wider ones need more rows than there are hashes for.
"""
_DIGITS = 10**12


@dataclass(frozen=True)
class Scale:
    """A measure with what it needs to know: how many bits items have, or how wide the buckets on lines are.

    Examples
    --------
    >>> Scale("hamming", bits=64).collision(16.0), Scale("hamming", bits=64).at(0.75)
    (0.75, 16.0)
    """

    measure: str
    bits: int | None = None
    width: float | None = None

    @property
    def is_distance(self) -> bool:
        """Whether small values are those of near pairs."""
        return self.measure in ("euclidean", "hamming")

    @property
    def noun(self) -> str:
        """What the numbers are."""
        return "distance" if self.is_distance else "similarity"

    @property
    def title(self) -> str:
        """What the numbers are, for an axis."""
        if self.measure == "hamming":
            return f"Hamming distance of a pair (of {self.bits:,} bits)"
        return {
            "jaccard": "Jaccard similarity of a pair",
            "dice": "Dice similarity of a pair",
            "cosine": "cosine similarity of a pair",
            "euclidean": "Euclidean distance of a pair",
        }[self.measure]

    def place(self, value: str) -> str:
        """A pair of this value, without the pair: "of similarity 0.8", "at distance 2".

        Examples
        --------
        >>> Scale("cosine").place("0.9"), Scale("hamming", bits=8).place("2")
        ('of similarity 0.9', 'at distance 2')
        """
        return f"{'at' if self.is_distance else 'of'} {self.noun} {value}"

    def collision(self, value: Number) -> Number:
        """How likely one hash agrees for a pair of this similarity or distance.

        Examples
        --------
        >>> round(Scale("cosine").collision(0.5), 9), round(Scale("dice").collision(0.8), 9)
        (0.666666667, 0.666666667)
        """
        if self.measure == "dice":
            return value / (2 - value)
        if self.measure == "cosine":
            return hyperplane_collision(angle_of(value))
        if self.measure == "euclidean":
            assert self.width is not None
            return line_collision(value, self.width)
        if self.measure == "hamming":
            assert self.bits is not None
            return bit_collision(value, self.bits)
        return value

    def at(self, chance: Number) -> Number:
        """The similarity or distance of pairs for which one hash agrees with this probability.

        Examples
        --------
        >>> round(Scale("euclidean", width=3).at(Scale("euclidean", width=3).collision(1.25)), 9)
        1.25
        """
        p = np.asarray(chance, np.float64)
        if self.measure == "dice":
            p = 2 * p / (1 + p)
        elif self.measure == "cosine":
            p = np.cos(np.radians(180 * (1 - p)))
        elif self.measure == "euclidean":
            p = self._distance_at(p)
        elif self.measure == "hamming":
            p = (1 - p) * float(self.bits or 1)
        return p if isinstance(chance, np.ndarray) else float(p)

    def _distance_at(self, chance: Float64) -> Float64:
        """By halving, on a logarithmic scale: chances next to 0 and 1 are at distances of any size."""
        assert self.width is not None
        low, high = np.full_like(chance, -80.0), np.full_like(chance, 80.0)
        for _ in range(60):
            middle = (low + high) / 2
            near = line_collision(self.width * np.exp(middle), self.width) > chance
            low, high = np.where(near, middle, low), np.where(near, high, middle)
        return np.where(chance >= 1, 0.0, self.width * np.exp(high))

    def chance_at(self, threshold: Fraction) -> Fraction:
        """How likely one hash agrees at the threshold, as a fraction: exact, or cut off after twelve digits.

        Cut off, so that the plan is the same where another machine's arccos differs in its last digit, and on the safe
        side: a lower chance promises less.

        Examples
        --------
        >>> str(Scale("dice").chance_at(Fraction(4, 5))), str(Scale("hamming", bits=64).chance_at(Fraction(16)))
        ('2/3', '3/4')
        >>> float(Scale("cosine").chance_at(Fraction(1, 2)))
        0.666666666666
        """
        if self.measure in ("jaccard", "dice"):
            floor = jaccard_floor(self.measure, threshold)
            assert floor is not None
            return floor
        if self.measure == "hamming":
            return 1 - threshold / Fraction(self.bits or 1)
        return Fraction(math.floor(self.collision(float(threshold)) * _DIGITS), _DIGITS)


def make_scale(
    measure: str, threshold: float | str | Fraction | None, bits: int | None = None, width: float | str | None = None
) -> tuple[Scale, Fraction]:
    """The scale of a measure and the threshold on it, once they are known to make sense together.

    Parameters
    ----------
    measure
        One of PLANNED.
    threshold
        The least similarity or the largest distance; None is 0.8 where it is a similarity.
    bits
        How many bits items have, for hamming.
    width
        Of the buckets, for euclidean; None is three times the threshold.

    Examples
    --------
    >>> make_scale("euclidean", 2)
    (Scale(measure='euclidean', bits=None, width=6.0), Fraction(2, 1))
    """
    _check_measure(measure)
    for name, value, owner in (("bits", bits, "hamming"), ("width", width, "euclidean")):
        if value is not None and measure != owner:
            raise UsageError(f"{name} is for {owner} alone, not for {measure}")
    if measure not in ("euclidean", "hamming"):
        return Scale(measure), check_threshold(measure, 0.8 if threshold is None else threshold)
    if threshold is None:
        raise UsageError(f"{measure} needs a threshold: the largest distance at which pairs are wanted")
    exact = parse_threshold(threshold)
    if not exact > 0:
        wanted = f"above 0 for {measure}, the largest distance (equal items need no plan)"
        raise UsageError(f"threshold must be {wanted}, not {threshold}")
    if measure == "euclidean":
        return Scale(measure, width=float(WIDTHS * exact) if width is None else _check_width(width)), exact
    count = _check_bits(bits)
    if exact.denominator != 1:
        raise UsageError(f"threshold must be a whole number of bits for hamming, not {threshold}")
    if exact >= count:
        raise UsageError(f"threshold must be below {count}, the number of bits, not {threshold}: all pairs are as near")
    return Scale(measure, bits=count), exact


def _check_measure(measure: str) -> None:
    if measure in ("containment", "overlap"):
        raise UsageError(
            f"measure {measure}: minhash cannot promise a recall for it, since a similar pair can have any Jaccard "
            "similarity; use --method exact, which needs no plan"
        )
    if measure not in PLANNED:
        raise UsageError(f"measure must be one of {', '.join(PLANNED)}, not {measure!r}")


def _check_width(width: float | str) -> float:
    try:
        number = float(width)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"width must be a number above 0, not {width}")
    return number


def _check_bits(bits: int | None) -> int:
    if bits is None:
        raise UsageError("hamming needs bits: how many of them an item has, such as 64")
    try:
        count = operator.index(bits)
    except TypeError:
        count = 0
    if isinstance(bits, bool) or count < 1:
        raise UsageError(f"bits must be a whole number from 1, not {bits!r}")
    return count
