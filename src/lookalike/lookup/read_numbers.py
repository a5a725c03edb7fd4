"""Numbers from tables in files: CSV, TSV, Parquet, and files of vectors.

What is no number is named by row and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookalike.errors import BadDataError, UsageError
from lookalike.read.columns import missing_column
from lookalike.read.csv import CsvSource
from lookalike.read.files import File
from lookalike.read.inputs import find_files
from lookalike.read.streams import check_encoding
from lookalike.read.vectors import FvecsSource, NpySource, VectorSource
from lookalike.types import DEFAULT_ID, Float64, Wanted, strings_to_arrow, to_numpy

VECTORS = {".npy": NpySource, ".fvecs": FvecsSource}
SUFFIXES = (".csv", ".tsv", ".parquet", *VECTORS)


class Measurements(NamedTuple):
    """Items with the same measurements each."""

    ids: pa.Array
    names: list[str]
    values: Float64
    """items x measurements."""


def read_measurements(
    inputs: Sequence[str | Path],
    *,
    id: str | None = None,
    columns: Iterable[str] = (),
    without: Iterable[str] = (),
    names: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Measurements:
    r"""The measurements in files, one after the other.

    Parameters
    ----------
    inputs
        .csv, .tsv, .parquet, .npy or .fvecs, also .csv.gz and the like; folders, globs.
    id
        The column that names an item; `id` where there is one, else items are called FILE:ROW.
    columns, without
        Which columns are measurements, and which are not; `*` stands for anything, case does not matter. Without
        `columns`, those with a number in the first row.
    names
        The measurements that another collection has: just these are read.

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
    for file in find_files(inputs):
        table = read_columns(file, encoding)
        if names is None:
            names = _choose(table, file, id, list(columns), list(without))
        parts.append(_matrix(table, names, file))
        ids.append(_ids(table, id, file, len(parts[-1])))
    chosen = list(names or [])
    values = np.concatenate([np.empty((0, len(chosen))), *parts])
    return Measurements(pa.concat_arrays(ids), chosen, values)


def read_columns(file: File, encoding: str) -> dict[str, Any]:
    """The columns of a file by name: Arrow arrays (text, for CSV), or rows of a NumPy matrix."""
    with file.reading():
        if file.suffix in (".csv", ".tsv"):
            return _read_csv(file, encoding)
        if file.suffix == ".parquet":
            with file.open() as stream:
                table = pq.read_table(stream)
            return {name: table[name] for name in table.column_names}
        if file.suffix in VECTORS:
            return _read_vectors(VECTORS[file.suffix](file, encoding))
    raise UsageError(f"{file.name}: the name must end in {', '.join(SUFFIXES)}")


def _read_csv(file: File, encoding: str) -> dict[str, Any]:
    source = CsvSource(file, encoding)
    names = list(source.column_names())
    if not names:
        raise BadDataError(f"{file.name}: is empty; a header with the names of the columns is needed")
    wanted = Wanted(names[0], tuple(names[1:]))
    blocks = [block.items(wanted) for block in source.blocks()]
    return {
        name: pa.chunked_array([items.columns[name] if at else items.features for items in blocks], pa.large_string())
        for at, name in enumerate(names)
    }


def _read_vectors(source: VectorSource) -> dict[str, Any]:
    values = source.numbers(source.read_rows(0, source.storage.rows), 0)
    return {str(column): values[:, column].astype(np.float64) for column in range(values.shape[1])}


def _choose(table: dict[str, Any], file: File, id: str | None, columns: list[str], without: list[str]) -> list[str]:
    """Which columns are measurements."""
    own = id or DEFAULT_ID
    chosen = [name for name in table if name != own and not _listed(name, without)]
    if columns:
        absent = [one for one in columns if not any(_listed(name, [one]) for name in table)]
        if absent:
            raise missing_column(absent[0], file.name, list(table))
        chosen = [name for name in chosen if _listed(name, columns)]
    else:
        chosen = [name for name in chosen if _starts_with_number(table[name])]
    if not chosen:
        raise BadDataError(f"{file.name}: no column is a measurement; name them with columns")
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
    """A finite number, or nothing."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _matrix(table: dict[str, Any], names: Sequence[str], file: File) -> Float64:
    for name in names:
        if name not in table:
            raise missing_column(name, file.name, list(table))
    return np.stack([as_numbers(table[name], f"{file.name}: ", name) for name in names], axis=1)


def as_numbers(column: Any, place: str, name: str) -> Float64:
    """A column as finite numbers; an error names the first row (from 0) that has none.

    Examples
    --------
    >>> as_numbers(pa.chunked_array([["1", "2.5"]]), "a.csv: ", "height").tolist()
    [1.0, 2.5]
    >>> as_numbers(pa.chunked_array([["1", "tall"]]), "a.csv: ", "height")
    Traceback (most recent call last):
    lookalike.errors.BadDataError: a.csv: row 1, column height: 'tall' is no measurement; leave the row out, \
or fill it in
    """
    values = column if isinstance(column, np.ndarray) else _cast(column)
    if values is None or not np.isfinite(values).all():
        texts = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        row = next(row for row, value in enumerate(texts) if value is None or _parse(str(value)) is None)
        shown = "nothing" if texts[row] in (None, "") else repr(texts[row])
        raise BadDataError(
            f"{place}row {row}, column {name}: {shown} is no measurement; leave the row out, or fill it in"
        )
    return values


def _cast(column: pa.ChunkedArray) -> Float64 | None:
    if column.null_count:
        return None
    try:
        return to_numpy(pc.cast(column, pa.float64()))
    except pa.ArrowException:
        # Arrow knows fewer spellings of a number than Python does
        numbers = [_parse(str(value)) for value in column.to_pylist()]
        return None if None in numbers else np.array(numbers, np.float64)


def _ids(table: dict[str, Any], id: str | None, file: File, rows: int) -> pa.Array:
    if id is not None and id not in table:
        raise missing_column(id, file.name, list(table))
    name = id or DEFAULT_ID
    if name not in table or isinstance(table[name], np.ndarray):
        return strings_to_arrow([f"{file.name}:{row}" for row in range(rows)])
    return strings_to_arrow([str(value) for value in table[name].to_pylist()])
