"""Numbers from files: CSV, TSV, Parquet, and files of vectors. Errors name the row and the column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.families.cells import LARGEST_MEASUREMENT
from lookalike.read.columns import check_column, missing_column
from lookalike.read.csv import CsvSource
from lookalike.read.files import File
from lookalike.read.inputs import find_files
from lookalike.read.parquet.source import ParquetSource
from lookalike.read.streams import check_encoding
from lookalike.read.vectors import FvecsSource, NpySource, VectorSource
from lookalike.types import DEFAULT_ID, Float64, Wanted, strings_to_arrow, to_numpy
from lookalike.types import compute as pc

VECTORS = {".npy": NpySource, ".fvecs": FvecsSource}
SUFFIXES = (".csv", ".tsv", ".parquet", *VECTORS)


class Measurements(NamedTuple):
    """Items with the same measurements."""

    ids: pa.Array
    names: list[str]
    values: Float64
    """float64[items, measurements]."""


def read_measurements(
    inputs: Sequence[str | Path],
    *,
    id: str | None = None,
    columns: Iterable[str] = (),
    without: Iterable[str] = (),
    names: Sequence[str] | None = None,
    encoding: str = "utf-8",
    note: Callable[[str], None] | None = None,
) -> Measurements:
    r"""The measurements of all files, in order.

    Parameters
    ----------
    inputs
        .csv, .tsv, .parquet, .npy or .fvecs files (text formats also as .gz or .zst), folders, globs.
    id
        Column with the item's id; by default `id` if present, else the id is FILE:ROW.
    columns, without
        Columns that are measurements, and columns that are not; `*` is a wildcard, case is ignored. By default, the
        columns with a number in the first row.
    names
        Exactly these columns, for example those of the other side; overrides `columns` and `without`.
    note
        Told which folders are skipped.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("name,height,weight\nAda,170,60\nBob,180,77.5\n")
    ...     found = read_measurements([f"{folder}/a.csv"], id="name")
    >>> found.names, found.ids.to_pylist(), found.values.tolist()
    (['height', 'weight'], ['Ada', 'Bob'], [[170.0, 60.0], [180.0, 77.5]])
    """
    encoding = check_encoding(encoding)
    parts, ids = [], []
    for file in find_files(inputs, note):
        table = read_columns(file, encoding)
        if names is None:
            names = _choose(table, file.name, id, list(columns), list(without))
        parts.append(_matrix(table, names, file.name))
        ids.append(_ids(table, id, file.name, len(parts[-1])))
    chosen = list(names or [])
    values = np.concatenate([np.empty((0, len(chosen))), *parts])
    return Measurements(pa.concat_arrays(ids), chosen, values)


def measurements_in(
    table: pa.Table,
    place: str,
    *,
    id: str | None = None,
    columns: Iterable[str] = (),
    without: Iterable[str] = (),
    names: Sequence[str] | None = None,
) -> Measurements:
    """The measurements in a table in memory.

    Parameters
    ----------
    table
        One row per item.
    place
        What errors call the table.
    id, columns, without, names
        As in `read_measurements`.

    Examples
    --------
    >>> table = pa.table({"name": ["Ada", "Bob"], "height": [170, 180], "weight": [60, 77.5]})
    >>> found = measurements_in(table, "people", id="name")
    >>> found.names, found.values.tolist()
    (['height', 'weight'], [[170.0, 60.0], [180.0, 77.5]])
    """
    for name in table.column_names:
        check_column(name, place, table.column_names)
    given = {name: table[name] for name in table.column_names}
    chosen = list(_choose(given, place, id, list(columns), list(without)) if names is None else names)
    return Measurements(_ids(given, id, place, len(table)), chosen, _matrix(given, chosen, place))


def read_columns(file: File, encoding: str) -> dict[str, Any]:
    """The columns of a file by name: Arrow arrays (of strings, for CSV) or NumPy arrays."""
    with file.reading():
        if file.suffix in (".csv", ".tsv"):
            return _read_csv(file, encoding)
        if file.suffix == ".parquet":
            source = ParquetSource(file)
            names = source.column_names()
            for name in names:
                check_column(name, file.name, names)
            schema = source.footer().schema
            table = pa.concat_tables([schema.empty_table(), *(block.read(None) for block in source.blocks())])
            return {name: table[name] for name in table.column_names}
        if file.suffix in VECTORS:
            return _read_vectors(VECTORS[file.suffix](file, encoding))
    raise UsageError(f"{file.name}: the file name must end in {', '.join(SUFFIXES)}")


def _read_csv(file: File, encoding: str) -> dict[str, Any]:
    source = CsvSource(file, encoding)
    names = list(source.column_names())
    if not names:
        raise BadDataError(f"{file.name}: is empty; a header with column names is required")
    wanted = Wanted(names[0], tuple(names[1:]))
    blocks = [block.items(wanted) for block in source.blocks()]
    return {
        name: pa.chunked_array([items.columns[name] if at else items.features for items in blocks], pa.large_string())
        for at, name in enumerate(names)
    }


def _read_vectors(source: VectorSource) -> dict[str, Any]:
    values = source.numbers(source.read_rows(0, source.storage.rows), 0)
    with np.errstate(invalid="ignore"):  # a signaling NaN is reported with its place, like any other
        return {str(column): values[:, column].astype(np.float64) for column in range(values.shape[1])}


def _choose(table: dict[str, Any], place: str, id: str | None, columns: list[str], without: list[str]) -> list[str]:
    """Which columns are measurements."""
    own = id or DEFAULT_ID
    chosen = [name for name in table if name != own and not _listed(name, without)]
    if columns:
        absent = [one for one in columns if not any(_listed(name, [one]) for name in table)]
        if absent:
            raise missing_column(absent[0], place, list(table))
        chosen = [name for name in chosen if _listed(name, columns)]
    else:
        chosen = [name for name in chosen if _starts_with_number(table[name])]
    if not chosen:
        raise BadDataError(f"{place}: no column looks like a measurement; name them with --columns")
    return chosen


def _listed(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _starts_with_number(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return True
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return True
    return len(column) > 0 and _parse(str(column[0].as_py())) is not None


def _parse(text: str) -> float | None:
    """A finite number that is not too large, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) <= LARGEST_MEASUREMENT else None


