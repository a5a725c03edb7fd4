"""Recognise numbers that a table gives to its own records, such as row numbers: equal or similar ones mean nothing.

Those of two tables look like an identifier that both share: every number occurs once in a table, and in the other one,
too. A shared identifier is confirmed by the other fields; row numbers are not. In one table, a code that no two records
share says nothing about which of them are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.linkage.fields.columns import Column
from lookalike.types import Bool, Float64, Int64, to_arrow, to_numpy
from lookalike.types import compute as pc

NUMBERED = ("code", "number")
"""Kinds of fields that may hold such numbers."""
ONE_NUMBER = "^[^0-9]*[0-9]{1,15}[^0-9]*$"
"""A value with one number in it, such as `item-17`."""
FEWEST = 20
"""In smaller tables, numbers may be consecutive by chance."""
MOSTLY = 0.95
"""The least number of different numbers for each record that has a value."""
DENSE = 2.0
"""Consecutive numbers with as many gaps as numbers still count as consecutive."""
TAIL = 0.02
"""The share of the smallest and of the greatest numbers that may be anything."""
SAMPLE = 1_000
"""Pairs with equal numbers, and random pairs, that are examined."""
LONGEST = 1_000
"""Characters of a value that are examined."""
RARE = 0.95
"""Two records are alike if they have more in common than this share of random pairs."""
CONFIRMED = 0.5
"""Equal numbers mean something if more than this share of the records that have them are alike."""


def find_row_numbers(columns: Sequence[Column], split: int | None) -> list[str]:
    """The fields that hold numbers which each table gives to its own records, in one table also other unique codes.

    The right table starts at record `split`; None for one table.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> numbers = Column("no", "code", np.tile(np.arange(30, dtype=np.int32), 2), strings_to_arrow(map(str, range(30))))
    >>> names, same = np.arange(60, dtype=np.int32), np.tile(np.arange(30, dtype=np.int32), 2)
    >>> words = strings_to_arrow([f"word{n}" for n in range(60)])
    >>> [find_row_numbers([numbers, Column("name", "text", codes, words)], 30) for codes in (names, same)]
    [['no'], []]
    """
    tables = [slice(None)] if split is None else [slice(split), slice(split, None)]
    unique = [column for column in columns if split is None and is_unique(column)]
    numbered = [column for column in columns if column.kind in NUMBERED and _is_numbered(column, tables)]
    others = [column for column in columns if not any(column is one for one in (*unique, *numbered))]
    if not others:
        return []
    found = [column for column in numbered if not _is_confirmed(column, others, tables)]
    return [column.name for column in columns if any(column is one for one in (*unique, *found))]


def is_unique(column: Column) -> bool:
    """Whether a field has a code of its own for each record that has one: no two records of the table share it.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> codes, values = np.arange(30, dtype=np.int32), strings_to_arrow([f"k{n}" for n in range(30)])
    >>> [is_unique(Column("key", kind, some, values)) for kind, some in (("code", codes), ("text", codes))]
    [True, False]
    >>> is_unique(Column("key", "code", np.append(codes, codes[-1]), values))
    False
    """
    known = len(column) - column.missing
    return column.kind == "code" and known >= FEWEST and len(np.unique(column.codes[column.codes >= 0])) == known


def is_shared(column: Column, others: Sequence[Column]) -> bool:
    """Whether records with an equal code are alike in the other fields, too, so that it may identify entities.

    Counts and ratings are codes as well, but equal ones mean nothing. In small tables, this is unknown and assumed.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> draw = np.random.default_rng(1)
    >>> title = Column("title", "text", np.repeat(np.arange(50), 2), strings_to_arrow([f"word{n}" for n in range(50)]))
    >>> numbers = strings_to_arrow(map(str, range(50)))
    >>> shuffled = draw.permutation(title.codes)
    >>> [is_shared(Column("no", "code", some, numbers), [title]) for some in (title.codes, shuffled)]
    [True, False]
    """
    return len(column) < FEWEST or not others or _is_confirmed(column, others, [slice(None)])


def _is_numbered(column: Column, tables: Sequence[slice]) -> bool:
    """Whether a field has consecutive numbers in each table, nearly all of them different."""
    numbered = to_numpy(pc.cast(pc.match_substring_regex(column.values, ONE_NUMBER), pa.int8())) == 1
    numbers = np.full(len(column.values), -1, np.int64)
    digits = pc.replace_substring_regex(pc.filter(column.values, to_arrow(numbered)), "[^0-9]+", "")
    numbers[numbered] = to_numpy(pc.cast(digits, pa.int64()))
    return all(_are_consecutive(numbers[codes[codes >= 0]]) for codes in (column.codes[table] for table in tables))


def _are_consecutive(numbers: Int64) -> bool:
    """Whether these are consecutive numbers, or in steps such as 10, nearly all of them different; -1 is none.

    Examples
    --------
    >>> [_are_consecutive(some) for some in (np.arange(7, 90), np.arange(90) * 10, np.arange(90) // 2, np.arange(9))]
    [True, True, False, False]
    """
    known = np.unique(numbers[numbers >= 0])
    if len(known) < max(FEWEST, MOSTLY * len(numbers)):
        return False
    low, high = np.quantile(known, (TAIL, 1 - TAIL))
    step = np.gcd.reduce(np.diff(known))
    return bool(high - low <= DENSE * step * (1 - 2 * TAIL) * len(known))


def _is_confirmed(column: Column, others: Sequence[Column], tables: Sequence[slice]) -> bool:
    """Whether records with equal numbers have more in common than random ones; if there are none, they have not."""
    draw = np.random.default_rng(1)
    every = np.arange(len(column))
    left, right = _equal_pairs(column, every[tables[0]], every[tables[-1]])
    drawn = draw.permutation(len(left))[:SAMPLE]
    equal = _in_common(others, left[drawn], right[drawn])
    other = _in_common(others, *(draw.choice(every[some], SAMPLE) for some in (tables[0], tables[-1])))
    usual = float(np.quantile(other, RARE))
    return usual >= 1 or bool(len(equal) and (equal > usual).mean() > CONFIRMED)  # if all are alike, it is unknown


def _equal_pairs(column: Column, left: Int64, right: Int64) -> tuple[Int64, Int64]:
    """Different records with equal values, one of `left` and one of `right` per value."""
    places = np.full((2, len(column.values)), -1, np.int64)
    for side, records in zip(places, (left, right[::-1])):  # in one table, the last and the first record with a value
        known: Bool = column.codes[records] >= 0
        side[column.codes[records[known]]] = records[known]
    first, second = places[:, (places >= 0).all(axis=0) & (places[0] != places[1])]
    return first, second


def _in_common(columns: Sequence[Column], left: Int64, right: Int64) -> Float64:
    """The share of the words of the shorter record that the longer one has, too, for each of these pairs."""
    words = [[_words(columns, record) for record in side.tolist()] for side in (left, right)]
    return np.array([len(one & other) / max(1, min(len(one), len(other))) for one, other in zip(*words)])


def _words(columns: Sequence[Column], record: int) -> set[str]:
    values = (column.values[column.codes[record]].as_py() for column in columns if column.codes[record] >= 0)
    return {word for value in values for word in re.split(r"\W+", value[:LONGEST]) if word}
