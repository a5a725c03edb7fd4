"""What a Python caller has in memory -> a source of blocks.

Everything becomes one Arrow table first; columns other than the one compared are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.read.columns import without_views
from lookalike.read.slices import Slice
from lookalike.types import Block, Int64, ItemMemory, Layout, matrix_to_arrow

BLOCK_BYTES = 16 << 20
"""Bytes of the compared column in a block."""
ACCEPTED = (
    "a list of texts, of token lists or sets, of vectors, or of dicts; a NumPy matrix; pyarrow, polars, pandas or "
    "DuckDB data; a Hugging Face dataset; a path or a list of pathlib.Path"
)


def looks_like_paths(data: Any) -> bool:
    """Whether data names files: a string exclusive, a path, or a list of paths. A list of strings is texts.

    Examples
    --------
    >>> from pathlib import Path
    >>> looks_like_paths("news.jsonl"), looks_like_paths([Path("a"), Path("b")]), looks_like_paths(["a text"])
    (True, True, False)
    """
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, os.PathLike) for one in data)


def open_data(data: Any, column: str) -> TableSource:
    """Make a source of data in memory.

    Parameters
    ----------
    data
        A list (or any iterable) of texts, of token lists or sets, or of dicts; anything that speaks
        `__arrow_c_stream__`; a pandas data frame; a Hugging Face dataset.
    column
        Which column is compared; data without named columns gets this name.

    Examples
    --------
    >>> from lookalike.types import Wanted
    >>> source = open_data(["a text", None], "text")
    >>> [len(block.items(Wanted("text"))) for block in source.blocks()]
    [2]
    """
    try:
        source = TableSource(as_table(data, column), column)
        source.holds_vectors = isinstance(data, np.ndarray) and data.dtype.kind != "O"
        return source
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise UsageError(f"data cannot be read as items: {error}; accepted: {ACCEPTED}") from error


def as_table(data: Any, column: str) -> pa.Table:
    """Any accepted data as one Arrow table that can be filtered, not copied where it is one already.

    Examples
    --------
    >>> as_table([{"id": 1, "text": "a"}], "text").column_names
    ['id', 'text']
    """
    return without_views(_as_table(data, column))


def _as_table(data: Any, column: str) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        return pa.table({column: _matrix(data)})
    if isinstance(data, pa.Array | pa.ChunkedArray) and not isinstance(data, pa.StructArray):
        return pa.table({column: data})
    if _is_hugging_face(data):
        # the Arrow format applies what select, shuffle and filter did to the rows
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
    """A NumPy matrix as vectors, a row each."""
    if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiub":
        raise UsageError(f"data is an array {rows.shape} of {rows.dtype}; vectors are the rows of a matrix of numbers")
    return matrix_to_arrow(rows)


def _is_hugging_face(data: Any) -> bool:
    known = type(data).__module__.partition(".")[0] == "datasets"
    if known and isinstance(data, dict):
        raise UsageError(f"data is a dataset with splits: choose one of {', '.join(map(str, data))}")
    return known and hasattr(data, "with_format") and hasattr(data, "__len__")


def _from_stream(data: Any, column: str) -> pa.Table:
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        # a single column (a polars or pandas series) streams arrays instead of batches
        return pa.table({column: pa.chunked_array(data)})


def _from_pandas(data: Any, column: str) -> pa.Table:
    if hasattr(data, "to_frame"):
        data = data.to_frame(column)
    return pa.Table.from_pandas(data, preserve_index=False)


def _from_values(values: list[Any], column: str) -> pa.Table:
    """Texts, token lists, token sets or dicts; None among them is a null item."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, dict):
        return pa.Table.from_pylist(_checked(values, dict))
    if first is None or isinstance(first, str):
        return pa.table({column: pa.array(_checked(values, str), pa.large_string())})
    if isinstance(first, set | frozenset):
        # sorted: the order of a set of strings differs from run to run
        values = [None if one is None else sorted(one) for one in _checked(values, (set, frozenset))]
        return pa.table({column: pa.array(values)})
    if isinstance(first, list | tuple):
        return pa.table({column: pa.array(_checked(values, (list, tuple)))})
    raise UsageError(f"data holds values of type {type(first).__name__}; accepted: {ACCEPTED}")


def _checked(values: list[Any], kind: type | tuple[type, ...]) -> list[Any]:
    """The values, all of one kind or None; lone surrogates and other kinds are refused by their number."""
    for row, value in enumerate(values):
        if value is None and kind is not dict:
            continue
        if not isinstance(value, kind):
            raise UsageError(f"data row {row} is a {type(value).__name__}, unlike the rows before it")
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise BadDataError(f"data: row {row}: half of a surrogate pair stands alone") from error
    return values


class TableSource:
    """A table in memory, in slices."""

    name = "data"
    kept_path = "data.parquet"
    holds_vectors = False
    """Are whole numbers vectors, too, not sets?"""

    def __init__(self, table: pa.Table, column: str) -> None:
        self.table = table
        """All of it, for a job to filter."""
        self.nbytes = int(table.nbytes)
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}
        self._column = column

    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def layout(self) -> Layout:
        """As a Parquet file of the same schema."""
        return Layout("table", b"", "zstd", self.table.schema, None)

    def estimate_rows(self) -> tuple[int, bool]:
        """All of them."""
        return self.table.num_rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """A row's number in the table."""
        return self.name, row

    def blocks(self) -> Iterator[Block]:
        """Slices of about the same number of rows."""
        rows = self.table.num_rows
        known = self._column in self.table.column_names
        nbytes = self.table.column(self._column).nbytes if known else self.nbytes
        step = max(1, -(-rows // max(1, -(-nbytes // BLOCK_BYTES))))
        for index, start in enumerate(range(0, rows, step)):
            table = self.table.slice(start, step)
            yield TableBlock(self, index, start, table, self.nbytes * table.num_rows // rows)


class TableBlock(Slice):
    """A slice of a table in memory."""

    def __init__(self, source: TableSource, index: int, first_row: int, table: pa.Table, nbytes: int) -> None:
        super().__init__(source, index, first_row, table.num_rows, nbytes)
        self.table = table

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:
        """The columns, not copied."""
        return self.table if columns is None else self.table.select(list(columns))
