"""Fields of records: which columns are compared, of which kind they are, and their values in normal form.

Records are rows of Arrow tables. How alike two values are, other stages say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.dates import ORDERS
from lookalike.linkage.fields.kinds import Sample, recognise, recognise_sample, take_sample
from lookalike.linkage.fields.values import KINDS, READ, find_reading, normalise, strip_texts, write_strings
from lookalike.types import Column, Int32, Mapper, to_arrow, to_numpy

SLICE = 1 << 16
"""Values that are brought to normal form at a time, so that what is made on the way to it is small."""
LARGE = pa.large_string()

__all__ = ["KINDS", "Field", "FieldReader", "choose_kinds", "columns_of", "has_values", "parse_fields", "recognise"]

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


class _Encoded(NamedTuple):
    """A column of a table: each row's value by number among the distinct ones (-1 for null), and these as texts."""

    codes: Int32
    texts: pa.Array
    rows: int
    """How many have a value."""
    distinct: bool
    """Is no text there twice? Two times of a day are one date."""


def _encode(side: tuple[str, pa.ChunkedArray]) -> _Encoded:
    place, values = side
    rows = len(values) - values.null_count
    if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type):
        whole = values.combine_chunks() if len(values) else pa.nulls(0, values.type)
        values = pa.chunked_array([write_strings(whole, place)])
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        # Offsets of 32 bits end at 2 GiB of text, which a whole column can exceed.
        wide = pa.large_string() if pa.types.is_string(values.type) else pa.large_binary()
        values = values.cast(wide)
    if pa.types.is_null(values.type) or not len(values):
        return _Encoded(np.full(len(values), -1, np.int32), pa.nulls(0, LARGE), rows, True)
    codes, dictionary = _number(values)
    return _Encoded(codes, write_strings(dictionary, place), rows, pa.types.is_large_string(dictionary.type))


def _number(values: pa.ChunkedArray) -> tuple[Int32, pa.Array]:
    """The distinct values in the order in which they come, and for each one its number among them (-1 for null)."""
    if not len(values):
        return np.empty(0, np.int32), pa.nulls(0, values.type)
    encoded = values.dictionary_encode().chunks  # all with the same dictionary
    codes = np.concatenate([to_numpy(chunk.indices.fill_null(-1)) for chunk in encoded])
    return codes.astype(np.int32, copy=False), encoded[-1].dictionary


def _recognise(given: tuple[Field, list[_Encoded]]) -> Field:
    field, sides = given
    if field.kind:
        return field
    samples = [take_sample(side.texts, side.rows, side.distinct) for side in sides]
    kind, why = recognise_sample(field.name, Sample.joined(samples))
    return replace(field, kind=kind, why=why)


def _tell_missing(field: Field, side: _Encoded, normal: pa.ChunkedArray, note: Note) -> None:
    """Say which values were taken for none, and how many records have one."""
    if not normal.null_count:
        return
    places = np.flatnonzero(to_numpy(pc.cast(normal.is_null(), pa.int8())))
    raw = side.texts.take(to_arrow(places))
    empty = to_numpy(pc.cast(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(raw), ""), True), pa.int8())) == 1
    counts = np.bincount(side.codes[side.codes >= 0], minlength=len(side.texts))[places]
    total = int(counts[~empty].sum())
    if total:
        often = raw[int(np.argmax(np.where(empty, -1, counts)))].as_py()
        shown = often if len(often) <= 40 else often[:40] + "..."
        note(f"{field.name}: {total:,} values such as '{shown}' count as missing")


def _find_readings(given: tuple[Field, list[_Encoded]]) -> tuple[list[str], list[str]]:
    """How each table's column is to be read, where one does not tell as the other; and what is to be noted."""
    field, sides = given
    if field.kind not in READ:
        return [""] * len(sides), []
    raw, notes = [side.texts for side in sides], []
    found = [find_reading(field.kind, strip_texts(values)) for values in raw]
    known = next((reading for reading in found if reading), "")
    if field.kind == "date" and not known and any(len(values) for values in raw):
        known = "dmy"
        if any(pc.any(pc.match_substring_regex(values, r"^\s*\d{1,2}[-/. ]\d{1,2}[-/. ]\d")).as_py() for values in raw):
            notes.append(f"{field.name}: no value tells whether day or month comes first; read as {ORDERS[known]}")
    return [reading or known for reading in found], notes


def _tell_odd_dates(field: Field, values: pa.Array, note: Note) -> None:
    odd = int(pc.sum(pc.invert(pc.match_substring_regex(values, r"^\d{4}(-\d\d){0,2}$"))).as_py() or 0)
    if odd:
        note(f"{field.name}: {odd:,} different values are no dates; they are compared as they are")


class _Normal(NamedTuple):
    """A field whose values are in normal form, but not yet numbered over both tables."""

    field: Field
    codes: list[Int32]
    """By side: each row's value by number among the side's own, -1 for null."""
    values: list[pa.ChunkedArray]
    """By side."""
    notes: list[str]


