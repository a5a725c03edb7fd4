"""Rows longer than a block: each is a block by itself.

The long values of a row are taken out and unescaped in place. The short rest, with placeholders in their place, goes
through the parser of its format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError
from lookalike.read.columns import check_length, find_bad_utf8
from lookalike.read.long.texts import TEXT_FACTOR, recode, text_at
from lookalike.read.streams import Piece
from lookalike.types import Bool, Int64, Items, ReadLimits, Rejected, UInt8, Wanted
from lookalike.types.frozen import mutable

if TYPE_CHECKING:
    from lookalike.read.lines import LineSource, Parsed

PARSED_FACTOR = 12
"""Memory per byte of a long row without long values (a list of a million tokens), which is parsed like any other."""
SHOWN_BYTES = 1 << 20
"""How much of a bad long row is written beside its error."""

FindValues = Callable[[UInt8, int, Int64], int]
"""(data, least, spans): write start and end of each value with at least `least` bytes, return their number."""
Unescape = Callable[[UInt8, int, int], tuple[int, int]]
"""(data, start, end): unescape the value data[start:end] in place, return where it starts and ends now."""


def largest_row(source: LineSource) -> int | None:
    """The longest row, in bytes, that fits in memory; None if there is no limit."""
    return source.item_memory.largest(TEXT_FACTOR) if source.item_memory else None


def check_row(source: LineSource, line: int, nbytes: int, factor: float = TEXT_FACTOR) -> None:
    """Refuse a row that does not fit in memory."""
    if source.item_memory:
        source.item_memory.check(f"{source.name}:{line}", nbytes, factor)


class LongRow:
    r"""One row as a mutable buffer.

    Examples
    --------
    >>> def find(data, least, spans):
    ...     spans[0] = 6, 11
    ...     return 1
    >>> row = LongRow(bytearray(b"text: a b\tc."), ReadLimits(long_value_bytes=4))
    >>> row.shorten(find)
    b'text: 00000.'
    >>> row.unescape(lambda data, start, end: (start, end - 2))
    >>> row.text_of("00000").to_pylist(), row.text_of("abc")
    (['a b'], None)
    """

    def __init__(self, data: bytearray, limits: ReadLimits) -> None:
        self.data = data
        self._limits = limits
        self._spans = np.empty((0, 2), np.int64)
        self._texts: list[pa.Array] = []

    @property
    def text_end(self) -> int:
        """Where the row ends, its line end excluded."""
        return len(self.data) - self.data.endswith(b"\n") - self.data.endswith(b"\r\n")

    def shorten(self, find: FindValues) -> bytes | None:
        """The row with a placeholder for each long value; None if what remains is longer than a block."""
        least = self._limits.long_value_bytes
        spans = np.empty((len(self.data) // least + 1, 2), np.int64)
        self._spans = spans[: find(np.frombuffer(self.data, np.uint8), least, spans)]
        if len(self.data) - int((self._spans[:, 1] - self._spans[:, 0]).sum()) > self._limits.block_bytes:
            return None
        parts: list[bytes | bytearray] = []
        at = 0
        for number, (start, end) in enumerate(self._spans.tolist()):
            # longer than any value that is still in the row
            parts += [self.data[at:start], b"0" * least + b"%d" % number]
            at = end
        return b"".join([*parts, self.data[at:]])

    def unescape(self, unescape: Unescape) -> None:
        """Unescape the long values in place."""
        data = np.frombuffer(self.data, np.uint8)
        self._texts = [text_at(self.data, *unescape(data, start, end)) for start, end in self._spans.tolist()]

    def text_of(self, value: Any) -> pa.Array | None:
        """The long value that a placeholder stands for, as a column of one text; None for any other value."""
        least = self._limits.long_value_bytes
        return self._texts[int(value[least:])] if isinstance(value, str) and len(value) > least else None


@mutable
class LongBlock:
    """One long row. It is released when its source continues reading, and read again if needed."""

    source: LineSource
    index: int
    first_line: int
    piece: Piece
    nbytes: int
    exclusive: bool = True

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Parse the row; with `rows` only if its number is among them."""
        row = self._take()
        if self.source.is_blank(row) or (rows is not None and not len(rows)):
            return _no_items(wanted)
        bad: list[Rejected] = []
        try:
            parsed = self._parse(row, wanted)
        except LookalikeError:
            raise
        except ValueError as error:
            bad = [Rejected(self.source.name, self.first_line, str(error), bytes(row[:SHOWN_BYTES]).rstrip(b"\r\n"))]
        if bad and (rows is not None or not wanted.skip_errors):
            raise BadDataError(f"{self.source.name}:{bad[0].line}: {bad[0].error}")
        if rows is None:
            self.source.rejected_rows[self.index] = np.arange(len(bad))
        return _no_items(wanted, bad) if bad else Items(parsed.features, parsed.columns)

    def _parse(self, row: bytearray, wanted: Wanted) -> Parsed:
        if find_bad_utf8(text_at(row, 0, len(row))):
            raise ValueError("not valid UTF-8")
        parsed = self.source.parse_long(LongRow(row, self.source.limits), wanted, self.index == 0)
        if parsed is not None:
            return parsed
        check_row(self.source, self.first_line, len(row), PARSED_FACTOR)
        return self.source.parse_row(row, wanted)

    def kept_rows(self, keep: Bool, decoded: Any = None) -> bytes | bytearray:  # noqa: ARG002
        """The row as it is stored, if it is kept."""
        row = self._take()
        rejected = self.source.rejected_rows.get(self.index, ())
        check_length(keep, range(0 if self.source.is_blank(row) or len(rejected) else 1))
        return recode(row, self.source.stored_encoding) if np.any(keep) else b""

    def _take(self) -> bytearray:
        """The row, for the caller to modify: the next call reads it again."""
        row, self.piece.data = self.piece.data, b""
        if isinstance(row, bytearray):
            return row
        for block in self.source.blocks():
            if isinstance(block, LongBlock) and block.index == self.index:
                return block._take()
        raise BadDataError(f"{self.source.name}: changed while it was read; run again once it is complete")


def _no_items(wanted: Wanted, bad: list[Rejected] | None = None) -> Items:
    return Items(pa.nulls(0, pa.large_string()), {name: pa.nulls(0) for name in wanted.columns}, bad or ())
