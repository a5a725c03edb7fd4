"""The k nearest sets of each set, exactly. The search itself is in kernels/neighbors.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import ResourceError
from lookalike.kernels import neighbors as kernels
from lookalike.types import Bool, Int64, Mapper, Numbered, UInt32, UInt64, distinct

SIGNED_SIZE = 32
"""Up to this mean size, entries of posting lists carry signatures; of larger sets, too many bits would be set."""
CHUNKS_PER_THREAD = 16
"""Pieces of work per thread, so that a thread that finishes early finds more to do."""
ROOM = 1 << 18
"""Neighbours that a thread collects before it returns them."""
MOST_NEIGHBORS = 1 << 30
"""A longer list of neighbours (24 bytes each, and more as a table) is not useful."""


class NearestSets(NamedTuple):
    """The neighbours of set i are neighbours[starts[i]:starts[i + 1]], nearest first."""

    starts: Int64
    """int64, one more entry than sets."""
    neighbours: UInt32
    overlaps: UInt32


def nearest(
    sets: Numbered,
    ranks: Int64,
    measure: int,
    k: int,
    *,
    threshold: tuple[int, int] | None = None,
    sides: Bool | None = None,
    threads: int = 1,
    each: Mapper = map,
    signed_size: int = SIGNED_SIZE,
    room: int = ROOM,
    most: int = MOST_NEIGHBORS,
) -> NearestSets:
    """The k most similar other sets of each set; a set that shares no element is never among them.

    Parameters
    ----------
    sets
        In order of size; sets of one size in input order.
    ranks
        The position of each set in the input: of equally similar sets, the earlier comes first.
    measure
        Its number in the kernels (containment: of the set in its neighbour).
    threshold
        Numerator and denominator of the least similarity; None: any above 0.
    sides
        True for the sets to search among, false for those to find neighbours of; None: all sets are both.
    threads
        Determines how many pieces the work is cut into; the result is the same for any number.
    each
        Runs the pieces.
    signed_size, room, most
        Sizes that do not change the result; see the constants of this module.

    Examples
    --------
    >>> sets = Numbered(np.array([0, 2, 4, 7]), np.array([1, 2, 1, 2, 0, 1, 2], np.uint32), 3, 1)
    >>> nearest(sets, np.array([2, 5, 0]), 0, 1).neighbours.tolist()
    [1, 0, 0]
    """
    probes = np.arange(len(sets)) if sides is None else np.flatnonzero(~sides)
    indexed = np.ones(len(sets), np.bool_) if sides is None else sides
    k = min(k, int(np.count_nonzero(indexed)))
    found: Int64 = np.zeros(len(sets), np.int64)
    if not k or not len(probes):
        return _join(found, [])
    search = _Search(sets, ranks, indexed, (measure, *(threshold or (0, 1))), k, signed_size, room)
    pieces = _cut(sets.indptr, probes, CHUNKS_PER_THREAD * threads)
    parts = []
    total = 0
    for piece, (counts, *part) in zip(pieces, each(search.run, pieces)):
        found[piece] = counts
        parts.append(part)
        total += len(part[0])
        if total > most:
            raise ResourceError(f"more than {most:,} neighbours would be listed; ask for fewer with -k")
    return _join(found, parts)


def _join(found: Int64, parts: list[list[UInt32]]) -> NearestSets:
    """Concatenate the pieces: probes ascend, and sets that are not probed have no neighbours."""
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
    neighbours, overlaps = (np.concatenate([np.empty(0, np.uint32), *(part[i] for part in parts)]) for i in (0, 1))
    return NearestSets(starts, neighbours, overlaps)


def _cut(indptr: Int64, probes: Int64, pieces: int) -> list[Int64]:
    """Consecutive probes with about equal numbers of tokens."""
    sizes = np.cumsum(indptr[probes + 1] - indptr[probes])
    cuts = distinct(np.searchsorted(sizes, np.linspace(0, sizes[-1], pieces + 1)[1:-1]))
    return [piece for piece in np.split(probes, cuts) if len(piece)]


class _Search:
    """The index, and the arrays that threads work in."""

    def __init__(
        self,
        sets: Numbered,
        ranks: Int64,
        indexed: Bool,
        rule: tuple[int, int, int],
        k: int,
        signed_size: int,
        room: int,
    ) -> None:
        sizes = sets.sizes
        if np.any((np.diff(sizes) == 0) & (np.diff(ranks) < 0)):
            raise ValueError("sets of one size must be in input order")
        first_of_size = np.searchsorted(sizes, np.arange(int(sizes[-1]) + 2)).astype(np.int64)
        postings = kernels.list_postings(sets.indptr, sets.tokens, sets.distinct, sets.singles, indexed, first_of_size)
        signed = len(sets.tokens) <= signed_size * len(sets)
        signs: UInt64 = np.empty((0, kernels.SIGN_WORDS), np.uint64)
        encoded = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint64)
        entry_signs = np.empty(0, np.uint64)
        if signed:
            signs = kernels.sign_sets(sets.indptr, sets.tokens)
            entry_signs = signs[postings[1]].ravel()
        else:
            encoded = kernels.encode_sets(sets.indptr, sets.tokens, sets.singles)
        self.sets = (sets.indptr, sets.tokens, *encoded, ranks.astype(np.int64), first_of_size, signs)
        self.index = (*postings, entry_signs)
        self.rule = rule
        self.k, self.room = k, room
        self.words = sets.distinct // 64 + 1
        self.idle: list[Any] = []

    def _work(self) -> tuple[Any, ...]:
        """The arrays of one thread: a set that is not in use, or a new one."""
        try:
            return self.idle.pop()  # type: ignore[no-any-return]
        except IndexError:
            count = len(self.sets[0]) - 1
            marks, counts, touched = (np.zeros(count + 1, np.uint32) for _ in range(3))
            return (marks, counts, touched, np.zeros(self.words, np.uint64), np.empty((self.k, 4), np.int64))

    def run(self, probes: Int64) -> tuple[Int64, UInt32, UInt32]:
        """The number of neighbours of each probe, and all neighbours with their overlaps."""
        work = self._work()
        found: Int64 = np.empty(len(probes), np.int64)
        room: UInt32 = np.empty((2, max(self.k, min(self.room, self.k * len(probes)))), np.uint32)
        parts = [room[:, :0]]
        at = 0
        while at < len(probes):
            at, written = kernels.find_nearest(at, probes, self.sets, self.index, self.rule, work, found, *room)
            parts.append(room[:, :written].copy())
        self.idle.append(work)
        joined = np.concatenate(parts, axis=1)
        return found, joined[0], joined[1]


def about_bytes(elements: int, sets: int, threads: int) -> int:
    """An estimate of the memory that the search needs, including the sets and their numbering.

    Per element: the element and its number (12), masks (12) and an entry with its signature (24); 40 more while
    elements are numbered.

    Examples
    --------
    >>> about_bytes(1_000_000, 100_000, 2)
    97600000
    """
    return 88 * elements + (72 + 12 * threads) * sets
