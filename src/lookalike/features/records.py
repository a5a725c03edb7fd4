"""Fields of records: which columns are compared, of which kind they are, and their values in normal form.

Records are rows of Arrow tables. How alike two values are, other stages say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import BadDataError, UsageError
from lookalike.features.dates import ORDERS
from lookalike.features.kinds import Sample, recognise, recognise_sample, take_sample
from lookalike.features.values import KINDS, find_reading, normalise, strip_texts, write_strings
from lookalike.types import Column, Int32, to_numpy

__all__ = ["KINDS", "Field", "choose_kinds", "columns_of", "has_values", "parse_fields", "recognise"]

Note = Callable[[str], None]
"""Takes a sentence that the user should see."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is compared: its column in the left and in the right table, its kind, and why it is of that kind.

    Examples
    --------
    >>> Field("surname", "last_name", "person").name
    'surname'
    """

    left: str
    right: str
    kind: str = ""
    """One of KINDS; empty until it is known."""
    why: str = ""

    @property
    def name(self) -> str:
        """What the field is called in results."""
        return self.left


def _parse_field(part: str) -> Field:
    names, colon, kind = part.rpartition(":") if ":" in part else (part, "", "")
    kind = kind.strip()
    if colon and kind not in KINDS:
        raise UsageError(f"--fields: '{part.strip()}': '{kind}' is no kind of field; kinds are {', '.join(KINDS)}")
    left, equals, right = names.partition("=")
    left, right = left.strip(), right.strip() if equals else left.strip()
    if not left or not right:
        raise UsageError(f"--fields: '{part.strip()}' names no column; write NAME, NAME:KIND or LEFT=RIGHT:KIND")
    return Field(left, right, kind, "it was stated" if kind else "")


def parse_fields(fields: str | Iterable[str | Field]) -> list[Field]:
    """The fields that someone asked for, by a text or a list: name, left=right, each perhaps with :kind.

    Examples
    --------
    >>> [(f.left, f.right, f.kind) for f in parse_fields("name,surname=last_name,zip:code,born=dob:date")]
    [('name', 'name', ''), ('surname', 'last_name', ''), ('zip', 'zip', 'code'), ('born', 'dob', 'date')]
    """
    parts = fields.split(",") if isinstance(fields, str) else list(fields)
    found = [part if isinstance(part, Field) else _parse_field(part) for part in parts]
    if not found:
        raise UsageError("--fields: name at least one column")
    seen: set[str] = set()
    for field in found:
        if field.kind and field.kind not in KINDS:
            raise UsageError(f"field {field.name}: '{field.kind}' is no kind; kinds are {', '.join(KINDS)}")
        if field.name in seen:
            raise UsageError(f"--fields: '{field.name}' is named twice")
        seen.add(field.name)
    return found


def _column(table: pa.Table, name: str, side: str) -> pa.ChunkedArray:
    places = table.schema.get_all_field_indices(name)
    if len(places) == 1:
        return table.column(places[0])
    problem = f"has no column '{name}'" if not places else f"has {len(places)} columns '{name}'"
    raise BadDataError(f"{side} {problem}; its columns are {', '.join(table.column_names) or 'none'}")


def _sides(left: pa.Table, right: pa.Table | None, field: Field) -> list[tuple[str, pa.ChunkedArray]]:
    """The field's column in each table, with its place in words."""
    if right is None:
        if field.left != field.right:
            raise UsageError(f"--fields: '{field.left}={field.right}' is for two tables; here is one")
        return [(f"column {field.left}", _column(left, field.left, "the table"))]
    return [
        (f"column {field.left} of the left table", _column(left, field.left, "the left table")),
        (f"column {field.right} of the right table", _column(right, field.right, "the right table")),
    ]


def choose_kinds(left: pa.Table, right: pa.Table | None, fields: Sequence[Field]) -> list[Field]:
    """The same fields, each with a kind: the one that was stated, or the one that its values are recognised as.

    Examples
    --------
    >>> table = pa.table({"phone": ["312-555-0123", "312-555-0199"]})
    >>> choose_kinds(table, None, parse_fields("phone"))[0].kind
    'phone'
    """
    chosen = []
    for field in fields:
        sides = _sides(left, right, field)
        if field.kind:
            chosen.append(field)
            continue
        both = Sample.joined([take_sample(values, place) for place, values in sides])
        kind, why = recognise_sample(field.name, both)
        chosen.append(replace(field, kind=kind, why=why))
    return chosen


def has_values(left: pa.Table, right: pa.Table | None, field: Field) -> bool:
    """Has any record a value of this field? Null, empty and such as n/a are none.

    Examples
    --------
    >>> has_values(pa.table({"born": ["n/a", None]}), None, Field("born", "born"))
    False
    """
    return any(take_sample(values, place).distinct for place, values in _sides(left, right, field))


