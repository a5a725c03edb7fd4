"""JSON Lines: one object per line.

Arrow parses only the requested columns, a block at a time. Its parser accepts objects anywhere, so its result is used
only if every line starts with `{` and ends with `}`, and there are as many objects as lines: inside a JSON value no `}`
is followed by `{`, so each line is then exactly one object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from lookalike.kernels import rows as kernels
from lookalike.read.columns import (
    ACCEPTED,
    BadRow,
    bad_byte,
    column_of,
    find_null_tokens,
    kind_of,
    missing_column,
    one_array,
)
from lookalike.read.lines import LineBlock, LineSource, Parsed, Rows, line_ends
from lookalike.read.long import LongBlock, LongRow
from lookalike.types import Block, Int64, Source, UInt8, Wanted, distinct
from lookalike.types import compute as pc

_SPACES = b" \t\r\n"
_IS_TEXT = np.ones(256, bool)
_IS_TEXT[list(_SPACES)] = False
_TOKENS = {str: pa.list_(pa.string()), int: pa.list_(pa.int64()), float: pa.list_(pa.float64())}


class JsonlSource(LineSource):
    """A file of JSON objects, one per line; blank lines are skipped."""

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Rows are lines."""
        return line_ends(data)

    def item_rows(self, rows: Rows) -> Int64:
        """Lines that hold more than whitespace."""
        starts = rows.starts
        if _IS_TEXT[rows.values[starts]].all():
            return np.arange(len(rows))
        return np.flatnonzero(np.logical_or.reduceat(_IS_TEXT[rows.values[: rows.ends[-1]]], starts))

    def hint(self, rows: Rows, wanted: Wanted) -> dict[str, pa.DataType | None]:
        """The type of each requested column in a sample of the block; None if types are mixed."""
        sample = [*_objects(rows, distinct(np.linspace(0, len(rows) - 1, self.limits.sampled_rows).astype(int)))]
        kinds = {name: _plain_type([one.get(name) for one in sample]) for name in wanted.columns}
        if wanted.any_type:
            return {**kinds, wanted.features: _plain_type([one.get(wanted.features) for one in sample])}
        # the compared column comes last: its type holds if it is requested as a further column too
        return kinds | {wanted.features: _features_type(one.get(wanted.features) for one in sample)}

    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:
        """All lines at once with Arrow."""
        assert isinstance(hint, dict)
        if len(rows) == 0:
            return Parsed(pa.array([], hint[wanted.features]), {name: pa.nulls(0) for name in wanted.columns})
        if any(kind is None for kind in hint.values()) or not _looks_like_objects(rows) or not rows.is_utf8():
            return None
        table = _read_json(rows.data, pa.schema(list(hint.items())))
        if table is None or table.num_rows != len(rows):
            return None
        arrays = {name: one_array(table.column(name)) for name in hint}
        if find_null_tokens(arrays[wanted.features]):
            return None
        columns = {name: _or_nulls(arrays[name]) for name in wanted.columns}
        return Parsed(arrays[wanted.features], columns)

    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:
        """Each line with Python's parser."""
        assert isinstance(hint, dict)
        kind = hint[wanted.features]
        good: list[dict[str, Any]] = []
        bad = []
        for row in range(len(rows)):
            try:
                one = parse_object(rows.row(row))
                if not wanted.any_type:
                    check_features(one.get(wanted.features), wanted.features, kind)
                good.append(one)
            except ValueError as error:
                bad.append(BadRow(row, str(error)))
        values = [one.get(wanted.features) for one in good]
        features = column_of(values) if wanted.any_type else _features(values, kind)
        return Parsed(features, {name: column_of([one.get(name) for one in good]) for name in wanted.columns}, bad)

    def is_blank(self, row: bytearray) -> bool:
        """Whether the row is all whitespace."""
        return re.fullmatch(rb"[ \t\r\n]*+", row) is not None

    def parse_long(self, row: LongRow, wanted: Wanted, first: bool) -> Parsed | None:
        """One line: its long strings are unescaped in place, the rest goes through Python's parser."""
        short = row.shorten(kernels.find_json_strings)
        if short is None:
            return None
        one = parse_object(short)
        if isinstance(one.get(wanted.features), list):
            return None
        if first and wanted.features not in one:
            raise missing_column(wanted.features, self.name, [*one])
        if not wanted.any_type:
            check_features(one.get(wanted.features), wanted.features, pa.large_string())
        row.unescape(_unescape)
        found = {name: _long_column(row, one.get(name)) for name in (wanted.features, *wanted.columns)}
        features = found[wanted.features] if wanted.any_type else pc.cast(found[wanted.features], pa.large_string())
        return Parsed(features, {name: found[name] for name in wanted.columns})

    def check_block(self, rows: Rows, parsed: Parsed, wanted: Wanted) -> None:
        """Refuse a file whose first block does not have the column at all."""
        if len(parsed.features) == 0 or parsed.features.null_count < len(parsed.features):
            return
        names: dict[str, None] = {}
        for one in _objects(rows, range(len(rows))):
            names |= dict.fromkeys(one)
            if wanted.features in names:
                return
        raise missing_column(wanted.features, self.name, [*names])


