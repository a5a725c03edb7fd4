"""Turn data of a Python caller into a source of blocks.

Everything becomes one Arrow table first; only the compared column is ever touched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.read.columns import decoded_bytes, without_views
from lookalike.read.slices import Slice
from lookalike.types import READ_LIMITS, Block, Int64, ItemMemory, Layout, ReadLimits, matrix_to_arrow, strings_to_arrow

UNREADABLE = (pa.ArrowException, TypeError, OverflowError)
"""What Arrow raises for values that have no common type."""
FEW = 10_000
"""Up to this many texts, converting a list without Arrow takes a few milliseconds."""
ACCEPTED = (
    "a list of texts, of token lists or sets, of vectors, or of dicts; a NumPy matrix; pyarrow, polars, pandas or "
    "DuckDB data; a Hugging Face dataset; a path or a list of pathlib.Path"
)


def looks_like_paths(data: Any) -> bool:
    """Whether data names files: one string, one path, or a list of paths. A list of strings is texts.

    Examples
    --------
    >>> from pathlib import Path
    >>> looks_like_paths("news.jsonl"), looks_like_paths([Path("a"), Path("b")]), looks_like_paths(["a text"])
    (True, True, False)
    """
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, os.PathLike) for one in data)


def open_data(data: Any, column: str, limits: ReadLimits = READ_LIMITS) -> TableSource:
    """Make a source from data in memory.

    Parameters
    ----------
    data
        A list (or any iterable) of texts, of token lists or sets, or of dicts; anything with `__arrow_c_stream__`; a
        pandas data frame; a Hugging Face dataset.
    column
        The column to compare; data without column names gets this one.
    limits
        How large blocks are.

    Examples
    --------
    >>> from lookalike.types import Wanted
    >>> source = open_data(["a text", None], "text")
    >>> [len(block.items(Wanted("text"))) for block in source.blocks()]
    [2]
    """
    source = TableSource(as_table(data, column), column, limits)
    source.holds_vectors = isinstance(data, np.ndarray) and data.dtype.kind != "O"
    return source


def as_table(data: Any, column: str) -> pa.Table:
    """Any accepted data as one Arrow table that can be filtered; not copied if it is one already.

    Examples
    --------
    >>> as_table([{"id": 1, "text": "a"}], "text").column_names
    ['id', 'text']
    """
    try:
        return without_views(_as_table(data, column))
    except UNREADABLE as error:
        raise UsageError(f"data cannot be read as items: {error}; accepted: {ACCEPTED}") from error


def _as_table(data: Any, column: str) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        return pa.table({column: _matrix(data)})
    if isinstance(data, pa.Array | pa.ChunkedArray) and not isinstance(data, pa.StructArray):
        return pa.table({column: data})
    if _is_hugging_face(data):
        # the Arrow format applies any select, shuffle and filter
        return data.with_format("arrow")[:]
    if hasattr(data, "__arrow_c_stream__"):
        return _from_stream(data, column)
    if hasattr(data, "__arrow_c_array__"):
        return pa.table(data)
    if type(data).__module__.partition(".")[0] == "pandas":
        return _from_pandas(data, column)
    if isinstance(data, str | bytes | os.PathLike | dict) or not isinstance(data, Iterable):
        raise UsageError(f"data is a {type(data).__name__}; accepted: {ACCEPTED}")
    return _from_values(list(data), column)


def _matrix(rows: npt.NDArray[Any]) -> pa.Array:
    """A NumPy matrix as vectors, one per row."""
    if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiub":
        raise UsageError(
            f"data is an array of shape {rows.shape}, type {rows.dtype}; pass a matrix of numbers, one vector per row"
        )
    return matrix_to_arrow(rows)


def _is_hugging_face(data: Any) -> bool:
    known = type(data).__module__.partition(".")[0] == "datasets"
    if known and isinstance(data, dict):
        raise UsageError(f"data is a dataset with splits; pass one of {', '.join(map(str, data))}")
    return known and hasattr(data, "with_format") and hasattr(data, "__len__")


def _from_stream(data: Any, column: str) -> pa.Table:
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        # a single column (a polars or pandas series) streams arrays instead of batches
        return pa.table({column: pa.chunked_array(data)})
    except ValueError as error:  # in pandas, two columns can have the same name
        raise BadDataError(f"data cannot be read as a table: {error}") from None


def _from_pandas(data: Any, column: str) -> pa.Table:
    if hasattr(data, "to_frame"):
        data = data.to_frame(column)
    return pa.Table.from_pandas(data, preserve_index=False)


def _from_values(values: list[Any], column: str) -> pa.Table:
    """Texts, token lists, token sets or dicts; None among them is a null item."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, dict):
        try:
            return _from_dicts(_checked(values, dict))
        except UnicodeEncodeError:
            for row, value in enumerate(values):
                _check_dict(row, value)
            raise
    if first is None or isinstance(first, str):
        return pa.table({column: _texts(_checked(values, str))})
    if isinstance(first, set | frozenset):
        # sorted, because the order of a set of strings differs between runs
        values = [None if one is None else sorted(one) for one in _checked(values, (set, frozenset))]
        return pa.table({column: pa.array(values)})
    if isinstance(first, list | tuple):
        return pa.table({column: pa.array(_checked(values, (list, tuple)))})
    raise UsageError(f"data contains values of type {type(first).__name__}; accepted: {ACCEPTED}")


