"""Files that are one item each: HTML pages, and any other text.

Files that follow each other are one source, so that ten thousand small ones cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read import streams
from lookalike.read.columns import check_length, find_bad_utf8, missing_column
from lookalike.read.files import File, first_line
from lookalike.read.longrows import TEXT_FACTOR, text_at
from lookalike.read.streams import settle_encoding
from lookalike.types import Block, Bool, Int64, ItemMemory, Items, Layout, Rejected, Wanted, strings_to_arrow

BLOCK_FILES = 256
BLOCK_BYTES = 16 << 20
COLUMN = "text"
SHOWN_BYTES = 1024
"""How much of a bad file is shown beside its error."""
PAGE_FACTOR = 20
"""Memory per byte of an HTML page: the file, its characters, the tree of the parser, its text."""
PACKED_FACTOR = 8
"""How much longer a compressed text may well be than its file."""


def page_text(page: str) -> str:
    """The text that a reader of an HTML page sees, pieces joined by a space.

    Examples
    --------
    >>> page_text("<h1>Hello</h1><script>x()</script><p>wor<b>ld</b>")
    'Hello wor ld'
    """
    # imported here: a run without HTML does not need the parser
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    tree.strip_tags(["script", "style", "noscript", "template"])
    root = tree.root
    return "" if root is None else str(root.text(separator=" ", strip=True))


TEXT_OF: dict[str, Callable[[str], str]] = {".html": page_text, ".htm": page_text}
"""How to get at the text, by suffix; other files are plain text."""


def decode(raw: bytes, encoding: str) -> str:
    """Bytes as text, without a byte order mark."""
    text = raw.decode(settle_encoding(encoding, raw[:4]))
    # a text with lone surrogates (utf-7 and the like can make them) has no UTF-8
    text.encode("utf-8")
    return text.removeprefix("\ufeff")


class DocumentsSource:
    """Files that follow each other in the input, each of them an item."""

    def __init__(self, name: str, files: Sequence[File], encoding: str = "utf-8") -> None:
        self.name = name
        self.files = files
        self.encoding = encoding
        self.kept_path = files[0].kept_path
        self.nbytes = sum(file.nbytes for file in files)
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        """Files that could not be read, by block, as numbers within the block."""
        self._items: Int64 | None = None

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def layout(self) -> Layout:
        """Each item is written back as a file."""
        return Layout("files")

    def estimate_rows(self) -> tuple[int, bool]:
        """As many as there are files."""
        return len(self.files), True

    def locate(self, row: int) -> tuple[str, int]:
        """The file that an item is; its row is always 0."""
        aside = sum(map(len, self.rejected_rows.values()))
        if self._items is None or len(self._items) != len(self.files) - aside:
            parts = [np.arange(start, stop) for _, start, stop in self._spans()]
            bad = [parts[index][numbers] for index, numbers in self.rejected_rows.items()]
            self._items = np.setdiff1d(np.concatenate(parts), np.concatenate([np.zeros(0, np.int64), *bad]))
        return self.files[int(self._items[row])].name, 0

    def blocks(self) -> Iterator[Block]:
        """Some hundred files at a time."""
        for index, start, stop in self._spans():
            files = self.files[start:stop]
            exclusive = stop - start == 1 and _weight(files[0]) > BLOCK_BYTES
            yield DocumentBlock(self, index, files, sum(file.nbytes for file in files), exclusive)

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Block number, first file and the one after the last."""
        index = start = nbytes = 0
        for number, file in enumerate(self.files):
            full = number - start >= BLOCK_FILES or nbytes + _weight(file) > BLOCK_BYTES
            if number > start and full:
                yield index, start, number
                index, start, nbytes = index + 1, number, 0
            nbytes += _weight(file)
        yield index, start, len(self.files)


@dataclass(slots=True)
class DocumentBlock:
    """Some files, read when they are asked for."""

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
        numbers = range(len(self.files)) if rows is None else self._items()[rows].tolist()
        texts: list[str | bytearray] = []
        rejected: list[Rejected] = []
        aside: list[int] = []
        for number in numbers:
            try:
                texts.append(self._text(self.files[number]))
            except BadDataError as error:
                if not wanted.skip_errors:
                    raise
                rejected.append(self._rejected(self.files[number], error))
                aside.append(number)
        if rows is None:
            self.source.rejected_rows[self.index] = np.array(aside, np.int64)
        features = _column(texts)
        return Items(features, dict.fromkeys(wanted.columns, features), rejected)

    def kept_rows(self, keep: Bool, decoded: Any = None) -> list[tuple[str, bytes]]:  # noqa: ARG002
        """Name below `kept/` and bytes of each file to keep."""
        items = self._items()
        check_length(keep, items)
        files = [self.files[number] for number in items[np.asarray(keep, bool)]]
        return [(file.kept_path, _read(file, compressed=True)) for file in files]

    def _items(self) -> Int64:
        aside = self.source.rejected_rows.get(self.index, np.zeros(0, np.int64))
        return np.setdiff1d(np.arange(len(self.files)), aside)

    def _text(self, file: File) -> str | bytearray:
        text_of = TEXT_OF.get(file.suffix)
        if self.exclusive and text_of is None:
            return self._long_text(file)
        if self.exclusive and self.source.item_memory:
            self.source.item_memory.check(file.name, _weight(file), PAGE_FACTOR)
        raw = _read(file)
        try:
            text = decode(raw, self.source.encoding)
        except UnicodeError as error:
            raise BadDataError(f"{file.name}: not valid {self.source.encoding}: {first_line(error)}") from error
        return text_of(text) if text_of else text

    def _long_text(self, file: File) -> bytearray:
        """A long text as UTF-8, which is there only once."""
        room, step = self.source.item_memory, streams.BLOCK_BYTES
        largest = room.largest(TEXT_FACTOR) if room else None
        try:
            with file.reading(), closing(streams.TextStream(file, self.source.encoding)) as stream:
                text, _ = streams.read_row(stream, stream.read(step), lambda _: 0, step, largest)
        except streams.TooLongError as error:
            assert room is not None
            room.check(file.name, error.nbytes, TEXT_FACTOR)
        file.check_unchanged()
        if find_bad_utf8(text_at(text, 0, len(text))):
            raise BadDataError(f"{file.name}: not valid {self.source.encoding}")
        return text

    def _rejected(self, file: File, error: BadDataError) -> Rejected:
        try:
            raw = _read(file)[:SHOWN_BYTES]
        except BadDataError:
            raw = b""
        return Rejected(file.name, 0, str(error).removeprefix(f"{file.name}: "), raw)


def _weight(file: File) -> int:
    """About how many bytes the file has when it is decompressed."""
    return file.nbytes * (PACKED_FACTOR if file.compression else 1)


def _column(texts: Sequence[str | bytearray]) -> pa.Array:
    """The texts as a column; a long one, which comes exclusive, is not copied."""
    if len(texts) == 1 and isinstance(texts[0], bytearray):
        return text_at(texts[0], 0, len(texts[0]))
    return strings_to_arrow([text for text in texts if isinstance(text, str)])


def _read(file: File, compressed: bool = False) -> bytes:
    """All of a file, checked to be the one that was found."""
    with file.reading(), file.open() if compressed else file.open_decompressed() as opened:
        raw: bytes = opened.read()
    file.check_unchanged()
    return raw
