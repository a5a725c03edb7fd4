"""Find the items of large buckets by their rare elements: the part that all stores share.

Boilerplate puts thousands of different items in one bucket. As in batch jobs (`candidates/prefix.py`), the elements of
each set are put in one fixed order, rare ones first; two similar sets then share one of their first elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.engine.digest import DigestSettings
from lookalike.index.batch import Array, Content, pieces_of
from lookalike.index.kind import Kind
from lookalike.index.part import Contents, fetch_sets
from lookalike.kernels.prefix import list_prefixes
from lookalike.types import Int32, Int64, Sets, UInt64
from lookalike.types.frozen import frozen
from lookalike.verify.measures import Measure

PER_COUNTER, MOST_COUNTERS = 8, 1 << 20
"""Elements per counter, and the most counters: coarse counts are enough to distinguish boilerplate."""
ENTRY_BYTES = 40
"""Memory per entry while entries are sorted."""
MEMORY_SHARE = 4
"""Entries may take one part in this many of the memory."""
MOST_PLACE = 0xFFFF
"""Later positions are stored as this one, which can only add candidates."""


class Entries(NamedTuple):
    """Rare elements, sorted; equal ones by set size, position and item."""

    keys: UInt64
    members: Int32
    places: Array
    """uint16: the position of the element in the order of its set."""


class Prefixes(NamedTuple):
    """The first elements of some sets: those of set i are keys[starts[i]:starts[i + 1]]."""

    starts: Int64
    keys: UInt64
    places: Int32


@frozen
class Refining:
    """Everything that the rare elements of an index depend on."""

    measure: Measure
    digesting: DigestSettings
    text: bool
    """Whether texts are stored."""
    memory_bytes: int
    """Memory for entries while they are sorted."""

    @classmethod
    def of(cls, kind: Kind) -> Refining | None:
        """For an index of this kind; None if it holds vectors, which have no elements."""
        if kind.settings.items.vectors:
            return None
        memory_bytes = kind.settings.execution.budget.total_bytes // MEMORY_SHARE
        return cls(kind.measure, kind.digesting, kind.store == "text", memory_bytes)

    def _sets(self, source: Contents, crowd: Int64) -> Iterator[tuple[Int64, Sets, Int64]]:
        """Items of a crowd and their sets: a collection, and the positions in it."""
        for piece in pieces_of(source.sizes(crowd)):
            some = crowd[piece]
            yield some, *fetch_sets(source, some, self.digesting, self.text)

    def count(self, source: Contents, crowd: Int64, sizes: Int32) -> Array:
        """uint32: how often elements occur (one counter for equal lower bits); also fills in the set sizes."""
        total = 0
        for some, sets, places in self._sets(source, crowd):
            sizes[some] = sets.indptr[places + 1] - sets.indptr[places]
            total += int(sizes[some].sum())
        slots = min(MOST_COUNTERS, 1 << max(10, (total // PER_COUNTER).bit_length()))
        found = np.zeros(slots, np.int64)
        for _, sets, places in self._sets(source, crowd):
            elements = Content(sets.indptr, sets.elements).take(places).data
            found += np.bincount((elements & np.uint64(slots - 1)).astype(np.int64), minlength=slots)
        return np.minimum(found, 0xFFFFFFFF).astype(np.uint32)

    def pieces(self, entries: int) -> int:
        """The number of pieces (by upper bits) in which this many entries fit in memory: a power of two."""
        return 1 << max(0, -(-entries * ENTRY_BYTES // max(1, self.memory_bytes)) - 1).bit_length()

    def entries(self, source: Contents, crowd: Int64, counters: Array, sizes: Int32, piece: int, of: int) -> Entries:
        """The entries of a crowd whose upper bits are `piece`."""
        found = []
        for some, sets, places in self._sets(source, crowd):
            prefixes = rare_elements(sets, places, counters, self.measure)
            members = np.repeat(some, np.diff(prefixes.starts)).astype(np.int32)
            mine = (
                np.ones(len(members), np.bool_)
                if of == 1
                else prefixes.keys >> np.uint64(65 - of.bit_length()) == piece
            )
            found.append((prefixes.keys[mine], members[mine], prefixes.places[mine]))
        keys, members, places = (np.concatenate(parts) for parts in zip(*found))
        order = np.lexsort((members, places, sizes[members], keys))
        return Entries(keys[order], members[order], np.minimum(places[order], MOST_PLACE).astype(np.uint16))


def rare_elements(sets: Sets, rows: Int64, counters: Array, measure: Measure) -> Prefixes:
    """The first elements of some sets; every similar set has one of them among its own first elements."""
    floor = measure.jaccard_floor
    assert floor is not None  # otherwise there would be no plan, and no index
    ends = sets.indptr[1:]
    return Prefixes(*list_prefixes(rows, sets.indptr[:-1], ends, sets.elements, counters, *floor.as_integer_ratio()))
