"""What the first reading leaves of every item, in memory or, where that is much, in pieces in the work folder.

A *digest* of an item is its bucket keys, its number of shingles, a fingerprint and the columns that a job needs. The
blocks of the input follow each other in the digests just as they were read; a piece holds whole blocks.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.read import join_column
from lookalike.types import Int32, Int64, Rejected, UInt64, to_arrow, to_numpy

PIECE_BYTES = 64 << 20
"""Digests beyond this go to the work folder; small jobs never write there."""
LARGEST_KEY = (1 << 64) - 1
_DETAILS = b"lookalike"


class Part(NamedTuple):
    """The digests of the items of one block."""

    source: int
    block: int
    keys: UInt64
    """uint64[bands, items]."""
    counts: Int64
    """Shingles of each item, repeats included; 0: empty."""
    prints: UInt64
    """uint64[2, items]; equal only for equal sets."""
    lengths: Int64
    """Characters (tokens, of token lists) of each item."""
    columns: dict[str, pa.Array]
    rejected: Sequence[Rejected]
    set_aside: Int64 | None
    """Lines or rows of the block that are no items."""

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        columns = sum(int(column.nbytes) for column in self.columns.values())
        return self.keys.nbytes + self.counts.nbytes + self.prints.nbytes + self.lengths.nbytes + columns


class BlockRecord(NamedTuple):
    """Which block some digests are of, and what was found out about it."""

    source: int
    block: int
    items: int
    set_aside: list[int]
    rejected: list[dict[str, Any]]


class Digests:
    """The digests of all items, to be added block by block and then read column by column."""

    def __init__(self, bands: int, work: WorkFolder | None = None) -> None:
        self.bands = bands
        self.blocks: list[BlockRecord] = []
        self._work = work
        self._waiting: list[Part] = []
        self._waiting_bytes = 0
        self._pieces: list[str | pa.Table] = []
        self._take_over()

    def _take_over(self) -> None:
        """Use the pieces that an earlier run has left, as far as they follow each other."""
        while self._work is not None and self._work.has(name := self._name(len(self._pieces))):
            details = json.loads(self._work.load(name).schema.metadata[_DETAILS])
            self.blocks += [BlockRecord(*record) for record in details]
            self._pieces.append(name)

    @property
    def work(self) -> WorkFolder | None:
        """Where the later stages keep their pieces as well; None for a small run, which can start again."""
        return self._work if any(isinstance(piece, str) for piece in self._pieces) else None

    def work_at_hand(self) -> WorkFolder:
        """A work folder in any case: a temporary one where the run has none."""
        if self._work is None:
            folder = tempfile.mkdtemp(prefix="lookalike-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._work = WorkFolder(Path(folder), {}, resume=False)
        return self._work

    @staticmethod
    def _name(number: int) -> str:
        return f"digests-{number:06}.arrow"

    def add(self, part: Part) -> None:
        """Take in the next block."""
        self._waiting.append(part)
        self._waiting_bytes += part.nbytes
        if self._waiting_bytes >= PIECE_BYTES:
            self.finish()

    def finish(self) -> None:
        """Make a piece of what is waiting: on disk if the pieces are many, otherwise in memory."""
        if not self._waiting:
            return
        table = self._table(self._waiting)
        self.blocks += [BlockRecord(*record) for record in json.loads(table.schema.metadata[_DETAILS])]
        large = self._waiting_bytes >= PIECE_BYTES or self._pieces
        self._waiting, self._waiting_bytes = [], 0
        if self._work is not None and large:
            name = self._name(len(self._pieces))
            self._work.save(name, table)
            self._pieces.append(name)
        else:
            self._pieces.append(table)

    def _table(self, parts: list[Part]) -> pa.Table:
        columns = {f"key {band}": _joined([part.keys[band] for part in parts]) for band in range(self.bands)}
        columns["print 0"] = _joined([part.prints[0] for part in parts])
        columns["print 1"] = _joined([part.prints[1] for part in parts])
        columns["count"] = _joined([part.counts.astype(np.int32) for part in parts])
        columns["length"] = _joined([part.lengths for part in parts])
        for name in dict.fromkeys(name for part in parts for name in part.columns):
            pieces = [part.columns.get(name, pa.nulls(len(part.counts))) for part in parts]
            columns[f"column {name}"] = join_column(pieces)
        details = json.dumps([_record(part) for part in parts]).encode()
        return pa.table(columns).replace_schema_metadata({_DETAILS: details})

    def _tables(self) -> Iterator[pa.Table]:
        for piece in self._pieces:
            if isinstance(piece, str):
                assert self._work is not None
                piece = self._work.load(piece)
            yield piece

    def numbers(self, name: str, kind: type) -> Any:
        """One column of numbers over all items, as an array in memory."""
        found = [to_numpy(table.column(name)) for table in self._tables()]
        return np.concatenate(found) if found else np.empty(0, kind)

    def gather(self, names: Sequence[str], place_of: Int32, low: int, high: int) -> tuple[Int32, list[UInt64]]:
        """Columns of those items whose first column lies in low..high, by place; items at place -1 are left out.

        Returns
        -------
        places : int32[...], ascending
        columns : uint64[...] each, in the order of `places`
        """
        places: list[Int32] = [np.empty(0, np.int32)]
        columns: list[list[UInt64]] = [[np.empty(0, np.uint64)] for _ in names]
        start = 0
        for table in self._tables():
            mine = place_of[start : start + table.num_rows]
            start += table.num_rows
            keys = to_numpy(table.column(names[0]))
            chosen = mine >= 0
            if low > 0 or high < LARGEST_KEY:
                chosen &= (keys >= np.uint64(low)) & (keys <= np.uint64(high))
            places.append(mine[chosen])
            for name, parts in zip(names, columns):
                parts.append((keys if name == names[0] else to_numpy(table.column(name)))[chosen])
        found, joined = np.concatenate(places), [np.concatenate(parts) for parts in columns]
        if len(found) and (np.diff(found) < 0).any():
            by_place = np.argsort(found)
            return found[by_place], [column[by_place] for column in joined]
        return found, joined

    def pick(self, name: str, items: Int64) -> pa.Array:
        """One column at some items only, in whatever order: of the pieces little is read."""
        kinds = {table.schema.field(name).type for table in self._tables() if name in table.column_names}
        if len(kinds - {pa.null()}) > 1:
            # of which type they are together, only all of them can tell
            return _one(self._whole(name).take(to_arrow(items)))
        by_item = np.argsort(items, kind="stable")
        ordered = items[by_item]
        pieces, start = [], 0
        for table in self._tables():
            low, high = np.searchsorted(ordered, [start, start + table.num_rows])
            column = table.column(name) if name in table.column_names else pa.nulls(table.num_rows)
            pieces += _chunks(column.take(to_arrow(ordered[low:high] - start)))
            start += table.num_rows
        back = np.empty(len(items), np.int64)
        back[by_item] = np.arange(len(items))
        return _one(join_column(pieces).take(to_arrow(back)))

    def _whole(self, name: str) -> pa.ChunkedArray:
        pieces: list[pa.Array] = []
        for table in self._tables():
            pieces += table.column(name).chunks if name in table.column_names else [pa.nulls(table.num_rows)]
        return join_column(pieces)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column that was asked for, whole; items without it have null."""
        return self._whole(f"column {name}")

    def missing(self, name: str) -> int:
        """How many items have no value in this column."""
        stored = f"column {name}"
        return sum(
            table.column(stored).null_count if stored in table.column_names else table.num_rows
            for table in self._tables()
        )


def rejected_in(blocks: Iterable[BlockRecord]) -> list[Rejected]:
    """The bad lines of all blocks."""
    return [
        Rejected(bad["file"], bad["line"], bad["error"], bytes.fromhex(bad["raw"]))
        for record in blocks
        for bad in record.rejected
    ]


def _record(part: Part) -> BlockRecord:
    rejected = [{"file": bad.file, "line": bad.line, "error": bad.error, "raw": bad.raw.hex()} for bad in part.rejected]
    aside = [] if part.set_aside is None else part.set_aside.tolist()
    return BlockRecord(part.source, part.block, len(part.counts), aside, rejected)


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    if not isinstance(column, pa.ChunkedArray):
        return [column]
    return column.chunks or [pa.nulls(0, column.type)]


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _joined(pieces: list[Any]) -> pa.Array:
    return to_arrow(np.concatenate(pieces))
