"""All the items of a job: read once for what is kept of each, and again for the sets of a few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import BadDataError
from lookalike.features.shingles import digest, is_list, sets_of
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.jobs.settings import Settings
from lookalike.read import join_column
from lookalike.types import (
    Block,
    Int64,
    Items,
    Rejected,
    Sets,
    Source,
    UInt64,
    Wanted,
    strings_to_arrow,
    to_arrow,
)

DEFAULT_ID = "id"
HELD_BYTES = 256 << 20
"""Texts of the first blocks that stay in memory, so that a small corpus is read and decoded only once."""


class _Part(NamedTuple):
    """What is kept of the items of one block."""

    keys: UInt64
    counts: Int64
    prints: UInt64
    lengths: Int64
    columns: dict[str, pa.Array]
    rejected: Sequence[Rejected]
    nbytes: int
    features: pa.Array | None


@dataclass(slots=True)
class Corpus:
    """Items numbered in input order over all sources, and what the first reading left of them."""

    sources: list[Source]
    settings: Settings
    starts: Int64
    """The first item of each source, and behind the last the number of items."""
    block_starts: list[Int64]
    """For each source the first row of each block, and behind the last the number of rows."""
    keys: UInt64
    """uint64[bands, items]."""
    counts: Int64
    """Shingles of each item, repeats included; 0: empty."""
    prints: UInt64
    """uint64[2, items]; equal only for equal sets."""
    lengths: Int64
    """Characters (tokens, of token lists) of each item."""
    columns: dict[str, pa.ChunkedArray]
    rejected: list[Rejected]
    held: dict[tuple[int, int], pa.Array]
    """By source and block: what is compared, where it was kept for the second reading."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    def blocks(self, source: int) -> Iterator[tuple[int, int, Block]]:
        """The blocks of a source, each with the numbers of its first item and of the one behind its last."""
        starts = self.block_starts[source] + self.starts[source]
        for block, first, last in zip(self.sources[source].blocks(), starts[:-1], starts[1:]):
            yield int(first), int(last), block

    def fetch_sets(self, items: Int64, workers: Workers, progress: Progress) -> Sets:
        """The sets of some items (ascending), by reading them again."""
        wanted = Wanted(self.settings.column, (), self.settings.skip_errors)

        def shingle(job: tuple[Int64, Block, pa.Array | None]) -> tuple[Sets, int]:
            rows, block, features = job
            if not len(rows):
                return Sets(np.zeros(1, np.int64), np.empty(0, np.uint64)), block.nbytes
            features = features.take(to_arrow(rows)) if features is not None else block.items(wanted, rows).features
            return sets_of(features, self.settings.shingling), block.nbytes

        def jobs() -> Iterator[tuple[Int64, Block, pa.Array | None]]:
            for source in range(len(self.sources)):
                for number, (first, last, block) in enumerate(self.blocks(source)):
                    low, high = np.searchsorted(items, [first, last])
                    yield items[low:high] - first, block, self.held.pop((source, number), None)

        parts = []
        for sets, nbytes in workers.map(shingle, jobs()):
            parts.append(sets)
            progress.advance(nbytes)
        return _join_sets(parts)

    def ids(self, items: Int64) -> pa.Array:
        """The ids of items: the id column, and FILE:ROW where there is none."""
        column = self.columns.get(self.settings.id or DEFAULT_ID)
        if column is None or column.null_count == len(column):
            return strings_to_arrow(self._places(items))
        taken = _take(column, items)
        if not taken.null_count:
            return taken
        return _filled(taken, self._places(items))

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


def _filled(ids: pa.Array, places: list[str]) -> pa.Array:
    """Ids as text, with places where there is none."""
    texts = join_column([ids, strings_to_arrow([""])]).combine_chunks().slice(0, len(ids))
    return pc.if_else(ids.is_valid(), texts.cast(pa.large_string()), strings_to_arrow(places))


def _take(column: pa.ChunkedArray, items: Int64) -> pa.Array:
    taken = column.take(to_arrow(items))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _single_name(source: Source, rows: int) -> str | None:
    """The file that all rows of a source are in, if it is one file."""
    if not rows:
        return ""
    first, last = source.locate(0), source.locate(rows - 1)
    return first[0] if last == (first[0], rows - 1) else None