def _encode(values: pa.ChunkedArray, place: str) -> tuple[Int32, pa.Array]:
    """Each row's value by number among the distinct ones (-1 for null), and these as texts."""
    if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type):
        whole = values.combine_chunks() if len(values) else pa.nulls(0, values.type)
        values = pa.chunked_array([write_strings(whole, place)])
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        # Offsets of 32 bits end at 2 GiB of text, which a whole column can exceed.
        wide = pa.large_string() if pa.types.is_string(values.type) else pa.large_binary()
        values = values.cast(wide)
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, np.int32), pa.nulls(0, pa.large_string())
    if not len(values):
        return np.empty(0, np.int32), pa.nulls(0, pa.large_string())
    encoded = values.combine_chunks().dictionary_encode()
    codes = to_numpy(encoded.indices.fill_null(-1)).astype(np.int32)
    return codes, write_strings(encoded.dictionary, place)


def _renumber(normal: list[pa.Array]) -> tuple[list[Int32], pa.Array]:
    """Normal values of all tables under common numbers (-1 for null): those of each table, and the values."""
    encoded = pa.concat_arrays(normal).dictionary_encode()
    codes = to_numpy(encoded.indices.fill_null(-1)).astype(np.int32)
    ends = np.cumsum([len(values) for values in normal])[:-1]
    return np.split(codes, ends), encoded.dictionary


def _tell_missing(field: Field, codes: Int32, raw: pa.Array, numbers: Int32, note: Note) -> None:
    """Say which values were taken for none, and how many records have one."""
    empty = to_numpy(pc.cast(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(raw), ""), True), pa.int8())) == 1
    taken = (numbers < 0) & ~empty
    counts = np.bincount(codes[codes >= 0], minlength=len(raw))
    total = int(counts[taken].sum())
    if total:
        often = raw[int(np.argmax(np.where(taken, counts, -1)))].as_py()
        shown = often if len(often) <= 40 else often[:40] + "..."
        note(f"{field.name}: {total:,} values such as '{shown}' count as missing")


def _find_readings(field: Field, raw: list[pa.Array], note: Note) -> list[str]:
    """How each table's column is to be read; where one does not tell, as the other."""
    found = [find_reading(field.kind, strip_texts(values)) for values in raw]
    known = next((reading for reading in found if reading), "")
    if field.kind == "date" and not known and any(len(values) for values in raw):
        known = "dmy"
        if any(pc.any(pc.match_substring_regex(values, r"^\s*\d{1,2}[-/. ]\d{1,2}[-/. ]\d")).as_py() for values in raw):
            note(f"{field.name}: no value tells whether day or month comes first; read as {ORDERS[known]}")
    return [reading or known for reading in found]


def _tell_odd_dates(field: Field, values: pa.Array, note: Note) -> None:
    odd = int(pc.sum(pc.invert(pc.match_substring_regex(values, r"^\d{4}(-\d\d){0,2}$"))).as_py() or 0)
    if odd:
        note(f"{field.name}: {odd:,} different values are no dates; they are compared as they are")


def _make_column(field: Field, sides: list[tuple[str, pa.ChunkedArray]], note: Note) -> Column:
    encoded = [_encode(values, place) for place, values in sides]
    raw = [values for _, values in encoded]
    readings = _find_readings(field, raw, note)
    normal = [normalise(field.kind, values, reading) for values, reading in zip(raw, readings)]
    numbers, values = _renumber(normal)
    codes = []
    for (mine, written), renumbered in zip(encoded, numbers):
        _tell_missing(field, mine, written, renumbered, note)
        codes.append(np.append(renumbered, np.int32(-1))[mine])  # -1 is the last place
    if field.kind == "date":
        _tell_odd_dates(field, values, note)
    return Column(field.name, field.kind, np.concatenate(codes), values)


def _ignore(sentence: str) -> None:
    del sentence


def columns_of(left: pa.Table, right: pa.Table | None, fields: Sequence[Field], note: Note = _ignore) -> list[Column]:
    """The fields of all records, the left table's first, with normal values numbered over both tables.

    Parameters
    ----------
    left, right : pa.Table
        The records; `right` is None where one table is compared with itself.
    fields : sequence of Field
        Where a kind is not known yet it is recognised.
    note : callable
        Is told in a sentence what the user should know: placeholders, fields without values (which are left out).

    Examples
    --------
    >>> left, right = pa.table({"zip": [60302, None]}), pa.table({"postcode": ["60302", "n/a"]})
    >>> column, = columns_of(left, right, parse_fields("zip=postcode:code"), print)
    zip: 1 values such as 'n/a' count as missing
    >>> column.codes.tolist(), column.values.to_pylist()
    ([0, -1, 0, -1], ['60302'])
    """
    columns = []
    for field in choose_kinds(left, right, fields):
        column = _make_column(field, _sides(left, right, field), note)
        if len(column.values) or not len(column):
            columns.append(column)
        else:
            note(f"{field.name}: no record has a value; the field is left out")
    if not columns:
        raise BadDataError(f"none of the fields {', '.join(field.name for field in fields)} has a value in any record")
    return columns
