"""Surviving rows, written in the format of their source: lines, Parquet tables or files."""

from __future__ import annotations

import os
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.kernels.small_files import write_files
from lookalike.types import KEPT, Layout, Source, StoredFiles
from lookalike.types.parquet import ParquetWriter, read_footer
from lookalike.types.paths import kernels_open_files, path_block
from lookalike.write.kept_file import Encoders, KeptFile, Saved
from lookalike.write.kept_lines import open_lines
from lookalike.write.row_groups import MOST_COLUMNS, ParallelGroups

GROUP_BYTES = 32 << 20
"""A row group is written once it has this many bytes, whatever its number of rows: until then it is in memory."""
LARGE_BYTES = 128 << 20
"""Rows of one block of this size (a huge document) are written at once: two of them may not fit in memory."""
GROUP_ROWS = 1 << 20
"""Rows per row group, if the input does not say."""


def open_kept(
    folder: Path,
    source: Source,
    group_bytes: int = GROUP_BYTES,
    saved: Saved | None = None,
    encoders: Encoders | None = None,
) -> KeptFile:
    """Open the file (or folder) below `folder/kept` for the surviving rows of a source.

    `group_bytes` is the largest size of a Parquet row group. A file that was `saved` is continued. Large pieces are
    encoded and compressed on `encoders`, if there are any.

    Examples
    --------
    >>> open_kept(Path("out"), source)  # doctest: +SKIP
    """
    layout = source.layout()
    path = folder / KEPT / source.kept_path
    if layout.kind == "files":
        return FileWriter(folder / KEPT, encoders)
    path.parent.mkdir(parents=True, exist_ok=True)
    if layout.kind == "table":
        return TableWriter(path, layout, group_bytes, encoders)
    return ArrayWriter(path, layout, saved) if layout.kind == "array" else open_lines(path, layout, saved)


class ArrayWriter(KeptFile):
    """Rows of a NumPy matrix; their number is filled in at the end, in a header of fixed size."""

    def __init__(self, path: Path, layout: Layout, saved: Saved | None = None) -> None:
        self._kind, self._columns = layout.array
        self._row_bytes = self._columns * np.dtype(self._kind).itemsize
        self._nbytes = self._blocks = 0
        self._out = path.open("r+b" if saved else "wb")
        header = self._header()
        if saved is None:
            self._out.write(header)
        else:
            self._out.seek(saved.nbytes)
            self._out.truncate()
            self._nbytes, self._blocks = saved.nbytes - len(header), saved.blocks

    def _header(self) -> bytes:
        rows = self._nbytes // self._row_bytes
        facts = f"{{'descr': {self._kind!r}, 'fortran_order': False, 'shape': ({rows}, {self._columns}), }}"
        return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + facts.ljust(117).encode("ascii") + b"\n"

    def write(self, stored: bytes) -> None:
        """Add rows."""
        self._nbytes += len(stored)
        self._blocks += 1
        self._out.write(stored)

    def save(self) -> Saved:
        """Pass everything to the operating system; the file can be continued after any block."""
        self._out.flush()
        return Saved(self._out.tell(), self._blocks)

    def close(self) -> None:
        """Fill in the number of rows."""
        self._out.seek(0)
        self._out.write(self._header())
        self._out.close()


class TableWriter(KeptFile):
    """Rows as Arrow tables, in row groups of about the size of those of the input."""

    def __init__(
        self, path: Path, layout: Layout, group_bytes: int = GROUP_BYTES, encoders: Encoders | None = None
    ) -> None:
        self._group_bytes = group_bytes
        self._rows = layout.row_group_rows or GROUP_ROWS
        self._file = pa.OSFile(os.fsencode(path), "wb")
        self._writer = _open_groups(self._file, layout, encoders)
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = 0

    def write(self, stored: pa.Table) -> None:
        """Add rows; complete row groups are written to disk."""
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


def _open_groups(file: pa.NativeFile, layout: Layout, encoders: Encoders | None) -> ParquetWriter | ParallelGroups:
    """What writes the row groups of a file: one after the other if their values are long, since each takes memory."""
    options = _column_options(layout)
    if encoders is None or layout.long_columns or len(layout.schema) > MOST_COLUMNS:  # type: ignore[arg-type]
        return ParquetWriter(file, layout.schema, **options)
    return ParallelGroups(file, layout.schema, options, encoders)


def _column_options(layout: Layout) -> dict[str, Any]:
    """How to write the columns; those with very long values in the way that makes the fewest copies.

    For a value of 500 MB alone on its page, Arrow takes 3.8 GB with dictionary and statistics, 1.4 GB without them and
    0.95 GB without compression too.
    """
    codec = layout.compression or "none"
    if not layout.long_columns:
        return {"compression": codec}
    paths = read_footer(_empty_file(layout.schema))[0].schema
    others = [one for one in (paths.column(leaf).path for leaf in range(len(paths))) if one not in layout.long_columns]
    codecs = dict.fromkeys(others, codec) | dict.fromkeys(layout.long_columns, "none")
    return {"compression": codecs, "use_dictionary": others, "write_statistics": others}


def _empty_file(schema: pa.Schema) -> pa.BufferReader:
    """A file without rows, to learn the paths that Parquet gives the columns."""
    out = pa.BufferOutputStream()
    with ParquetWriter(out, schema) as writer:
        writer.write_table(schema.empty_table())
    return pa.BufferReader(out.getvalue())


class FileWriter(KeptFile):
    """One file per item, written by two threads if there are several.

    The system creates the files of a folder one after the other, but fills and closes some meanwhile: 2,000 files of
    2.3 kB take 29 ms instead of 44.
    """

    def __init__(self, folder: Path, encoders: Encoders | None = None) -> None:
        self._folder = os.path.join(folder, "")
        self._encoders = encoders
        folder.mkdir(parents=True, exist_ok=True)
        self._made = {""}

    def write(self, stored: StoredFiles) -> None:
        """Add files."""
        for parent in {path.rpartition("/")[0] for path in stored.paths} - self._made:
            os.makedirs(self._folder + parent, exist_ok=True)
            self._made.add(parent)
        if self._encoders is None:
            self._write_files(stored)
            return
        half = len(stored.paths) // 2
        other = self._encoders.submit(self._write_files, stored.slice(half, len(stored.paths)))
        try:
            self._write_files(stored.slice(0, half))
        finally:
            wait([other])  # nothing is written after an error
        other.result()

    def _write_files(self, stored: StoredFiles) -> None:
        """Write files together; from the first that fails on one by one, which raises the error."""
        done = 0
        if kernels_open_files():
            paths = path_block([self._folder + path for path in stored.paths])
            done = write_files(paths, _CREATE, stored.data, stored.starts, stored.stops)
        for path, raw in stored.slice(done, len(stored.paths)).pieces():
            _write_file(self._folder + path, raw)


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def _write_file(path: str, raw: memoryview) -> None:
    """Create a file without `open`, whose buffers and extra calls take a third of the time of a small file."""
    out = os.open(path, _CREATE, 0o666)
    try:
        while raw:
            raw = raw[os.write(out, raw) :]
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(out)
