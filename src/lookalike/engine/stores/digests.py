"""The digests of all items, with the columns that a job needs: in memory or as pieces in the work folder.

Blocks are stored in the order in which they were read. A piece holds whole blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import Digest
from lookalike.engine.memory import PIECE_BYTES
from lookalike.engine.stores.work import WorkFolder
from lookalike.read import join_column
from lookalike.types import Int32, Int64, Rejected, UInt64, to_arrow, to_numpy
from lookalike.types import compute as pc

LARGEST_KEY = (1 << 64) - 1
READ = "read.arrow"
"""The piece that says how many blocks there are, saved when all of them have been read."""
_DETAILS = b"lookalike"


class DigestedBlock(NamedTuple):
    """The digests of the items of one block, and the columns kept with them."""

    source: int
    block: int
    digest: Digest
    columns: dict[str, pa.Array]
    rejected: Sequence[Rejected] = ()
    set_aside: Int64 | None = None
    """Lines or rows of the block that are not items."""

    @property
    def nbytes(self) -> int:
        """The approximate size in memory."""
        columns = sum(int(column.nbytes) for column in self.columns.values())
        return columns + sum(array.nbytes for array in self.digest if array is not None)


class BlockRecord(NamedTuple):
    """The block that some digests belong to, and what it contained besides items."""

    source: int
    block: int
    items: int
    set_aside: list[int]
    rejected: list[dict[str, Any]]


class Digests:
    """The digests of all items: added block by block, read column by column.

    Parameters
    ----------
    bands
        The number of bucket keys per item.
    work
        Where pieces are written; without it, all digests stay in memory.
    piece_bytes
        Digests are written as a piece when they reach this size, or earlier when a piece is due.
    """

    def __init__(self, bands: int, work: WorkFolder | None = None, piece_bytes: int = PIECE_BYTES) -> None:
        self.bands = bands
        self.blocks: list[BlockRecord] = []
        self._work, self._piece_bytes = work, piece_bytes
        self._waiting: list[DigestedBlock] = []
        self._waiting_bytes = 0
        self._pieces: list[str | pa.Table] = []
        self._take_over()

    def _take_over(self) -> None:
        """Reuse the pieces of a killed run, up to the first that is missing."""
        while self._work is not None and self._work.has(name := self._name(len(self._pieces))):
            self.blocks += records_in(self._work.load(name))
            self._pieces.append(name)

    @staticmethod
    def _name(number: int) -> str:
        return piece_name(number)

    def add(self, block: DigestedBlock) -> None:
        """Add the next block."""
        self._waiting.append(block)
        self._waiting_bytes += block.nbytes
        if self._waiting_bytes >= self._piece_bytes or (self._work is not None and self._work.due):
            self.finish()

    def finish(self) -> None:
        """Turn the blocks added since the last piece into a piece: in memory if they are small and took little time."""
        if not self._waiting:
            return
        table = digest_table(self._waiting, self.bands)
        self.blocks += records_in(table)
        large = self._waiting_bytes >= self._piece_bytes
        self._waiting, self._waiting_bytes = [], 0
        if self._work is not None and (large or self._work.wanted):
            name = self._name(len(self._pieces))
            self._work.save(name, table)
            self._pieces.append(name)
        else:
            self._pieces.append(table)

    @property
    def complete(self) -> bool:
        """Whether a killed run had read everything and all pieces are intact: nothing needs to be read again."""
        if self._work is None or not self._work.has(READ):
            return False
        return bool(self._work.load(READ)["blocks"][0].as_py() == len(self.blocks))

    def end(self) -> None:
        """Record that all blocks have been added."""
        self.finish()
        saved = self._work is not None and self._pieces and all(isinstance(one, str) for one in self._pieces)
        if self._work is not None and saved and not self.complete:
            self._work.save(READ, pa.table({"blocks": to_arrow(np.array([len(self.blocks)]))}))

    def _tables(self) -> Iterator[pa.Table]:
        for piece in self._pieces:
            if isinstance(piece, str):
                assert self._work is not None
                piece = self._work.load(piece)
            yield piece

    def numbers(self, name: str, kind: type) -> Any:
        """One numeric column of all items, as an array in memory."""
        found = [to_numpy(table.column(name)) for table in self._tables()]
        return np.concatenate(found) if found else np.empty(0, kind)

    def gather(self, names: Sequence[str], place_of: Int32, low: int, high: int) -> tuple[Int32, list[UInt64]]:
        """Columns of the items whose first column is within low..high, by place; items with place -1 are omitted.

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
        """One column of some items, in any order; only the parts of the pieces that are needed are read."""
        kinds = {table.schema.field(name).type for table in self._tables() if name in table.column_names}
        if len(kinds - {pa.null()}) > 1:
            # the common type depends on all values
            return _one(pc.take(self._whole(name), to_arrow(items)))
        by_item = np.argsort(items, kind="stable")
        ordered = items[by_item]
        pieces, start = [], 0
        for table in self._tables():
            low, high = np.searchsorted(ordered, [start, start + table.num_rows])
            column = table.column(name) if name in table.column_names else pa.nulls(table.num_rows)
            pieces += _chunks(pc.take(column, to_arrow(ordered[low:high] - start)))
            start += table.num_rows
        back = np.empty(len(items), np.int64)
        back[by_item] = np.arange(len(items))
        return _one(pc.take(join_column(pieces), to_arrow(back)))

    def _whole(self, name: str) -> pa.ChunkedArray:
        pieces: list[pa.Array] = []
        for table in self._tables():
            pieces += table.column(name).chunks if name in table.column_names else [pa.nulls(table.num_rows)]
        return join_column(pieces)

    def column(self, name: str) -> pa.ChunkedArray:
        """A whole column; null for items that lack it."""
        return self._whole(f"column {name}")

    def missing(self, name: str) -> int:
        """How many items have no value in this column."""
        stored = f"column {name}"
        return sum(
            table.column(stored).null_count if stored in table.column_names else table.num_rows
            for table in self._tables()
        )


