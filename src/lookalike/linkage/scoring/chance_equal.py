"""How many of the pairs between two tables that are equal in a field chance can explain.

Agreement by chance is measured on random pairs, and some of these are matches. Where each record has a name of its own,
nearly all pairs with equal names are matches, so that equality would seem to be as frequent by chance as matches are.
Chance has a limit, though: two records of different tables are equal by chance at most as often as two of the same
table, in the geometric mean (the inequality of Cauchy and Schwarz for the frequencies of the values).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.kinds import names_records
from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Float64, Int64


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


def explained_by_chance(column: Column, split: int) -> float:
    """The largest share of the pairs with an equal value between two tables that chance can explain.

    Within each table, one more pair with an equal value is assumed than there is, since none does not mean never. Only
    names and numbers that nearly all records have for themselves are judged: if ten people live in a town, it may be
    due to the choice of the records that not eleven do.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes = np.tile(np.arange(1000, dtype=np.int32), 2)
    >>> round(explained_by_chance(Column("name", "person", codes, pa.nulls(1000)), 1000), 4)
    0.002
    >>> explained_by_chance(Column("town", "code", codes // 2, pa.nulls(500)), 1000)
    1.0
    """
    sides = [np.bincount(some[some >= 0], minlength=len(column.values)).astype(np.float64)
             for some in (column.codes[:split], column.codes[split:])]  # fmt: skip
    between = float(sides[0] @ sides[1])
    if not between or not all(names_records(some, 1) for some in (column.codes[:split], column.codes[split:])):
        return 1.0
    within = [(float((one * (one - 1)).sum()) / 2 + 1) / max(1.0, one.sum() * (one.sum() - 1) / 2) for one in sides]
    return float(min(1.0, np.sqrt(within[0] * within[1]) * sides[0].sum() * sides[1].sum() / between))
