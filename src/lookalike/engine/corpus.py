"""All the items of a job: read once for what is kept of each, and again for the sets of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.engine.digest import digest_items, item_lengths, item_sets
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.stores.digests import BlockRecord, Digests, Part, rejected_in
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError
from lookalike.features.vectors import VectorError
from lookalike.kernels.vectors import fingerprint_rows
from lookalike.read import join_column
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
)

Made = TypeVar("Made")


@dataclass(slots=True)
class Corpus:
    """Items numbered in input order over all sources, and what the first reading left of them."""

    sources: list[Source]
    settings: Settings
    digests: Digests
    starts: Int64
    """The first item of each source, and behind the last the number of items."""
    block_starts: list[Int64]
    """For each source the first row of each block, and behind the last the number of rows."""
    counts: Int32
    """Shingles of each item, repeats included; 0: empty."""
    held: dict[tuple[int, int], Items]
    """By source and block: the items of a small corpus, so that it is decoded only once."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def rejected(self) -> list[Rejected]:
        """The lines that were set aside."""
        return rejected_in(self.digests.blocks)

    def blocks(self, source: int) -> Iterator[tuple[int, int, Block]]:
        """The blocks of a source, each with the numbers of its first item and of the one behind its last."""
        starts = self.block_starts[source] + self.starts[source]
        for block, first, last in zip(self.sources[source].blocks(), starts[:-1], starts[1:]):
            yield int(first), int(last), block

    def fetch_sets(self, items: Int64, workers: Workers, progress: Progress) -> Iterator[tuple[int, int, Sets]]:
        """The sets of some items (ascending), by reading them again: those of items[low:high], for all in turn."""
        wanted = Wanted(self.settings.items.column, (), self.settings.items.skip_errors)
        yield from self._visit(items, wanted, lambda some: item_sets(some.features, self.settings), workers, progress)

    def fetch_all_sets(self, items: Int64, workers: Workers, progress: Progress) -> Sets:
        """The sets of some items (ascending), all in memory."""
        return Sets.joined([sets for _, _, sets in self.fetch_sets(items, workers, progress)])

    def fetch_column(self, items: Int64, name: str, workers: Workers, progress: Progress) -> pa.ChunkedArray:
        """Another column of some items (ascending), by reading them again."""
        wanted = Wanted(self.settings.items.column, (name,), self.settings.items.skip_errors)
        found = self._visit(items, wanted, lambda some: some.columns[name], workers, progress)
        return join_column([values for _, _, values in found])

    def _visit(
        self,
        items: Int64,
        wanted: Wanted,
        make: Callable[[Items], Made],
        workers: Workers,
        progress: Progress,
    ) -> Iterator[tuple[int, int, Made]]:
        """Read items (ascending) again and make something of those of each block, which are items[low:high]."""

        def visit(job: tuple[int, int, Int64, Block, Items | None]) -> tuple[int, int, Made | None, int]:
            low, high, rows, block, held = job
            if low == high:
                return low, high, None, block.nbytes
            some = Items(held.features.take(to_arrow(rows))) if held else block.items(wanted, rows)
            return low, high, make(some), block.nbytes

        def jobs() -> Iterator[tuple[int, int, Int64, Block, Items | None]]:
            for source in range(len(self.sources)):
                low, high = np.searchsorted(items, self.starts[source : source + 2]).tolist()
                if low == high:
                    progress.advance(self.sources[source].nbytes)
                    continue
                for number, (first, last, block) in enumerate(self.blocks(source)):
                    low, high = np.searchsorted(items, [first, last]).tolist()
                    yield low, high, items[low:high] - first, block, self.held.get((source, number))

        for low, high, made, nbytes in workers.map(visit, jobs()):
            if made is not None:
                yield low, high, made
            progress.advance(nbytes)

    def ids(self, items: Int64) -> pa.Array:
        """The ids of items: the id column, and FILE:ROW where there is none; all of them text if there is such."""
        name = self.settings.items.id or DEFAULT_ID
        missing = self.digests.missing(name)
        if missing == len(self):
            return strings_to_arrow(self._places(items))
        taken = self.digests.pick(f"column {name}", items)
        return fill_ids(taken, self._places(items)) if missing else taken

    def _places(self, items: Int64) -> list[str]:
        files, rows = self.locate(items)
        return [f"{file}:{row}" for file, row in zip(files.to_pylist(), rows.tolist())]

    def locate(self, items: Int64) -> tuple[pa.Array, Int64]:
        """The file of each item and its row in that file."""
        owners = np.searchsorted(self.starts, items, side="right") - 1
        rows = items - self.starts[owners]
        names = [_single_name(source, int(n)) for source, n in zip(self.sources, np.diff(self.starts))]
        single = [name for name in names if name is not None]
        if len(single) == len(names):
            return strings_to_arrow(single).take(to_arrow(owners)), rows
        places = [self.sources[owner].locate(row) for owner, row in zip(owners.tolist(), rows.tolist())]
        return strings_to_arrow([p[0] for p in places]), np.array([p[1] for p in places], np.int64)