def _join_sets(parts: Sequence[Sets]) -> Sets:
    if not parts:
        return Sets(np.zeros(1, np.int64), np.empty(0, np.uint64))
    sizes = np.concatenate([part.sizes for part in parts])
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return Sets(indptr, np.concatenate([part.elements for part in parts]))


def _lengths(features: pa.Array) -> Int64:
    measured = pc.list_value_length(features) if is_list(features) else pc.utf8_length(features)
    return measured.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def read_corpus(
    sources: list[Source],
    settings: Settings,
    workers: Workers,
    progress: Progress,
    rank_column: str | None = None,
    want_lengths: bool = False,
    references: int = 0,
) -> Corpus:
    """Read every item once and keep its bucket keys, fingerprint and the columns asked for.

    The first `references` sources are reference items, which need no rank.
    """
    bands, rows = (settings.plan.bands, settings.plan.rows) if settings.plan else (0, 0)

    def work(job: tuple[int, Block, Wanted]) -> tuple[int, _Part]:
        number, block, wanted = job
        items: Items = block.items(wanted)
        kept = digest(items.features, settings.shingling, settings.seed, bands, rows)
        lengths = _lengths(items.features) if want_lengths else np.zeros(len(items), np.int64)
        return number, _Part(*kept, lengths, items.columns, items.rejected, block.nbytes, items.features)

    def jobs() -> Iterator[tuple[int, Block, Wanted]]:
        for number, source in enumerate(sources):
            wanted = _wanted(source, settings, rank_column if number >= references else None)
            for block in source.blocks():
                yield number, block, wanted

    parts: list[list[_Part]] = [[] for _ in sources]
    held: dict[tuple[int, int], pa.Array] = {}
    held_bytes = 0
    for number, part in workers.map(work, jobs()):
        assert part.features is not None
        held_bytes += part.features.nbytes
        if held_bytes <= HELD_BYTES:
            held[number, len(parts[number])] = part.features
        parts[number].append(part._replace(features=None))
        progress.advance(part.nbytes)
    corpus = _assemble(sources, settings, parts, bands, held)
    if settings.id is not None and len(corpus) and corpus.columns[settings.id].null_count == len(corpus):
        raise BadDataError(f"no item has a value in column {settings.id!r}, which --id names")
    return corpus


def _wanted(source: Source, settings: Settings, rank_column: str | None) -> Wanted:
    names = source.column_names()
    columns = []
    if settings.id is not None or names is None or DEFAULT_ID in names:
        columns.append(settings.id or DEFAULT_ID)
    if rank_column is not None:
        columns.append(rank_column)
    return Wanted(settings.column, tuple(dict.fromkeys(columns)), settings.skip_errors)


def _assemble(
    sources: list[Source],
    settings: Settings,
    parts: list[list[_Part]],
    bands: int,
    held: dict[tuple[int, int], pa.Array],
) -> Corpus:
    flat = [part for of_source in parts for part in of_source]
    sizes = [np.array([len(part.counts) for part in of_source], np.int64) for of_source in parts]
    none = np.zeros(1, np.int64)
    return Corpus(
        sources=sources,
        settings=settings,
        starts=np.concatenate([none, np.cumsum([size.sum() for size in sizes], dtype=np.int64)]),
        block_starts=[np.concatenate([none, np.cumsum(size)]) for size in sizes],
        keys=np.concatenate([part.keys for part in flat] or [np.empty((bands, 0), np.uint64)], axis=1),
        counts=np.concatenate([part.counts for part in flat] or [np.empty(0, np.int64)]),
        prints=np.concatenate([part.prints for part in flat] or [np.empty((2, 0), np.uint64)], axis=1),
        lengths=np.concatenate([part.lengths for part in flat] or [np.empty(0, np.int64)]),
        columns=_join_columns(flat),
        rejected=[bad for part in flat for bad in part.rejected],
        held=held,
    )


def _join_columns(parts: Sequence[_Part]) -> dict[str, pa.ChunkedArray]:
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return {name: join_column([part.columns.get(name, pa.nulls(len(part.counts))) for part in parts]) for name in names}
