"""Write tables and summaries: Parquet, CSV, TSV or JSON Lines, depending on the file name."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.types import Rejected, strings_to_arrow
from lookalike.types import compute as pc
from lookalike.types.parquet import ParquetWriter
from lookalike.write.files import TABLE_SUFFIXES, disk_errors, whole_file
from lookalike.write.kept_file import Encoders
from lookalike.write.row_groups import ParallelGroups


def write_table(path: str | Path, table: pa.Table) -> None:
    """Write a table in the format of the file name's suffix; the file appears complete or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     write_table(path, pa.table({"left": ["a"], "similarity": [0.5]}))
    ...     print(path.read_text())
    left,similarity
    a,0.5
    <BLANKLINE>
    """
    write_tables(path, iter([table]))


def write_tables(path: str | Path, tables: Iterator[pa.Table], encoders: Encoders | None = None) -> None:
    """Write tables of one schema, in order, to one file, which appears complete or not at all.

    Tables of a Parquet file are row groups; if there are several, they are encoded on `encoders`.

    Examples
    --------
    >>> import pyarrow.parquet, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables(Path(folder, "a.parquet"), iter([pa.table({"a": [1]}), pa.table({"a": [2]})]))
    ...     pyarrow.parquet.read_table(Path(folder, "a.parquet")).column("a").to_pylist()
    [1, 2]
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise UsageError(f"{path}: the file name must end in {', '.join(TABLE_SUFFIXES)}")
    first = next(tables)
    tables = chain([first], tables)
    with whole_file(path) as partial:
        if suffix == ".parquet":
            _write_parquet(partial, first.schema, tables, encoders)
            return
        with partial.open("wb") as stream:
            if suffix == ".jsonl":
                for table in tables:
                    _write_jsonl(stream, table)
            else:
                _write_separated(stream, tables, "," if suffix == ".csv" else "\t")


def decoded(table: pa.Table) -> pa.Table:
    """Convert dictionary columns of a table to ordinary ones."""
    return pc.cast_table(table, _plain_schema(table.schema))


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
    return pa.schema(list(zip(schema.names, kinds)))


def _write_parquet(path: Path, schema: pa.Schema, tables: Iterator[pa.Table], encoders: Encoders | None) -> None:
    """Write a Parquet file. Dictionaries are written as such, which is fast, but read back as ordinary columns."""
    read_as = base64.b64encode(_plain_schema(schema).serialize().to_pybytes()).decode()
    metadata, options = {"ARROW:schema": read_as}, {"compression": "zstd", "store_schema": False}
    first = list(islice(tables, 2))
    with pa.OSFile(os.fsencode(path), "wb") as stream:
        if encoders is not None and len(first) == 2:
            groups = ParallelGroups(stream, schema, options, encoders, metadata)
            for table in chain(first, tables):
                groups.write_table(table, row_group_size=table.num_rows)
            groups.close()
            return
        with ParquetWriter(stream, schema, **options) as writer:
            for table in chain(first, tables):
                writer.write_table(table)
            writer.add_key_value_metadata(metadata)


def write_tsv(stream: IO[bytes], tables: Iterable[pa.Table]) -> None:
    r"""Write tables of one schema as tab-separated values with a header.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> write_tsv(out, [pa.table({"left": ["a"], "right": ["b"]})])
    >>> out.getvalue()
    b'left\tright\na\tb\n'
    """
    _write_separated(stream, tables, "\t")


def _write_separated(stream: IO[bytes], tables: Iterable[pa.Table], delimiter: str) -> None:
    for number, table in enumerate(tables):
        if number == 0:
            names = _quoted(strings_to_arrow(table.column_names), delimiter)
            _write_all(stream, memoryview((delimiter.join(names.to_pylist()) + "\n").encode()))
        changes = [_Changed(lambda values: _field_texts(values, delimiter)) for _ in table.column_names]
        between = _large(delimiter), _large("\n")
        for batch in table.to_batches(1 << 16):
            if not batch.num_rows or not batch.num_columns:
                continue
            parts = []
            for changed, column in zip(changes, batch.columns):
                parts += [changed(column), between[0]]
            _write_all(stream, _joined(pc.binary_join_element_wise(*parts[:-1], between[1], _large(""))))


class _Changed:
    """A column with every value converted; a dictionary is converted once for all batches that share it."""

    def __init__(self, change: Callable[[pa.Array], pa.Array]) -> None:
        self._change = change
        self._dictionary: pa.Array | None = None
        self._texts: pa.Array | None = None

    def __call__(self, column: pa.Array) -> pa.Array:
        if not isinstance(column, pa.DictionaryArray):
            return self._change(column)
        dictionary = column.dictionary
        if self._dictionary is None or not self._dictionary.equals(dictionary):
            self._dictionary, self._texts = dictionary, self._change(dictionary)
        texts = pc.take(self._texts, column.indices)
        return pc.fill_null(texts, self._change(pa.nulls(1, dictionary.type))[0]) if texts.null_count else texts


