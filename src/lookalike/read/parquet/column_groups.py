"""Wide tables, some columns at a time.

While Arrow decodes a row group, it holds a page, a dictionary and a buffer of every column. For hundreds of columns,
this is more memory than a small run has. They are then decoded group by group, each once, to a temporary file, and
joined slice by slice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import IO, NamedTuple

import pyarrow as pa

from lookalike.types import TEMPORARY

PAGE_BYTES = 1 << 20
"""The size at which writers end a page or a dictionary."""
PIECES = 3
"""What Arrow holds of a column: its page, its dictionary, and a buffer of the file (measured with 400 columns)."""
SHARE = 8
"""Columns are decoded in groups if together they take more than one part in this many of the memory."""


class Chunk(NamedTuple):
    """A column chunk of Parquet: one of the columns, or a part of a nested one."""

    column: str
    nbytes: int
    """Its size when decompressed."""


def group_columns(chunks: Iterable[Chunk], limit: int) -> list[tuple[str, ...]]:
    """Consecutive columns whose decoders fit in the limit; a single column may exceed it.

    Examples
    --------
    >>> group_columns([Chunk("a", 10), Chunk("b", 10), Chunk("c.x", 10), Chunk("c.x", 10)], 60)
    [('a', 'b'), ('c.x',)]
    """
    needed: dict[str, int] = {}
    for column, nbytes in chunks:
        needed[column] = needed.get(column, 0) + PIECES * min(nbytes, PAGE_BYTES)
    groups: list[list[str]] = [[]]
    held = 0
    for column, nbytes in needed.items():
        if groups[-1] and held + nbytes > limit:
            groups.append([])
            held = 0
        groups[-1].append(column)
        held += nbytes
    return [tuple(group) for group in groups]


def columns_of(paths: Iterable[str], names: Sequence[str]) -> Iterator[str]:
    """The column that each path of Parquet belongs to; both are in the same order.

    Examples
    --------
    >>> list(columns_of(["a", "b.list.element", "c.d", "c.e"], ["a", "b", "c"]))
    ['a', 'b', 'c', 'c']
    """
    place = 0
    for path in paths:
        while place + 1 < len(names) and path != names[place] and not path.startswith(f"{names[place]}."):
            place += 1
        yield names[place]


def join_columns(parts: Iterable[Iterator[pa.Table]], names: Sequence[str]) -> Generator[pa.Table, None, None]:
    """Tables with all columns from several iterators, each of which yields the same rows of some of them.

    The iterators are exhausted one after the other, so that only one of them holds its decoders.

    Examples
    --------
    >>> one, other = pa.table({"a": [1, 2]}), pa.table({"b": [3, 4]})
    >>> [table.to_pydict() for table in join_columns([iter([other]), iter([one])], ["a", "b"])]
    [{'a': [1, 2], 'b': [3, 4]}]
    """
    with tempfile.TemporaryFile(prefix=TEMPORARY) as file:
        spooled = [_spool(file, tables) for tables in parts]
        for tables in zip(*(_read(file, *part) for part in spooled), strict=True):
            owner = {name: table for table in tables for name in table.column_names}
            fields = [owner[name].schema.field(name) for name in names]
            schema = pa.schema(fields, tables[0].schema.metadata)
            yield pa.Table.from_arrays([owner[name].column(name) for name in names], schema=schema)


def _spool(file: IO[bytes], tables: Iterator[pa.Table]) -> tuple[int, list[int]]:
    """Append tables of one schema to the file; return where they start, and the number of batches of each."""
    start, counts = file.tell(), list[int]()
    writer = None
    for table in tables:
        # a stream, unlike a file of Arrow, can replace the dictionaries of a column
        writer = writer or pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema)
        batches = table.to_batches()
        counts.append(len(batches))
        for batch in batches:
            writer.write_batch(batch)
    if writer is not None:
        writer.close()
    file.seek(0, 2)
    return start, counts


def _read(file: IO[bytes], start: int, counts: list[int]) -> Iterator[pa.Table]:
    """The tables that were appended from `start` on."""
    if not counts:
        return
    with pa.ipc.open_stream(pa.PythonFile(_View(file, start), "r")) as reader:
        for count in counts:
            yield pa.Table.from_batches([reader.read_next_batch() for _ in range(count)], reader.schema)


class _View:
    """A file as from a place on, with a position of its own."""

    closed = False

    def __init__(self, file: IO[bytes], place: int) -> None:
        self._file, self._place = file, place

    def read(self, nbytes: int = -1) -> bytes:
        """The next bytes."""
        self._file.seek(self._place)
        data = self._file.read(nbytes)
        self._place += len(data)
        return data

    def tell(self) -> int:
        """The position."""
        return self._place

    def close(self) -> None:
        """The file stays open for the others."""
