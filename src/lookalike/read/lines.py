"""Common base of the text formats whose rows are consecutive runs of bytes (JSONL, CSV, plain lines).

It cuts a file into blocks, numbers rows, rejects bad ones and returns rows unchanged. A format defines how rows are
separated and parsed; it knows neither blocks nor files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import BadRow, check_length, find_bad_utf8, join_column, one_array
from lookalike.read.files import File
from lookalike.read.long import LongBlock, LongRow, check_row, largest_row
from lookalike.read.streams import Piece, Span, TextStream, TooLongError, cut_pieces, last_line_end
from lookalike.types import (
    READ_LIMITS,
    Block,
    Bool,
    Int64,
    ItemMemory,
    Items,
    Layout,
    ReadLimits,
    Rejected,
    UInt8,
    Wanted,
    to_arrow,
)
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen, mutable

NEWLINE = ord("\n")
SPAN_BLOCKS = 1 << 32
"""Blocks are numbered from the number of their span times this, so that a span can be read without those before."""
SAMPLED_BYTES = 1 << 20
"""How much of a file is read to estimate its number of rows."""


@frozen
class Rows:
    """Contiguous rows: row i is `data[ends[i - 1]:ends[i]]`, its line end included."""

    data: pa.Buffer
    ends: Int64

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Int64:
        """Where each row starts."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[: len(self.ends)]

    @property
    def values(self) -> UInt8:
        """The data as an array of bytes, not copied."""
        return np.frombuffer(self.data, np.uint8)

    def row(self, row: int) -> bytes:
        """One row, with its line end."""
        start = int(self.ends[row - 1]) if row else 0
        return bytes(self.data.slice(start, int(self.ends[row]) - start))

    def part(self, low: int, high: int) -> Rows:
        """Rows low..high-1, not copied."""
        start = int(self.ends[low - 1]) if low else 0
        ends = self.ends[low:high]
        return Rows(self.data.slice(start, int(ends[-1]) - start if len(ends) else 0), ends - start)

    def take(self, rows: Int64) -> Rows:
        """Some of the rows, in ascending order; not copied if all are taken."""
        if len(rows) == len(self):
            return self
        taken = pc.take(self._array(), to_arrow(rows))
        _, offsets, data = taken.buffers()
        ends = np.frombuffer(offsets, np.int64)[: len(rows) + 1]
        return Rows(pa.py_buffer(b"") if data is None else data.slice(0, int(ends[-1])), ends[1:])

    def is_utf8(self) -> bool:
        """Whether all bytes are valid UTF-8: Arrow's parsers do not check columns that are not requested."""
        ends = pa.py_buffer(np.array([0, self.data.size], np.int64))
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, self.data])
        return not find_bad_utf8(whole)

    def _array(self) -> pa.Array:
        offsets = np.concatenate([np.zeros(1, np.int64), self.ends])
        return pa.Array.from_buffers(pa.large_binary(), len(self), [None, pa.py_buffer(offsets), self.data])


@mutable
class Parsed:
    """The outcome of parsing some rows: the good ones as columns, the bad ones by number."""

    features: pa.Array
    columns: dict[str, pa.Array]
    bad: list[BadRow] = field(default_factory=list)