def _matrix(table: dict[str, Any], names: Sequence[str], place: str) -> Float64:
    for name in names:
        if name not in table:
            raise missing_column(name, place, list(table))
    return np.stack([as_numbers(table[name], f"{place}: ", name) for name in names], axis=1)


def as_numbers(column: Any, place: str, name: str) -> Float64:
    """A column as finite numbers; an error names the first row (from 0) without one.

    Examples
    --------
    >>> as_numbers(pa.chunked_array([["1", "2.5"]]), "a.csv: ", "height").tolist()
    [1.0, 2.5]
    >>> as_numbers(pa.chunked_array([["1", "tall"]]), "a.csv: ", "height")
    Traceback (most recent call last):
    lookalike.errors.BadDataError: a.csv: row 1, column height: 'tall' is not a number; remove the row or fill it in
    """
    values = column if isinstance(column, np.ndarray) else _cast(column)
    if values is None or not (np.abs(values) <= LARGEST_MEASUREMENT).all():
        texts = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        row = next(row for row, value in enumerate(texts) if value is None or _parse(str(value)) is None)
        problem = "the value is missing" if texts[row] in (None, "") else f"{texts[row]!r} is not a number"
        if values is not None and np.isfinite(values[row]):
            problem = f"{texts[row]!r} is too large, more than {LARGEST_MEASUREMENT:g}"
        raise BadDataError(f"{place}row {row}, column {name}: {problem}; remove the row or fill it in")
    return values


def _cast(column: pa.ChunkedArray) -> Float64 | None:
    if column.null_count:
        return None
    try:
        return to_numpy(pc.cast(column, pa.float64()))
    except pa.ArrowException:
        # Arrow accepts fewer spellings of a number than Python
        numbers = [_parse(str(value)) for value in column.to_pylist()]
        return None if None in numbers else np.array(numbers, np.float64)


def _ids(table: dict[str, Any], id: str | None, place: str, rows: int) -> pa.Array:
    if id is not None and id not in table:
        raise missing_column(id, place, list(table))
    name = id or DEFAULT_ID
    if name not in table or isinstance(table[name], np.ndarray):
        return strings_to_arrow([f"{place}:{row}" for row in range(rows)])
    return strings_to_arrow([str(value) for value in table[name].to_pylist()])
