"""Read the fields of records: the kind of each field, and its values in normal form.

Records are rows of Arrow tables. How similar two values are is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.dates import ORDERS
from lookalike.linkage.fields.kinds import (
    SAMPLE,
    ValueSample,
    has_phrases,
    names_records,
    occur_twice,
    recognise_sample,
    take_sample,
)
from lookalike.linkage.fields.normalise import (
    CONVENTIONAL,
    can_be_numbered,
    find_convention,
    normalise,
    strip_texts,
    write_strings,
)
from lookalike.linkage.fields.numbers import CANONICAL
from lookalike.linkage.fields.spec import NAMED, Field
from lookalike.types import Int32, Mapper, text_scalar, to_arrow, to_numpy
from lookalike.types import compute as pc

SLICE = 1 << 16
"""Values normalised at a time, which keeps intermediate arrays small."""
DISTINCT = 0.2
"""A field with fewer different values for each record that has one does not tell records apart."""
LARGE = pa.large_string()

Note = Callable[[str], None]
"""Takes a sentence for the user."""


def _column(table: pa.Table, name: str, side: str) -> pa.ChunkedArray:
    places = table.schema.get_all_field_indices(name)
    if len(places) == 1:
        return table.column(places[0])
    problem = f"has no column '{name}'" if not places else f"has {len(places)} columns '{name}'"
    raise BadDataError(f"{side} {problem}; its columns are {', '.join(table.column_names) or 'none'}")


def _sides(left: pa.Table, right: pa.Table | None, field: Field) -> list[tuple[str, pa.ChunkedArray]]:
    """The field's column in each table, with a description for messages."""
    if right is None:
        if field.left != field.right:
            raise UsageError(f"--fields: '{field.left}={field.right}' needs two tables, but there is only one")
        return [(f"column {field.left}", _column(left, field.left, "the table"))]
    return [
        (f"column {field.left} of the left table", _column(left, field.left, "the left table")),
        (f"column {field.right} of the right table", _column(right, field.right, "the right table")),
    ]


class _Encoded(NamedTuple):
    """A column of a table: its distinct values as texts, and the number of each row's value (-1 for null)."""

    codes: Int32
    texts: pa.Array
    rows: int
    """Rows that have a value."""
    distinct: bool
    """Whether all texts differ. Two timestamps of one day become the same date."""


def _encode(side: tuple[str, pa.ChunkedArray]) -> _Encoded:
    place, values = side
    rows = len(values) - values.null_count
    if not can_be_numbered(values.type):
        whole = values.combine_chunks() if len(values) else pa.nulls(0, values.type)
        values = pa.chunked_array([write_strings(whole, place)])
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        # 32-bit offsets end at 2 GiB of text, which a whole column can exceed.
        wide = pa.large_string() if pa.types.is_string(values.type) else pa.large_binary()
        values = pc.cast(values, wide)
    if pa.types.is_null(values.type) or not len(values):
        return _Encoded(np.full(len(values), -1, np.int32), pa.nulls(0, LARGE), rows, True)
    codes, dictionary = _number(values)
    return _Encoded(codes, write_strings(dictionary, place), rows, pa.types.is_large_string(dictionary.type))


def _tells_apart(sides: list[_Encoded]) -> bool:
    """Whether a field has enough different values to tell records apart."""
    return sum(len(side.texts) for side in sides) >= DISTINCT * max(1, sum(side.rows for side in sides))


def _number(values: pa.ChunkedArray) -> tuple[Int32, pa.Array]:
    """The distinct values in order of appearance, and the number of each value among them (-1 for null)."""
    if not len(values):
        return np.empty(0, np.int32), pa.nulls(0, values.type)
    encoded = pc.dictionary_encode(values).chunks  # all with the same dictionary
    codes = np.concatenate([to_numpy(pc.fill_null(chunk.indices, -1)) for chunk in encoded])
    return codes.astype(np.int32, copy=False), encoded[-1].dictionary


def _note_missing(field: Field, side: _Encoded, normal: pa.ChunkedArray, note: Note) -> None:
    """Report which values count as missing, and how many records have one."""
    if not normal.null_count:
        return
    places = np.flatnonzero(to_numpy(pc.cast(pc.is_null(normal), pa.int8())))
    raw = pc.take(side.texts, to_arrow(places))
    empty = to_numpy(pc.cast(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(raw), ""), True), pa.int8())) == 1
    counts = np.bincount(side.codes[side.codes >= 0], minlength=len(side.texts))[places]
    total = int(counts[~empty].sum())
    if total:
        often = raw[int(np.argmax(np.where(empty, -1, counts)))].as_py()
        shown = often if len(often) <= 40 else often[:40] + "..."
        note(f"{field.name}: values such as '{shown}' count as missing ({total:,} in total)")