def piece_name(number: int) -> str:
    """The name of a piece of digests."""
    return f"digests-{number:06}.arrow"


def records_in(table: pa.Table) -> list[BlockRecord]:
    """The blocks whose digests are in a piece."""
    return [BlockRecord(*record) for record in json.loads(table.schema.metadata[_DETAILS])]


def digest_table(blocks: list[DigestedBlock], bands: int) -> pa.Table:
    """Blocks as a piece of digests, with bucket keys for this number of bands."""
    digests = [block.digest for block in blocks]
    columns = {f"key {band}": _joined([one.keys[band] for one in digests], np.uint64) for band in range(bands)}
    columns["print 0"] = _joined([one.prints[0] for one in digests], np.uint64)
    columns["print 1"] = _joined([one.prints[1] for one in digests], np.uint64)
    columns["count"] = _joined([one.counts.astype(np.int32) for one in digests], np.int32)
    columns["length"] = _joined([one.lengths for one in digests], np.int64)
    for name in dict.fromkeys(name for block in blocks for name in block.columns):
        pieces = [block.columns.get(name, pa.nulls(len(block.digest.counts))) for block in blocks]
        columns[f"column {name}"] = join_column(pieces)
    details = json.dumps([_record(block) for block in blocks]).encode()
    return pa.table(columns).replace_schema_metadata({_DETAILS: details})


def rejected_in(blocks: Iterable[BlockRecord]) -> list[Rejected]:
    """The bad lines of all blocks."""
    return [
        Rejected(bad["file"], bad["line"], bad["error"], bytes.fromhex(bad["raw"]))
        for record in blocks
        for bad in record.rejected
    ]


def _record(block: DigestedBlock) -> BlockRecord:
    bad = [{"file": one.file, "line": one.line, "error": one.error, "raw": one.raw.hex()} for one in block.rejected]
    aside = [] if block.set_aside is None else block.set_aside.tolist()
    return BlockRecord(block.source, block.block, len(block.digest.counts), aside, bad)


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    if not isinstance(column, pa.ChunkedArray):
        return [column]
    return column.chunks or [pa.nulls(0, column.type)]


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _joined(pieces: list[Any], kind: type) -> pa.Array:
    return to_arrow(np.concatenate(pieces) if pieces else np.empty(0, kind))
