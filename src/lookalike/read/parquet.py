"""Parquet files, a slice of a row group at a time.

Pages have to be decoded from the start of their row group, so the slices of one group share one decoder,
which whichever thread comes first moves on. What it passes is left with the slices that are still wanted.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import BadDataError
from lookalike.read.files import File
from lookalike.read.pages import page_sizes
from lookalike.read.slices import Slice
from lookalike.types import Block, Int64, ItemMemory, Layout

BLOCK_BYTES = 32 << 20
"""Bytes of a block over all columns, as the file's footer tells them (decompressed, still encoded)."""
BLOCK_ROWS = 32768
"""Rows of a block at most: repeated values are stored once, so the footer can tell too little."""
BUFFER_BYTES = 1 << 20
"""How much of a column is read at a time."""
LONG_PAGE_BYTES = 64 << 20
"""A page of this size holds a long value: writers end a page at a mebibyte or so."""
VALUE_FACTOR = 3
"""Memory per byte of a long value: Arrow has its page, this decompressed, and the value; as much when it writes one."""
VALUES_FACTOR = 5
"""The same where several row groups have long values: one is still being written while the next is decoded (measured
with three values of 500 MB: 4.6)."""


class ParquetSource:
    """A Parquet file."""

    def __init__(self, file: File, encoding: str = "utf-8") -> None:  # noqa: ARG002
        self.file = file
        self.name = file.name
        self.kept_path = file.kept_path
        self.nbytes = file.nbytes
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        self._lock = threading.Lock()
        self._footer: tuple[pq.FileMetaData, pa.Schema] | None = None
        self._long_pages: dict[tuple[int, str], int] | None = None

    def footer(self) -> tuple[pq.FileMetaData, pa.Schema]:
        """Metadata and schema, read once."""
        with self._lock, self.file.reading():
            if self._footer is None:
                with pq.ParquetFile(self.file.open()) as opened:
                    self._footer = opened.metadata, opened.schema_arrow
            return self._footer

    def open(self) -> pq.ParquetFile:
        """A reader of its own for a thread; columns are streamed, not loaded whole."""
        return pq.ParquetFile(self.file.open(), metadata=self.footer()[0], buffer_size=BUFFER_BYTES, pre_buffer=False)

    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.footer()[1].names)

    def layout(self) -> Layout:
        """Schema with metadata, codec and size of row groups."""
        metadata, schema = self.footer()
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        codec = "snappy"
        if groups and groups[0].num_columns:
            codec = groups[0].column(0).compression.lower().replace("uncompressed", "none")
        plain = tuple(dict.fromkeys(path for _, path in self.long_pages()))
        rows = max((group.num_rows for group in groups), default=None)
        return Layout("table", b"", codec, schema, rows, plain)

    def long_pages(self) -> dict[tuple[int, str], int]:
        """The size of the largest page of every long column, by row group and path. Behind a URL none is known."""
        if self._long_pages is None:
            self._long_pages = {}
            if self.file.system is None:
                with self.file.reading(), self.file.open() as opened:
                    self._long_pages = dict(_find_long_pages(opened, self.footer()[0]))
        return self._long_pages

    def check_room(self, group: int, first_row: int, rows: int) -> bool:
        """Whether a row group has long values; refuse one that takes more memory than there is."""
        largest = max((size for (number, _), size in self.long_pages().items() if number == group), default=0)
        if self.item_memory and largest:
            place = f"{self.name}: rows {first_row} to {first_row + rows - 1}"
            several = len({number for number, _ in self.long_pages()}) > 1
            factor = VALUES_FACTOR if several else VALUE_FACTOR
            self.item_memory.check(place, largest, factor, "a document (or page of documents)")
        return largest > 0

    def estimate_rows(self) -> tuple[int, bool]:
        """As many as the footer tells."""
        return self.footer()[0].num_rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """A row's file and its number therein."""
        return self.name, row

    def blocks(self) -> Iterator[Block]:
        """The slices of each row group in turn."""
        self.file.check_unchanged()
        metadata, _ = self.footer()
        index = first_row = 0
        for number in range(metadata.num_row_groups):
            found = metadata.row_group(number)
            if found.num_rows == 0:
                continue
            exclusive = self.check_room(number, first_row, found.num_rows)
            rows = slice_rows(found.num_rows, found.total_byte_size)
            group = RowGroup(self, number, rows)
            stored = sum(found.column(column).total_compressed_size for column in range(found.num_columns))
            for start in range(0, found.num_rows, rows):
                length = min(rows, found.num_rows - start)
                share = stored * (start + length) // found.num_rows - stored * start // found.num_rows
                yield group.add(ParquetBlock(self, group, index, first_row + start, length, share, exclusive))
                index += 1
            first_row += found.num_rows
        self.file.check_unchanged()