def _find_conventions(given: tuple[Field, list[_Encoded]]) -> tuple[list[str], list[str]]:
    """The convention of the column of each table, taken from the other table if it is ambiguous; and notes."""
    field, sides = given
    if field.kind not in CONVENTIONAL:
        return [""] * len(sides), []
    raw, notes = [side.texts for side in sides], []
    found = [find_convention(field.kind, strip_texts(values)) for values in raw]
    known = next((convention for convention in found if convention), "")
    if field.kind == "date" and not known and any(len(values) for values in raw):
        known = "dmy"
        if any(pc.any(pc.match_substring_regex(values, r"^\s*\d{1,2}[-/. ]\d{1,2}[-/. ]\d")).as_py() for values in raw):
            notes.append(f"{field.name}: no value shows whether day or month comes first; read as {ORDERS[known]}")
    return [convention or known for convention in found], notes


def _note_odd_dates(field: Field, values: pa.Array, note: Note) -> None:
    odd = int(pc.sum(pc.invert(pc.match_substring_regex(values, r"^\d{4}(-\d\d){0,2}$"))).as_py() or 0)
    if odd:
        note(f"{field.name}: some values are not dates and are compared as they are ({odd:,} distinct)")


class _Normal(NamedTuple):
    """A field whose values are in normal form, but not yet numbered across both tables."""

    field: Field
    codes: list[Int32]
    """For each side, the number of each row's value among the values of that side; -1 for null."""
    values: list[pa.ChunkedArray]
    """For each side, its values."""
    notes: list[str]


def _make_column(normal: _Normal) -> tuple[Column, list[str]]:
    """The column of a field, and notes for the user."""
    field, notes = normal.field, normal.notes
    numbers, values = _number(pa.chunked_array([chunk for side in normal.values for chunk in side.chunks], LARGE))
    codes, first = [], 0
    for own, side in zip(normal.codes, normal.values):
        codes.append(np.append(numbers[first : first + len(side)], np.int32(-1))[own])  # -1 picks the last entry
        first += len(side)
    if field.kind == "date":
        _note_odd_dates(field, values, notes.append)
    return Column(field.name, field.kind, np.concatenate(codes), values), notes


