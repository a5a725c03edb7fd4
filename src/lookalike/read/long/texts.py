"""One long text as a mutable buffer: read, checked and passed on without a second copy."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import find_bad_utf8
from lookalike.read.files import File
from lookalike.read.streams import TextStream, TooLongError, read_row
from lookalike.types import ItemMemory

TEXT_FACTOR = 1.05
"""Memory per byte of a long text: the text itself, and the piece of it that was read last."""
RECODED_BYTES = 1 << 20
"""Bytes of a row that are converted to another encoding at a time."""


def text_at(data: bytearray, start: int, end: int) -> pa.Array:
    """Part of a buffer as a column of one text, neither copied nor checked.

    Examples
    --------
    >>> text_at(bytearray(b"a long text"), 2, 6).to_pylist()
    ['long']
    """
    offsets = pa.py_buffer(np.array([start, end], np.int64))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])


def read_long_text(file: File, encoding: str, memory: ItemMemory | None, step: int) -> bytearray:
    """All of a file as UTF-8, read `step` bytes at a time.

    Raises
    ------
    ResourceError
        If it does not fit into `memory`.
    BadDataError
        If it is not valid in its encoding.
    """
    largest = memory.largest(TEXT_FACTOR) if memory else None
    try:
        with file.reading(), closing(TextStream(file, encoding)) as stream:
            text, _ = read_row(stream, stream.read(step), lambda _: 0, step, largest)
    except TooLongError as error:
        assert memory is not None
        memory.check(file.name, error.nbytes, TEXT_FACTOR)
    file.check_unchanged()
    if find_bad_utf8(text_at(text, 0, len(text))):
        raise BadDataError(f"{file.name}: not valid {encoding}")
    return text


def recode(text: bytearray, encoding: str) -> bytearray:
    r"""UTF-8 in another encoding.

    Examples
    --------
    >>> bytes(recode(bytearray("é".encode()), "latin-1"))
    b'\xe9'
    """
    if encoding == "utf-8":
        return text
    recoded = bytearray()
    for part in _recode_parts(text, encoding):
        recoded += part
    return recoded


def _recode_parts(text: bytearray, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    encoder = codecs.getincrementalencoder(encoding)()
    for start in range(0, len(text), RECODED_BYTES):
        final = start + RECODED_BYTES >= len(text)
        yield encoder.encode(decoder.decode(text[start : start + RECODED_BYTES], final), final)
