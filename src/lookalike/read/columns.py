"""Convert columns as read to columns as jobs need them: checked text or tokens, ids of one type.

Shared by every format and by tables in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence, Sized
from typing import Any

import pyarrow as pa

from lookalike.errors import BadDataError, WrongColumnError
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

LONGEST_HEADER = 100
"""The most characters of a header that a message shows."""
ACCEPTED = "text, a list of strings or integers, or a vector (a list of numbers)"


class WrongKindError(ValueError):
    """A column or value that is neither text nor tokens; the caller adds the place."""


@frozen
class BadRow:
    """A row that cannot be read, by its number among the rows that were parsed."""

    row: int
    error: str
    raw: bytes = b""


def bad_byte(error: UnicodeDecodeError) -> str:
    """A message about bytes that are not UTF-8."""
    return f"not valid UTF-8: byte {error.object[error.start]:#04x} at position {error.start}"


def check_length(keep: Sized, items: Sized) -> None:
    """Refuse a selection of rows made for another block, or for one that has not been parsed."""
    if len(keep) != len(items):
        raise ValueError(f"{len(keep)} rows to choose from, but the block has {len(items)}: parse it first")


def missing_column(
    name: str, file: str, present: Sequence[str], option: str | None = None, form: str = "{}"
) -> BadDataError:
    """The error for a column that a file does not have.

    Parameters
    ----------
    name, file, present
        The column, the file, and the columns that it has.
    option
        The option that names the column, if the user has chosen it, or can choose another.
    form
        The value of the option for a column, such as "max:{}".

    Examples
    --------
    >>> print(missing_column("texts", "a.csv", ["id", "text"]))
    a.csv: no column 'texts'; its columns are 'id', 'text'; did you mean 'text'?
    >>> print(missing_column("text", "a.csv", ["id", "body"], "column"))
    a.csv: no column 'text'; its columns are 'id', 'body'; choose another with column=
    """
    if joined := joined_columns(present):
        return BadDataError(f"{file}: no column {name!r}; {joined}")
    names = ", ".join(map(repr, present[:50])) or "none"
    problem = f"{file}: no column {name!r}; its columns are {names}"
    near = nearest_name(name, present)
    if option is not None:
        return WrongColumnError(problem, option, form.format(near) if near else "")
    return BadDataError(f"{problem}; did you mean {near!r}?" if near else problem)


def nearest_name(name: str, present: Sequence[str]) -> str:
    """The most similar of some names, whatever their case; empty if none is similar.

    Examples
    --------
    >>> nearest_name("Titel", ["id", "TITLE"]), nearest_name("text", ["id", "body"])
    ('TITLE', '')
    """
    from difflib import get_close_matches  # imported for errors only

    folded = {other.casefold(): other for other in reversed(present)}
    return next((folded[near] for near in get_close_matches(name.casefold(), folded, 1)), "")


def joined_columns(present: Sequence[str], marks: str = ";\t|,") -> str:
    r"""What is wrong with a table whose only column looks like several, and what to do; empty if nothing is.

    Parameters
    ----------
    present
        The columns of the table.
    marks
        The characters that may separate columns.

    Examples
    --------
    >>> what, _, remedy = joined_columns(["id;text"]).partition(": ")
    >>> print(what, remedy, sep="\n")
    its header has one column, 'id;text', which looks like columns separated by ';'
    write the file with commas (.csv) or tabs (.tsv)
    >>> joined_columns(["id", "text;title"]), joined_columns(["text"])
    ('', '')
    """
    mark = next((mark for mark in marks if len(present) == 1 and mark in present[0]), None)
    if mark is None:
        return ""
    remedies = {"\t": ("tabs", "rename the file to .tsv"), ",": ("commas", "rename the file to .csv")}
    separator, remedy = remedies.get(mark, (repr(mark), "write the file with commas (.csv) or tabs (.tsv)"))
    header = present[0] if len(present[0]) <= LONGEST_HEADER else f"{present[0][:LONGEST_HEADER]}..."
    return f"its header has one column, {header!r}, which looks like columns separated by {separator}: {remedy}"


def check_header(file: str, present: Sequence[str]) -> None:
    """Refuse a file whose only column looks like several: if all columns are used, nobody would notice.

    A comma is not enough: in a CSV file, it can only be part of a name.

    Examples
    --------
    >>> check_header("a.csv", ["id", "text"])
    """
    if joined := joined_columns(present, ";\t|"):
        raise BadDataError(f"{file}: {joined}")


def check_column(name: str, file: str, present: Sequence[str]) -> None:
    """Refuse a column that a file does not have, or has more than once.

    Examples
    --------
    >>> check_column("text", "a.csv", ["id", "text"])
    """
    if name not in present:
        raise missing_column(name, file, present)
    if present.count(name) > 1:
        raise BadDataError(f"{file}: column {name!r} occurs more than once; rename one of them")


def as_features(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Text as large_string, tokens unchanged; not yet checked to be UTF-8.

    Raises
    ------
    WrongKindError
        For any other type; its message names the type and what is accepted.

    Examples
    --------
    >>> as_features(pa.array(["a", "b", "a"]).dictionary_encode()).type
    DataType(large_string)
    """
    column = one_array(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        # texts of more than 2 GiB, if each value is repeated, do not fit in the narrow type
        column = pc.take(pc.cast(values, pa.large_string()) if is_text(values.type) else values, column.indices)
    kind = column.type
    if pa.types.is_null(kind):
        return pc.cast(column, pa.large_string())
    if is_text(kind):
        return pc.cast(column, pa.large_string())
    if pa.types.is_fixed_size_binary(kind):
        return _packed_bits(column)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return pc.cast(column, pa.large_binary()).view(pa.large_string())
    return _as_tokens(column)


def decoded_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    """The size of a column; of texts in a dictionary, their size when each value is repeated.

    Examples
    --------
    >>> decoded_bytes(pa.array(["abcdefgh", "x", None, "abcdefgh"]).dictionary_encode())
    17
    """
    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return int(column.nbytes)
    total = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        lengths = pc.binary_length(pc.cast(chunk.dictionary, pa.large_string()))
        total += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    return total


def _packed_bits(column: pa.Array) -> pa.Array:
    """Values of a fixed number of bytes as lists of bytes."""
    width = column.type.byte_width
    values = pa.Array.from_buffers(
        pa.uint8(), len(column) * width, [None, column.buffers()[1]], offset=column.offset * width
    )
    lists = pa.FixedSizeListArray.from_arrays(values, width)
    if column.null_count:
        lists = pc.if_else(pc.is_valid(column), lists, None)
    return pc.cast(lists, pa.large_list(pa.uint8()))


def _as_tokens(column: pa.Array) -> pa.Array:
    """Lists of strings or numbers; rarer list layouts become large lists."""
    kind = column.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    rarer = any(is_kind(kind) for is_kind in _RARER_LISTS)
    if not listed and not rarer:
        raise WrongKindError(f"is of type {kind}; accepted are {ACCEPTED}")
    value = kind.value_type
    if pa.types.is_null(value):
        value = pa.large_string()
    if pa.types.is_dictionary(value):
        value = value.value_type
    if value == pa.float16():
        value = pa.float32()
    number = pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_boolean(value)
    plain = number or pa.types.is_string(value) or pa.types.is_large_string(value)
    if not plain and not is_text(value):
        raise WrongKindError(f"is of type {kind}; accepted are {ACCEPTED}")
    if listed and plain and value == kind.value_type:
        return column
    return pc.cast(column, pa.large_list(value if plain else pa.large_string()))


def without_views(table: pa.Table) -> pa.Table:
    """The table with string views converted to strings, because Arrow cannot filter views yet.

    Examples
    --------
    >>> kind = pa.array(["a", "b"], pa.string_view())
    >>> without_views(pa.table({"kind": pa.DictionaryArray.from_arrays([1, 0, None], kind)}))["kind"].to_pylist()
    ['b', 'a', None]
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and field.type.value_type == pa.string_view():  # categories of polars
            table = table.set_column(place, field.name, _categories(table.column(place)))
    schema = pa.schema([field.with_type(_without_views(field.type)) for field in table.schema], table.schema.metadata)
    return table if schema.equals(table.schema) else pc.cast_table(table, schema)


def _categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A dictionary column whose values are strings, not views."""
    made = [
        pa.DictionaryArray.from_arrays(chunk.indices, pc.cast(chunk.dictionary, pa.large_string()))
        for chunk in column.chunks
    ]
    return pa.chunked_array(made, pa.dictionary(column.type.index_type, pa.large_string()))


def _without_views(kind: pa.DataType) -> pa.DataType:
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_without_views(kind.value_type)))
    return kind


