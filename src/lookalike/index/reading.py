"""Read sources as blocks of items with their names, sets and bucket keys, in input order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import fill_ids, naming_bad_vectors, wanted_of
from lookalike.engine.digest import KeyedSets, keyed_sets
from lookalike.engine.progress import Progress
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError
from lookalike.features.shingles import is_list
from lookalike.index.batch import Batch, Content
from lookalike.index.kind import Kind
from lookalike.read import is_text
from lookalike.types import (
    Block,
    Items,
    Rejected,
    Source,
    Wanted,
    strings_to_arrow,
    text_arrays,
    to_arrow,
)
from lookalike.types import compute as pc


@dataclass(frozen=True, slots=True)
class ReadItems:
    """The items of a block."""

    source: Source
    first_row: int
    """The number of the first item in its source."""
    given_ids: pa.Array | None
    """The id column, if the source has one."""
    features: pa.Array
    found: KeyedSets
    rejected: Sequence[Rejected]

    def __len__(self) -> int:
        return len(self.features)

    @property
    def integers(self) -> bool:
        """Whether all have integers as ids."""
        return are_integers(self.given_ids)

    @property
    def unnamed(self) -> bool:
        """Whether none of them has an id."""
        return self.given_ids is None or self.given_ids.null_count == len(self.given_ids)

    def names(self) -> pa.Array:
        """Their ids as text: the id column, or FILE:ROW."""
        if self.given_ids is None or pa.types.is_null(self.given_ids.type):
            return self.places()
        if not self.given_ids.null_count:
            return id_texts(self.given_ids)
        return fill_ids(self.given_ids, self.places())

    def places(self) -> pa.Array:
        """The places of the items as FILE:ROW."""
        return places_of(self.source, self.first_row, len(self))

    def batch(self, names: pa.Array, store: str) -> Batch:
        """The items in stored form."""
        return stored_batch(names, self.features, self.found, store, self.source.name)


def places_of(source: Source, first: int, count: int) -> pa.Array:
    """The places of consecutive items of a source as FILE:ROW."""
    if not count:
        return strings_to_arrow([])
    last = first + count - 1
    name, row = source.locate(first)
    if source.locate(last) == (name, row + last - first):
        rows = pc.cast(to_arrow(np.arange(row, row + count)), pa.large_string())
        return pc.binary_join_element_wise(strings_to_arrow([f"{name}:"])[0], rows, strings_to_arrow([""])[0])
    return strings_to_arrow([":".join(map(str, source.locate(at))) for at in range(first, last + 1)])


def stored_batch(names: pa.Array, features: pa.Array, found: KeyedSets, store: str, place: str) -> Batch:
    """Items in stored form: as sets or as texts. `place` is where they come from."""
    now = np.full(len(names), time.time_ns() // 1000, np.int64)
    sets, keys, there = found
    if store != "text":
        return Batch(names, now, Content(sets.indptr, sets.elements), keys, there)
    if is_list(features):
        raise BadDataError(f"{place}: the items are token lists; create the index with --store sets")
    letters, offsets = text_arrays(features)
    return Batch(names, now, Content(offsets, letters), keys, there)


def id_texts(ids: pa.Array) -> pa.Array:
    """Ids, none of them null, as text."""
    if is_text(ids.type) or pa.types.is_integer(ids.type):
        return ids.cast(pa.large_string())
    return fill_ids(ids, pa.nulls(len(ids), pa.large_string()))


def are_integers(ids: pa.Array | None) -> bool:
    """Whether all ids are integers that fit int64."""
    return ids is not None and pa.types.is_integer(ids.type) and not ids.null_count and ids.type != pa.uint64()


DigestedItems = tuple[int, Items, KeyedSets, pa.Array | None, int]
"""The number of a source, items of it as they follow each other, their sets and keys, their ids, and bytes read."""
DigestElsewhere = Callable[[list[Source], list[Wanted], Kind], Iterator[DigestedItems]]


@dataclass(slots=True)
class Reader:
    """Reads sources for an index, on some threads."""

    kind: Kind
    progress: Progress = field(default_factory=Progress)
    rejected: list[Rejected] = field(default_factory=list)
    seen: int = 0
    named: int = 0

    @property
    def ahead(self) -> int:
        """How many blocks may be in memory at a time."""
        return self.kind.settings.execution.blocks_ahead(self.kind.settings.items.characters)

    def read(
        self,
        sources: list[Source],
        workers: Workers | None = None,
        elsewhere: DigestElsewhere | None = None,
        *,
        asked: bool = False,
    ) -> Iterator[ReadItems]:
        """The items in input order, block by block; they can be read and digested elsewhere.

        With `asked`, the same number of blocks again may be waiting for their answers.
        """
        budget = self.kind.settings.execution.budget
        shingling = self.kind.settings.items.shingling
        for source in sources:
            source.item_memory = budget.item_memory(shingling.bag, self.kind.settings.items.characters)
        ahead = max(1, self.ahead // 2 if asked else self.ahead)
        each: Callable[..., Any] = map if workers is None else workers.map
        jobs = self._jobs(sources)
        if elsewhere is not None:
            made = elsewhere(sources, [self._wanted(source) for source in sources], self.kind)
        else:
            made = each(self._digest, jobs) if workers is None else each(self._digest, jobs, ahead)
        rows = dict.fromkeys(range(len(sources)), 0)
        for number, items, found, ids, nbytes in made:
            self.rejected += items.rejected
            self.seen += len(items)
            self.named += len(items) - (len(items) if ids is None else ids.null_count)
            yield ReadItems(sources[number], rows[number], ids, items.features, found, items.rejected)
            rows[number] += len(items)
            self.progress.advance(nbytes)
        wanted = self.kind.settings.items.id
        if wanted is not None and self.seen and not self.named:
            raise BadDataError(f"no item has a value in column {wanted!r}, which --id names")

    def _jobs(self, sources: list[Source]) -> Iterator[tuple[int, Source, Block, Wanted]]:
        for number, source in enumerate(sources):
            wanted = self._wanted(source)
            for block in source.blocks():
                yield number, source, block, wanted

    def _wanted(self, source: Source) -> Wanted:
        return wanted_of(source, self.kind.settings.items, None)

    def _digest(self, job: tuple[int, Source, Block, Wanted]) -> DigestedItems:
        number, source, block, wanted = job
        items: Items = block.items(wanted)
        with naming_bad_vectors(source, block, wanted):
            found = keyed_sets(items.features, self.kind.digesting)
        ids = items.columns.get(wanted.columns[0]) if wanted.columns else None
        if isinstance(ids, pa.ChunkedArray):
            ids = ids.combine_chunks()
        return number, items, found, ids, block.nbytes
