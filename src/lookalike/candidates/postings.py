"""The data that the exact join prepares: size classes with bounds, sets as bit masks, and posting lists.

exact.py probes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lookalike.kernels import exact_bounds, exact_encode, exact_index
from lookalike.kernels.machine import NEAR
from lookalike.types import Int64, Mapper, Span, UInt8, UInt32, UInt64
from lookalike.types.frozen import frozen

Rule = tuple[int, int, int]
"""The number of a measure, and the numerator and denominator of its threshold."""


@frozen
class Classes:
    """Sets by size, and the bounds of each size; see kernels/exact_bounds.py."""

    of: UInt32
    sizes: Int64
    starts: Int64
    lowest: Int64
    indexed: Int64
    probing: Int64

    @classmethod
    def make(cls, indptr: Int64, rule: Rule) -> Classes:
        """Group the sets by size and compute the bounds of each size."""
        of, sizes, starts = exact_bounds.size_classes(indptr)
        return cls(of, sizes, starts, *exact_bounds.bound_classes(*rule, sizes))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the probing kernels."""
        return self.of, self.sizes, self.starts, self.lowest, self.probing


@frozen
class Encoded:
    """Long sets as bit masks with signatures, or the signatures of short ones; see kernels/exact_encode.py."""

    alone: UInt32
    signs: UInt64
    masks: tuple[Int64, UInt32, UInt64]
    prints: tuple[Int64, UInt64]

    @classmethod
    def make_short(cls, given: tuple[Any, ...], parts: Sequence[Span], each: Mapper) -> Encoded:
        """Sign short sets (in the form of the kernels), part by part on threads."""
        indptr, tokens, singles, _ = given
        sets = len(indptr) - 1
        alone, signs = np.empty(sets, np.uint32), np.empty(exact_encode.INLINE_WORDS * sets, np.uint64)
        list(each(lambda part: exact_encode.sign_short(indptr, tokens, singles, *part, alone, signs), parts))
        return cls(alone, signs, NOT_ENCODED.masks, NOT_ENCODED.prints)

    @classmethod
    def make_long(cls, given: tuple[Any, ...], parts: Sequence[Span], each: Mapper) -> Encoded:
        """Encode long sets."""
        indptr, tokens, singles, _ = given
        alone = np.empty(len(indptr) - 1, np.uint32)
        words = np.zeros(len(indptr), np.int64)
        list(each(lambda part: exact_encode.count_words(indptr, tokens, singles, *part, alone, words), parts))
        starts = np.cumsum(words)
        masks = starts, np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.uint64)
        list(each(lambda part: exact_encode.fill_words(indptr, tokens, singles, *part, alone, masks), parts))
        places = exact_encode.place_signatures(indptr)
        prints = places, np.zeros(places[-1], np.uint64)
        list(each(lambda part: exact_encode.fill_signatures(*part, masks, *prints), parts))
        return cls(alone, NOT_ENCODED.signs, masks, prints)


NOT_ENCODED = Encoded(
    np.zeros(0, np.uint32),
    np.zeros(0, np.uint64),
    (np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint64)),
    (np.zeros(0, np.int64), np.zeros(0, np.uint64)),
)


@frozen
class Postings:
    """The lists of sets by token; see kernels/exact_index.py. Arrays that are not needed have size 0."""

    starts: UInt32
    owners: UInt32
    limits: UInt32
    places: UInt32
    signatures: UInt64
    contained: UInt8
    meetings: float = 0.0
    """Pairs of sets in one list, over all lists: how much there is to probe, before any filter."""

    @classmethod
    def make(
        cls,
        given: tuple[Any, ...],
        rule: Rule,
        classes: Classes,
        encoded: Encoded,
        span: int,
        inline: bool,
        parts: Sequence[Span],
        each: Mapper,
    ) -> Postings:
        """List the prefixes of all sets, part by part on threads. For sets that are not encoded, positions are listed.

        `span` is the number of tokens that have a list, `inline` whether signatures are stored in the postings.
        """
        lists = span * (2 if given[3].size else 1)
        cursors = np.zeros((len(parts), lists), np.uint32)
        numbered = list(enumerate(parts))
        list(
            each(
                lambda one: exact_index.count_postings(
                    *one[1], given, classes.of, classes.indexed, encoded.alone, span, cursors[one[0]]
                ),
                numbered,
            )
        )
        lengths = cursors.sum(axis=0, dtype=np.float64)
        meetings = float(np.sum(lengths * (lengths - 1) / 2))
        made = cls._allocate(cursors, encoded is not NOT_ENCODED, inline, meetings)
        facts = classes.of, classes.sizes, classes.lowest
        index = made.owners, made.limits, made.places, made.signatures
        list(
            each(
                lambda one: exact_index.fill_postings(
                    *one[1],
                    *rule,
                    given,
                    facts,
                    classes.indexed,
                    encoded.alone,
                    span,
                    encoded.signs,
                    cursors[one[0]],
                    index,
                ),
                numbered,
            )
        )
        cuts = np.linspace(0, lists, len(parts) + 1).astype(np.int64).tolist()
        ranges = list(pairwise(cuts))
        list(each(lambda some: exact_index.end_lists(*some, made.starts, cursors[-1], made.owners), ranges))
        if made.contained.size:
            list(each(lambda some: exact_index.mark_contained(*some, made.starts, made.owners, made.contained), ranges))
        return made

    @classmethod
    def _allocate(cls, counts: UInt32, encoded: bool, inline: bool, meetings: float) -> Postings:
        starts = np.empty(counts.shape[1], np.uint32)
        places = exact_index.place_lists(counts, starts)
        return cls(
            starts,
            np.empty(places, np.uint32),
            np.empty(places if encoded else 0, np.uint32),
            np.empty(0 if encoded else places, np.uint32),
            np.empty(places + NEAR if inline else 0, np.uint64),
            np.zeros(len(starts) if encoded and not inline else 0, np.uint8),
            meetings,
        )


def split_evenly(indptr: Int64, parts: int) -> list[Span]:
    """Split the sets into at most this many runs with about equally many elements.

    Examples
    --------
    >>> split_evenly(np.array([0, 1, 2, 4]), 2)
    [(0, 2), (2, 3)]
    """
    cuts = np.searchsorted(indptr, indptr[-1] * np.arange(1, parts) // parts)
    edges = [0, *cuts.tolist(), len(indptr) - 1]
    return [(first, last) for first, last in pairwise(edges) if last > first]