def fill_ids(ids: pa.Array, places: list[str]) -> pa.Array:
    """Ids as text, with places where there is none."""
    texts = join_column([ids, strings_to_arrow([""])]).combine_chunks().slice(0, len(ids))
    return pc.if_else(ids.is_valid(), texts.cast(pa.large_string()), strings_to_arrow(places))


def _single_name(source: Source, rows: int) -> str | None:
    """The file that all rows of a source are in, if it is one file."""
    if not rows:
        return ""
    first, last = source.locate(0), source.locate(rows - 1)
    return first[0] if last == (first[0], rows - 1) else None


def read_corpus(
    sources: list[Source],
    settings: Settings,
    workers: Workers,
    progress: Progress,
    rank_column: str | None = None,
    references: int = 0,
    work: WorkFolder | None = None,
) -> Corpus:
    """Read every item once and keep its digest and the columns asked for.

    The first `references` sources are reference items, which need no rank. Blocks whose digests the work folder
    already has are not read again.
    """
    digests = Digests(settings.matching.plan.bands if settings.matching.plan else 0, work)
    if settings.items.vectors:
        progress.compiling(fingerprint_rows, "vectors")
    for source in sources:
        source.item_memory = settings.execution.budget.item_memory(
            settings.items.shingling.bag, settings.items.shingling.kind == "char"
        )
    done = {(record.source, record.block): record for record in digests.blocks}

    def digest_block(job: tuple[int, int, Block, Wanted]) -> tuple[Part, Items | None, int]:
        number, index, block, wanted = job
        items: Items = block.items(wanted)
        try:
            kept = digest_items(items.features, settings)
        except VectorError as error:
            place = f"{sources[number].name}: row {getattr(block, 'first_row', 0) + error.row}"
            raise BadDataError(f"{place}: column {settings.items.column!r} {error}") from error
        lengths = item_lengths(items.features)
        aside = sources[number].rejected_rows.get(index)
        part = Part(number, index, *kept, lengths, items.columns, items.rejected, aside)
        return part, None if block.exclusive else items, block.nbytes

    def jobs() -> Iterator[tuple[int, int, Block, Wanted]]:
        for number, source in enumerate(sources):
            wanted = _wanted(source, settings, rank_column if number >= references else None)
            for index, block in enumerate(source.blocks()):
                if (number, index) in done:
                    source.rejected_rows[index] = np.array(done[number, index].set_aside, np.int64)
                    progress.advance(block.nbytes)
                else:
                    yield number, index, block, wanted

    held: dict[tuple[int, int], Items] = {}
    held_bytes = 0  # of all items so far, held or not
    for part, items, nbytes in workers.map(digest_block, jobs()):
        if items is not None:
            held_bytes += items.features.nbytes
            held[part.source, part.block] = items
        if held_bytes > settings.execution.budget.held_bytes:
            held.clear()  # of a corpus that does not fit, a part would save little
        digests.add(part)
        progress.advance(nbytes)
    digests.finish()
    pa.default_memory_pool().release_unused()
    return _assemble(sources, settings, digests, held)


def _wanted(source: Source, settings: Settings, rank_column: str | None) -> Wanted:
    names = source.column_names()
    columns = []
    if settings.items.id is not None or names is None or DEFAULT_ID in names:
        columns.append(settings.items.id or DEFAULT_ID)
    if rank_column is not None:
        columns.append(rank_column)
    return Wanted(settings.items.column, tuple(dict.fromkeys(columns)), settings.items.skip_errors)


def _assemble(
    sources: list[Source], settings: Settings, digests: Digests, held: dict[tuple[int, int], Items]
) -> Corpus:
    counts = digests.numbers("count", np.int32)
    corpus = Corpus(sources, settings, digests, *lay_out(len(sources), digests.blocks), counts, held)
    if settings.items.id is not None and len(corpus) and digests.missing(settings.items.id) == len(corpus):
        raise BadDataError(f"no item has a value in column {settings.items.id!r}, which --id names")
    return corpus


def lay_out(sources: int, blocks: Iterable[BlockRecord]) -> tuple[Int64, list[Int64]]:
    """Where each source, and each block of a source, starts."""
    sizes: list[list[int]] = [[0] for _ in range(sources)]
    for record in blocks:
        sizes[record.source].append(record.items)
    block_starts = [np.cumsum(size, dtype=np.int64) for size in sizes]
    return np.cumsum([0, *(int(start[-1]) for start in block_starts)], dtype=np.int64), block_starts
