"""Agreement patterns: one level of agreement per field of a pair; pairs with the same pattern are counted together.

Level 0 means no evidence (a value is missing), 1 the best agreement, 2, 3, ... weaker ones, and the highest level
disagreement. Ten million pairs have a few thousand patterns, so all estimates use patterns instead of pairs. Nothing
here knows what a field or a record is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.kernels.scoring import number_patterns, renumber
from lookalike.types import Float64, Int32, Int64

Levels = npt.NDArray[np.int8]
"""int8[pairs or patterns, fields]."""
LevelTables = tuple[Float64, ...]
"""By field, a number for each level: entry 0 for a missing value, 1 for the best agreement, and so on."""


class Patterns(NamedTuple):
    """The distinct patterns of pairs, sorted, with the number of pairs of each, and the pattern of each pair."""

    levels: Levels
    """int8[patterns, fields]."""
    counts: Int64
    of_pair: Int32


def patterns_of(levels: Levels) -> Patterns:
    """Count pairs with the same pattern together.

    Examples
    --------
    >>> found = patterns_of(np.array([[1, 2], [0, 1], [1, 2]], np.int8))
    >>> found.levels.tolist(), found.counts.tolist(), found.of_pair.tolist()
    ([[0, 1], [1, 2]], [1, 2], [1, 0, 1])
    """
    if levels.ndim != 2 or not levels.shape[1]:
        raise UsageError(f"levels must be a table of pairs by fields with at least one field, not {levels.shape}")
    if levels.size and levels.min() < 0:
        raise UsageError("levels must not be negative; 0 means missing")
    if not len(levels):
        return Patterns(levels, np.empty(0, np.int64), np.empty(0, np.int32))
    numbers, fields = np.zeros(len(levels), np.int32), np.ascontiguousarray(levels.T)
    base, done = 1, 0
    while done < len(fields):  # as many fields at a time as fit into a 64-bit key
        bases = [base]
        while done + len(bases) <= len(fields):
            bases.append(int(fields[done + len(bases) - 1].max()) + 1)
            if math.prod(bases) >= 1 << 63:
                bases.pop()
                break
        keys = number_patterns(fields[done : done + len(bases) - 1], np.array(bases, np.uint64), numbers)
        ranks = np.empty(len(keys), np.int32)
        ranks[np.argsort(keys)] = np.arange(len(keys), dtype=np.int32)
        counts, examples = np.zeros(len(keys), np.int64), np.empty(len(keys), np.int64)
        renumber(numbers, ranks, counts, examples)
        base, done = len(keys), done + len(bases) - 1
    return Patterns(levels[examples], counts, numbers)


def check_levels(levels: Levels, sizes: tuple[int, ...]) -> None:
    """Refuse patterns that do not fit fields with these numbers of levels.

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
