"""Surviving rows, written the way their source is stored: lines, Parquet tables or files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.types import Layout, Source

GROUP_BYTES = 512 << 20
"""A row group is written when this much is waiting, whatever its number of rows."""
LARGE_BYTES = 128 << 20
"""Rows of one block as large as this (a huge document) do not wait for others: two of them may not fit in memory."""
GROUP_ROWS = 1 << 20
"""Rows of a row group where the input does not tell."""
GZIP_LEVEL = 6


class KeptWriter(Protocol):
    """Takes what `Block.stored` gives, in input order."""

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
        # What goes wrong on closing (a full disk again) must not hide what went wrong first.
        with suppress(Exception):
            self.close()


def open_kept(folder: Path, source: Source) -> KeptWriter:
    """Open the file (or folder) below `folder/kept` that gets the survivors of a source.

    Examples
    --------
    >>> open_kept(Path("out"), source)  # doctest: +SKIP
    """
    layout = source.layout()
    path = folder / "kept" / source.kept_path
    if layout.kind == "files":
        return FileWriter(folder / "kept")
    path.parent.mkdir(parents=True, exist_ok=True)
    writers: dict[str, Callable[[Path, Layout], KeptWriter]] = {
        "lines": LineWriter,
        "array": ArrayWriter,
        "table": TableWriter,
    }
    return writers[layout.kind](path, layout)


class LineWriter(_Closing):
    """Rows as bytes, compressed as the input was; the same rows give the same bytes."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._raw: Any = None
        self._out: IO[bytes] | Any
        if layout.compression == "zstd":
            self._raw = pa.OSFile(os.fsencode(path), "wb")
            self._out = pa.CompressedOutputStream(self._raw, "zstd")
        elif layout.compression == "gzip":
            self._raw = path.open("wb")
            # neither name nor time in the header: they would differ from run to run
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
    """Rows of a NumPy matrix; how many there are is written at the end, in the room left for it."""

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
        """Say how many rows there are."""
        self._out.seek(0)
        self._out.write(self._header())
        self._out.close()


class TableWriter(_Closing):
    """Rows as Arrow tables, in row groups of about the size that the input has."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._rows = layout.row_group_rows or GROUP_ROWS
        self._schema = layout.schema
        self._file = pa.OSFile(os.fsencode(path), "wb")
        self._writer = pq.ParquetWriter(self._file, layout.schema, **_column_options(layout))
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = 0

    def write(self, stored: pa.Table) -> None:
        """Add rows; whole row groups go to disk."""
        while self._waiting_rows + stored.num_rows >= self._rows:
            room = self._rows - self._waiting_rows
            self._wait(stored.slice(0, room))
            self._write_group()
            stored = stored.slice(room)
        self._wait(stored)
        if self._waiting_bytes >= GROUP_BYTES or stored.nbytes >= LARGE_BYTES:
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
        """Write what waits, and the footer."""
        self._write_group()
        self._writer.close()
        self._file.close()


def _column_options(layout: Layout) -> dict[str, Any]:
    """How columns are written; those with very long values in the way that makes the fewest copies of one.

    For a value of 500 MB as the only one of its page, Arrow takes 3.8 GB with dictionary and statistics, 1.4 GB without
    them and 0.95 GB if it does not compress either.
    """
    codec = layout.compression or "none"
    if not layout.long_columns:
        return {"compression": codec}
    paths = pq.ParquetFile(_empty_file(layout.schema)).schema
    others = [one for one in (column.path for column in paths) if one not in layout.long_columns]
    codecs = dict.fromkeys(others, codec) | dict.fromkeys(layout.long_columns, "none")
    return {"compression": codecs, "use_dictionary": others, "write_statistics": others}


def _empty_file(schema: pa.Schema) -> pa.BufferReader:
    """A file without rows, which tells the paths that Parquet gives the columns."""
    out = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), out)
    return pa.BufferReader(out.getvalue())


class FileWriter(_Closing):
    """Each item a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, stored: list[tuple[str, bytes]]) -> None:
        """Add files: name below the folder, and bytes."""
        for name, raw in stored:
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
