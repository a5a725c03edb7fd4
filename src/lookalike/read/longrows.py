"""Rows that are longer than a block: each is a block by itself, and is there only once while it is worked on.

Their long values are taken out and unescaped where they stand; the short rest of the row, with stand-ins for them, goes
through the parsers that all rows go through. What a row is, the formats know.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError
from lookalike.read.columns import check_length, find_bad_utf8
from lookalike.read.streams import Piece
from lookalike.types import Bool, Int64, Items, Rejected, UInt8, Wanted

if TYPE_CHECKING:
    from lookalike.read.lines import LineSource, Parsed

LONG_VALUE = 1 << 16
"""Bytes from which on a value is taken out of its row."""
TEXT_FACTOR = 1.05
"""Memory per byte of a long row: it is there once, and with it the step that was read last."""
PARSED_FACTOR = 12
"""Memory per byte of a long row without long values (a list of a million tokens), which is parsed like any other."""
SHOWN_BYTES = 1 << 20
"""How much of a bad long row is shown beside its error."""
RECODED_BYTES = 1 << 20
"""How much of a row is brought into another encoding at a time."""


@dataclass(slots=True)
class LongBlock:
    """One long row. It is let go of when its source reads on, and then read again if it is asked for."""

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
            return _nothing(wanted)
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
        return _nothing(wanted, bad) if bad else Items(parsed.features, parsed.columns)

    def _parse(self, row: bytearray, wanted: Wanted) -> Parsed:
        if find_bad_utf8(text_at(row, 0, len(row))):
            raise ValueError("not valid UTF-8")
        parsed = self.source.parse_long(row, wanted, self.index == 0)
        if parsed is not None:
            return parsed
        self.source.check_room(self.first_line, len(row), PARSED_FACTOR)
        return self.source.parse_alone(row, wanted)

    def kept_rows(self, keep: Bool, decoded: Any = None) -> bytes | bytearray:  # noqa: ARG002
        """The row as it is stored, if it is to be kept."""
        row = self._take()
        aside = self.source.rejected_rows.get(self.index, ())
        check_length(keep, range(0 if self.source.is_blank(row) or len(aside) else 1))
        return self.source.restore_long(row) if np.any(keep) else b""

    def _take(self) -> bytearray:
        """The row, for the caller to change: the next one reads it again."""
        row, self.piece.data = self.piece.data, b""
        if isinstance(row, bytearray):
            return row
        for block in self.source.blocks():
            if isinstance(block, LongBlock) and block.index == self.index:
                return block._take()
        raise BadDataError(f"{self.source.name}: changed while it was read")


def _nothing(wanted: Wanted, bad: list[Rejected] | None = None) -> Items:
    return Items(pa.array([], pa.large_string()), {name: pa.nulls(0) for name in wanted.columns}, bad or ())


def as_bytes(row: bytearray) -> UInt8:
    """The row as an array that kernels can write to."""
    return np.frombuffer(row, np.uint8)


def text_at(row: bytearray, start: int, end: int) -> pa.Array:
    """A part of the row as a column of one text, not copied and not checked."""
    offsets = pa.py_buffer(np.array([start, end], np.int64))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(row)])


def room_for_spans(row: bytearray) -> Int64:
    """Where kernels write the begin and end of each long value."""
    return np.empty((len(row) // LONG_VALUE + 1, 2), np.int64)


def with_stand_ins(row: bytearray, spans: Int64) -> bytes:
    """The row with a stand-in for each long value, longer than any other value in it."""
    parts: list[bytes | bytearray] = []
    at = 0
    for number, (start, end) in enumerate(spans.tolist()):
        parts += [row[at:start], b"0" * LONG_VALUE + b"%d" % number]
        at = end
    return b"".join([*parts, row[at:]])


def stood_for(value: Any) -> int | None:
    """The number of the long value that a string stands for; None for any other value."""
    return int(value[LONG_VALUE:]) if isinstance(value, str) and len(value) > LONG_VALUE else None


def recode(row: bytearray, encoding: str) -> Iterator[bytes]:
    """UTF-8 in another encoding, a bit at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    encoder = codecs.getincrementalencoder(encoding)()
    for start in range(0, len(row), RECODED_BYTES):
        final = start + RECODED_BYTES >= len(row)
        yield encoder.encode(decoder.decode(row[start : start + RECODED_BYTES], final), final)
