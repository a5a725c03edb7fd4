"""How many of the pairs of records that are equal in a field chance can explain.

Agreement by chance is measured on random pairs, and some of these are matches. Where each record has a name of its own,
nearly all pairs with equal names are matches, so that equality would seem to be as frequent by chance as matches are.
Chance has a limit, though. Two records of different tables are equal by chance at most as often as two of the same
table, in the geometric mean (the inequality of Cauchy and Schwarz for the frequencies of the values). In one table, if
values occur twice by chance, some occur three times.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.kinds import count_values, names_records, occur_twice
from lookalike.linkage.scoring.patterns import Patterns
from lookalike.types import Bool, Float64, Int32

CONFIRMED = 0.25
"""The least share of equal values that another field must confirm, beyond those that do so by chance."""
AGREE = 2
"""The worst level at which two values agree: equal, or nearly."""


def leave_out_matches(
    random: Patterns, candidates: Patterns, columns: Sequence[Column], split: int | None, custom: Collection[str] = ()
) -> Float64:
    """The number of random pairs of each pattern, without those that must be matches.

    Fields that are compared in a `custom` way are not judged: their best level need not be equality. Nor are fields
    whose equal values are not confirmed by the others, such as the title of a patent that two inventors share. The
    right table starts at record `split`; None for one table.
    """
    kept = np.ones(len(random.counts))
    for field, column in enumerate(columns):
        share = 1.0 if column.name in custom else explained_by_chance(column, split)
        if share < 1 and is_confirmed(field, candidates, random):
            np.minimum(kept, share, out=kept, where=random.levels[:, field] == 1)
    return np.asarray(random.counts * kept)


def is_confirmed(field: int, candidates: Patterns, random: Patterns) -> bool:
    """Whether many pairs that are equal in a field agree in another one, unlike random pairs; or there is no other.

    Examples
    --------
    >>> pairs = np.array([[1, 1], [1, 3], [2, 1], [2, 3]], np.int8)
    >>> random = Patterns(pairs, np.array([0, 0, 1, 99]), np.empty(0, np.int64))
    >>> [is_confirmed(0, random._replace(counts=np.array([n, 9, 0, 0])), random) for n in (20, 2)]
    [True, False]
    """
    pairs, chance = _agree_elsewhere(field, candidates), _agree_elsewhere(field, random)
    equal = candidates.levels[:, field] == 1
    seen, usual = _share(pairs[0] & equal, pairs[1] & equal, candidates), _share(*chance, random)
    return math.isnan(seen + usual) or seen > usual + CONFIRMED * (1 - usual)


def _agree_elsewhere(field: int, pairs: Patterns) -> tuple[Bool, Bool]:
    """By pattern, whether two records agree in a field other than this one, and whether there is one to compare."""
    others = np.delete(pairs.levels, field, axis=1)
    known = others > 0
    return np.asarray((known & (others <= AGREE)).any(axis=1)), np.asarray(known.any(axis=1))


def _share(some: Bool, every: Bool, pairs: Patterns) -> float:
    """The share of pairs with some patterns among those with others; not a number if there are none."""
    total = int(pairs.counts[every].sum())
    return int(pairs.counts[some].sum()) / total if total else math.nan


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