_RARER_LISTS = (pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's three string types."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def find_bad_utf8(features: pa.Array) -> list[int]:
    """The rows whose text or tokens are not valid UTF-8; one fast pass if there are none."""
    try:
        features.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return [row for row in range(len(features)) if not _valid(features.slice(row, 1))]
    return []


def escape_bad_utf8(column: pa.Array) -> pa.Array:
    r"""A text column whose bytes that are not UTF-8 are written as in Python; other types unchanged.

    Examples
    --------
    >>> escape_bad_utf8(pa.array([b"a\xff", None], pa.binary()).view(pa.string())).to_pylist()
    ['a\\xff', None]
    """
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, escape_bad_utf8(column.dictionary))
    if not is_text(column.type) or not find_bad_utf8(column):
        return column
    raw = pc.cast(column, pa.large_binary()).to_pylist()
    return pa.array([None if text is None else text.decode("utf-8", "backslashreplace") for text in raw], column.type)


def find_null_tokens(features: pa.Array) -> list[int]:
    """The rows whose list holds a null.

    Examples
    --------
    >>> find_null_tokens(pa.array([["a"], None, ["b", None]]))
    [2]
    """
    if not (pa.types.is_list(features.type) or pa.types.is_large_list(features.type)):
        return []
    tokens = pc.list_flatten(features)  # without values that may be stored under null lists
    if not tokens.null_count:
        return []
    owners = pc.filter(pc.list_parent_indices(features), pc.is_null(tokens))
    found: list[int] = pc.unique(owners).to_pylist()
    return found


