"""Parquet files, a slice of a row group at a time.

Pages must be decoded from the start of their row group, so the slices of a group share one decoder, which any thread
can advance. Slices that it passes are stored for the blocks that still need them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.files import File
from lookalike.read.long import LongPages, decoded_sizes
from lookalike.read.parquet.column_groups import SHARE, Chunk, columns_of, group_columns, join_columns
from lookalike.read.parquet.footer import Footer, read_checked_footer
from lookalike.read.slices import Slice
from lookalike.types import READ_LIMITS, Int64, ItemMemory, Layout, ReadLimits
from lookalike.types import compute as pc
from lookalike.types.parquet import read_batches

BUFFER_BYTES = 1 << 20
"""How much of a column is read at a time."""


class ParquetSource:
    """A Parquet file."""

    def __init__(self, file: File, encoding: str = "utf-8", limits: ReadLimits = READ_LIMITS) -> None:  # noqa: ARG002
        self.file = file
        self.limits = limits
        self.name = file.name
        self.kept_path = file.kept_path
        self.nbytes = file.nbytes
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        self.groups: range | None = None
        """The row groups to read; None for all."""
        self._lock = threading.Lock()
        self._footer: Footer | None = None
        self._long_pages: LongPages | None = None
        self._decoded_bytes: list[int] = []

    def part(self, groups: range) -> ParquetSource:
        """The same file, limited to some row groups; blocks keep their numbers."""
        found = ParquetSource(self.file, limits=self.limits)
        found.groups, found._decoded_bytes = groups, self.decoded_bytes
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # for another process: open nothing yet
        return (
            ParquetSource,
            (self.file, "utf-8", self.limits),
            {"groups": self.groups, "_decoded_bytes": self._decoded_bytes},
        )

    def footer(self) -> Footer:
        """The footer, read once."""
        with self._lock:
            if self._footer is None:
                self._footer = read_checked_footer(self.file)
            return self._footer

    def batches(self, group: int, rows: int, columns: tuple[str, ...] | None) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, for one thread; columns are streamed, not loaded as a whole."""
        return read_batches(self.file.open(), self.footer().metadata, group, rows, columns, BUFFER_BYTES)

    def column_groups(self, group: int, columns: tuple[str, ...] | None) -> list[tuple[str, ...] | None]:
        """The columns to decode together; all of them if they fit in memory."""
        names = self.column_names() if columns is None else columns
        if self.item_memory is None or len(set(self.column_names())) < len(self.column_names()):
            return [columns]
        footer = self.footer()
        owners = columns_of(footer.paths, self.column_names())
        chunks = [Chunk(name, nbytes) for name, nbytes in zip(owners, footer.chunks.nbytes[group].tolist())]
        chosen = set(names)
        groups = group_columns([one for one in chunks if one.column in chosen], self.item_memory.memory_bytes // SHARE)
        return [columns] if len(groups) == 1 else [*groups]

    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.footer().schema.names)

    def layout(self) -> Layout:
        """Schema with metadata, codec and row group size."""
        footer = self.footer()
        rows = max(footer.group_rows.tolist(), default=None)
        return Layout("table", b"", footer.codec, footer.schema, rows, self.long_pages.columns)

    @property
    def long_pages(self) -> LongPages:
        """Where the file has long values, searched once."""
        if self._long_pages is None:
            self._long_pages = LongPages.find(self.file, self.footer(), self.limits)
        return self._long_pages

    @property
    def decoded_bytes(self) -> list[int]:
        """The approximate size of each row group when decoded, found once."""
        if not self._decoded_bytes:
            self._decoded_bytes = decoded_sizes(self.file, self.footer(), self.limits)
        return self._decoded_bytes

    def estimate_rows(self) -> tuple[int, bool]:
        """As stated in the footer."""
        return self.footer().rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """The file and the row's number in it."""
        return self.name, row

    def blocks(self) -> Iterator[ParquetBlock]:
        """The slices of each row group, in order."""
        self.file.check_unchanged()
        footer = self.footer()
        stored_bytes = footer.chunks.stored_bytes.sum(axis=1).tolist()
        index = first_row = 0
        for number, group_rows in enumerate(footer.group_rows.tolist()):
            if group_rows == 0:
                continue
            rows = slice_rows(group_rows, self.decoded_bytes[number], self.limits)
            if self.groups is not None and number not in self.groups:
                index, first_row = index - (-group_rows // rows), first_row + group_rows
                continue
            place = f"{self.name}: rows {first_row} to {first_row + group_rows - 1}"
            exclusive = self.long_pages.check(number, place, self.item_memory)
            group = RowGroup(self, number, rows)
            stored = stored_bytes[number]
            for start in range(0, group_rows, rows):
                length = min(rows, group_rows - start)
                share = stored * (start + length) // group_rows - stored * start // group_rows
                yield group.add(ParquetBlock(self, group, index, first_row + start, length, share, exclusive))
                index += 1
            first_row += group_rows
        self.file.check_unchanged()


def slice_rows(rows: int, nbytes: int, limits: ReadLimits) -> int:
    """How many rows of a row group to read at a time: equal slices of at most a block.

    Examples
    --------
    >>> slice_rows(10_000, 100 << 20, ReadLimits())
    400
    """
    slices = max(1, -(-nbytes // limits.parquet_bytes), -(-rows // limits.block_rows))
    return max(1, -(-rows // slices))


class RowGroup:
    """The slices of one row group and the decoders that they share, one per set of columns."""

    def __init__(self, source: ParquetSource, number: int, rows: int) -> None:
        self.source = source
        self.number = number
        self.rows = rows
        self.slices: list[weakref.ref[ParquetBlock]] = []
        self._decoders: dict[tuple[str, ...] | None, Decoder] = {}
        self._lock = threading.Lock()

    def add(self, block: ParquetBlock) -> ParquetBlock:
        """Register a slice, by a weak reference."""
        block.place = len(self.slices)
        self.slices.append(weakref.ref(block))
        return block

    def read(self, place: int, columns: tuple[str, ...] | None) -> pa.Table:
        """The rows of one slice."""
        with self._lock:
            decoder = self._decoders.setdefault(columns, self._open(columns))
        table = decoder.read(place)
        if table is None:
            # the decoder is past it (a slice is parsed twice): decode the group again up to it
            table = self._open(columns).read(place)
        assert table is not None
        return table

    def _open(self, columns: tuple[str, ...] | None) -> Decoder:
        return Decoder(self.source, self.number, self.rows, self.slices, columns)


class Decoder:
    """Decodes a row group once from start to end, while its slices are requested in any order.

    Neither it nor its generator refers to its owner: a reference cycle would keep their rows in memory until the next
    garbage collection.
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
        self._group_rows = int(source.footer().group_rows[number])
        self._tables: Generator[pa.Table, None, None] | None = None
        self._next = 0
        self._waiting: weakref.WeakKeyDictionary[ParquetBlock, pa.Table] = weakref.WeakKeyDictionary()

    def read(self, place: int) -> pa.Table | None:
        """A slice, or None if the decoder is past it."""
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
        assert self._tables is not None
        left = self._group_rows - self._next * self._rows
        self._next += 1
        table = next(self._tables, None)
        if table is None or len(table) != min(left, self._rows):
            raise BadDataError(
                f"{self._source.name}: a column has fewer rows than its footer states; "
                "restore the file, or write it again"
            )
        if left <= self._rows:
            self._tables.close()  # it would keep its last page, which can be as large as a long value
        return table


def decode(
    source: ParquetSource, number: int, rows: int, columns: tuple[str, ...] | None
) -> Generator[pa.Table, None, None]:
    """Yield the slices of a row group in order."""
    groups = source.column_groups(number, columns)
    parts = (_decode_together(source, number, rows, group) for group in groups)
    return next(parts) if len(groups) == 1 else join_columns(parts, columns or source.column_names())


def _decode_together(
    source: ParquetSource, number: int, rows: int, columns: tuple[str, ...] | None
) -> Generator[pa.Table, None, None]:
    with source.file.reading():
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in source.batches(number, rows, columns):
            check_batch(batch)
            # Arrow ends a batch early at the end of a decoded piece of a column
            while count + batch.num_rows >= rows:
                held.append(batch.slice(0, rows - count))
                yield pa.Table.from_batches(held)
                batch, held, count = batch.slice(rows - count), [], 0
            if batch.num_rows:
                held.append(batch)
                count += batch.num_rows
        if held:
            yield pa.Table.from_batches(held)


def check_batch(batch: pa.RecordBatch) -> None:
    """Refuse what Arrow decodes from damaged pages without an error, but what would end the process later.

    Raises
    ------
    pa.ArrowInvalid
        If columns differ in length, or a value is a category that does not exist.

    Examples
    --------
    >>> check_batch(pa.record_batch({"kind": pa.array(["a", "b", "a"]).dictionary_encode()}))
    """
    batch.validate()
    for field, column in zip(batch.schema, batch.columns):
        for categories in _dictionaries(column) if _has_dictionary(field.type) else ():
            most = pc.min_max(categories.indices).as_py()
            if most["max"] is not None and not 0 <= most["min"] <= most["max"] < len(categories.dictionary):
                raise pa.ArrowInvalid(f"column {field.name!r} has a category that does not exist")


def _has_dictionary(kind: pa.DataType) -> bool:
    within = (kind.field(number).type for number in range(kind.num_fields))
    return bool(pa.types.is_dictionary(kind)) or any(map(_has_dictionary, within))


def _dictionaries(column: pa.Array) -> Iterator[pa.DictionaryArray]:
    """The arrays of categories in a column: itself, or fields and elements of it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        yield column
    elif pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            yield from _dictionaries(column.field(number))
    elif kind.num_fields == 1:
        yield from _dictionaries(column.values)


class ParquetBlock(Slice):
    """A slice of a row group, decoded on demand."""

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
        """Decode these columns, or all."""
        table = self.group.read(self.place, columns)
        if self.exclusive:
            pa.default_memory_pool().release_unused()  # free the memory of decoding before writing needs as much
        return table
