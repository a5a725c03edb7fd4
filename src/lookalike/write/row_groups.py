"""Row groups of a Parquet file, encoded several at a time.

Arrow encodes and compresses the columns of a file on one thread. Here each row group is first encoded as a separate
file in memory, on any thread; then their bytes are appended to the real file, and their footers are merged into one.
The result is the file that Arrow would write, byte for byte.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import pyarrow as pa

from lookalike.types.parquet import ParquetWriter
from lookalike.types.thrift import Field, Fields, read_struct, write_struct
from lookalike.write.kept_file import Encoders

MAGIC = b"PAR1"
MOST_COLUMNS = 64
"""With more columns, merging footers in Python would take as long as encoding small row groups."""

# Field numbers in the Thrift definition of Parquet's metadata.
_ROWS, _GROUPS = 3, 4
_CHUNKS, _GROUP_START, _ORDINAL = 1, 5, 7
_CHUNK_START, _CHUNK_FACTS = 2, 3
_PAGE_STARTS = (9, 10, 11)


class EncodedGroup(NamedTuple):
    """A row group as stored, and the footer of a file that contains only this row group."""

    data: pa.Buffer
    footer: Fields


class ParallelGroups:
    """The part of the interface of `ParquetWriter` that is used to write tables."""

    def __init__(
        self,
        file: pa.NativeFile,
        schema: pa.Schema,
        options: dict[str, Any],
        encoders: Encoders,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._file, self._schema, self._options = file, schema, options
        self._encoders = encoders
        self._waiting: deque[tuple[Future[EncodedGroup], int]] = deque()
        """Row groups that are being encoded, each with its size in bytes."""
        self._footer = encode_group(pa.Table.from_batches([], schema), schema, options, metadata).footer
        file.write(MAGIC)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Add the whole table as one row group."""
        assert row_group_size == table.num_rows
        while self._waiting and self._is_full(table.nbytes):
            self._append()
        encoding = self._encoders.submit(encode_group, table, self._schema, self._options)
        self._waiting.append((encoding, table.nbytes))

    def _is_full(self, nbytes: int) -> bool:
        waiting = sum(size for _, size in self._waiting)
        return len(self._waiting) > self._encoders.threads or waiting + nbytes > self._encoders.nbytes

    def _append(self) -> None:
        group = self._waiting.popleft()[0].result()
        add_group(self._footer, group.footer, self._file.tell() - len(MAGIC))
        self._file.write(group.data)

    def close(self) -> None:
        """Write the row groups that are still being encoded, and the footer."""
        while self._waiting:
            self._append()
        footer = write_struct(self._footer)
        self._file.write(footer + len(footer).to_bytes(4, "little") + MAGIC)


def encode_group(
    table: pa.Table, schema: pa.Schema, options: dict[str, Any], metadata: Mapping[str, str] | None = None
) -> EncodedGroup:
    """Encode a table as one row group, or as none if it has no rows; `metadata` is added to the footer."""
    sink = pa.BufferOutputStream()
    with ParquetWriter(sink, schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
        if metadata:
            writer.add_key_value_metadata(metadata)
    file = sink.getvalue()
    end = file.size - len(MAGIC) - 4
    footer_bytes = int.from_bytes(file.slice(end, 4).to_pybytes(), "little")
    footer, _ = read_struct(file.slice(end - footer_bytes, footer_bytes).to_pybytes())
    return EncodedGroup(file.slice(len(MAGIC), end - footer_bytes - len(MAGIC)), footer)


def add_group(footer: Fields, other: Fields, shift: int) -> None:
    """Add the row group of another file, which is now stored `shift` bytes further on."""
    groups = footer[_GROUPS].value
    for group in other[_GROUPS].value.value:
        _move(group, _GROUP_START, shift)
        for chunk in group[_CHUNKS].value.value:
            _move(chunk, _CHUNK_START, shift)
            for start in _PAGE_STARTS:
                _move(chunk[_CHUNK_FACTS].value, start, shift)
        if _ORDINAL in group:
            group[_ORDINAL] = group[_ORDINAL]._replace(value=len(groups.value))
        groups.value.append(group)
    footer[_GROUPS] = footer[_GROUPS]._replace(value=groups._replace(kind=other[_GROUPS].value.kind))
    rows: Field = footer[_ROWS]
    footer[_ROWS] = rows._replace(value=rows.value + other[_ROWS].value)


def _move(fields: Fields, number: int, shift: int) -> None:
    """Add to a position, unless it is missing: 0 also means missing."""
    if number in fields and fields[number].value:
        fields[number] = fields[number]._replace(value=fields[number].value + shift)
