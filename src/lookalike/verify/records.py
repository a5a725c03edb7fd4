"""How well two records agree in a field: a level for each pair, and a similarity from 0 to 1.

Each two different values are compared once, however many records have them; the comparing is done by rapidfuzz and by
kernels, many pairs at a time. Nothing here knows what an agreement is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA, Indel, JaroWinkler

from lookalike.errors import UsageError
from lookalike.kernels.records import count_shared, find_abbreviated
from lookalike.types import Bool, Column, Float32, Float64, Int8, Int32, Int64, Mapper, Span, to_arrow, to_numpy
from lookalike.verify.values import Values

CHUNK = 1 << 16
"""Pairs of values that a thread compares at a time."""

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
    "email": ("equal", "same name at another place", "one or two edits", "name with Jaro-Winkler >= 0.9", "different"),
    "date": (
        "equal",
        "one digit off, or day and month swapped",
        "two of year, month and day equal",
        "within 31 days, or a year where there are only years",
        "different",
    ),
    "number": ("equal", "within 1%", "within 5%", "within 20%", "different"),
}
"""For each kind the names of its levels, from level 1, equal, down to different. Level 0 is: one has no value."""


def _score(scorer: Any, left: Any, right: Any, cut: float | None = None) -> Any:
    """One score for each two strings."""
    kind = np.uint32 if scorer is OSA.distance else np.float32
    return process.cpdist(left, right, scorer=scorer, score_cutoff=cut, dtype=kind)


def _reach(scores: Float32, cut: float) -> Bool:
    """Scores in single precision against a decimal: one that was meant to be equal to the cut counts."""
    return np.asarray(scores >= np.float32(cut))


def _alike(values: Values, left: Int32, right: Int32) -> Float32:
    """Edit similarity of two texts, as they are or with their words in order, whichever is more."""
    scorer = Indel.normalized_similarity
    plain = _score(scorer, values.texts[left], values.texts[right])
    several = np.flatnonzero((values.word_counts[left] > 1) | (values.word_counts[right] > 1))
    ordered = _score(scorer, values.ordered[left[several]], values.ordered[right[several]])
    plain[several] = np.maximum(plain[several], ordered)
    return np.asarray(plain)


def _shared(sets: tuple[Int64, Int32], left: Int32, right: Int32) -> tuple[Int32, Int64]:
    """How many words two values share, and how many the one with fewer has."""
    indptr, words = sets
    shared = np.empty(len(left), np.int32)
    count_shared(indptr, words, left, right, shared)
    sizes = np.diff(indptr)
    return shared, np.minimum(sizes[left], sizes[right])


def _contained(values: Values, left: Int32, right: Int32) -> Bool:
    shared, fewer = _shared(values.words, left, right)
    return np.asarray(shared == fewer)


def _abbreviated(values: Values, left: Int32, right: Int32) -> Bool:
    out = np.empty(len(left), np.bool_)
    find_abbreviated(*values.bytes, values.word_counts, left, right, out)
    return out


def _levels(conditions: list[Bool]) -> Int8:
    """Level 2 where the first condition holds, 3 where the second does, ...; the last level where none does."""
    return np.select(conditions, range(2, len(conditions) + 2), len(conditions) + 2).astype(np.int8)


def _person_levels(values: Values, left: Int32, right: Int32) -> Int8:
    close = _score(JaroWinkler.similarity, values.texts[left], values.texts[right], 0.79)
    return _levels(
        [
            _reach(close, 0.95),
            _reach(close, 0.88),
            _reach(close, 0.8),
            _contained(values, left, right),
            _abbreviated(values, left, right),
        ]
    )


def _text_levels(values: Values, left: Int32, right: Int32) -> Int8:
    alike = _alike(values, left, right)
    shared, fewer = _shared(values.words, left, right)
    halves = (2 * shared >= fewer) | _abbreviated(values, left, right)
    return _levels([_reach(alike, 0.9), _reach(alike, 0.75) | (shared == fewer), halves, _reach(alike, 0.55)])


def _address_levels(values: Values, left: Int32, right: Int32) -> Int8:
    alike = _alike(values, left, right)
    shared, fewer = _shared(values.numerals, left, right)
    same = shared == fewer
    near = _reach(alike, 0.85) | _contained(values, left, right)
    far = _reach(alike, 0.6) | _abbreviated(values, left, right)
    return _levels([same & near, same & far, _reach(alike, 0.85)])


def _code_levels(values: Values, left: Int32, right: Int32) -> Int8:
    edits = _score(OSA.distance, values.texts[left], values.texts[right], 2)
    longer = np.maximum(values.lengths[left], values.lengths[right])
    shorter = np.minimum(values.lengths[left], values.lengths[right])
    begins = (shorter >= 4) & _abbreviated(values, left, right)  # a code is one word
    return _levels([(edits == 1) & (longer >= 3), ((edits == 2) & (longer >= 6)) | begins])


def _phone_levels(values: Values, left: Int32, right: Int32) -> Int8:
    edits = _score(OSA.distance, values.texts[left], values.texts[right], 1)
    return _levels([values.endings[left] == values.endings[right], edits == 1])


def _email_levels(values: Values, left: Int32, right: Int32) -> Int8:
    edits = _score(OSA.distance, values.texts[left], values.texts[right], 2)
    names = _score(JaroWinkler.similarity, values.names[left], values.names[right], 0.89)
    same = values.name_numbers[left] == values.name_numbers[right]
    return _levels([same, edits <= 2, _reach(names, 0.9)])


def _date_levels(values: Values, left: Int32, right: Int32) -> Int8:
    dates = values.dates
    edits = _score(OSA.distance, dates.digits[left], dates.digits[right], 1)
    whole = (values.lengths[left] > 4) & (values.lengths[right] > 4)  # the next year is no typing error
    off = dates.swapped(left, right) | ((edits == 1) & whole)
    return _levels([off, dates.count_equal_parts(left, right) >= 2, dates.near(left, right)])


def _differences(values: Values, left: Int32, right: Int32) -> Float64:
    """The difference of two numbers relative to the larger; infinite where one is no number."""
    a, b = values.numbers[left], values.numbers[right]
    with np.errstate(all="ignore"):
        apart = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isfinite(apart), apart, np.inf)


def _number_levels(values: Values, left: Int32, right: Int32) -> Int8:
    apart = _differences(values, left, right)
    return _levels([apart <= 0.01, apart <= 0.05, apart <= 0.2])


_LEVELS_OF: dict[str, Callable[[Values, Int32, Int32], Int8]] = {
    "person": _person_levels,
    "text": _text_levels,
    "address": _address_levels,
    "code": _code_levels,
    "phone": _phone_levels,
    "email": _email_levels,
    "date": _date_levels,
    "number": _number_levels,
}


def _person_similarity(values: Values, left: Int32, right: Int32) -> Float32:
    plain = _score(JaroWinkler.similarity, values.texts[left], values.texts[right])
    ordered = _score(JaroWinkler.similarity, values.ordered[left], values.ordered[right])
    return np.asarray(np.maximum(plain, ordered))


def _edit_similarity(values: Values, left: Int32, right: Int32) -> Float32:
    return np.asarray(_score(OSA.normalized_similarity, values.texts[left], values.texts[right]))


def _date_similarity(values: Values, left: Int32, right: Int32) -> Float32:
    return np.array([0, 1, 0.9, 0.7, 0.5, 0], np.float32)[_date_levels(values, left, right)]


def _number_similarity(values: Values, left: Int32, right: Int32) -> Float32:
    return (1 - np.minimum(_differences(values, left, right), 1)).astype(np.float32)


_SIMILARITY_OF: dict[str, Callable[[Values, Int32, Int32], Float32]] = {
    "person": _person_similarity,
    "text": _alike,
    "address": _alike,
    "code": _edit_similarity,
    "phone": _edit_similarity,
    "email": _edit_similarity,
    "date": _date_similarity,
    "number": _number_similarity,
}


def _of_pairs(column: Column, left: Any, right: Any, out: Any, of_values: Callable[..., Any], each: Mapper) -> None:
    """Fill `out` where both records have values: 1 where they are equal, else what `of_values` makes of the two."""
    first, second = column.codes[left], column.codes[right]
    low, high = np.minimum(first, second), np.maximum(first, second)
    out[(low >= 0) & (low == high)] = 1
    places = np.flatnonzero((low >= 0) & (low != high))
    if not len(places):
        return
    # Hashing finds the distinct pairs four times as fast as sorting does.
    keys = low[places].astype(np.int64) << 32 | high[places]
    encoded = to_arrow(keys).dictionary_encode()
    distinct = to_numpy(encoded.dictionary)
    lows, highs = (distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32)
    values = Values(column.values)

    def work(span: Span) -> Any:
        return of_values(values, lows[span[0] : span[1]], highs[span[0] : span[1]])

    spans = [(start, min(start + CHUNK, len(distinct))) for start in range(0, len(distinct), CHUNK)]
    first_made = work(spans[0])  # alone: what the values are made ready for comes once, not once for each thread
    made = np.concatenate([first_made, *each(work, spans[1:])])
    out[places] = made[to_numpy(encoded.indices)]


def compare(column: Column, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map) -> Int8:
    """The level of agreement of each pair of records in a field: a number of LEVELS, 0 where a value is missing.

    Parameters
    ----------
    column : Column
    left, right : int[pairs]
        Numbers of records.
    each : Mapper
        Like map; may use threads.

    Returns
    -------
    int8[pairs]

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["jeffrey", "jeffery", "ann"])
    >>> column = Column("name", "person", np.array([0, 1, 2, 0, -1], np.int32), values)
    >>> levels = compare(column, np.array([0, 0, 0, 0]), np.array([1, 2, 3, 4]))
    >>> levels.tolist(), LEVELS["person"][levels[0] - 1]
    ([2, 7, 1, 0], 'Jaro-Winkler >= 0.95')
    """
    out = np.zeros(len(left), np.int8)
    _of_pairs(column, left, right, out, _LEVELS_OF[column.kind], each)
    return out


def similarity(column: Column, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map) -> Float32:
    """How alike the values of each pair of records are, from 0 to 1; NaN where one is missing. See `compare`.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("price", "number", np.array([0, 1], np.int32), strings_to_arrow(["8", "10"]))
    >>> similarity(column, np.array([0]), np.array([1])).tolist()
    [0.800000011920929]
    """
    out = np.full(len(left), np.nan, np.float32)
    _of_pairs(column, left, right, out, _SIMILARITY_OF[column.kind], each)
    return out


def measure_records(column: Column) -> Float64:
    """Each record's date in days since the beginning of 1970, or its number; NaN where it has none.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["1970-01-31", "easter"])
    >>> measure_records(Column("created", "date", np.array([0, 1, -1], np.int32), values)).tolist()
    [30.0, nan, nan]
    """
    values = Values(column.values)
    if column.kind not in ("date", "number"):
        raise UsageError(f"field {column.name}: only dates and numbers can be subtracted, and this is a {column.kind}")
    measured = values.dates.days if column.kind == "date" else values.numbers
    return np.append(measured, np.nan)[column.codes]
