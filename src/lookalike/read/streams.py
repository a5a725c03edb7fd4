"""Stored bytes -> UTF-8 text in pieces that end where a row ends.

Knows compression, encodings and byte order marks; what a row is, it is told.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.read.files import File

BLOCK_BYTES = 16 << 20
"""Decompressed bytes of a block: small enough to have some per thread, large enough to hide fixed costs."""

_MARKED = "lookalike-marked"


def _mark_bytes(error: UnicodeError) -> tuple[str, int]:
    """Stand a lone surrogate in for each bad byte: it has no valid UTF-8, so its line is refused later."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_MARKED, _mark_bytes)


def check_encoding(name: str) -> str:
    """The canonical name of a text encoding; `utf-8-sig` is plain UTF-8, since marks are always looked for.

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
        raise UsageError(f"encoding {name!r} is not known; examples: utf-8, latin-1, utf-16, cp1252") from error
    found = codecs.lookup(name).name
    return "utf-8" if found == "utf-8-sig" else found


_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


def settle_encoding(encoding: str, start: bytes) -> str:
    """Replace `utf-16` and `utf-32` by the byte order that the file starts with (little where none)."""
    if encoding not in _MARKS:
        return encoding
    return next((order for mark, order in _MARKS[encoding] if start.startswith(mark)), encoding + "-le")


class TextStream:
    """The text of a file as UTF-8, without its byte order mark. Bad bytes stay bad, to be found later."""

    def __init__(self, file: File, encoding: str) -> None:
        self._stored = file.open()
        self._bytes = self._stored
        if file.compression:
            self._bytes = pa.CompressedInputStream(self._stored, file.compression)
        self._start: bytes = self._bytes.read(1 << 16)
        self.encoding = settle_encoding(encoding, self._start)
        """The encoding, byte order included."""
        self._decoder = None
        if self.encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(self.encoding)(_MARKED)
        mark = "\ufeff".encode(self.encoding, "ignore")
        self.mark = mark if mark and self._start.startswith(mark) else b""
        """The byte order mark that the file starts with, or nothing."""
        self._start = self._start[len(self.mark) :]
        self._ended = False

    def position(self) -> int:
        """How many stored bytes have been read."""
        return int(self._stored.tell())

    def read(self, nbytes: int) -> bytes:
        """About `nbytes` more of the file (as UTF-8 it can be longer); nothing at the end."""
        if self._ended:
            return b""
        stored, self._start = self._start[:nbytes], self._start[nbytes:]
        if len(stored) < nbytes:
            stored += self._bytes.read(nbytes - len(stored))
        self._ended = not stored
        if self._decoder is None:
            return stored
        text = self._decoder.decode(stored, final=self._ended).encode("utf-8", "surrogatepass")
        # a decoder may hold back an incomplete character: only the end of the file is empty
        return text or self.read(nbytes)

    def close(self) -> None:
        """Let go of the file."""
        self._bytes.close()
        self._stored.close()


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole rows that follow each other: the bytes before `end`. The next ones follow."""

    data: bytes
    end: int
    stored_bytes: int
    """How many bytes of the file were read for it."""


def cut_pieces(stream: TextStream, rows_end: Callable[[bytes], int], nbytes: int) -> Iterator[Piece]:
    """Cut a text into pieces of about `nbytes`, each ending where a row ends.

    `rows_end` tells where the last whole row of a piece ends; 0 where it has none.
    """
    rest, wanted, at = b"", nbytes, 0
    while more := stream.read(wanted):
        data = rest + more if rest else more
        end = rows_end(data)
        if end == 0:
            # a row longer than a piece: read twice as much each time, so that the search stays linear
            rest, wanted = data, 2 * wanted
            continue
        rest, wanted = data[end:], nbytes
        # not cut off: that would copy it all
        yield Piece(data, end, stream.position() - at)
        at = stream.position()
    if rest:
        yield Piece(rest, len(rest), stream.position() - at)


def last_line_end(data: bytes) -> int:
    r"""Where the last whole line ends, for formats whose rows are lines.

    Examples
    --------
    >>> last_line_end(b"ab\ncd"), last_line_end(b"ab")
    (3, 0)
    """
    return data.rfind(b"\n") + 1
