"""Convert stored bytes to UTF-8 text, in pieces that end where a row ends.

Knows compression, encodings and byte order marks; the caller says what a row is.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.read.files import File
from lookalike.types.frozen import mutable

_MARKED = "lookalike-marked"


def _mark_bytes(error: UnicodeError) -> tuple[str, int]:
    """Replace each bad byte by a lone surrogate, which has no valid UTF-8, so that its line is rejected later."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_MARKED, _mark_bytes)


def check_encoding(name: str) -> str:
    """The canonical name of a text encoding; `utf-8-sig` becomes UTF-8, since byte order marks are always recognised.

    Examples
    --------
    >>> check_encoding("Latin1"), check_encoding("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        "".encode(name)
        b"".decode(name)
        "\ufeff".encode(name, "ignore")
        codecs.getincrementaldecoder(name)(_MARKED).decode(b"\xff", final=True)
    except (LookupError, UnicodeError) as error:
        raise UsageError(f"unknown encoding {name!r}; use for example utf-8, latin-1, utf-16 or cp1252") from error
    found = codecs.lookup(name).name
    return "utf-8" if found == "utf-8-sig" else found


_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


def resolve_byte_order(encoding: str, start: bytes) -> str:
    """`utf-16` and `utf-32` with the byte order that the file starts with; little-endian by default."""
    if encoding not in _MARKS:
        return encoding
    return next((order for mark, order in _MARKS[encoding] if start.startswith(mark)), encoding + "-le")


class Span(NamedTuple):
    """The lines of a file that start at byte start..stop-1."""

    number: int
    """Which of the spans of its file it is."""
    start: int
    stop: int


def _line_start(stored: pa.NativeFile, at: int) -> int:
    """Where the first line at or after `at` starts."""
    if at == 0:
        return 0
    stored.seek(at - 1)
    position = at - 1
    while more := stored.read(1 << 16):
        if found := more.find(b"\n") + 1:
            return position + int(found)
        position += len(more)
    return position


class TextStream:
    """The text of a file as UTF-8, without its byte order mark. Bad bytes stay invalid, to be found later."""

    def __init__(self, file: File, encoding: str, span: Span | None = None) -> None:
        self._stored = file.open()
        self._bytes = self._stored
        if file.compression:
            self._bytes = pa.CompressedInputStream(self._stored, file.compression)
        self._first, self._left = 0, None if span is None else 0
        """Where the span begins, and stored bytes up to its end; None without one."""
        if span is not None:
            self._first, last = (_line_start(self._stored, at) for at in (span.start, span.stop))
            self._stored.seek(self._first)
            self._left = last - self._first
        self._start: bytes = self._take(1 << 16)
        self.encoding = resolve_byte_order(encoding, self._start)
        """The encoding, byte order included."""
        self._decoder = None
        if self.encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(self.encoding)(_MARKED)
        mark = "\ufeff".encode(self.encoding, "ignore")
        self.mark = mark if mark and self._start.startswith(mark) else b""
        """The byte order mark that the file starts with, if any."""
        self._start = self._start[len(self.mark) :]
        self._ended = False

    def position(self) -> int:
        """Number of stored bytes read so far."""
        return int(self._stored.tell()) - self._first

    def read(self, nbytes: int) -> bytes:
        """About `nbytes` more of the file (in UTF-8 it may be longer); nothing at the end."""
        if self._ended:
            return b""
        stored, self._start = self._start[:nbytes], self._start[nbytes:]
        if len(stored) < nbytes:
            stored += self._take(nbytes - len(stored))
        self._ended = not stored
        if self._decoder is None:
            return stored
        text = self._decoder.decode(stored, final=self._ended).encode("utf-8", "surrogatepass")
        # a decoder may withhold an incomplete character: only the end of the file is empty
        return text or self.read(nbytes)

    def _take(self, nbytes: int) -> bytes:
        if self._left is None:
            return bytes(self._bytes.read(nbytes))
        found: bytes = self._bytes.read(min(nbytes, self._left))
        self._left -= len(found)
        return found

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
        self._stored.close()


@mutable
class Piece:
    """Complete rows: the bytes before `end`; the bytes after it belong to the next piece."""

    data: bytes | bytearray
    end: int
    stored_bytes: int
    """Bytes of the file that were read for it."""
    is_long: bool = False
    """Whether it is one row, longer than a normal piece."""


class TooLongError(Exception):
    """A row is longer than allowed: `nbytes`."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def cut_pieces(
    stream: TextStream,
    rows_end: Callable[[bytes], int],
    find_end: Callable[[], Callable[[bytes], int]],
    nbytes: int,
    largest_bytes: int | None = None,
) -> Iterator[Piece]:
    """Cut a text into pieces of about `nbytes`, each ending where a row ends; a longer row is a piece by itself.

    `rows_end` returns where the last complete row of a piece ends, or 0. `find_end` creates a function that receives
    one row piece by piece and returns where it ends in a piece, or 0 if it continues.
    """
    rest, at = b"", 0
    while more := rest or stream.read(nbytes):
        if rest:
            more += stream.read(nbytes)
        end = rows_end(more)
        if end:
            # not sliced: that would copy all of it
            rest, piece = more[end:], Piece(more, end, stream.position() - at)
        else:
            row, rest = read_row(stream, more, find_end(), nbytes, largest_bytes)
            piece = Piece(row, len(row), stream.position() - at, is_long=len(row) > nbytes)
            del row
        del more
        at = stream.position()
        yield piece


def read_row(
    stream: TextStream, start: bytes, find_end: Callable[[bytes], int], step: int, largest_bytes: int | None = None
) -> tuple[bytearray, bytes]:
    """The row that starts with `start`, and what was read beyond its end.

    Raises
    ------
    TooLongError
        If the row is longer than `largest_bytes`; no more than that is ever in memory.
    """
    # a bytearray of this size grows in place; joining bytes would hold them twice
    row, length, more = bytearray(), 0, start
    while True:
        end = find_end(more)
        length += end or len(more)
        if largest_bytes is None or length <= largest_bytes:
            row += more[:end] if end else more
        else:
            row.clear()  # the rest is read only to find out how long it is
        rest = more[end:] if end else b""
        if end or not (more := stream.read(step)):
            break
    if largest_bytes is not None and length > largest_bytes:
        raise TooLongError(length)
    return row, rest


def last_line_end(data: bytes) -> int:
    r"""Where the last complete line ends, for formats whose rows are lines.

    Examples
    --------
    >>> last_line_end(b"ab\ncd"), last_line_end(b"ab")
    (3, 0)
    """
    return data.rfind(b"\n") + 1