def list_columns(source: Source, blocks: int | None = None) -> list[str]:
    """All columns of a source. Every line of JSON names its own columns, so all lines are read, or some blocks.

    Columns are in order of first occurrence. Malformed lines are reported later, when the values are read.
    """
    known = source.column_names()
    if known is not None or not isinstance(source, JsonlSource):
        return [*(known or ())]
    names: dict[str, None] = {}
    for block in islice(source.blocks(), blocks):
        names |= dict.fromkeys(_names_in(block, source))
    return [*names]


def list_columns_until(source: Source, column: str) -> list[str]:
    """The columns in the first lines, up to the line that has this one; none if the source has no lines of JSON.

    The first block decides, as it does for the compared column when it is read.
    """
    names: dict[str, None] = {}
    if not isinstance(source, JsonlSource):
        return []
    for block in islice(source.blocks(), 1):
        with suppress(ValueError):  # malformed lines are reported later, when the values are read
            for name in _names_by_line(block, source):
                names[name] = None
                if name == column:
                    break
    return [*names]


def _names_by_line(block: Block, source: JsonlSource) -> Iterator[str]:
    if not isinstance(block, LineBlock):
        yield from _names_in(block, source)
        return
    rows = Rows(block.data, line_ends(block.data))
    for one in _objects(rows, range(len(rows))):
        yield from one


def _names_in(block: Block, source: JsonlSource) -> Iterable[str]:
    if isinstance(block, LongBlock):
        assert isinstance(block.piece.data, bytearray)
        short = LongRow(block.piece.data, source.limits).shorten(kernels.find_json_strings)
        line = bytes(block.piece.data) if short is None else short
        return {} if source.is_blank(bytearray(line)) else parse_object(line)
    assert isinstance(block, LineBlock)
    rows = Rows(block.data, line_ends(block.data))
    rows = rows.take(source.item_rows(rows))
    table = _read_json(rows.data, None) if len(rows) and rows.is_utf8() else None
    if table is not None and table.num_rows == len(rows):
        return list(table.column_names)
    return [name for one in _objects(rows, range(len(rows))) for name in one]


def parse_object(line: bytes) -> dict[str, Any]:
    """One line as an object; a ValueError says what is wrong with it.

    Examples
    --------
    >>> parse_object(b'{"a": 1}')
    {'a': 1}
    """
    try:
        found = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(bad_byte(error)) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("not valid JSON: nested too deeply") from error
    except ValueError as error:  # Python does not convert more digits
        raise ValueError("a number has thousands of digits; write it as a string") from error
    if not isinstance(found, dict):
        raise ValueError(f"not a JSON object but {_json_kind(found)}")
    if b"\\ud" in line.lower():
        try:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair stands alone") from error
    return found


def check_features(value: Any, name: str, kind: pa.DataType) -> None:
    """Refuse a value that is not of the type of its block."""
    if value is None:
        return
    if isinstance(value, list) and None in value:
        raise ValueError(f"column {name!r}: a null in a list; remove nulls from the lists")
    if not _is_features(value):
        raise ValueError(f"column {name!r} is {_json_kind(value)}; accepted are {ACCEPTED}")
    whole = kind == _TOKENS[float] and isinstance(value, list) and all(type(one) is int for one in value)
    if _features_type([value]) != kind and value != [] and not whole:
        raise ValueError(f"column {name!r} is {_json_kind(value)}, in other rows {_KIND_WORDS[kind]}")