def _write_all(stream: IO[bytes], data: memoryview) -> None:
    """Write all of it: an unbuffered stdout (PYTHONUNBUFFERED) may accept only a part, without an error."""
    try:
        while len(data):
            data = data[stream.write(data) :]
    except OSError as error:
        error.filename = getattr(stream, "name", None)
        raise


def _any_of(data: memoryview, marks: bytes) -> bool:
    values = np.frombuffer(data, np.uint8)
    return any(bool((values == mark).any()) for mark in marks)


def _joined(lines: pa.Array) -> memoryview:
    """All lines, concatenated."""
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("q")
    start, stop = ends[lines.offset], ends[lines.offset + len(lines)]
    return memoryview(data)[start:stop]


def _field_texts(column: pa.Array, delimiter: str) -> pa.Array:
    """Values as fields of a line: only texts, and values written as text, can need quotes."""
    texts = _texts(column)
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return texts if plain else _quoted(texts, delimiter)


def _texts(column: pa.Array) -> pa.Array:
    """Values as text: nulls are empty, nested values are JSON."""
    if pa.types.is_nested(column.type) or _is_bytes(column.type):
        values = [one if one is None else _as_text(one) for one in column.to_pylist()]
        column = pa.array(values, pa.large_string())
    texts = pc.cast(column, pa.large_string())
    return pc.fill_null(texts, _large("")) if texts.null_count else texts


def _as_text(value: Any) -> str:
    return str(_plain(value)) if isinstance(value, bytes) else _json(value)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    """Texts quoted where necessary: Arrow's own writer quotes either all or none."""
    if not _any_of(_joined(texts), f'{delimiter}"\n\r'.encode()):
        return texts
    special = pc.match_substring_regex(texts, f'[{delimiter}"\\n\\r]')
    if not pc.any(special).as_py():
        return texts
    mark = _large('"')
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, _large("")), texts)


def _large(text: str) -> pa.Scalar:
    return strings_to_arrow([text])[0]  # pa.scalar imports pandas (see types.to_arrow)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _write_jsonl(stream: IO[bytes], table: pa.Table) -> None:
    changes = [_Changed(_json_texts) for _ in table.column_names]
    for batch in table.to_batches(1 << 16):
        if not batch.num_rows:
            continue
        fields = []
        for number, (name, changed, column) in enumerate(zip(table.column_names, changes, batch.columns)):
            fields += [_large(f"{', ' if number else '{'}{_json(name)}: "), changed(column)]
        _write_all(stream, _joined(pc.binary_join_element_wise(*fields, _large("}\n"), _large(""))))


def _json_texts(column: pa.Array) -> pa.Array:
    """Values as JSON: numbers, and texts without characters to escape, column by column; others value by value."""
    kind = column.type
    if not column.null_count:
        if pa.types.is_integer(kind):
            return pc.cast(column, pa.large_string())
        if pa.types.is_floating(kind) and pc.all(pc.is_finite(column), min_count=0).as_py():
            texts = pc.cast(column, pa.large_string())
            return pc.replace_substring_regex(texts, r"^(-?[0-9]+)$", r"\1.0")
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = pc.cast(column, pa.large_string())
            if not pc.any(pc.match_substring_regex(texts, r'[\x00-\x1f"\\]'), min_count=0).as_py():
                return pc.binary_join_element_wise(_large('"'), texts, _large('"'), _large(""))
    return strings_to_arrow([_json(value) for value in column.to_pylist()])


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """Write a summary for people and programs: indented, keys in the given order.

    Without `indent`, which programs do not need, a long summary is written several times as fast.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder, "run.json"), {"items": 3})
    ...     json.loads(Path(folder, "run.json").read_text())
    {'items': 3}
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"
    with whole_file(path) as partial:
        # lone surrogates (from file names that are not UTF-8) as JSON escapes
        partial.write_text(text, "utf-8", "backslashreplace")


def _plain(value: Any) -> Any:
    """Convert what JSON cannot express: NumPy scalars to numbers, anything else (bytes, a path) to text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.item() if hasattr(value, "item") else str(value)


def write_rejected(path: Path, rejected: Iterable[Rejected]) -> int:
    r"""Write rejected rows, one JSON object per line, and return their number.

    Bytes that are not UTF-8 are shown as `\xff`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = [Rejected("a.jsonl", 2, "not valid JSON", b"oops")]
    ...     write_rejected(Path(folder, "rejected.jsonl"), found)
    ...     Path(folder, "rejected.jsonl").read_text()
    1
    '{"file": "a.jsonl", "line": 2, "error": "not valid JSON", "raw": "oops"}\n'
    """
    count = 0
    with disk_errors(path), whole_file(path) as partial, partial.open("w", encoding="utf-8") as out:
        for one in rejected:
            raw = one.raw.decode("utf-8", "backslashreplace")
            row = {"file": one.file, "line": one.line, "error": one.error, "raw": raw}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
