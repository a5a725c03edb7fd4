"""Files that are one item each: HTML pages, and any other text.

Consecutive files form one source, so that ten thousand small files cost little.
"""

from __future__ import annotations

import codecs
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import bad_byte, check_length, missing_column
from lookalike.read.files import File, first_line, read_together
from lookalike.read.nesting import is_deeper, loose_text
from lookalike.read.streams import resolve_byte_order
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
    StoredFiles,
    UInt8,
    Wanted,
    bytes_to_arrow,
    text_arrays,
)
from lookalike.types.frozen import mutable

COLUMN = "text"
SHOWN_BYTES = 1024
"""How much of a bad file is written beside its error."""
PAGE_FACTOR = 20
"""Memory per byte of an HTML page: the file, its characters, the parse tree, its text."""
DEEPEST = 512
"""Pages nested more deeply than browsers allow are not parsed, which would take quadratic time."""
PACKED_FACTOR = 8
"""How much longer a text typically is than its compressed file."""
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a]")
"""Bytes that are in no text."""
_MARK = np.frombuffer(codecs.BOM_UTF8, np.uint8)


def page_text(page: str) -> str:
    """The visible text of an HTML page, its pieces joined by spaces.

    Examples
    --------
    >>> page_text("<h1>Hello</h1><script>x()</script><p>wor<b>ld</b>")
    'Hello wor ld'
    """
    if is_deeper(page, DEEPEST):
        return loose_text(page)
    # imported here: a run without HTML does not need the parser
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    tree.strip_tags(["script", "style", "noscript", "template"])
    root = tree.root
    return "" if root is None else str(root.text(separator=" ", strip=True))


TEXT_OF: dict[str, Callable[[str], str]] = {".html": page_text, ".htm": page_text}
"""How to extract the text, by suffix; other files are plain text."""


def to_utf8(raw: bytes, encoding: str) -> bytes:
    r"""Text in some encoding as UTF-8, without the byte order mark.

    Examples
    --------
    >>> to_utf8(b"\xef\xbb\xbfa\xc3\xa9", "utf-8"), to_utf8(b"\xe9", "latin-1")
    (b'a\xc3\xa9', b'\xc3\xa9')
    """
    if encoding == "utf-8":
        if not raw.isascii():
            raw.decode()  # raises an error if it is not UTF-8
    else:
        # raises an error for lone surrogates, which utf-7 and the like can produce
        raw = raw.decode(resolve_byte_order(encoding, raw[:4])).encode()
    return raw.removeprefix(codecs.BOM_UTF8)


