"""Distinct sets that are compared together, and the buckets that they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lookalike.candidates.bands import join_band
from lookalike.candidates.buckets import concatenate
from lookalike.types import Buckets, Float64, Int32, Int64, Sets, UInt64, VectorKind
from lookalike.types.frozen import mutable
from lookalike.verify.measures import Measure


class EqualSets(NamedTuple):
    """Places, each with the first place that has an equal set."""

    places: Int64
    firsts: Int64


class CutPart(NamedTuple):
    """The distinct sets of a connected part that is too large for memory and is compared in blocks."""

    places: Int32
    sizes: Int32


@mutable
class Comparable:
    """Distinct sets, numbered 0, 1, ... by priority, with the buckets that they share.

    NumPy arrays and plain values only: it can be sent to another process.
    """

    places: Int64
    """The place of each set in the order of priority."""
    buckets: Buckets
    """Members are numbers of sets."""
    begins: Int64
    ends: Int64
    elements: UInt64
    """Set i is elements[begins[i]:ends[i]]."""
    bands: Iterable[Buckets] = ()
    """Instead of `buckets`: the buckets band by band, which a pair can share more than once."""
    earlier: int = 0
    """How many sets, at the front, belong to an earlier block: they are compared only with the others."""
    equal: EqualSets | None = None
    """Places found to have equal sets, if they were not known before."""
    cut: CutPart | None = None
    """The whole part, if these sets are only some blocks of it."""
    kind: VectorKind | None = None
    """The kind of vectors, if they are not sets."""
    crowded: Int64 | None = None
    """Sets that have too many candidates to compare or list them all."""
    name: str = ""
    """Part of the names of pieces of work about them."""

    @classmethod
    def from_keys(cls, sets: Sets, keys: UInt64, kind: VectorKind | None = None) -> Comparable:
        """Group distinct sets, ordered by priority, that share a bucket key in a band.

        Parameters
        ----------
        keys : uint64[bands, sets]

        Examples
        --------
        >>> sets = Sets(np.array([0, 1, 2]), np.array([5, 7], np.uint64))
        >>> Comparable.from_keys(sets, np.array([[1, 1], [2, 3]], np.uint64)).buckets.members.tolist()
        [0, 1]
        """
        places = np.arange(len(sets))
        buckets = concatenate([join_band(band, places.astype(np.int32)) for band in keys])
        return cls(places, buckets, sets.indptr[:-1], sets.indptr[1:], sets.elements, kind=kind)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return self.ends - self.begins

    @property
    def sets(self) -> tuple[Int64, Int64, UInt64]:
        """The sets in the form that kernels take; vectors as numbers."""
        found = self.begins, self.ends, self.elements
        return self.kind.as_rows(*found) if self.kind else found

    def values(self, measure: Measure, left: Int64, right: Int64, overlaps: Int64) -> Float64:
        """The exact similarity or distance of pairs."""
        if self.kind:
            from lookalike.matching.vectors import values_of_pairs  # sets do not need it

            return values_of_pairs(self.kind, measure, self.sets, left, right)
        return measure.of_overlaps(overlaps, self.sizes[left], self.sizes[right])

    def own_values(self, measure: Measure) -> Float64:
        """The similarity of each set to an equal one: 1, or its size for overlap; 0 for distances."""
        if measure.name == "overlap":
            return self.sizes.astype(np.float64)
        return np.full(len(self), measure.of_equal)