def _texts(values: list[str | None]) -> pa.Array:
    """Texts as a column. Arrow imports pandas to convert a list, which takes longer than all of a small job."""
    known = [value for value in values if value is not None] if len(values) <= FEW else []
    return strings_to_arrow(known) if len(known) == len(values) else pa.array(values, pa.large_string())


def _from_dicts(rows: list[dict[str, Any]]) -> pa.Table:
    """A table of all columns that occur in any row; Arrow itself would use only those of the first row."""
    names = dict.fromkeys(name for row in rows for name in row)
    if names.keys() == rows[0].keys():
        with contextlib.suppress(*UNREADABLE):  # columns are then read one by one, to name the one
            return pa.Table.from_pylist(rows)
    return pa.table({name: _column(name, [row.get(name) for row in rows]) for name in names})


def _column(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except UNREADABLE as error:
        raise UsageError(f"data: column {name!r} cannot be read: {error}; give it values of one type") from error


def _checked(values: list[Any], kind: type | tuple[type, ...]) -> list[Any]:
    """Check that all values are None or of one kind, without lone surrogates; errors give the row number."""
    for row, value in enumerate(values):
        if value is None and kind is not dict:
            continue
        if not isinstance(value, kind):
            raise UsageError(f"data row {row} is a {type(value).__name__}, but the rows before it are not")
        if isinstance(value, str) and not value.isascii():
            _check_text(row, value)
    return values


def _check_text(row: int, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadDataError(
            f"data: row {row}: contains half of a surrogate pair; encode the text as UTF-8 again"
        ) from error


def _check_dict(row: int, value: dict[Any, Any]) -> None:
    for name, one in value.items():
        for text in (name, *(one if isinstance(one, list | tuple | set) else [one])):
            if isinstance(text, str):
                _check_text(row, text)


class TableSource:
    """A table in memory, in slices."""

    name = "data"
    kept_path = "data.parquet"
    holds_vectors = False
    """Whether integers are vectors too, rather than sets."""

    def __init__(self, table: pa.Table, column: str, limits: ReadLimits = READ_LIMITS) -> None:
        self.table = table
        """The whole table, for a job to filter."""
        self.limits = limits
        self.nbytes = int(table.nbytes)
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        self._column = column

    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def _columns(self) -> Iterator[tuple[str, pa.ChunkedArray]]:
        return zip(self.table.column_names, self.table.columns)

    def layout(self) -> Layout:
        """A Parquet file of the same schema."""
        return Layout("table", b"", "zstd", self.table.schema, None)

    def estimate_rows(self) -> tuple[int, bool]:
        """The number of rows."""
        return self.table.num_rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """The row's number in the table."""
        return self.name, row

    def blocks(self) -> Iterator[Block]:
        """Slices of about the same number of rows."""
        rows = self.table.num_rows
        nbytes = sum(decoded_bytes(column) for name, column in self._columns() if name == self._column) or self.nbytes
        step = max(1, -(-rows // max(1, -(-nbytes // self.limits.block_bytes))))
        for index, start in enumerate(range(0, rows, step)):
            table = self.table.slice(start, step)
            yield TableBlock(self, index, start, table, self.nbytes * table.num_rows // rows)


class TableBlock(Slice):
    """A slice of a table in memory."""

    def __init__(self, source: TableSource, index: int, first_row: int, table: pa.Table, nbytes: int) -> None:
        super().__init__(source, index, first_row, table.num_rows, nbytes)
        self.table = table

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:
        """These columns, not copied."""
        return self.table if columns is None else self.table.select(list(columns))