class LineSource(ABC):
    """A file of rows. Formats derive from it."""

    def __init__(self, file: File, encoding: str, limits: ReadLimits = READ_LIMITS) -> None:
        self.file = file
        self.name = file.name
        self.kept_path = file.kept_path
        self.nbytes = file.nbytes
        self.limits = limits
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        """Bad rows, by block: found when a block is first parsed, needed whenever its rows are counted."""
        self.stored_encoding = encoding
        """The encoding, byte order included once blocks have been read."""
        self.spans: tuple[Span, ...] = ()
        """The file is read span by span, and no block crosses spans; if empty, the file is read as a whole."""
        self.lines_before = 0
        """Lines before the first span, if that is not the first of the file."""
        self.lines = 0
        """Lines in all blocks of the last complete reading."""
        self._encoding = encoding
        self._layout: Layout | None = None

    @abstractmethod
    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Where each row of a block ends; the last ends with the data."""

    @abstractmethod
    def item_rows(self, rows: Rows) -> Int64:
        """The numbers of the rows that hold an item; the others are blank."""

    @abstractmethod
    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:
        """Parse all rows at once; None if any of them is malformed."""

    @abstractmethod
    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:
        """Parse row by row, strictly, and collect the bad rows."""

    @abstractmethod
    def parse_long(self, row: LongRow, wanted: Wanted, first: bool) -> Parsed | None:
        """Parse one long row, which may be modified, without copying it; None if that is impossible.

        `first` is true for the first row of the file. A ValueError says what is wrong with the row.
        """

    def is_blank(self, row: bytearray) -> bool:  # noqa: ARG002
        """Whether a long row holds no item."""
        return False

    def hint(self, rows: Rows, wanted: Wanted) -> object:  # noqa: ARG002
        """Information about a whole block for parsers that may see only a part of it."""
        return None

    def check_block(self, rows: Rows, parsed: Parsed, wanted: Wanted) -> None:  # noqa: B027
        """Check the first block of the file as a whole; raise if a column is missing."""

    has_head: ClassVar[bool] = False
    """Whether something precedes the first row."""

    def head_end(self, data: bytes, line: int) -> int:  # noqa: ARG002
        """Where the head (a CSV header) ends in a piece that starts at a line; 0 if there are only blank lines."""
        return 0

    def rows_end(self, data: bytes) -> int:
        """Where the last complete row ends."""
        return last_line_end(data)

    def find_end(self) -> Callable[[bytes], int]:
        """A function that receives one row piece by piece and returns where it ends in a piece, 0 if it continues."""
        return lambda piece: piece.find(b"\n") + 1

    def column_names(self) -> Sequence[str] | None:
        """The names of the columns; None if they may differ from row to row."""
        return None

    def estimate_rows(self) -> tuple[int, bool]:
        """Extrapolated from the start of the file."""
        with self.file.reading(), closing(TextStream(self.file, self._encoding)) as stream:
            start = stream.read(SAMPLED_BYTES)
            share = self.nbytes / max(1, min(self.nbytes, stream.position()))
        return round(start.count(b"\n") * max(1.0, share)) or 1, False

    def locate(self, row: int) -> tuple[str, int]:
        """The file and the row's number in it."""
        return self.name, row

    def layout(self) -> Layout:
        """How to write the rows back."""
        if self._layout is None:
            for _ in self.blocks():
                break
        assert self._layout is not None
        return self._layout

    @property
    def is_splittable(self) -> bool:
        """Whether it can be read from any position on: stored as UTF-8 lines, each of them a row."""
        return not (self.has_head or self.file.compression) and self._encoding == "utf-8"

    def blocks(self) -> Iterator[Block]:
        """The rows of the file, about `limits.block_bytes` at a time."""
        self.file.check_unchanged()
        line = 1 + self.lines_before
        for span in self.spans or (None,):
            line = yield from self._blocks_of(span, line)
        self.lines = line - 1 - self.lines_before
        self.file.check_unchanged()

    def _blocks_of(self, span: Span | None, line: int) -> Generator[Block, None, int]:
        """The blocks of one span, or of the whole file; returns the number of the line after the last."""
        with self.file.reading(), closing(TextStream(self.file, self._encoding, span)) as stream:
            self.stored_encoding = stream.encoding
            if self._layout is None:
                self._layout = Layout("lines", stream.mark, self.file.compression)
            index, in_front = span.number * SPAN_BLOCKS if span else 0, self.has_head
            for piece in self._pieces(stream):
                start = self._skip_head(piece, stream, line) if in_front else 0
                line += piece.data.count(b"\n", 0, start)
                following = line + piece.data.count(b"\n", start, piece.end)
                in_front = in_front and not start
                if in_front:  # blank lines before the head
                    line = following
                    continue
                if piece.is_long and not start:
                    yield LongBlock(self, index, line, piece, piece.stored_bytes)
                    # a block that is still referenced must not keep large data while the next one is read
                    piece.data = b""
                else:
                    data = pa.py_buffer(piece.data).slice(start, piece.end - start)
                    yield LineBlock(self, index, line, data, piece.stored_bytes)
                line, index = following, index + 1
        return line

    def _pieces(self, stream: TextStream) -> Iterator[Piece]:
        line = 1
        try:
            for piece in cut_pieces(stream, self.rows_end, self.find_end, self.limits.block_bytes, largest_row(self)):
                line += piece.data.count(b"\n", 0, piece.end)
                yield piece
        except TooLongError as error:
            check_row(self, line, error.nbytes)

    def _skip_head(self, piece: Piece, stream: TextStream, line: int) -> int:
        data = bytes(piece.data[: piece.end])
        end = self.head_end(data, line)
        if end:
            head = stream.mark + self.restore(data[:end])
            self._layout = Layout("lines", head, self.file.compression)
        return end

    def restore(self, data: bytes) -> bytes:
        """UTF-8 rows in the encoding of the file."""
        if self.stored_encoding == "utf-8":
            return data
        return data.decode("utf-8").encode(self.stored_encoding)

    def parse_row(self, row: bytearray, wanted: Wanted) -> Parsed:
        """Parse one row; a ValueError says what is wrong with it."""
        parsed = self.parse(Rows(pa.py_buffer(row), np.array([len(row)])), wanted)
        if parsed.bad:
            raise ValueError(parsed.bad[0].error)
        return parsed

    def parse(self, rows: Rows, wanted: Wanted) -> Parsed:
        """Parse rows all at once if possible; runs that fail are bisected, down to single rows."""
        hint = self.hint(rows, wanted)
        parts = []
        for part in self._parse_parts(rows, 0, len(rows), wanted, hint):
            if part.bad and not wanted.skip_errors:
                return part  # called only for its error: a file of another format has nothing but bad rows
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        features = one_array(join_column(part.features for part in parts))
        columns = {name: one_array(join_column(part.columns[name] for part in parts)) for name in wanted.columns}
        return Parsed(features, columns, [bad for part in parts for bad in part.bad])

    def _parse_parts(self, rows: Rows, low: int, high: int, wanted: Wanted, hint: object) -> Iterator[Parsed]:
        part = rows.part(low, high)
        parsed = self.parse_fast(part, wanted, hint)
        if parsed is None and high - low > self.limits.few_rows:
            middle = (low + high) // 2
            yield from self._parse_parts(rows, low, middle, wanted, hint)
            yield from self._parse_parts(rows, middle, high, wanted, hint)
            return
        if parsed is None:
            parsed = self.parse_each(part, wanted, hint)
            parsed.bad = [BadRow(low + bad.row, bad.error, part.row(bad.row)) for bad in parsed.bad]
        yield parsed