def _features(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Checked values as a column; among texts, an empty list is an item without tokens, as a null is."""
    if kind == pa.large_string():
        values = [None if value == [] else value for value in values]
    return pa.array(values, kind)


def _is_features(value: Any) -> bool:
    if isinstance(value, list):
        return any(all(type(token) in kinds for token in value) for kinds in ((str,), (int, float)))
    return isinstance(value, str)


def _features_type(values: Iterable[Any]) -> pa.DataType:
    """The type of the first value that has one, otherwise text. Numbers are a vector if any of them has a fraction."""
    found = pa.large_string()
    for value in values:
        if isinstance(value, list) and any(type(one) is float for one in value):
            return _TOKENS[float]
        if isinstance(value, str) or found == _TOKENS[str]:
            break
        if isinstance(value, list) and value and type(value[0]) in _TOKENS:
            found = _TOKENS[type(value[0])]
    return found


def _plain_type(values: list[Any]) -> pa.DataType | None:
    kind = kind_of(values)
    if any(isinstance(value, list | dict) for value in values):
        return None
    if pa.types.is_null(kind):
        return pa.string()
    mixed = pa.types.is_string(kind) and not all(isinstance(value, str | None) for value in values)
    return None if mixed else kind


def _json_kind(value: Any) -> str:
    if isinstance(value, list):
        inner = {_json_kind(one) for one in value}
        return f"a list ({', '.join(sorted(inner))})" if inner else "an empty list"
    kinds = {dict: "an object", bool: "a boolean", str: "a string", type(None): "null"}
    return kinds.get(type(value), "a number")


_KIND_WORDS = {
    pa.large_string(): "a string",
    _TOKENS[str]: "a list of strings",
    _TOKENS[int]: "a list of integers",
    _TOKENS[float]: "a vector",
}


def _objects(rows: Rows, numbers: Iterable[int]) -> Iterable[dict[str, Any]]:
    """The lines that are objects; others are skipped."""
    if len(rows) == 0:
        return
    for row in numbers:
        try:
            yield parse_object(rows.row(int(row)))
        except ValueError:
            continue


_ESCAPE_ERRORS = {
    kernels.CONTROL: "not valid JSON: a control character inside a string; write it as \\u00XX",
    kernels.ESCAPE: "not valid JSON: a backslash that escapes nothing; write it as \\\\",
    kernels.SURROGATE: "half of a surrogate pair stands alone",
}


def _unescape(data: UInt8, start: int, end: int) -> tuple[int, int]:
    """Unescape the string data[start:end] in place; return its new start and end."""
    end = int(kernels.unescape_json(data, start, end))
    if end < 0:
        raise ValueError(_ESCAPE_ERRORS[end])
    return start, end


def _long_column(row: LongRow, value: Any) -> pa.Array:
    """A value of a long row as a column of one row."""
    text = row.text_of(value)
    return column_of([value]) if text is None else text


def _read_json(data: pa.Buffer, schema: pa.Schema | None) -> pa.Table | None:
    """The columns of the schema, or all of them; None if Arrow cannot read it."""
    others = "infer" if schema is None else "ignore"
    try:
        return pyarrow.json.read_json(
            pa.BufferReader(data),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=data.size + 1),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
        )
    except (pa.ArrowException, OverflowError):  # not JSON, or more than 2 GiB in one line
        return None


def _or_nulls(array: pa.Array) -> pa.Array:
    """Replace a column without values by nulls: its type is known only if a later block has values."""
    return pa.nulls(len(array)) if array.null_count == len(array) else array


def _looks_like_objects(rows: Rows) -> bool:
    """Whether each line starts with `{` and ends with `}`, whitespace aside."""
    data, last = rows.values, rows.ends - 1
    for byte in b"\n\r":
        last = last - (data[last] == byte)
    plain = (data[rows.starts] == ord("{")) & (data[last] == ord("}"))
    return all(_is_braced(rows.row(int(row)).strip(_SPACES)) for row in np.flatnonzero(~plain))


def _is_braced(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")
