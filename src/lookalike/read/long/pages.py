"""Long values in Parquet files, found before they are read.

Arrow decompresses a page as a whole, so a long value must be refused before its page is touched. A value is never split
across pages: it shows as a huge page. The footer gives the size of a column chunk (many short values, or one long one?)
but not of its pages, and pyarrow exposes neither page headers nor the page index. So the headers are read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.read.files import File
from lookalike.read.parquet.footer import Footer
from lookalike.types import ItemMemory, ReadLimits
from lookalike.types.thrift import read_struct

HEADER_BYTES = 1 << 14
"""More than a header takes: it may hold the smallest and largest value of its page, which writers truncate."""
VALUE_FACTOR = 3
"""Memory per byte of a long value: Arrow holds its page, the page decompressed, and the value; as much to write one."""
VALUES_FACTOR = 5
"""The same if several row groups have long values: one is still being written while the next is decoded (measured
with three values of 500 MB: 4.6)."""
SHARES = 4
"""A page that needs more than one part in this many of the memory is read alone."""
_PAGE_BYTES, _STORED_BYTES = 2, 3
"""Numbers of the fields of a header: the size of the page decompressed, and as stored."""


class LongPages:
    """The column chunks of a file that have a long page, or one that is large in a small budget."""

    def __init__(self, largest: dict[tuple[int, str], int], long_bytes: int) -> None:
        self._largest = largest
        """Bytes of the largest page, by row group and column path."""
        self._long_bytes = long_bytes

    @classmethod
    def find(cls, file: File, footer: Footer, limits: ReadLimits) -> LongPages:
        """Find large and long pages. Only local files are searched: a URL would need many requests."""
        if file.system is not None:
            return cls({}, limits.long_page_bytes)
        with file.reading(), file.open() as opened:
            least_bytes = min(limits.large_page_bytes, limits.long_page_bytes)
            return cls(dict(_find_pages(opened, footer, least_bytes)), limits.long_page_bytes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The paths of the columns with long pages."""
        return tuple(dict.fromkeys(path for (_, path), size in self._largest.items() if size >= self._long_bytes))

    def check(self, group: int, place: str, memory: ItemMemory | None) -> bool:
        """Whether a row group must be read by itself: it has long values, or pages that are large in this memory.

        Raises a ResourceError that names `place` if they do not fit.
        """
        largest = max((size for (number, _), size in self._largest.items() if number == group), default=0)
        if memory and largest:
            several = len({number for number, _ in self._largest}) > 1
            memory.check(
                place, largest, VALUES_FACTOR if several else VALUE_FACTOR, "a document (or page of documents)"
            )
        scarce = memory is not None and SHARES * largest > memory.largest(VALUE_FACTOR)
        return largest >= self._long_bytes or (largest > 0 and scarce)


def _find_pages(file: pa.NativeFile, footer: Footer, least_bytes: int) -> Iterator[tuple[tuple[int, str], int]]:
    chunks = footer.chunks
    for group, column in np.argwhere(chunks.nbytes >= least_bytes).tolist():
        try:
            start, stored_bytes = int(chunks.starts[group, column]), int(chunks.stored_bytes[group, column])
            largest = max(page_sizes(file, start, stored_bytes), default=0)
        except (ValueError, IndexError, RecursionError):
            continue  # damaged, or not a known kind of header: left to Arrow
        if largest >= least_bytes:
            yield (group, footer.paths[column]), largest


def page_sizes(file: pa.NativeFile, start: int, nbytes: int) -> Iterator[int]:
    """The decompressed size of each page of the column chunk file[start : start + nbytes].

    Raises
    ------
    ValueError, IndexError
        If the bytes are not page headers.
    """
    end = start + nbytes
    while start < end:
        file.seek(start)
        header = read_header(file.read(min(HEADER_BYTES, end - start)))
        yield header.page_bytes
        start += header.header_bytes + header.stored_bytes


class Header(NamedTuple):
    """The sizes in a page header."""

    header_bytes: int
    stored_bytes: int
    page_bytes: int
    """Size of the page when decompressed."""


def read_header(data: bytes) -> Header:
    """The page header that `data` starts with.

    Examples
    --------
    >>> read_header(bytes([0x15, 0, 0x15, 20, 0x15, 8, 0]))
    Header(header_bytes=7, stored_bytes=4, page_bytes=10)
    """
    fields, end = read_struct(data)
    sizes = [fields[number].value for number in (_STORED_BYTES, _PAGE_BYTES) if number in fields]
    if len(sizes) != 2 or any(not isinstance(size, int) or size < 0 for size in sizes):
        raise ValueError("not a page header")
    stored_bytes, page_bytes = sizes
    return Header(end, stored_bytes, page_bytes)
