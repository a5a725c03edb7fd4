"""Swapped names: pairs of records with given name and surname in each other's field.

Such a pair differs in both fields and would look like two people. It gets a level of its own in the field with more
distinct values, which is more selective. The other field becomes "no evidence", so that one fact does not count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lookalike.kernels.names import EXCHANGED, mark_exchanged
from lookalike.linkage.compare.levels import CHUNK, spans_of
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.spec import NAMED
from lookalike.types import Int8, Mapper, Span, UInt64, to_numpy
from lookalike.types import compute as pc


def insert_exchanged(
    columns: Sequence[Column],
    pairs: Sequence[tuple[Any, Any]],
    levels: Sequence[Int8],
    each: Mapper = map,
    *,
    chunk: int = CHUNK,
    known: Sequence[tuple[int, int]] | None = None,
) -> list[tuple[int, int]]:
    """Give pairs with swapped names level 2, and move every level from 2 on up by one.

    Parameters
    ----------
    columns
        The fields.
    pairs
        Collections of pairs (left, right). The level is inserted only if a pair of the first collection has it.
    levels
        int8[fields, pairs] of each collection; modified in place.
    each
        Like the built-in map; may use threads.
    chunk
        Pairs that a thread works on at a time.
    known
        The fields that may be swapped, as returned by an earlier call: exactly these get the level.

    Returns
    -------
    list
        The fields that are swapped: the one that has the new level, and the other.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> given = Column("given", "person", np.array([0, 1, 0], np.int32), strings_to_arrow(["ann", "lee"]))
    >>> surname = Column("surname", "person", np.array([0, 1, 2], np.int32), strings_to_arrow(["lee", "ann", "ray"]))
    >>> levels = np.array([[7, 1], [7, 7]], np.int8)
    >>> insert_exchanged([given, surname], [(np.array([0, 0]), np.array([1, 2]))], [levels]), levels.tolist()
    ([(1, 0)], [[0, 1], [2, 8]])
    """
    swapped: list[tuple[int, int]] = []
    spans = [spans_of(len(left), chunk) for left, _ in pairs]
    for one, other in _possible(columns) if known is None else known:
        keys = _keys(columns[one], columns[other])
        found = bool(keys.any()) and _mark(pairs[0], levels[0], spans[0], one, other, keys, each)
        if found or known is not None:
            swapped.append((one, other))
            for more in zip(pairs[1:], levels[1:], spans[1:]):
                _mark(*more, one, other, keys, each)
    # The new number of each level; negative levels count from the end.
    numbers = np.arange(256).astype(np.int8)
    numbers[2:127] += 1
    numbers[EXCHANGED] = 2
    for field in dict(swapped):
        for some, own in zip(levels, spans):
            _renumber(some[field], numbers, own, each)
    return swapped


def name_exchanged(columns: Sequence[Column], swapped: Sequence[tuple[int, int]]) -> dict[int, str]:
    """The name of the level of swapped names, by field.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> given = Column("given", "person", np.array([0], np.int32), strings_to_arrow(["ann"]))
    >>> name_exchanged([given, given], [(1, 0)])
    {1: 'exchanged with given'}
    """
    partners: dict[int, list[str]] = {}
    for one, other in swapped:
        partners.setdefault(one, []).append(columns[other].name)
    return {field: f"exchanged with {' or '.join(others)}" for field, others in partners.items()}


def _possible(columns: Sequence[Column]) -> list[tuple[int, int]]:
    """Every two fields of names of one kind, the one with more values first."""
    names = [place for place, column in enumerate(columns) if column.kind in NAMED]
    both = [(one, other) for one, other in combinations(names, 2) if columns[one].kind == columns[other].kind]
    ordered = [sorted(ends, key=lambda at: (-len(columns[at].values), at)) for ends in both]
    return [(one, other) for one, other in ordered]


def _renumber(levels: Int8, numbers: Int8, spans: Sequence[Span], each: Mapper) -> None:
    def work(span: Span) -> None:
        some = levels[slice(*span)]
        some[:] = numbers[some.view(np.uint8)]

    list(each(work, spans))


def _keys(one: Column, other: Column) -> UInt64:
    """Both values of each record, numbered as values of field `one`; 0 if they cannot be swapped."""
    found = to_numpy(pc.fill_null(pc.index_in(other.values, value_set=one.values), -1)).astype(np.int64)
    in_both = np.zeros(len(one.values) + 1, np.bool_)  # a missing value (-1) picks the last entry
    in_both[found[found >= 0]] = True
    others = np.append(found, -1)[other.codes]
    possible = in_both[one.codes] & (others >= 0)
    keys = (one.codes.astype(np.uint64) + np.uint64(1)) << np.uint64(32) | (others + 1).astype(np.uint64)
    return np.where(possible, keys, np.uint64(0))


def _mark(
    pairs: tuple[Any, Any], levels: Int8, spans: Sequence[Span], one: int, other: int, keys: UInt64, each: Mapper
) -> bool:
    """Mark the pairs that have these two fields swapped; return whether there are any."""
    left, right = (np.ascontiguousarray(numbers, np.int32) for numbers in pairs)

    def work(span: Span) -> int:
        return int(mark_exchanged(levels[one], levels[other], left, right, keys, *span))

    return sum(each(work, spans)) > 0