def _make_column(normal: _Normal) -> tuple[Column, list[str]]:
    """The column of a field, and what is to be noted."""
    field, notes = normal.field, normal.notes
    numbers, values = _number(pa.chunked_array([chunk for side in normal.values for chunk in side.chunks], LARGE))
    codes, first = [], 0
    for mine, side in zip(normal.codes, normal.values):
        codes.append(np.append(numbers[first : first + len(side)], np.int32(-1))[mine])  # -1 is the last place
        first += len(side)
    if field.kind == "date":
        _tell_odd_dates(field, values, notes.append)
    return Column(field.name, field.kind, np.concatenate(codes), values), notes


class FieldReader:
    """Reads the fields of two tables (or one): first of which kind they are, then their columns.

    Parameters
    ----------
    left, right : pa.Table
        The records; `right` is None where one table is compared with itself.
    fields : sequence of Field
        Where a kind is not known yet it is recognised.
    each : callable
        Like the built-in map; may use threads.

    Examples
    --------
    >>> reader = FieldReader(pa.table({"phone": ["312-555-0123", "312-555-0199"]}), None, parse_fields("phone"))
    >>> reader.fields[0].kind, reader.columns(print)[0].values.to_pylist()
    ('phone', ['3125550123', '3125550199'])
    """

    def __init__(self, left: pa.Table, right: pa.Table | None, fields: Sequence[Field], each: Mapper = map) -> None:
        self._each = each
        sides = [_sides(left, right, field) for field in fields]
        encoded = iter(list(each(_encode, chain.from_iterable(sides))))
        self._encoded = [list(islice(encoded, len(some))) for some in sides]
        """By field and side; columns() takes them away."""
        self.fields: list[Field] = list(each(_recognise, zip(fields, self._encoded)))
        """Each with its kind."""

    def columns(self, note: Note) -> list[Column]:
        """The fields of all records, as columns_of gives them; to be asked for once."""
        columns = []
        for field, (column, notes) in zip(self.fields, self._each(_make_column, self._normalised())):
            for sentence in notes:
                note(sentence)
            if len(column.values) or not len(column):
                columns.append(column)
            else:
                note(f"{field.name}: no record has a value; the field is left out")
        if not columns:
            names = ", ".join(field.name for field in self.fields)
            raise BadDataError(f"none of the fields {names} has a value in any record")
        return columns

    def _normalised(self) -> Iterator[_Normal]:
        """Field by field. What was read of one is given away with it, so that it is not kept longer than needed."""
        known = list(self._each(_find_readings, zip(self.fields, self._encoded)))
        self._encoded.reverse()
        for field, (readings, notes) in zip(self.fields, known):
            yield self._normalise(field, self._encoded.pop(), readings, notes)

    def _normalise(self, field: Field, sides: list[_Encoded], readings: list[str], notes: list[str]) -> _Normal:
        normal = []
        for side, reading in zip(sides, readings):
            slices = ((field.kind, side.texts.slice(at, SLICE), reading) for at in range(0, len(side.texts), SLICE))
            normal.append(pa.chunked_array(list(self._each(_normalise, slices)), LARGE))
            _tell_missing(field, side, normal[-1], notes.append)
        return _Normal(field, [side.codes for side in sides], normal, notes)


def _normalise(given: tuple[str, pa.Array, str]) -> pa.Array:
    return normalise(*given)


def choose_kinds(left: pa.Table, right: pa.Table | None, fields: Sequence[Field]) -> list[Field]:
    """The same fields, each with a kind: the one that was stated, or the one that its values are recognised as.

    Examples
    --------
    >>> table = pa.table({"phone": ["312-555-0123", "312-555-0199"]})
    >>> choose_kinds(table, None, parse_fields("phone"))[0].kind
    'phone'
    """
    return FieldReader(left, right, fields).fields


def has_values(left: pa.Table, right: pa.Table | None, field: Field) -> bool:
    """Has any record a value of this field? Null, empty and such as n/a are none.

    Examples
    --------
    >>> has_values(pa.table({"born": ["n/a", None]}), None, Field("born", "born"))
    False
    """
    stripped = [strip_texts(_encode(side).texts) for side in _sides(left, right, field)]
    return any(texts.null_count < len(texts) for texts in stripped)


def _ignore(sentence: str) -> None:
    del sentence


def columns_of(left: pa.Table, right: pa.Table | None, fields: Sequence[Field], note: Note = _ignore) -> list[Column]:
    """The fields of all records, the left table's first, with normal values numbered over both tables: FieldReader.

    `note` is told in a sentence what the user should know: placeholders, fields without values (which are left out).

    Examples
    --------
    >>> left, right = pa.table({"zip": [60302, None]}), pa.table({"postcode": ["60302", "n/a"]})
    >>> column, = columns_of(left, right, parse_fields("zip=postcode:code"), print)
    zip: 1 values such as 'n/a' count as missing
    >>> column.codes.tolist(), column.values.to_pylist()
    ([0, -1, 0, -1], ['60302'])
    """
    return FieldReader(left, right, fields).columns(note)
