"""What a measure's threshold means for one hash function, and how many functions a plan may use.

Plans are made with the probability that one hash function agrees; users think in similarities and distances. A scale
converts between them. Nothing here chooses bands and rows.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np

from lookalike.errors import UsageError
from lookalike.tuning.collisions import Number, angle_of, bit_collision, hyperplane_collision, line_collision
from lookalike.tuning.thresholds import DISTANCES, check_threshold, jaccard_floor
from lookalike.types import Float64
from lookalike.types.frozen import frozen

PLANNED = ("jaccard", "dice", "cosine", "euclidean", "hamming")
"""The measures that have hash functions. Cosine is the cosine of two vectors."""
FUNCTIONS_PER_HASH = {"cosine": 8, "euclidean": 4, "hamming": 8}
"""How many functions each of the user's `hashes` stands for: a minhash value has 32 bits and many functions behind it,
a sign or a sampled bit is one cheap bit, and a line costs about twice as much as a hyperplane. Measured in
docs/decisions/0019-one-plan.md."""
MOST_ROWS = 40
"""Rows of a band of vectors: unrelated pairs hardly ever meet in more, and further rows only cost more bands."""
WIDTH_FACTOR = 3
"""The default width of the buckets on a line, in thresholds.

Of the multiples from 1 to 30 it makes the fewest false candidates at twice the threshold, or nearly so, for 256 to
4,096 lines and recalls from 0.9 to 0.999 (tests/tuning/test_scales.py). Narrower buckets miss wanted pairs; wider ones
need more rows than there are lines for.
"""
_DIGITS = 10**12
_FUNCTION_NOUNS = {
    "cosine": ("hyperplane", "hyperplanes"),
    "euclidean": ("line", "lines"),
    "hamming": ("sampled bit", "sampled bits"),
}


@frozen
class Scale:
    """A measure with its parameter: the number of bits of an item, or the width of the buckets on a line.

    Examples
    --------
    >>> Scale("hamming", bits=64).collision(16.0), Scale("hamming", bits=64).at(0.75)
    (0.75, 16.0)
    """

    measure: str
    bits: int | None = None
    width: float | None = None

    def functions(self, hashes: int) -> int:
        """How many hash functions a plan may use for this many `hashes`.

        Examples
        --------
        >>> Scale("jaccard").functions(256), Scale("cosine").functions(256)
        (256, 2048)
        """
        return hashes * FUNCTIONS_PER_HASH.get(self.measure, 1)

    def count_functions(self, number: int) -> str:
        """A number of hash functions in words.

        Examples
        --------
        >>> Scale("dice").count_functions(1), Scale("cosine").count_functions(2048)
        ('1 hash', '2,048 hyperplanes')
        """
        one, many = _FUNCTION_NOUNS.get(self.measure, ("hash", "hashes"))
        return f"{number:,} {one if number == 1 else many}"

    @property
    def function(self) -> str:
        """What one hash function is called."""
        return _FUNCTION_NOUNS.get(self.measure, ("hash", ""))[0]

    @property
    def most_rows(self) -> int | None:
        """The most rows a band may have; None: as many as there are functions."""
        return MOST_ROWS if self.measure in FUNCTIONS_PER_HASH else None

    @property
    def is_distance(self) -> bool:
        """Whether similar pairs have small values."""
        return self.measure in DISTANCES

    @property
    def noun(self) -> str:
        """What the values are called."""
        return "distance" if self.is_distance else "similarity"

    @property
    def title(self) -> str:
        """The label of an axis of such values."""
        if self.measure == "hamming":
            return f"Hamming distance of a pair (of {self.bits:,} bits)"
        return {
            "jaccard": "Jaccard similarity of a pair",
            "dice": "Dice similarity of a pair",
            "cosine": "cosine similarity of a pair",
            "euclidean": "Euclidean distance of a pair",
        }[self.measure]

    def place(self, value: str) -> str:
        """The phrase that follows "a pair": "of similarity 0.8", "at distance 2".

        Examples
        --------
        >>> Scale("cosine").place("0.9"), Scale("hamming", bits=8).place("2")
        ('of similarity 0.9', 'at distance 2')
        """
        return f"{'at' if self.is_distance else 'of'} {self.noun} {value}"

    def collision(self, value: Number) -> Number:
        """The probability that one hash function agrees on a pair of this similarity or distance.

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
        """The similarity or distance of pairs on which one hash function agrees with this probability.

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
        """By bisection on a logarithmic scale: probabilities near 0 and 1 belong to distances of any magnitude."""
        assert self.width is not None
        low, high = np.full_like(chance, -80.0), np.full_like(chance, 80.0)
        for _ in range(60):
            middle = (low + high) / 2
            near = line_collision(self.width * np.exp(middle), self.width) > chance
            low, high = np.where(near, middle, low), np.where(near, high, middle)
        return np.where(chance >= 1, 0.0, self.width * np.exp(high))

    def chance_at(self, threshold: Fraction) -> Fraction:
        """The probability that one hash function agrees at the threshold: exact, or truncated to twelve digits.

        Truncated, so that the plan is the same on a machine whose arccos differs in the last digit, and on the safe
        side: a lower probability promises less.

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
    """The scale of a measure and the threshold on it, checked to make sense together.

    Parameters
    ----------
    measure
        One of PLANNED.
    threshold
        The least similarity or the largest distance. None: 0.8 for a similarity; a distance has no default.
    bits
        The number of bits of an item, for hamming.
    width
        The width of the buckets, for euclidean. None: three times the threshold.

    Examples
    --------
    >>> make_scale("euclidean", 2)
    (Scale(measure='euclidean', bits=None, width=6.0), Fraction(2, 1))
    """
    _check_measure(measure)
    for name, value, owner in (("bits", bits, "hamming"), ("width", width, "euclidean")):
        if value is not None and measure != owner:
            raise UsageError(f"{name} applies to {owner} only, not to {measure}")
    if threshold is None:
        if measure in DISTANCES:
            raise UsageError(f"{measure} needs a threshold: the largest distance of the pairs to find")
        threshold = 0.8
    exact = check_threshold(measure, threshold)
    if measure == "euclidean":
        # at threshold 0, equal vectors share a bucket of any width
        return Scale(measure, width=float(WIDTH_FACTOR * exact or 1) if width is None else _check_width(width)), exact
    if measure != "hamming":
        return Scale(measure), exact
    count = _check_bits(bits)
    if exact >= count:
        raise UsageError(
            f"threshold must be below {count}, the number of bits, not {threshold}: every pair would match"
        )
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
        raise UsageError("hamming needs bits: the number of bits of an item, such as 64")
    try:
        count = operator.index(bits)
    except TypeError:
        count = 0
    if isinstance(bits, bool) or count < 1:
        raise UsageError(f"bits must be a whole number of at least 1, not {bits!r}")
    return count
