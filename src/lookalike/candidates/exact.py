"""The exact join: every pair of sets that reaches a threshold, with its overlap.

Sets are in order of size and their elements in order of rarity. Each set is probed against the earlier ones through
an index of the rare elements at the front of each. Measures differ only in the overlap that a pair needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.candidates.postings import NOT_ENCODED, Classes, Encoded, Postings, Rule, split_evenly
from lookalike.errors import ResourceError, UsageError
from lookalike.kernels import exact_masks, exact_plain
from lookalike.types import Bool, Int32, Int64, Mapper, Numbered, Overlapping, Span, UInt32, UInt64, stretch_by_stretch
from lookalike.types.frozen import frozen

LEVELS = {
    "length": exact_plain.BY_LENGTH,
    "prefix": exact_plain.BY_PREFIX,
    "position": exact_plain.BY_POSITION,
    "suffix": exact_plain.BY_SUFFIX,
}
INDEXES = (*LEVELS, "best")
"""The indexes: those of the book, and our fastest."""
ENCODED = 4
"""Pieces per thread when sets are encoded: sets with many elements of their own are finished sooner."""
CHUNK_ELEMENTS = 1 << 17
"""The least number of elements of a piece: handing one to a thread costs as much as probing a few thousand."""
PREPARE, PREPARE_SHORT, PROBE, MEET = 14.0, 4.0, 7.0, 2.0
"""Nanoseconds (one thread, measured on baskets): to prepare an element, the same for short sets, to probe one, and for
each pair in a list."""
MOST_CHUNK_ELEMENTS = 1 << 20
"""About the most elements of a piece: what a join has found is saved between pieces."""


@frozen
class JoinSizes:
    """Sizes that determine how the work is divided; they do not change the pairs."""

    short: int = 32
    """Up to this mean number of elements, signatures are stored in the postings: 4 times as fast at 10, equal at 31,
    a fifth of the speed at 190 (threshold 0.5)."""
    few: int = 1 << 14
    """Up to this many elements in total, masks and threads cost more than they save. (Below 1 ms either way.)"""
    chunks: int = 64
    """The most pieces per thread, so that the last thread finishes soon after the others."""
    alone: float = 5e6
    """Work of fewer nanoseconds is done by the calling thread: handing it to others takes as long."""
    pairs: int = 1 << 19
    """Pairs that a kernel collects, beyond those of one set, before it returns them."""


SIZES = JoinSizes()


@dataclass(slots=True)
class JoinStats:
    """The number of pairs left after each filter; 0 for a filter that the index does not apply or count separately."""

    postings: int = 0
    """Entries of posting lists that were examined."""
    length: int = 0
    """Pairs whose sizes allow the overlap needed."""
    prefix: int = 0
    """Pairs that share a token of their prefixes."""
    position: int = 0
    """Pairs that share it at an early enough position."""
    suffix: int = 0
    """Pairs with enough tokens after it in both sets."""
    signature: int = 0
    """Pairs whose signatures differ in few bits."""
    verified: int = 0
    """Pairs whose overlap was counted."""
    found: int = 0

    def add(self, counts: Int64, length: int, index: str) -> None:
        """Add the counts of the kernels."""
        self.length += length
        postings, prefix, position, suffix, signature, found = map(int, counts)
        self.postings += postings
        self.prefix += prefix
        self.position += position if index != "prefix" else 0
        self.suffix += suffix if index not in ("prefix", "position") else 0
        self.signature += signature
        self.verified += length if index == "length" else signature or suffix
        self.found += found


@dataclass(slots=True)
class _WorkArrays:
    """The arrays that one thread works in."""

    cursors: UInt32
    stops: UInt32
    marks: UInt32
    candidates: UInt32
    table: UInt64
    out: tuple[Int32, Int32, Int32]
    state: Int64 = field(default_factory=lambda: np.zeros(2, np.int64))
    counts: Int64 = field(default_factory=lambda: np.zeros(6, np.int64))

    @classmethod
    def make(cls, sets: int, starts: UInt32, span: int, inline: bool, most: int) -> _WorkArrays:
        pairs = sets + min(most, sets * sets)
        left, right, overlaps = (np.empty(pairs, np.int32) for _ in range(3))
        return cls(
            starts.copy(),
            starts.copy() if inline else starts[:0],
            np.zeros(sets, np.uint32),
            np.empty(sets + 1, np.uint32),
            np.zeros(span // 64 + 1, np.uint64),
            (left, right, overlaps),
        )

    def go_to(self, first: int, starts: UInt32) -> None:
        """Prepare for a set: cursors only move forward, so for an earlier set they are reset."""
        if first < self.state[exact_plain.NEXT]:
            self.cursors[:] = starts
            self.stops[:] = starts[: len(self.stops)]

    def take(self) -> Overlapping:
        """A copy of the pairs found."""
        left, right, overlaps = (values[: self.state[exact_plain.WRITTEN]].copy() for values in self.out)
        return Overlapping(left, right, overlaps, int(self.state[exact_plain.NEXT]))


@dataclass(slots=True)
class _Join:
    """Everything that is prepared for probing."""

    index: str
    rule: Rule
    given: tuple[Any, ...]
    span: int
    classes: Classes
    encoded: Encoded
    postings: Postings
    most: int
    rooms: list[_WorkArrays] = field(default_factory=list)

    @classmethod
    def prepare(
        cls, sets: Numbered, rule: Rule, index: str, sides: Bool | None, threads: int, each: Mapper, most: int
    ) -> _Join:
        given = sets.indptr, sets.tokens, np.uint32(sets.singles), np.zeros(0, np.bool_) if sides is None else sides
        parts = split_evenly(sets.indptr, threads)
        span = sets.distinct - sets.singles
        classes = Classes.make(sets.indptr, rule)
        encoded = NOT_ENCODED
        if index in ("inline", "marked"):
            make = Encoded.make_short if index == "inline" else Encoded.make_long
            encoded = make(given, split_evenly(sets.indptr, ENCODED * threads), each)
        if index == "length":
            empty = np.zeros(0, np.uint32)
            postings = Postings(empty, empty, empty, empty, np.zeros(0, np.uint64), np.zeros(0, np.uint8))
        else:
            postings = Postings.make(given, rule, classes, encoded, span, index == "inline", parts, each)
        return cls(index, rule, given, span, classes, encoded, postings, most)

    def probe(self, chunk: Span) -> tuple[Overlapping, int, int]:
        """As many pairs of a chunk as there is room for, where the probe stopped, and where the chunk ends."""
        room = self._room()
        room.go_to(chunk[0], self.postings.starts)
        self._call(chunk, room)
        found = room.take()
        self.rooms.append(room)
        return found, found.reached, chunk[1]

    def _room(self) -> _WorkArrays:
        """Work arrays that no other thread is using."""
        try:
            return self.rooms.pop()
        except IndexError:
            sets, inline = len(self.classes.of), self.index == "inline"
            return _WorkArrays.make(sets, self.postings.starts, self.span, inline, self.most)

    def _call(self, chunk: Span, room: _WorkArrays) -> None:
        known = self.rule, self.given, self.classes.arguments
        lists, coded = self.postings, self.encoded
        after = room.out, room.state, room.counts
        work = room.marks, room.candidates, room.table
        if self.index == "inline":
            inline = room.cursors, room.stops, lists.owners, lists.limits, lists.signatures
            exact_masks.probe_inline(*chunk, *known, coded.alone, coded.signs, inline, work, *after)
        elif self.index == "marked":
            marked = room.cursors, lists.owners, lists.limits, lists.contained
            exact_masks.probe_marked(*chunk, *known, coded.alone, coded.masks, coded.prints, marked, work, *after)
        else:
            plain = room.cursors, lists.owners, lists.places
            exact_plain.probe_plain(*chunk, LEVELS[self.index], *known, plain, room.marks, *after)

    def pairs_by_length(self) -> int:
        """The number of pairs whose sizes allow the overlap needed."""
        numbers = np.arange(len(self.classes.of))
        lowest = np.minimum(self.classes.starts[self.classes.lowest[self.classes.of]], numbers)
        sides = self.given[3]
        if not sides.size:
            return int(np.sum(numbers - lowest))
        ones = np.concatenate([[0], np.cumsum(sides)])
        partners = ones[numbers] - ones[lowest]
        return int(np.sum(np.where(sides, numbers - lowest - partners, partners)))


def _resolve_index(sets: Numbered, index: str, sizes: JoinSizes) -> str:
    """The index that "best" stands for with these sets."""
    if index != "best":
        return index
    if len(sets.tokens) <= sizes.few:
        return "suffix"
    return "inline" if len(sets.tokens) <= sizes.short * len(sets) else "marked"


def _check(sets: Numbered, index: str, sides: Bool | None) -> None:
    if index not in INDEXES:
        raise UsageError(f"index {index!r}: one of {', '.join(INDEXES)}")
    if sides is not None and len(sides) != len(sets):
        raise UsageError(f"{len(sides)} sides for {len(sets)} sets")
    if len(sets.tokens) + 2 * sets.distinct >= 1 << 32 or len(sets) >= 1 << 31:
        raise ResourceError("the exact join takes up to four billion elements: use --method lsh")


def join_exact(
    sets: Numbered,
    measure: Rule,
    *,
    index: str = "best",
    sides: Bool | None = None,
    threads: int = 1,
    each: Mapper = map,
    stats: JoinStats | None = None,
    sizes: JoinSizes = SIZES,
    first: int = 0,
) -> Iterator[Overlapping]:
    """Yield every pair of sets with at least the overlap of `kernels.sets.needed_overlap`, as it is found.

    Pairs are ordered by `right`; pairs and order do not depend on the threads. For containment, a pair is listed if
    either set is contained in the other: the caller works out the directions.

    Parameters
    ----------
    sets
        In order of size, none empty; equal sets are allowed.
    measure
        Number of the measure, numerator and denominator of the threshold, which is above 0.
    index
        "length", "prefix", "position", "suffix" (each with all filters before it) or "best". The pairs are the same.
    sides : bool[sets]
        If given, only pairs of sets on different sides are listed: a join of two collections.
    threads, each
        The number of threads to divide the work for, and a map that uses them.
    stats
        Updated once all pairs have been taken.
    sizes
        How the work is divided; this does not change the pairs.
    first
        Only pairs whose right set is this one or a later one, to continue an interrupted join.

    Examples
    --------
    >>> sets = Numbered(np.array([0, 2, 5]), np.array([1, 2, 0, 1, 2], np.uint32), 3, 1)
    >>> [pairs] = join_exact(sets, (0, 2, 3))  # Jaccard at least 2/3
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.overlaps.tolist()
    ([0], [1], [2])
    """
    _check(sets, index, sides)
    if len(sets.tokens) <= sizes.few:
        threads, each = 1, map
    return _join(sets, measure, _resolve_index(sets, index, sizes), sides, threads, each, stats, sizes, first)


def _join(
    sets: Numbered,
    rule: Rule,
    index: str,
    sides: Bool | None,
    threads: int,
    each: Mapper,
    stats: JoinStats | None,
    sizes: JoinSizes,
    first: int,
) -> Iterator[Overlapping]:
    if len(sets) < 2:
        return
    elements = len(sets.tokens)
    preparing = elements * (PREPARE_SHORT if index == "inline" else PREPARE)
    hands = (threads, each) if preparing > sizes.alone else (1, map)
    join = _Join.prepare(sets, rule, index, sides, *hands, sizes.pairs)
    if elements * PROBE + join.postings.meetings * MEET < sizes.alone and index != "length":
        threads, each = 1, map
    chunks = split_evenly(sets.indptr, _count_pieces(elements, threads, sizes.chunks))
    yield from stretch_by_stretch(join.probe, each, [(max(low, first), high) for low, high in chunks if high > first])
    if stats is not None:
        stats.add(np.sum([room.counts for room in join.rooms], axis=0), join.pairs_by_length(), index)


def _count_pieces(elements: int, threads: int, chunks: int) -> int:
    """The number of pieces that keeps all threads busy to the end; each takes a few seconds at most."""
    return min(max(chunks * threads, elements // MOST_CHUNK_ELEMENTS), max(threads, elements // CHUNK_ELEMENTS))
