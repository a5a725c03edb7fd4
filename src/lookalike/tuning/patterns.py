"""Agreement patterns: pairs that agree alike in every field are counted together.

A pattern has one level for each field: 0 where there is no evidence (a value is missing), 1 for the best agreement,
2, 3, ... for weaker ones, and the highest number for disagreement. Ten million pairs have a few thousand patterns, so
whatever is estimated from pairs is estimated from patterns. Nothing here knows what a field or a record is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.types import Float64, Int32, Int64

Levels = npt.NDArray[np.int8]
"""int8[pairs or patterns, fields]."""
LevelTables = tuple[Float64, ...]
"""For each field a number by level: place 0 for missing, 1 for the best agreement, and so on."""

COUNTED = 1 << 22
"""Up to so many possible patterns are counted in a table; more are sorted."""


class Patterns(NamedTuple):
    """The distinct patterns of pairs, in ascending order, how often each occurs, and which one each pair has."""

    levels: Levels
    """int8[patterns, fields]."""
    counts: Int64
    of_pair: Int32


def patterns_of(levels: Levels) -> Patterns:
    """Count together the pairs that agree alike in every field.

    Examples
    --------
    >>> found = patterns_of(np.array([[1, 2], [0, 1], [1, 2]], np.int8))
    >>> found.levels.tolist(), found.counts.tolist(), found.of_pair.tolist()
    ([[0, 1], [1, 2]], [1, 2], [1, 0, 1])
    """
    if levels.ndim != 2 or not levels.shape[1]:
        raise UsageError(f"levels must be a table of pairs by fields with at least one field, not {levels.shape}")
    if levels.size and levels.min() < 0:
        raise UsageError("levels must be from 0 (missing), not negative")
    if not len(levels):
        return Patterns(levels, np.empty(0, np.int64), np.empty(0, np.int32))
    bases = [int(column.max()) + 1 for column in levels.T]
    few = math.prod(bases) <= COUNTED
    numbers: Any = np.zeros(len(levels), np.int32 if few else np.int64)
    possible = 1
    for column, base in zip(levels.T, bases):
        if possible * base >= 1 << 62:  # the next step would not fit 64 bits: number those that occur
            numbers = np.unique(numbers, return_inverse=True)[1]
            possible = len(levels)
        numbers *= base
        numbers += column
        possible *= base
    if few:
        table = np.bincount(numbers, minlength=possible)
        seen = np.flatnonzero(table)
        place = np.empty(possible, np.int32)
        place[seen] = np.arange(len(seen))
        of_pair, counts = place[numbers], table[seen]
    else:
        _, many, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        of_pair = many.astype(np.int32)
    example = np.empty(len(counts), np.int64)
    example[of_pair] = np.arange(len(levels))
    return Patterns(levels[example], counts.astype(np.int64), of_pair)


def check_levels(levels: Levels, sizes: tuple[int, ...]) -> None:
    """Refuse patterns that do not fit fields with so many levels each.

    Examples
    --------
    >>> check_levels(np.array([[1, 3]], np.int8), (2, 2))
    Traceback (most recent call last):
    lookalike.errors.UsageError: field 1 has levels 0 (missing) to 2, not 3
    """
    if levels.ndim != 2 or levels.shape[1] != len(sizes):
        raise UsageError(f"levels must be a table of pairs by {len(sizes)} fields, not {levels.shape}")
    for field, (column, size) in enumerate(zip(levels.T, sizes)):
        if column.size and not 0 <= int(column.min()) <= int(column.max()) <= size:
            wrong = column.min() if column.min() < 0 else column.max()
            raise UsageError(f"field {field} has levels 0 (missing) to {size}, not {wrong}")


def look_up(levels: Levels, tables: LevelTables) -> Float64:
    """Each field's number for each pattern: float64[patterns, fields].

    Examples
    --------
    >>> look_up(np.array([[1, 2], [0, 1]], np.int8), (np.array([0, 5, -5]), np.array([0, 3, -3]))).tolist()
    [[5.0, -3.0], [0.0, 3.0]]
    """
    found = np.empty(levels.shape, np.float64)
    for field, table in enumerate(tables):
        found[:, field] = np.asarray(table, np.float64)[levels[:, field]]
    return found