def _valid(one: pa.Array) -> bool:
    try:
        one.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return False
    return True


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array; copied only if it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        # 32-bit offsets overflow at 2 GiB when chunks are joined
        wide = pa.large_string() if pa.types.is_string(column.type) else pa.large_binary()
        if column.nbytes > 1 << 30:
            column = pc.cast(column, wide)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def join_column(pieces: Iterable[pa.Array]) -> pa.ChunkedArray:
    """Pieces of one column, from several blocks or files, as one column of one type.

    Integers mixed with floats become floats; anything mixed with strings becomes strings, numbers as in JSON. Pieces
    without values fit every type.

    Examples
    --------
    >>> join_column([pa.array([1, 2]), pa.array(["x", None])]).to_pylist()
    ['1', '2', 'x', None]
    """
    arrays = [_plain(piece) for piece in pieces]
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if not kinds:
        return pa.chunked_array(arrays, type=pa.null())
    kind = kinds.pop() if len(kinds) == 1 else common_type([*kinds])
    try:
        if kind is not None:
            return pa.chunked_array([pc.cast(array, kind) for array in arrays], type=kind)
    except pa.ArrowInvalid:
        # an integer that no 64-bit float equals: keep its digits, as a string
        pass
    return pa.chunked_array([_as_strings(array) for array in arrays], type=pa.large_string())


def _plain(piece: pa.Array) -> pa.Array:
    """Without what few functions know: views, and types that users define in Python, which have no hash."""
    if isinstance(piece.type, pa.ExtensionType):
        piece = piece.storage
    return pc.cast(piece, pa.string()) if piece.type == pa.string_view() else piece


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The number type that holds all of these, or None if they must become strings."""
    if all(map(pa.types.is_integer, kinds)):
        return pa.int64() if pa.uint64() not in kinds else None
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    return None


def _as_strings(array: pa.Array) -> pa.Array:
    if is_text(array.type) or pa.types.is_integer(array.type) or pa.types.is_null(array.type):
        return pc.cast(array, pa.large_string())
    return pa.array([json_text(value) for value in array.to_pylist()], pa.large_string())


def json_text(value: Any) -> str | None:
    """A value as a string, for a column of mixed types.

    Examples
    --------
    >>> json_text(1.5), json_text("a"), json_text([1]), json_text(None)
    ('1.5', 'a', '[1]', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool | int | float | list | dict):
        return json.dumps(value, ensure_ascii=False, default=json_text)
    return str(value)


def kind_of(values: Sequence[Any]) -> pa.DataType:
    """The type of a column of Python values: their common type, else string; null if there are no values.

    Examples
    --------
    >>> kind_of([1, 2.5]), kind_of([1, None]), kind_of([1, "a"])
    (DataType(double), DataType(int64), DataType(string))
    """
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.null()
    if kinds == {int, float}:
        return pa.float64()
    kind = _PLAIN.get(kinds.pop(), pa.string()) if len(kinds) == 1 else pa.string()
    if kind == pa.int64() and not all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pa.string()
    return kind


def column_of(values: list[Any]) -> pa.Array:
    """Python values of any types as one column.

    Examples
    --------
    >>> column_of([1, "a"]).to_pylist()
    ['1', 'a']
    """
    kind = kind_of(values)
    if kind == pa.string():
        values = [json_text(value) for value in values]
    elif kind == pa.float64():
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, kind)


_PLAIN = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
