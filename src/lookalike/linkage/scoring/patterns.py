"""Agreement patterns: one level for each field of a pair, and what they are worth.

0 where there is no evidence (a value is missing), 1 for the best agreement, 2, 3, ... for weaker ones, and the highest
number for disagreement. Nothing here knows what a field or a record is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.types import Float64

Levels = npt.NDArray[np.int8]
"""int8[pairs or patterns, fields]."""
LevelTables = tuple[Float64, ...]
"""For each field a number by level: place 0 for missing, 1 for the best agreement, and so on."""


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
