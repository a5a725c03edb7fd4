"""Scores by points: each field is worth a number of points, with deductions for differences.

There is no model and no estimate: deductions are fixed, and printed. Nothing here knows what a field contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.scoring.patterns import Levels, LevelTables, check_levels, look_up
from lookalike.types import Float64
from lookalike.types.frozen import frozen

EACH = 100.0
"""The default number of points of a field in which two records are equal."""


class PointsRow(NamedTuple):
    """The points of one level of a field; level 0 is a missing value."""

    field: int
    level: int
    points: float


@frozen
class Points:
    """The points of each level of each field; a pair's score is their sum.

    Examples
    --------
    >>> points = deduct((3, 2))
    >>> points.total
    200.0
    >>> points.score(np.array([[1, 1], [2, 1], [3, 2], [1, 0]], np.int8)).tolist()
    [200.0, 150.0, 0.0, 150.0]
    """

    earned: LevelTables

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each field."""
        return tuple(len(table) - 1 for table in self.earned)

    @property
    def total(self) -> float:
        """The score of two records that are equal in every field."""
        return float(sum(table[1] for table in self.earned))

    def by_field(self, levels: Levels) -> Float64:
        """The points of each field of each pattern: float64[patterns, fields]."""
        check_levels(levels, self.sizes)
        return look_up(levels, self.earned)

    def score(self, levels: Levels) -> Float64:
        """The points of each pattern."""
        scores: Float64 = self.by_field(levels).sum(axis=1)
        return scores

    def table(self) -> list[PointsRow]:
        """The points of each level of each field, as a table to print."""
        return [
            PointsRow(field, level, float(points))
            for field, table in enumerate(self.earned)
            for level, points in enumerate(table)
        ]


def deduct(
    sizes: Sequence[int],
    worth: Sequence[float] | None = None,
    deductions: Sequence[Sequence[float] | None] | None = None,
    missing: float = 0.5,
) -> Points:
    """Points by level: all of a field's points for the best agreement, fewer for each weaker level.

    Parameters
    ----------
    sizes
        The number of levels of each field.
    worth
        The points of each field; by default 100.
    deductions
        By field, the points deducted at levels 1, 2, ...; None for even steps down to 0 points.
    missing
        The share of its points that a field earns if a value is missing: one half is neutral.

    Examples
    --------
    >>> [row.points for row in deduct([4], worth=[90]).table()]
    [45.0, 90.0, 60.0, 30.0, 0.0]
    >>> [row.points for row in deduct([3], deductions=[[0, 10, 100]], missing=0).table()]
    [0.0, 100.0, 90.0, 0.0]
    """
    worth = [EACH] * len(sizes) if worth is None else worth
    deductions = [None] * len(sizes) if deductions is None else deductions
    if not len(sizes) == len(worth) == len(deductions):
        raise UsageError(f"{len(sizes)} fields, but points for {len(worth)} and deductions for {len(deductions)}")
    if not 0 <= missing <= 1:
        raise UsageError(f"missing must be between 0 and 1, not {missing}")
    return Points(tuple(_levels_of(*field, missing) for field in zip(range(len(sizes)), sizes, worth, deductions)))


def _levels_of(field: int, size: int, worth: float, deducted: Sequence[float] | None, missing: float) -> Float64:
    if size < 2:
        raise UsageError(f"field {field} needs at least two levels (equal, different), not {size}")
    if not worth > 0:
        raise UsageError(f"the points of field {field} must be positive, not {worth}")
    off = np.linspace(0, worth, size) if deducted is None else np.asarray(deducted, np.float64)
    if len(off) != size:
        raise UsageError(f"field {field} has {size} levels but {len(off)} deductions: give one for each level")
    if not (np.diff(off) >= 0).all() or off[0] < 0:
        raise UsageError(f"the deductions of field {field} must not decrease from level to level: {off.tolist()}")
    return np.concatenate([[missing * worth], worth - off])
