"""Measures with their thresholds, and the exact similarity of pairs. Sets are compared in integer arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.kernels import sets as kernels
from lookalike.tuning.thresholds import DISTANCES, check_threshold, jaccard_floor, written
from lookalike.types import Bool, Float64, Int64
from lookalike.types.frozen import frozen

NUMBERS = {
    "jaccard": kernels.JACCARD,
    "dice": kernels.DICE,
    "cosine": kernels.COSINE,
    "containment": kernels.CONTAINMENT,
    "overlap": kernels.OVERLAP,
}
VECTOR_NUMBERS = {"cosine": kernels.ANGLE, "euclidean": kernels.EUCLIDEAN, "hamming": kernels.HAMMING}
LARGEST_TERM = 1 << 31
"""Numerator and denominator of a threshold are below this, so that kernels can compare in 64 bits."""


@frozen
class Measure:
    """A measure of two sets or vectors and the threshold that a pair must reach.

    Examples
    --------
    >>> Measure.parse("jaccard", 0.8)
    Measure(name='jaccard', threshold=Fraction(4, 5), of_vectors=False)
    """

    name: str
    threshold: Fraction
    of_vectors: bool = False
    """Whether it compares vectors or bit strings; for cosine, that depends on the items."""

    @classmethod
    def parse(cls, name: str, threshold: float | str | Fraction) -> Measure:
        """Check measure and threshold.

        Examples
        --------
        >>> Measure.parse("hamming", 0).threshold
        Fraction(0, 1)
        """
        fraction = check_threshold(name, threshold)
        if fraction.denominator == 1 and fraction.numerator >= LARGEST_TERM:
            raise UsageError(f"threshold {threshold} is too large; the largest is {LARGEST_TERM - 1}")
        if fraction.numerator >= LARGEST_TERM or fraction.denominator >= LARGEST_TERM:
            raise UsageError(f"threshold {threshold} has more than nine decimals; a fraction can be written as '2/3'")
        return cls(name, fraction, name in DISTANCES)

    @property
    def written(self) -> float | str:
        """The threshold as a user would write it: a number, or a fraction such as 2/3 that no decimal equals."""
        return written(self.threshold)

    @property
    def arguments(self) -> tuple[int, int, int]:
        """The arguments of the kernels: number of the measure, numerator and denominator of the threshold."""
        number = VECTOR_NUMBERS[self.name] if self.of_vectors else NUMBERS[self.name]
        return number, self.threshold.numerator, self.threshold.denominator

    @property
    def is_distance(self) -> bool:
        """Whether smaller values mean more similar."""
        return self.name in DISTANCES

    @property
    def of_equal(self) -> float:
        """The value of two equal items (for overlap, of sets of one element)."""
        return 0.0 if self.is_distance else 1.0

    @property
    def column(self) -> str:
        """The name of the column of results that holds it."""
        return "distance" if self.is_distance else "similarity"

    def reached_by(self, values: Float64) -> Bool:
        """Which values reach the threshold.

        Examples
        --------
        >>> Measure.parse("euclidean", 2).reached_by(np.array([1.5, 2.5])).tolist()
        [True, False]
        """
        limit = float(self.threshold)
        return values <= limit if self.is_distance else values >= limit

    def can_reach(self, smaller: int, larger: int) -> bool:
        """Whether sets of these sizes can reach the threshold. For containment, the smaller may be part of the larger.

        Examples
        --------
        >>> Measure.parse("jaccard", 0.8).can_reach(79, 100), Measure.parse("jaccard", 0.8).can_reach(80, 100)
        (False, True)
        """
        if self.of_vectors:
            return True
        most = {
            "jaccard": Fraction(smaller, larger),
            "dice": Fraction(2 * smaller, smaller + larger),
            "cosine": Fraction(smaller, larger),
            "containment": Fraction(1),
            "overlap": Fraction(smaller),
        }
        return most[self.name] >= (self.threshold**2 if self.name == "cosine" else self.threshold)

    @property
    def jaccard_floor(self) -> Fraction | None:
        """The smallest Jaccard similarity of a pair that reaches the threshold; None if it can be arbitrarily small."""
        return None if self.of_vectors else jaccard_floor(self.name, self.threshold)

    def of_overlaps(self, overlaps: Int64, left_sizes: Int64, right_sizes: Int64) -> Float64:
        """The measure of pairs by their overlap and set sizes (containment: of left in right).

        Examples
        --------
        >>> Measure.parse("jaccard", 0.8).of_overlaps(np.array([3]), np.array([4]), np.array([5])).tolist()
        [0.5]
        """
        return np.asarray(self._of(overlaps, left_sizes, right_sizes), np.float64)

    def of_overlap(self, overlap: int, left_size: int, right_size: int) -> float:
        """The measure of one pair.

        Examples
        --------
        >>> Measure.parse("jaccard", 0.8).of_overlap(3, 4, 5)
        0.5
        """
        return float(self._of(overlap, left_size, right_size))

    def _of(self, overlap: Any, left_size: Any, right_size: Any) -> Any:
        """For numbers and for arrays of them."""
        if self.name == "jaccard":
            return overlap / (left_size + right_size - overlap)
        if self.name == "dice":
            return 2 * overlap / (left_size + right_size)
        if self.name == "containment":
            return overlap / left_size
        if self.name == "overlap":
            return overlap
        return overlap / np.sqrt(1.0 * left_size * right_size)