class Turns:
    """Lets one thread read files while others work on what they have read, as long as files come from memory.

    Python runs one thread at a time and hands over at every call of the system. With two threads that open, read and
    close small files, handing over takes as long as all the rest (0.12 s for 2,000 files, with one thread 0.06 s). If a
    thread mostly waits for the disk or the network, the others read too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waits = False
        """Whether reading files means waiting for them."""
        self._begun = threading.local()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()  # in another process, other threads take turns

    def __enter__(self) -> None:
        self._begun.held = not self._waits
        if self._begun.held:
            self._lock.acquire()
        self._begun.at = time.perf_counter(), time.thread_time()

    def __exit__(self, *_: object) -> None:
        wall, processor = self._begun.at
        self._waits = time.perf_counter() - wall > 2 * (time.thread_time() - processor)
        if self._begun.held:
            self._lock.release()


class DocumentsSource:
    """Consecutive files of the input, each of them an item."""

    def __init__(
        self, name: str, files: Sequence[File], encoding: str = "utf-8", limits: ReadLimits = READ_LIMITS
    ) -> None:
        self.name = name
        self.limits = limits
        self.files = files
        self.encoding = encoding
        self.kept_path = files[0].kept_path
        self.nbytes = sum(file.nbytes for file in files)
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        """Files that could not be read: by block, their numbers in the block."""
        self.first_block = 0
        """The number of the first block, if the files are only some of an input."""
        self._items: Int64 | None = None
        self.turns = Turns()

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def layout(self) -> Layout:
        """Each item is written back as a file."""
        return Layout("files")

    def estimate_rows(self) -> tuple[int, bool]:
        """The number of files."""
        return len(self.files), True

    def locate(self, row: int) -> tuple[str, int]:
        """The item's file; its row is always 0."""
        rejected = sum(map(len, self.rejected_rows.values()))
        if self._items is None or len(self._items) != len(self.files) - rejected:
            parts = {index: np.arange(start, stop) for index, start, stop in self._spans()}
            bad = [parts[index][numbers] for index, numbers in self.rejected_rows.items()]
            everything = np.concatenate(list(parts.values()))
            self._items = np.setdiff1d(everything, np.concatenate([np.zeros(0, np.int64), *bad]), True)
        return self.files[int(self._items[row])].name, 0

    def blocks(self) -> Iterator[Block]:
        """A few hundred files at a time."""
        for index, start, stop in self._spans():
            files = self.files[start:stop]
            exclusive = stop - start == 1 and _text_bytes(files[0]) > self.limits.block_bytes
            yield DocumentBlock(self, index, files, sum(file.nbytes for file in files), exclusive)

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Block number, first file, and one past the last file."""
        for index, (start, stop) in enumerate(pairwise(self._edges), self.first_block):
            yield index, start, stop

    @cached_property
    def _edges(self) -> list[int]:
        """The first file of each block, and the number of files."""
        limits, edges, nbytes = self.limits, [0], 0
        for number, file in enumerate(self.files):
            size = _text_bytes(file)
            full = number - edges[-1] >= limits.block_files or nbytes + size > limits.block_bytes
            if number > edges[-1] and full:
                edges.append(number)
                nbytes = 0
            nbytes += size
        return [*edges, len(self.files)]


@mutable
class DocumentBlock:
    """Some files, read on demand."""

    source: DocumentsSource
    index: int
    files: Sequence[File]
    nbytes: int
    exclusive: bool = False

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """The text of each file."""
        for name in (wanted.features, *wanted.columns):
            if name != COLUMN:
                raise missing_column(name, self.source.name, [COLUMN])
        files = self.files if rows is None else [self.files[number] for number in self._items()[rows].tolist()]
        rejected: dict[int, Rejected] = {}
        together = None if self.exclusive or not self._are_texts(files) else _read_texts(files)
        features = self._read_each(files, wanted.skip_errors, rejected) if together is None else together
        stored = None
        if rows is None:
            self.source.rejected_rows[self.index] = np.array(list(rejected), np.int64)
            stored = features if together is not None or self._is_stored(features) else None
        return Items(features, dict.fromkeys(wanted.columns, features), list(rejected.values()), stored)

    def _read_each(self, files: Sequence[File], skip_errors: bool, rejected: dict[int, Rejected]) -> pa.Array:
        """The texts of the files that can be read, one after the other; others go to `rejected`, by number."""
        texts: list[bytes | bytearray] = []
        with self.source.turns:
            for number, file in enumerate(files):
                try:
                    texts.append(self._text(file))
                except BadDataError as error:
                    if not skip_errors:
                        raise
                    rejected[number] = self._rejected(file, error)
        return _column(texts)

    def kept_rows(self, keep: Bool, decoded: pa.Array | None = None) -> StoredFiles:
        """The kept files; those whose text is their content are not read again."""
        items = self._items()
        check_length(keep, items)
        rows = np.flatnonzero(keep)
        files = [self.files[number] for number in items[rows].tolist()]
        if decoded is None:
            data, edges = _read_stored(files)
            rows = np.arange(len(files))
        else:
            data, edges = text_arrays(decoded)
        return StoredFiles([file.kept_path for file in files], data, edges[rows], edges[rows + 1])

    def _is_stored(self, features: pa.Array) -> bool:
        """Whether the texts equal the files byte by byte: UTF-8 without a byte order mark, and of the same length."""
        sizes = np.array([file.nbytes for file in self.files], np.int64)[self._items()]
        return self._are_texts(self.files) and np.array_equal(np.diff(text_arrays(features)[1]), sizes)

    def _are_texts(self, files: Sequence[File]) -> bool:
        """Whether files are stored as UTF-8, with or without a byte order mark, if they have no errors."""
        plain = all(file.compression is None and file.suffix not in TEXT_OF for file in files)
        return plain and self.source.encoding == "utf-8"

    def _items(self) -> Int64:
        rejected = self.source.rejected_rows.get(self.index, np.zeros(0, np.int64))
        return np.setdiff1d(np.arange(len(self.files)), rejected, assume_unique=True)

    def _text(self, file: File) -> bytes | bytearray:
        """The text of a file in UTF-8."""
        text_of = TEXT_OF.get(file.suffix)
        if self.exclusive and text_of is None:
            from lookalike.read.long import read_long_text  # imported here: few runs have such files

            source = self.source
            return read_long_text(file, source.encoding, source.item_memory, source.limits.block_bytes)
        if self.exclusive and self.source.item_memory:
            self.source.item_memory.check(file.name, _text_bytes(file), PAGE_FACTOR)
        raw = _read(file)
        try:
            text = to_utf8(raw, self.source.encoding)
        except UnicodeError as error:
            raise BadDataError(f"{file.name}: {_not_text(error, raw, self.source.encoding)}") from error
        return text_of(text.decode()).encode() if text_of else text

    def _rejected(self, file: File, error: BadDataError) -> Rejected:
        try:
            raw = _read(file)[:SHOWN_BYTES]
        except BadDataError:
            raw = b""
        return Rejected(file.name, 0, str(error).removeprefix(f"{file.name}: "), raw)


def _text_bytes(file: File) -> int:
    """The estimated size of the file when decompressed."""
    return file.nbytes * (PACKED_FACTOR if file.compression else 1)


def _read_texts(files: Sequence[File]) -> pa.Array | None:
    """UTF-8 files as a column, read together; None if there is anything unusual about one of them."""
    read = read_together(files)
    if read is None:
        return None
    data, edges = read
    begins = edges[:-1][np.diff(edges) >= len(_MARK)]
    if (data[begins[:, None] + np.arange(len(_MARK))] == _MARK).all(axis=1).any():
        return None
    found = pa.Array.from_buffers(pa.large_string(), len(files), [None, pa.py_buffer(edges), pa.py_buffer(data)])
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return found


def _read_stored(files: Sequence[File]) -> tuple[UInt8, Int64]:
    """The stored bytes of files, and their edges; those of a single file are not copied."""
    if len(files) > 1 and (read := read_together(files)):
        return read
    raw = [_read(file, compressed=True) for file in files]
    edges = np.array([0, *accumulate(map(len, raw))], np.int64)
    return np.frombuffer((raw[0] if len(raw) == 1 else b"".join(raw)) or b"\0", np.uint8), edges


def _not_text(error: UnicodeError, raw: bytes, encoding: str) -> str:
    """Why a file is not text in an encoding."""
    if encoding != "utf-8" or not isinstance(error, UnicodeDecodeError):
        return f"not valid {encoding}: {first_line(error)}"
    return bad_byte(error) + ("; is this a text file?" if re.search(_CONTROL, raw) else "")


def _column(texts: Sequence[bytes | bytearray]) -> pa.Array:
    """The texts as a column; a single long text is not copied."""
    if len(texts) == 1 and isinstance(texts[0], bytearray):
        from lookalike.read.long import text_at

        return text_at(texts[0], 0, len(texts[0]))
    return bytes_to_arrow([text for text in texts if isinstance(text, bytes)])


def _read(file: File, compressed: bool = False) -> bytes:
    """All of a file, checked to be unchanged since it was found."""
    if compressed or file.compression is None:
        return file.read()
    with file.reading(), file.open_decompressed() as opened:
        raw: bytes = opened.read()
    file.check_unchanged()
    return raw
