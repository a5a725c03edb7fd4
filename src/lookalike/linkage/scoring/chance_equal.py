"""How many of the pairs of records that are equal in a field chance can explain.

Agreement by chance is measured on random pairs, and some of these are matches. Where each record has a name of its own,
nearly all pairs with equal names are matches, so that equality would seem to be as frequent by chance as matches are.
Chance has a limit, though. Two records of different tables are equal by chance at most as often as two of the same
table, in the geometric mean (the inequality of Cauchy and Schwarz for the frequencies of the values). In one table, if
values occur twice by chance, some occur three times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.kinds import count_values, names_records, occur_twice
from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Float64, Int32, Int64


def leave_out_matches(levels: Levels, counts: Int64, explained: Sequence[float]) -> Float64:
    """The number of random pairs of each pattern, without those that must be matches.

    Parameters
    ----------
    levels, counts
        int8[patterns, fields], and the number of random pairs of each pattern.
    explained
        By field, the share of the pairs with an equal value that chance can explain.

    Examples
    --------
    >>> levels = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], np.int8)
    >>> leave_out_matches(levels, np.array([10, 20, 30, 40]), [0.1, 0.5]).tolist()
    [1.0, 2.0, 15.0, 40.0]
    """
    kept = np.where(levels == 1, np.asarray(explained), 1.0).min(axis=1, initial=1.0)
    return np.asarray(counts * kept)


def explained_by_chance(column: Column, split: int | None) -> float:
    """The largest share of the pairs with an equal value that chance can explain; `split` is as in `score_pairs`.

    Only names and numbers that nearly all records have for themselves are judged: if ten people live in a town, it may
    be due to the choice of the records that not eleven do.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes = np.tile(np.arange(1000, dtype=np.int32), 2)
    >>> name = Column("name", "person", codes, pa.nulls(1000))
    >>> round(explained_by_chance(name, 1000), 4), round(explained_by_chance(name, None), 4)
    (0.002, 0.0)
    >>> explained_by_chance(Column("town", "code", codes // 2, pa.nulls(500)), 1000)
    1.0
    """
    if split is None:
        return _explained_alone(column.codes)
    sides = column.codes[:split], column.codes[split:]
    if not all(names_records(some, 1) for some in sides):
        return 1.0
    one, other = (np.bincount(some[some >= 0], minlength=len(column.values)).astype(np.float64) for some in sides)
    # One more pair with an equal value is assumed than there is: that there is none does not mean never.
    within = [(float(some @ (some - 1)) / 2 + 1) / max(1.0, some.sum() * (some.sum() - 1) / 2) for some in (one, other)]
    between = float(one @ other)
    return min(1.0, math.sqrt(math.prod(within)) * float(one.sum() * other.sum()) / between) if between else 1.0


def _explained_alone(codes: Int32) -> float:
    """The same in one table, by how many values occur once, twice and more often."""
    if not names_records(codes, 2) or not occur_twice(codes):
        return 1.0
    once, twice, more = count_values(codes)
    by_chance = (
        once * 3 * (more + 1) / twice / 2
    )  # the rate is three times the values that occur three times, not twice
    return min(1.0, by_chance / (twice + 3 * more))