@mutable
class LineBlock:
    """Consecutive rows of a `LineSource`, not yet separated."""

    source: LineSource
    index: int
    first_line: int
    data: pa.Buffer
    nbytes: int
    exclusive: bool = False

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Parse the block, or only `rows` of its items."""
        found = self._rows()
        here = self.source.item_rows(found) if rows is None else self._item_rows(found)[rows]
        taken = found.take(here)
        parsed = self.source.parse(taken, wanted)
        rejected = self._rejected(found, here, parsed.bad)
        if rejected and (rows is not None or not wanted.skip_errors):
            raise BadDataError(f"{self.source.name}:{rejected[0].line}: {rejected[0].error}")
        if rows is None:
            self.source.rejected_rows[self.index] = here[[bad.row for bad in parsed.bad]]
            if self.index == 0:
                self.source.check_block(taken, parsed, wanted)
        return Items(parsed.features, parsed.columns, rejected)

    def kept_rows(self, keep: Bool, decoded: Any = None) -> bytes:  # noqa: ARG002
        """The rows of the kept items, as they are stored."""
        rows = self._rows()
        items = self._item_rows(rows)
        check_length(keep, items)
        taken = rows.take(items[np.asarray(keep, bool)])
        return self.source.restore(taken.data.to_pybytes())

    def line_of(self, item: int) -> int:
        """The line in the file where an item of the block starts."""
        rows = self._rows()
        return int(self._lines(rows, self._item_rows(rows)[[item]])[0])

    def _lines(self, rows: Rows, chosen: Int64) -> Int64:
        return self.first_line + np.searchsorted(np.flatnonzero(rows.values == NEWLINE), rows.starts[chosen])

    def _rows(self) -> Rows:
        return Rows(self.data, self.source.row_ends(self.data))

    def _item_rows(self, rows: Rows) -> Int64:
        """The rows that are items: neither blank nor rejected."""
        found = self.source.item_rows(rows)
        rejected = self.source.rejected_rows.get(self.index)
        if rejected is None or len(rejected) == 0:
            return found
        return np.setdiff1d(found, rejected, assume_unique=True)

    def _rejected(self, rows: Rows, here: Int64, bad: list[BadRow]) -> list[Rejected]:
        if not bad:
            return []
        lines = self._lines(rows, here[[one.row for one in bad]])
        name = self.source.name
        return [Rejected(name, line, one.error, one.raw.rstrip(b"\r\n")) for line, one in zip(lines.tolist(), bad)]


def line_ends(data: bytes | pa.Buffer) -> Int64:
    r"""Where each line ends, its newline included; text after the last newline is a line too.

    Examples
    --------
    >>> line_ends(b"ab\n\nc").tolist()
    [3, 4, 5]
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE) + 1
    if len(data) and (len(ends) == 0 or ends[-1] != len(data)):
        ends = np.append(ends, len(data))
    return ends