class FieldReader:
    """Reads the fields of one table or two: first their kinds, then their columns.

    Parameters
    ----------
    left, right : pa.Table
        The records; `right` is None if one table is compared with itself.
    fields : sequence of Field
        The kind of a field that has none yet is recognised from its values.
    each : callable
        Like the built-in map; may use threads.
    values_at_once : int
        Values normalised at a time; the outcome does not depend on it.
    sample : int
        Distinct values by which a kind is recognised.
    keep_odd : bool
        Keep values of numbers that are no numbers; otherwise, they count as missing.

    Examples
    --------
    >>> from lookalike.linkage.fields.spec import parse_fields
    >>> reader = FieldReader(pa.table({"phone": ["312-555-0123", "312-555-0199"]}), None, parse_fields("phone"))
    >>> reader.fields[0].kind, reader.columns(print)[0].values.to_pylist()
    ('phone', ['3125550123', '3125550199'])
    """

    def __init__(
        self,
        left: pa.Table,
        right: pa.Table | None,
        fields: Sequence[Field],
        each: Mapper = map,
        *,
        values_at_once: int = SLICE,
        sample: int = SAMPLE,
        keep_odd: bool = False,
    ) -> None:
        self._keep_odd = keep_odd
        self._each, self._values_at_once, self._sample = each, values_at_once, sample
        sides = [_sides(left, right, field) for field in fields]
        encoded = iter(list(each(_encode, chain.from_iterable(sides))))
        self._encoded = [list(islice(encoded, len(some))) for some in sides]
        """By field and side; consumed by columns()."""
        self.fields: list[Field] = list(each(self._recognise, zip(fields, self._encoded)))
        """With their kinds."""

    def _recognise(self, given: tuple[Field, list[_Encoded]]) -> Field:
        field, sides = given
        if field.kind:
            return field
        samples = [take_sample(side.texts, side.rows, side.distinct, most=self._sample) for side in sides]
        name = " ".join(dict.fromkeys((field.left, field.right)))  # hints, whichever table comes first
        kind, why = recognise_sample(name, ValueSample.joined(samples, most=self._sample))
        return replace(field, kind=kind, why=why)

    def take_alone_as_text(self) -> None:
        """If one field alone tells records apart, and seems to hold names, it is compared as a text.

        Levels of agreement need several such fields; a list of products, places or labels may have only one. A surname
        next to a given name and a town is not such a list: it is a single word that several people have. Numbers, such
        as coordinates, are compared by how near they are, which needs no levels.
        """
        telling = [
            place
            for place, sides in enumerate(self._encoded)
            if _tells_apart(sides) and self.fields[place].kind != "number"
        ]
        if len(telling) != 1:
            return
        field, sides = self.fields[telling[0]], self._encoded[telling[0]]
        if field.kind in NAMED and field.why != "as specified" and self._is_wordy(sides):
            why = f"{field.why}, but no other field tells records apart, so they are compared by their words"
            self.fields[telling[0]] = replace(field, kind="text", why=why)

    def _is_wordy(self, sides: list[_Encoded]) -> bool:
        """Whether the words or letters of names tell records apart; in one table, names must be seen to occur twice."""
        if len(sides) == 1:
            return names_records(sides[0].codes, 2) and occur_twice(sides[0].codes)
        phrases = len(self.fields) == 1 or has_phrases(pa.concat_arrays([side.texts for side in sides]))
        return phrases or all(names_records(side.codes, 1) for side in sides)

    def columns(self, note: Note) -> list[Column]:
        """The fields of all records, as `columns_of` returns them; can be called once."""
        columns = []
        for field, (column, notes) in zip(self.fields, self._each(_make_column, self._normalised())):
            for sentence in notes:
                note(sentence)
            if len(column.values) or not len(column):
                columns.append(column)
            else:
                note(f"{field.name}: no record has a value; the field is ignored")
        if not columns:
            names = ", ".join(field.name for field in self.fields)
            raise BadDataError(f"none of the fields {names} has a value in any record")
        return columns

    def _normalised(self) -> Iterator[_Normal]:
        """Normalise field by field. The data of each field is released as soon as it is no longer needed."""
        known = list(self._each(_find_conventions, zip(self.fields, self._encoded)))
        self._encoded.reverse()
        for field, (conventions, notes) in zip(self.fields, known):
            yield self._normalise(field, self._encoded.pop(), conventions, notes)

    def _normalise(self, field: Field, sides: list[_Encoded], conventions: list[str], notes: list[str]) -> _Normal:
        normal, step = [], self._values_at_once
        for side, convention in zip(sides, conventions):
            slices = ((field.kind, side.texts.slice(at, step), convention) for at in range(0, len(side.texts), step))
            work = _drop_odd_numbers if field.kind == "number" and not self._keep_odd else _normalise
            normal.append(pa.chunked_array(list(self._each(work, slices)), LARGE))
            _note_missing(field, side, normal[-1], notes.append)
        return _Normal(field, [side.codes for side in sides], normal, notes)


def _normalise(given: tuple[str, pa.Array, str]) -> pa.Array:
    return normalise(*given)


def _drop_odd_numbers(given: tuple[str, pa.Array, str]) -> pa.Array:
    """Values in normal form; null for those that are no numbers, since nobody knows how far apart they are."""
    normal = normalise(*given)
    return pc.if_else(pc.match_substring_regex(normal, CANONICAL), normal, text_scalar(None))


def choose_kinds(left: pa.Table, right: pa.Table | None, fields: Sequence[Field]) -> list[Field]:
    """The same fields, each with the kind that was specified or recognised from its values.

    Examples
    --------
    >>> from lookalike.linkage.fields.spec import parse_fields
    >>> table = pa.table({"phone": ["312-555-0123", "312-555-0199"]})
    >>> choose_kinds(table, None, parse_fields("phone"))[0].kind
    'phone'
    """
    return FieldReader(left, right, fields).fields


def has_values(left: pa.Table, right: pa.Table | None, field: Field) -> bool:
    """Whether any record has a value of this field. Null, empty texts and placeholders such as n/a do not count.

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
    """The fields of all records, the left table's first, with normal values numbered across both tables.

    `note` receives what the user should know: placeholders, and fields without values (which are ignored). Values that
    are no numbers are kept, so that a caller can refuse the field.

    Examples
    --------
    >>> from lookalike.linkage.fields.spec import parse_fields
    >>> left, right = pa.table({"zip": [60302, None]}), pa.table({"postcode": ["60302", "n/a"]})
    >>> column, = columns_of(left, right, parse_fields("zip=postcode:code"), print)
    zip: values such as 'n/a' count as missing (1 in total)
    >>> column.codes.tolist(), column.values.to_pylist()
    ([0, -1, 0, -1], ['60302'])
    """
    return FieldReader(left, right, fields, keep_odd=True).columns(note)
