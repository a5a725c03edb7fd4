"""Surviving rows, written in the format of their source: lines, Parquet tables or files."""

from __future__ import annotations

import gzip
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.types import KEPT, Layout, Source

GROUP_BYTES = 32 << 20
"""A row group is written once it has this many bytes, whatever its number of rows: until then it is in memory."""
LARGE_BYTES = 128 << 20
"""Rows of one block of this size (a huge document) are written at once: two of them may not fit in memory."""
GROUP_ROWS = 1 << 20
"""Rows per row group, if the input does not say."""
GZIP_LEVEL = 6


class KeptWriter(Protocol):
    """Takes what `Block.kept_rows` returns, in input order."""

    def write(self, stored: Any) -> None:
        """Add the surviving rows of one block."""

    def close(self) -> None:
        """Complete the file."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Closing:
    """Close at the end of a `with` block."""

    def close(self) -> None:
        """Complete the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        # an error on closing (a full disk again) must not hide the first one
        with suppress(Exception):
            self.close()


def open_kept(folder: Path, source: Source, group_bytes: int = GROUP_BYTES) -> KeptWriter:
    """Open the file (or folder) below `folder/kept` for the surviving rows of a source.

    `group_bytes` is the largest size of a Parquet row group.

    Examples
    --------
    >>> open_kept(Path("out"), source)  # doctest: +SKIP
    """
    layout = source.layout()
    path = folder / KEPT / source.kept_path
    if layout.kind == "files":
        return FileWriter(folder / KEPT)
    path.parent.mkdir(parents=True, exist_ok=True)
    if layout.kind == "table":
        return TableWriter(path, layout, group_bytes)
    return ArrayWriter(path, layout) if layout.kind == "array" else LineWriter(path, layout)


class LineWriter(_Closing):
    """Rows as bytes, compressed like the input; the same rows give the same bytes."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._raw: Any = None
        self._out: IO[bytes] | Any
        if layout.compression == "zstd":
            self._raw = pa.OSFile(os.fsencode(path), "wb")
            self._out = pa.CompressedOutputStream(self._raw, "zstd")
        elif layout.compression == "gzip":
            self._raw = path.open("wb")
            # no name or time in the header: they would differ between runs
            self._out = gzip.GzipFile("", "wb", GZIP_LEVEL, self._raw, mtime=0)
        else:
            self._out = path.open("wb")
        self._out.write(layout.prefix)

    def write(self, stored: bytes) -> None:
        """Add lines."""
        self._out.write(stored)

    def close(self) -> None:
        """Complete the file."""
        self._out.close()
        if self._raw is not None:
            self._raw.close()


class ArrayWriter(_Closing):
    """Rows of a NumPy matrix; their number is filled in at the end, in a header of fixed size."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._kind, self._columns = layout.array
        self._row_bytes = self._columns * np.dtype(self._kind).itemsize
        self._nbytes = 0
        self._out = path.open("wb")
        self._out.write(self._header())

    def _header(self) -> bytes:
        rows = self._nbytes // self._row_bytes
        facts = f"{{'descr': {self._kind!r}, 'fortran_order': False, 'shape': ({rows}, {self._columns}), }}"
        return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + facts.ljust(117).encode("ascii") + b"\n"

    def write(self, stored: bytes) -> None:
        """Add rows."""
        self._nbytes += len(stored)
        self._out.write(stored)

    def close(self) -> None:
        """Fill in the number of rows."""
        self._out.seek(0)
        self._out.write(self._header())
        self._out.close()


class TableWriter(_Closing):
    """Rows as Arrow tables, in row groups of about the size of those of the input."""

    def __init__(self, path: Path, layout: Layout, group_bytes: int = GROUP_BYTES) -> None:
        self._group_bytes = group_bytes
        self._rows = layout.row_group_rows or GROUP_ROWS
        self._schema = layout.schema
        self._file = pa.OSFile(os.fsencode(path), "wb")
        self._writer = pq.ParquetWriter(self._file, layout.schema, **_column_options(layout))
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = 0

    def write(self, stored: pa.Table) -> None:
        """Add rows; complete row groups go to disk."""
        while self._waiting_rows + stored.num_rows >= self._rows:
            missing = self._rows - self._waiting_rows
            self._wait(stored.slice(0, missing))
            self._write_group()
            stored = stored.slice(missing)
        self._wait(stored)
        if self._waiting_bytes >= self._group_bytes or stored.nbytes >= LARGE_BYTES:
            self._write_group()

    def _wait(self, table: pa.Table) -> None:
        if table.num_rows:
            self._waiting.append(table)
            self._waiting_rows += table.num_rows
            self._waiting_bytes += table.nbytes

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=self._waiting_rows)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def close(self) -> None:
        """Write the last row group and the footer."""
        self._write_group()
        self._writer.close()
        self._file.close()


def _column_options(layout: Layout) -> dict[str, Any]:
    """How columns are written; those with very long values in the way that copies a value least often.

    For a value of 500 MB alone on its page, Arrow takes 3.8 GB with dictionary and statistics, 1.4 GB without them and
    0.95 GB without compression too.
    """
    codec = layout.compression or "none"
    if not layout.long_columns:
        return {"compression": codec}
    paths = pq.ParquetFile(_empty_file(layout.schema)).schema
    others = [one for one in (column.path for column in paths) if one not in layout.long_columns]
    codecs = dict.fromkeys(others, codec) | dict.fromkeys(layout.long_columns, "none")
    return {"compression": codecs, "use_dictionary": others, "write_statistics": others}


def _empty_file(schema: pa.Schema) -> pa.BufferReader:
    """A file without rows, to learn the paths that Parquet gives the columns."""
    out = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), out)
    return pa.BufferReader(out.getvalue())


class FileWriter(_Closing):
    """One file per item."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, stored: list[tuple[str, bytes]]) -> None:
        """Add files: path below the folder, and bytes."""
        for name, raw in stored:
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
