"""Given name and surname in each other's field: pairs of records that changed two of their values with each other.

Such a pair differs in both fields, and would seem to be two people. Here it gets a level of its own, in that of the two
fields that has more values and so tells more; the other field is no evidence, for the same fact must not count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.compute as pc

from lookalike.kernels.names import EXCHANGED, mark_exchanged
from lookalike.linkage.compare.levels import spans_of
from lookalike.types import Column, Int8, Mapper, Span, UInt64, to_numpy

NAMES = "person"
"""The kind of fields whose values change places."""


def insert_exchanged(
    columns: Sequence[Column], pairs: Sequence[tuple[Any, Any]], levels: Sequence[Int8], each: Mapper = map
) -> dict[int, str]:
    """Give pairs whose names changed places a level: the second, and each from the second on is one higher.

    Parameters
    ----------
    columns
        The fields.
    pairs
        Lots of pairs (left, right). A level that no pair of the first lot has is not inserted.
    levels
        int8[fields, pairs] of each lot; changed here.

    Returns
    -------
    dict
        The name of the new level, by field.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> given = Column("given", "person", np.array([0, 1, 0], np.int32), strings_to_arrow(["ann", "lee"]))
    >>> surname = Column("surname", "person", np.array([0, 1, 2], np.int32), strings_to_arrow(["lee", "ann", "ray"]))
    >>> levels = np.array([[7, 1], [7, 7]], np.int8)
    >>> insert_exchanged([given, surname], [(np.array([0, 0]), np.array([1, 2]))], [levels]), levels.tolist()
    ({1: 'exchanged with given'}, [[0, 1], [2, 8]])
    """
    partners: dict[int, list[str]] = {}
    names = [place for place, column in enumerate(columns) if column.kind == NAMES]
    for both in combinations(names, 2):
        other, one = sorted(both, key=lambda place: (len(columns[place].values), -place))
        keys = _keys(columns[one], columns[other])
        if keys.any() and _mark(pairs[0], levels[0], one, other, keys, each):
            partners.setdefault(one, []).append(columns[other].name)
            for more, lot in zip(pairs[1:], levels[1:]):
                _mark(more, lot, one, other, keys, each)
    # What each level becomes, a negative one at its place from the end.
    numbers = np.arange(256).astype(np.int8)
    numbers[2:127] += 1
    numbers[EXCHANGED] = 2
    for field in partners:
        for lot in levels:
            _renumber(lot[field], numbers, each)
    return {field: f"exchanged with {' or '.join(others)}" for field, others in partners.items()}


def _renumber(levels: Int8, numbers: Int8, each: Mapper) -> None:
    def work(span: Span) -> None:
        some = levels[slice(*span)]
        some[:] = numbers[some.view(np.uint8)]

    list(each(work, spans_of(len(levels))))


def _keys(one: Column, other: Column) -> UInt64:
    """The two values of each record, numbered as those of the one field; 0 where they can be in no exchange."""
    found = to_numpy(pc.fill_null(pc.index_in(other.values, value_set=one.values), -1)).astype(np.int64)
    in_both = np.zeros(len(one.values) + 1, np.bool_)  # without a value: -1 is the last place
    in_both[found[found >= 0]] = True
    second = np.append(found, -1)[other.codes]
    able = in_both[one.codes] & (second >= 0)
    keys = (one.codes.astype(np.uint64) + np.uint64(1)) << np.uint64(32) | (second + 1).astype(np.uint64)
    return np.where(able, keys, np.uint64(0))


def _mark(pairs: tuple[Any, Any], levels: Int8, one: int, other: int, keys: UInt64, each: Mapper) -> bool:
    """Mark the pairs of a lot that changed these two fields; are there any?"""
    left, right = pairs

    def work(span: Span) -> int:
        return int(mark_exchanged(levels[one], levels[other], left, right, keys, *span))

    return sum(each(work, spans_of(len(left)))) > 0
