"""How well two records agree in a field: a level for each pair. Nothing here knows the weight of a level."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.kernels import agreement as kernels
from lookalike.kernels.names import insert_nicknames
from lookalike.linkage.compare.values import Strings, Values
from lookalike.linkage.fields.columns import Column, WordGroups
from lookalike.types import Float64, Int8, Int32, Int64, Mapper, Span, UInt8, UInt64

CHUNK = 1 << 14
"""Pairs that a thread compares at a time."""
Fill = Callable[..., None]
"""Fills in the levels of pairs; takes codes, left, right, first, last, out."""
Prepare = Callable[[Values], Fill]

LEVELS: dict[str, tuple[str, ...]] = {
    "person": (
        "equal",
        "Jaro-Winkler >= 0.95",
        "Jaro-Winkler >= 0.88",
        "Jaro-Winkler >= 0.8",
        "the words of one in the other",
        "abbreviated",
        "different",
    ),
    "text": (
        "equal",
        "similarity >= 0.9",
        "similarity >= 0.75, or the words of one in the other",
        "half the words of one in the other, or abbreviated",
        "similarity >= 0.55",
        "different",
    ),
    "address": (
        "equal",
        "same numbers, similarity >= 0.85 or the words of one in the other",
        "same numbers, similarity >= 0.6 or abbreviated",
        "other numbers, similarity >= 0.85",
        "different",
    ),
    "code": ("equal", "one edit", "two edits, or one begins with the other", "different"),
    "phone": ("equal", "equal without area code", "one digit off", "different"),
    "email": ("equal", "same name at another domain", "one or two edits", "name with Jaro-Winkler >= 0.9", "different"),
    "date": (
        "equal",
        "one digit off, or day and month swapped",
        "two of year, month and day equal",
        "within 31 days, or a year where there are only years",
        "different",
    ),
    "number": ("equal", "within 1%", "within 5%", "within 20%", "different"),
}
"""For each kind, the names of its levels from level 1 (equal) down to different. Level 0: a value is missing."""
LEVELS["place"] = LEVELS["person"]
NICKNAMES = "equal by nickname"
"""The level after equal, if nicknames are used."""


def _scratch(strings: Strings) -> tuple[UInt64, UInt8]:
    """Working arrays for the positions of characters (four words of bits each), and for marks in two values."""
    return np.zeros(4 * strings.alphabet, np.uint64), np.empty(2 * strings.longest, np.uint8)


def _of_strings(kernel: Callable[..., None]) -> Prepare:
    def prepare(values: Values) -> Fill:
        chars, offsets = values.strings.chars, values.strings.offsets
        return lambda *pairs: kernel(*pairs, chars, offsets)

    return prepare


def _name(values: Values) -> Fill:
    names, words = values.names, values.words
    return lambda *pairs: kernels.person_levels(*pairs, names.chars, names.offsets, *words, *_scratch(names))


def _of_texts(values: Values, by_numbers: bool) -> Fill:
    texts, words, ordered = values.texts, values.words, values.ordered
    chars, offsets = texts.chars, texts.offsets

    def fill(*pairs: Any) -> None:
        positions, marks = _scratch(texts)
        others = np.zeros_like(positions)
        kernels.text_levels(*pairs, chars, offsets, *words, ordered, positions, others, marks, by_numbers)

    return fill


def _email(values: Values) -> Fill:
    names = values.names
    return lambda *pairs: kernels.email_levels(*pairs, names.chars, names.offsets, *_scratch(names))


def _date(values: Values) -> Fill:
    digits, dates = values.digits, values.dates
    parts = dates.year, dates.month, dates.day, dates.days
    return lambda *pairs: kernels.date_levels(*pairs, digits.chars, digits.offsets, *parts)


def _number(values: Values) -> Fill:
    numbers = values.numbers
    return lambda *pairs: kernels.number_levels(*pairs, numbers)


_PREPARE: dict[str, Prepare] = {
    "person": _name,
    "place": _name,
    "text": partial(_of_texts, by_numbers=False),
    "address": partial(_of_texts, by_numbers=True),
    "code": _of_strings(kernels.code_levels),
    "phone": _of_strings(kernels.phone_levels),
    "email": _email,
    "date": _date,
    "number": _number,
}


def spans_of(pairs: int, chunk: int = CHUNK) -> list[Span]:
    """Spans of pairs that a thread compares at a time, as (first, last).

    Examples
    --------
    >>> spans_of(CHUNK + 1)
    [(0, 16384), (16384, 16385)]
    """
    return [(first, min(first + chunk, pairs)) for first in range(0, pairs, chunk)]


class Comparer:
    """Compares pairs of records in one field. The required forms of values are computed once.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["jeffrey", "jeffery", "ann"])
    >>> comparer = Comparer(Column("name", "person", np.array([0, 1, 2, 0, -1], np.int32), values))
    >>> levels = comparer.compare(np.array([0, 0, 0, 0]), np.array([1, 2, 3, 4]))
    >>> levels.tolist(), LEVELS["person"][levels[0] - 1]
    ([2, 7, 1, 0], 'Jaro-Winkler >= 0.95')

    Parameters
    ----------
    column
        The field.
    words
        For a field of names: its words with their nickname groups, which adds a level for nicknames.
    chunk
        Pairs that a thread compares at a time.
    """

    def __init__(self, column: Column, words: WordGroups | None = None, *, chunk: int = CHUNK) -> None:
        self.codes = column.codes
        self._chunk = chunk
        self._fill = _PREPARE[column.kind](Values(column.values))
        self._words = words
        equal, *others = LEVELS[column.kind]
        self.levels = (equal, *others) if words is None else (equal, NICKNAMES, *others)
        """The names of the levels, from level 1."""

    def compare(self, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map, out: Int8 | None = None) -> Int8:
        """The level of agreement of each pair of records, numbered as in `levels`; 0 if a value is missing.

        Parameters
        ----------
        left, right : int[pairs]
            Numbers of records.
        each : Mapper
            Like the built-in map; may use threads.
        out : int8[pairs]
            Receives the levels; without it, a new array does.
        """
        levels = np.empty(len(left), np.int8) if out is None else out
        # Kernels are compiled for one kind of array.
        left, right = np.ascontiguousarray(left, np.int32), np.ascontiguousarray(right, np.int32)

        def work(span: Span) -> None:
            self._fill(self.codes, left, right, *span, levels)
            if self._words is not None:
                insert_nicknames(self.codes, left, right, *span, levels, *self._words)

        list(each(work, spans_of(len(left), self._chunk)))
        return levels


def measure_records(column: Column) -> Float64:
    """Each record's date in days since the beginning of 1970, or its number; NaN if it has none.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["1970-01-31", "easter"])
    >>> measure_records(Column("created", "date", np.array([0, 1, -1], np.int32), values)).tolist()
    [30.0, nan, nan]
    """
    values = Values(column.values)
    if column.kind not in ("date", "number"):
        raise UsageError(f"field {column.name}: only dates and numbers can be subtracted, not kind {column.kind}")
    measured = values.dates.days if column.kind == "date" else values.numbers
    return np.append(measured, np.nan)[column.codes]
