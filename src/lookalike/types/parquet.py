"""Parquet files in streams, read and written as by `pyarrow.parquet`.

Importing `pyarrow.parquet` also imports Arrow's file systems, with those for S3, Azure, Google and Hadoop, and OpenSSL.
That takes 9 of the 200 ms of a small job, which reads and writes streams. Files are the same, byte for byte:

>>> sink = pa.BufferOutputStream()
>>> with ParquetWriter(sink, pa.schema([("a", pa.int64())])) as writer:
...     writer.write_table(pa.table({"a": [1, 2]}))
>>> file = pa.BufferReader(sink.getvalue())
>>> metadata, schema = read_footer(file)
>>> metadata.num_rows, schema.names
(2, ['a'])
>>> [batch.to_pydict() for batch in read_batches(file, metadata, 0, 10, ["a"], 0)]
[{'a': [1, 2]}]
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyarrow import _parquet
from pyarrow._parquet import FileMetaData

__all__ = ["FileMetaData", "ParquetWriter", "read_batches", "read_footer", "read_table"]

_DEFAULTS = {
    "version": "2.6",
    "compression": "snappy",
    "use_dictionary": True,
    "write_statistics": True,
    "writer_engine_version": "V2",
    "data_page_version": "1.0",
    "use_compliant_nested_type": True,
    "store_schema": True,
}
"""Those of `pyarrow.parquet` where Arrow's own are different or not stated."""


class ParquetWriter:
    """Writes tables of one schema to a stream, which stays open."""

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, **options: Any) -> None:
        self._writer = _parquet.ParquetWriter(sink, schema, **(_DEFAULTS | options))

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        """Add rows, as row groups of at most this size."""
        self._writer.write_table(table, row_group_size=row_group_size)

    def add_key_value_metadata(self, metadata: Mapping[str, str]) -> None:
        """Add texts to the footer."""
        self._writer.add_key_value_metadata(metadata)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


def read_footer(file: pa.NativeFile) -> tuple[FileMetaData, pa.Schema]:
    """The metadata of a file, and its schema.

    Raises
    ------
    UnicodeDecodeError
        If the name of a column is not UTF-8.
    """
    reader = _open(file)
    reader.column_paths  # noqa: B018 (decodes all names)
    return reader.metadata, reader.schema_arrow


def read_batches(
    file: pa.NativeFile, metadata: FileMetaData, group: int, rows: int, columns: Collection[str] | None, buffer: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, at most `rows` at a time, on this thread; with `buffer` bytes, columns are streamed.

    Pages that have a checksum are compared with it, at several gigabytes per second.
    """
    reader = _open(file, metadata=metadata, buffer_size=buffer, pre_buffer=False, page_checksum_verification=True)
    leaves = None if columns is None else _leaves(reader.column_paths, columns)
    batches: Iterator[pa.RecordBatch] = reader.iter_batches(
        rows, row_groups=[group], column_indices=leaves, use_threads=False
    )
    return batches


def read_table(path: Path) -> pa.Table:
    """All rows of a file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.parquet")
    >>> with pa.OSFile(str(path), "wb") as file, ParquetWriter(file, pa.schema([("a", pa.int64())])) as writer:
    ...     writer.write_table(pa.table({"a": [1, 2]}))
    >>> read_table(path).to_pydict()
    {'a': [1, 2]}
    """
    with pa.OSFile(os.fsencode(path), "rb") as file:
        return _open(file).read_all(use_threads=True)


def _open(file: pa.NativeFile, **options: Any) -> Any:
    reader = _parquet.ParquetReader()
    try:
        reader.open(file, arrow_extensions_enabled=True, **options)
    except TypeError:  # releases before 21 do not have this option
        reader.open(file, **options)
    return reader


def _leaves(paths: list[tuple[str, ...]], columns: Collection[str]) -> list[int]:
    """The numbers of Parquet's columns that belong to these columns: a nested one has several.

    Examples
    --------
    >>> _leaves([("a",), ("b", "list", "element"), ("c", "d")], ["b", "c.d"])
    [1, 2]
    """
    leaves: dict[str, list[int]] = {}
    for leaf, path in enumerate(paths):
        for prefix in accumulate(path, "{}.{}".format):
            leaves.setdefault(prefix, []).append(leaf)
    return [leaf for column in columns for leaf in leaves.get(column, ())]
