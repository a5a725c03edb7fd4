"""All items of a job: read once for their digests, and a second time for the sets of the few that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.engine.block_order import map_blocks
from lookalike.engine.digest import DigestSettings, digest_block, item_sets
from lookalike.engine.run import Run
from lookalike.engine.settings import ItemSettings
from lookalike.engine.stores.digests import BlockRecord, DigestedBlock, Digests, rejected_in
from lookalike.errors import BadDataError
from lookalike.features.vectors import VectorError
from lookalike.read import is_text, join_column
from lookalike.types import (
    DEFAULT_ID,
    Block,
    Int32,
    Int64,
    Items,
    Rejected,
    Sets,
    Source,
    Wanted,
    strings_to_arrow,
    to_arrow,
    total_bytes,
)
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen, mutable

Made = TypeVar("Made")
NAMED_AT_ONCE = 1 << 20
"""The names of up to this many items are kept in memory for a list of pairs."""


@mutable
class Corpus:
    """Items, numbered in input order over all sources, with their digests."""

    sources: list[Source]
    settings: ItemSettings
    digesting: DigestSettings
    digests: Digests
    starts: Int64
    """The first item of each source, followed by the number of items."""
    block_starts: list[Int64]
    """For each source the first row of each block, followed by the number of rows."""
    counts: Int32
    """Shingles of each item, repeats included; 0 if it is empty."""
    held: dict[tuple[int, int], Items]
    """The items of a small corpus, by source and block, so that it is decoded only once."""
    _names: pa.Array | None = None

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def rejected(self) -> list[Rejected]:
        """The lines that were skipped because of an error."""
        return rejected_in(self.digests.blocks)

    def blocks(self, source: int) -> Iterator[tuple[int, int, Block]]:
        """The blocks of a source, each with the number of its first item and the number after its last."""
        starts = self.block_starts[source] + self.starts[source]
        for block, first, last in zip(self.sources[source].blocks(), starts[:-1], starts[1:]):
            yield int(first), int(last), block

    @property
    def nbytes(self) -> int:
        """The size of all sources."""
        return total_bytes(self.sources)

    def some_columns(self) -> list[str]:
        """The columns of the last source; of JSON lines, those of the first block."""
        from lookalike.read.jsonl import list_columns  # imported here: only an error needs it

        return list_columns(self.sources[-1], 1)

    def fetch_sets(self, run: Run[Any], items: Int64) -> Iterator[tuple[int, int, Sets]]:
        """Read some items (ascending) again and yield their sets: (low, high, sets of items[low:high])."""
        yield from self._visit(run, items, self._wanted(), lambda some: item_sets(some.features, self.digesting))

    def fetch_all_sets(self, run: Run[Any], items: Int64) -> Sets:
        """The sets of some items (ascending), all in memory."""
        return Sets.joined([sets for _, _, sets in self.fetch_sets(run, items)])

    def fetch_features(
        self, run: Run[Any], items: Int64, make: Callable[[pa.Array], Made]
    ) -> Iterator[tuple[int, int, Made]]:
        """Read some items (ascending) again: (low, high, result of `make` for items[low:high], from a thread)."""
        yield from self._visit(run, items, self._wanted(), lambda some: make(some.features))

    def given_ids(self, items: Int64) -> pa.Array | None:
        """The ids of items; None if none of them has an id of its own."""
        name = self.settings.id or DEFAULT_ID
        if self.digests.missing(name) == len(self):
            return None
        taken = self.digests.pick(f"column {name}", items)
        return None if taken.null_count == len(taken) else self.ids(items)

    def fetch_column(self, run: Run[Any], items: Int64, name: str) -> pa.ChunkedArray:
        """Another column of some items (ascending), read again."""
        found = self._visit(run, items, self._wanted(name), lambda some: some.columns[name])
        return join_column([values for _, _, values in found])

    def _wanted(self, *columns: str) -> Wanted:
        return Wanted(self.settings.column, columns, self.settings.skip_errors)

    def blocks_ahead(self, run: Run[Any]) -> int:
        """How many blocks may be in memory at a time."""
        ahead: int = run.settings.execution.blocks_ahead(self.settings.characters)
        return ahead

    def _visit(
        self, run: Run[Any], items: Int64, wanted: Wanted, make: Callable[[Items], Made]
    ) -> Iterator[tuple[int, int, Made]]:
        """Read items (ascending) again and call `make` for those of each block, which are items[low:high]."""

        def visit(job: tuple[int, int, Int64, Block, Items | None]) -> tuple[int, int, Made | None, int]:
            low, high, rows, block, held = job
            if low == high:
                return low, high, None, block.nbytes
            some = Items(pc.take(held.features, to_arrow(rows))) if held else block.items(wanted, rows)
            return low, high, make(some), block.nbytes

        def jobs() -> Iterator[tuple[int, int, Int64, Block, Items | None]]:
            for source in range(len(self.sources)):
                low, high = np.searchsorted(items, self.starts[source : source + 2]).tolist()
                if low == high:
                    run.progress.advance(self.sources[source].nbytes)
                    continue
                for number, (first, last, block) in enumerate(self.blocks(source)):
                    low, high = np.searchsorted(items, [first, last]).tolist()
                    yield low, high, items[low:high] - first, block, self.held.get((source, number))

        waiting = 0 if self.held else run.settings.execution.blocks_waiting(self.settings.characters)
        for low, high, made, nbytes in map_blocks(run.workers, visit, jobs(), self.blocks_ahead(run), waiting):
            if made is not None:
                yield low, high, made
                made = None  # free it before the next is waited for
            run.progress.advance(nbytes)

    def ids(self, items: Int64) -> pa.Array:
        """The ids of items: the id column, or FILE:ROW for items without one (all ids are then text)."""
        name = self.settings.id or DEFAULT_ID
        missing = self.digests.missing(name)
        if missing == len(self):
            return self._places(items)
        taken = self.digests.pick(f"column {name}", items)
        return fill_ids(taken, self._places(items)) if missing else taken

    def names(self, items: Int64) -> pa.Array:
        """The ids of items, for repeated calls: texts are dictionary-encoded once for all items."""
        if len(self) > NAMED_AT_ONCE:
            return self.ids(items)
        if self._names is None:
            self._names = self.ids(np.arange(len(self)))
        if not is_text(self._names.type):
            return pc.take(self._names, to_arrow(items))
        return pa.DictionaryArray.from_arrays(to_arrow(items.astype(np.int32)), self._names)

    def _places(self, items: Int64) -> pa.Array:
        """The places of items as FILE:ROW."""
        files, rows = self.locate(items)
        return pc.binary_join_element_wise(
            files, pc.cast(to_arrow(rows), pa.large_string()), strings_to_arrow([":"])[0]
        )

    def locate(self, items: Int64) -> tuple[pa.Array, Int64]:
        """The file of each item and its row in that file."""
        owners = np.searchsorted(self.starts, items, side="right") - 1
        rows = items - self.starts[owners]
        names = [_single_name(source, int(n)) for source, n in zip(self.sources, np.diff(self.starts))]
        single = [name for name in names if name is not None]
        if len(single) == len(names):
            return pc.take(strings_to_arrow(single), to_arrow(owners)), rows
        distinct, which = np.unique(items, return_inverse=True)
        owners = np.searchsorted(self.starts, distinct, side="right") - 1
        rows = distinct - self.starts[owners]
        places = [self.sources[owner].locate(row) for owner, row in zip(owners.tolist(), rows.tolist())]
        files = strings_to_arrow([place[0] for place in places])
        return pc.take(files, to_arrow(which)), np.array([place[1] for place in places])[which]


def fill_ids(ids: pa.Array, places: pa.Array) -> pa.Array:
    """Ids as text, with the place of each item that has none."""
    texts = join_column([ids, strings_to_arrow([""])]).combine_chunks().slice(0, len(ids))
    return pc.if_else(pc.is_valid(ids), pc.cast(texts, pa.large_string()), places)


def _single_name(source: Source, rows: int) -> str | None:
    """The file that contains all rows of a source, if there is just one."""
    if not rows:
        return ""
    first, last = source.locate(0), source.locate(rows - 1)
    return first[0] if last == (first[0], rows - 1) else None


@frozen
class ReadSettings:
    """What is read and kept for every item."""

    items: ItemSettings
    digesting: DigestSettings
    rank_column: str | None = None
    """A further column to keep, by which items are ranked."""
    references: int = 0
    """How many of the sources, at the front, are reference items, which need no rank."""

    def wanted(self, sources: list[Source]) -> Iterator[Wanted]:
        """The columns to read from each source."""
        for number, source in enumerate(sources):
            yield wanted_of(source, self.items, self.rank_column if number >= self.references else None)


def read_corpus(run: Run[Any], sources: list[Source], settings: ReadSettings) -> Corpus:
    """Read every item once, and keep its digest and the columns that are needed.

    Blocks whose digests the work folder of the run already has are not read again.
    """
    budget, described, digesting = run.settings.execution.budget, settings.items, settings.digesting
    digests = Digests(digesting.bands, run.work, run.piece_bytes)
    budget.limit_items(sources, described.shingling.bag, described.characters)
    done = {(record.source, record.block) for record in digests.blocks}

    def digest(job: tuple[int, int, Block, Wanted]) -> tuple[DigestedBlock, Items | None, int]:
        number, index, block, wanted = job
        part, items = digest_source_block(sources[number], number, index, block, wanted, digesting)
        return part, None if block.exclusive else items, block.nbytes

    for record in digests.blocks:
        sources[record.source].rejected_rows[record.block] = np.array(record.set_aside, np.int64)

    def jobs() -> Iterator[tuple[int, int, Block, Wanted]]:
        for number, (source, wanted) in enumerate(zip(sources, settings.wanted(sources))):
            for index, block in enumerate(source.blocks()):
                if (number, index) in done:
                    run.progress.advance(block.nbytes)
                else:
                    yield number, index, block, wanted

    held: dict[tuple[int, int], Items] = {}
    held_bytes = 0  # of all items so far, in memory or not
    execution, characters = run.settings.execution, described.characters
    ahead, waiting = execution.blocks_ahead(characters), execution.blocks_waiting(characters)
    for part, items, nbytes in map_blocks(run.workers, digest, () if digests.complete else jobs(), ahead, waiting):
        if items is not None:
            held_bytes += max(items.features.nbytes, getattr(items.decoded, "nbytes", 0))
            held[part.source, part.block] = items
        if held_bytes > budget.held_bytes:
            held.clear()  # keeping part of a large corpus in memory would save little
        items = None  # free it before the next is waited for
        digests.add(part)
        run.progress.advance(nbytes)
    digests.end()
    pa.default_memory_pool().release_unused()
    return make_corpus(sources, settings, digests, held)


def make_corpus(
    sources: list[Source], settings: ReadSettings, digests: Digests, held: dict[tuple[int, int], Items] | None = None
) -> Corpus:
    """The corpus of items whose digests are complete; `held` are the blocks that are still in memory."""
    counts, name = digests.numbers("count", np.int32), settings.items.id
    layout = lay_out(len(sources), digests.blocks)
    corpus = Corpus(sources, settings.items, settings.digesting, digests, *layout, counts, held or {})
    if name is not None and len(corpus) and digests.missing(name) == len(corpus):
        raise BadDataError(f"no item has a value in column {name!r}, which --id names")
    return corpus


def digest_source_block(
    source: Source, number: int, index: int, block: Block, wanted: Wanted, digesting: DigestSettings
) -> tuple[DigestedBlock, Items]:
    """Read and digest the `index`-th block of the source with this number; return its items as well."""
    items: Items = block.items(wanted)
    with naming_bad_vectors(source, block, wanted):
        made = digest_block(items.features, digesting)
    aside = source.rejected_rows.get(index)
    return DigestedBlock(number, index, made, items.columns, items.rejected, aside), items


@contextmanager
def naming_bad_vectors(source: Source, block: Block, wanted: Wanted) -> Iterator[None]:
    """Add to an error the row of the source, or the line of a text file, that has the bad vector."""
    try:
        yield
    except VectorError as error:
        from lookalike.read.lines import LineBlock

        if isinstance(block, LineBlock):
            place = f"{source.name}:{block.line_of(error.row)}"
        else:
            place = f"{source.name}: row {getattr(block, 'first_row', 0) + error.row}"
        raise BadDataError(f"{place}: column {wanted.features!r} {error}") from error


def wanted_of(source: Source, settings: ItemSettings, rank_column: str | None) -> Wanted:
    """The columns of a source that a job needs: the compared one, ids if it has any, and the one that ranks items."""
    names = source.column_names()
    columns = []
    if settings.id is not None or names is None or DEFAULT_ID in names:
        columns.append(settings.id or DEFAULT_ID)
    if rank_column is not None:
        columns.append(rank_column)
    return Wanted(settings.column, tuple(dict.fromkeys(columns)), settings.skip_errors)


def lay_out(sources: int, blocks: Iterable[BlockRecord]) -> tuple[Int64, list[Int64]]:
    """Where each source, and each block of a source, starts."""
    sizes: list[list[int]] = [[0] for _ in range(sources)]
    for record in blocks:
        sizes[record.source].append(record.items)
    block_starts = [np.cumsum(size, dtype=np.int64) for size in sizes]
    return np.cumsum([0, *(int(start[-1]) for start in block_starts)], dtype=np.int64), block_starts