def _find_long_pages(file: pa.NativeFile, metadata: pq.FileMetaData) -> Iterator[tuple[tuple[int, str], int]]:
    """Row group, path and largest page of the columns that have a long page."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.total_uncompressed_size < LONG_PAGE_BYTES:
                continue
            starts = [column.data_page_offset, column.dictionary_page_offset]
            start = min(offset for offset in starts if offset)
            try:
                largest = max(page_sizes(file, start, column.total_compressed_size), default=0)
            except (ValueError, IndexError):
                continue  # encrypted, or a header of a kind that is not known: Arrow has to say what it makes of it
            if largest >= LONG_PAGE_BYTES:
                yield (number, column.path_in_schema), largest


def slice_rows(rows: int, nbytes: int) -> int:
    """How many rows of a row group to read at a time: equal slices of at most a block.

    Examples
    --------
    >>> slice_rows(10_000, 100 << 20)
    2500
    """
    slices = max(1, -(-nbytes // BLOCK_BYTES), -(-rows // BLOCK_ROWS))
    return max(1, -(-rows // slices))


class RowGroup:
    """The slices of one row group and the decoders that they share, one for each set of columns."""

    def __init__(self, source: ParquetSource, number: int, rows: int) -> None:
        self.source = source
        self.number = number
        self.rows = rows
        self.slices: list[weakref.ref[ParquetBlock]] = []
        self._decoders: dict[tuple[str, ...] | None, Decoder] = {}
        self._lock = threading.Lock()

    def add(self, block: ParquetBlock) -> ParquetBlock:
        """Know a slice; it is held only as long as someone else holds it."""
        block.place = len(self.slices)
        self.slices.append(weakref.ref(block))
        return block

    def read(self, place: int, columns: tuple[str, ...] | None) -> pa.Table:
        """The rows of one slice."""
        with self._lock:
            decoder = self._decoders.setdefault(columns, self._open(columns))
        table = decoder.read(place)
        if table is None:
            # its turn is over (a slice parsed twice): decode the group again up to it
            table = self._open(columns).read(place)
        assert table is not None
        return table

    def _open(self, columns: tuple[str, ...] | None) -> Decoder:
        return Decoder(self.source, self.number, self.rows, self.slices, columns)


class Decoder:
    """Decodes a row group once from start to end, whoever asks for its slices, in whatever order.

    Neither it nor its generator knows its owner: they would hold each other, and their rows, until a garbage
    collection.
    """

    def __init__(
        self,
        source: ParquetSource,
        number: int,
        rows: int,
        slices: list[weakref.ref[ParquetBlock]],
        columns: tuple[str, ...] | None,
    ) -> None:
        self._source = source
        self._number = number
        self._rows = rows
        self._slices = slices
        self._columns = columns
        self._lock = threading.Lock()
        self._tables: Iterator[pa.Table] | None = None
        self._next = 0
        self._waiting: weakref.WeakKeyDictionary[ParquetBlock, pa.Table] = weakref.WeakKeyDictionary()

    def read(self, place: int) -> pa.Table | None:
        """A slice, or None where it has gone by."""
        with self._lock:
            block = self._slices[place]()
            if block is not None and block in self._waiting:
                return self._waiting.pop(block)
            if place < self._next:
                return None
            if self._tables is None:
                self._tables = decode(self._source, self._number, self._rows, self._columns)
            while self._next < place:
                passed, table = self._slices[self._next](), self._step()
                if passed is not None:
                    self._waiting[passed] = table
            return self._step()

    def _step(self) -> pa.Table:
        self._next += 1
        assert self._tables is not None
        try:
            return next(self._tables)
        except StopIteration:
            raise BadDataError(f"{self._source.name}: has fewer rows than its footer tells") from None


def decode(source: ParquetSource, number: int, rows: int, columns: tuple[str, ...] | None) -> Iterator[pa.Table]:
    """The slices of a row group, one after the other."""
    names = None if columns is None else list(columns)
    with source.file.reading(), source.open() as opened:
        batches = opened.iter_batches(rows, [number], names, use_threads=False)
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            # Arrow ends a batch early where a column's decoded pieces end
            while count + batch.num_rows >= rows:
                held.append(batch.slice(0, rows - count))
                yield pa.Table.from_batches(held)
                batch, held, count = batch.slice(rows - count), [], 0
            if batch.num_rows:
                held.append(batch)
                count += batch.num_rows
        if held:
            yield pa.Table.from_batches(held)


class ParquetBlock(Slice):
    """A slice of a row group, decoded when it is asked for."""

    def __init__(
        self,
        source: ParquetSource,
        group: RowGroup,
        index: int,
        first_row: int,
        length: int,
        nbytes: int,
        exclusive: bool = False,
    ) -> None:
        super().__init__(source, index, first_row, length, nbytes)
        self.exclusive = exclusive
        self.group = group
        self.place = 0

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:
        """Decode the columns, or all."""
        return self.group.read(self.place, columns)
