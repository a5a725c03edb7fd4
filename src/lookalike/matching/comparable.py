"""Distinct sets that are compared together, and the buckets in which they meet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lookalike.matching.vectors import values_of_pairs
from lookalike.types import Buckets, Float64, Int64, UInt64, VectorKind
from lookalike.verify.measures import Measure


@dataclass(slots=True)
class Comparable:
    """Distinct sets, numbered 0, 1, ... by priority, with the buckets in which they meet."""

    places: Int64
    """The place of each set."""
    buckets: Buckets
    """Members are numbers of sets."""
    begins: Int64
    ends: Int64
    elements: UInt64
    bands: Iterable[Buckets] = ()
    """In their place, the buckets of one band after the other: pairs can then come more than once."""
    earlier: int = 0
    """So many sets, at the front, are of an earlier block: they are to be compared with the others only."""
    cut: bool = False
    """Is it a part of a part, which was too large?"""
    kind: VectorKind | None = None
    """What kind of vectors they are, if they are no sets."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return self.ends - self.begins

    @property
    def sets(self) -> tuple[Int64, Int64, UInt64]:
        """The sets as kernels take them; vectors as their numbers."""
        found = self.begins, self.ends, self.elements
        return self.kind.as_rows(*found) if self.kind else found

    def values(self, measure: Measure, left: Int64, right: Int64, overlaps: Int64) -> Float64:
        """The exact similarity or distance of pairs."""
        if self.kind:
            return values_of_pairs(self.kind, measure, self.sets, left, right)
        return measure.of_overlaps(overlaps, self.sizes[left], self.sizes[right])
