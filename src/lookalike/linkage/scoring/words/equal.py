"""Records of two tables that are equal, or have an equal code: how many of these pairs are due to chance.

Such records are usually one entity, whatever else is similar to them. But some values are common: many companies make a
`Keyboard`, and branches share a phone number. How often different entities have equal values can be seen within the
tables, where (nearly) no two records are the same entity. Only *lone* pairs are judged in this way: records that are
equal to a single other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lookalike.linkage.blocking.copies import digest_rows
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.logistic import score_rows
from lookalike.linkage.scoring.words.best_partners import Best
from lookalike.linkage.scoring.words.evidence import WHOLE, Feature
from lookalike.types import Bool, Float32, Float64, Int32, UInt64

IDENTIFYING = ("code", "phone", "email")
"""Kinds of fields whose values may identify an entity: ISBN, article number."""
MOSTLY = 0.9
"""A field identifies entities if at least this share of the pairs that are equal in it are matches."""
CONFIRMED = 0.75
"""And if this share of them are each other's best partners by their other fields. Pairs with equal row numbers are not.
Observed: 0.87 to 1.00 for ISBNs and phone numbers, at most 0.09 for row numbers."""


def judge_equal(
    columns: Sequence[Column],
    left: Int32,
    right: Int32,
    sizes: tuple[int, int],
    measured: Float32,
    features: Sequence[Feature],
) -> tuple[tuple[float, ...], float]:
    """The shares of matches among pairs that are equal in all fields, and in each of them; 0 if it does not identify.

    Also returns the greatest number of these matches.
    """
    texts = [column for column in columns if column.kind == "text"]
    tables = (0, sizes[0]), (sizes[0], sum(sizes))
    shares, most = [], 0.0
    for place, some in enumerate(_subsets(columns)):
        share, whole = 0.0, place == 0
        if whole or some[0].kind in IDENTIFYING:
            lone = lone_pairs(left, right, are_equal(some, left, right), sum(sizes))
            twins = sum(count_twins(some, *table, [] if whole else texts) for table in tables)
            found = share_of_matches(int(lone.sum()), twins, sizes)
            if whole or (found >= MOSTLY and _is_confirmed(lone, place - 1, left, right, measured, features)):
                share, most = found, max(most, found * int(lone.sum()))
        shares.append(share)
    return tuple(shares), most


def least_likely(columns: Sequence[Column], left: Int32, right: Int32, shares: Sequence[float]) -> Float64:
    """The least probability of each pair, by the values that are equal; `shares` are those of `judge_equal`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = [Column("code", "code", np.array([0, 1, 0, 1, 1], np.int32), pa.array(["a", "b"]))]
    >>> left, right = np.array([0, 1, 1], np.int32), np.array([2, 3, 4], np.int32)
    >>> least_likely(columns, left, right, (0.0, 0.9)).tolist()
    [0.9, 0.0, 0.0]
    """
    least = np.zeros(len(left))
    for some, share in zip(_subsets(columns), shares):
        if share > 0:
            lone = lone_pairs(left, right, are_equal(some, left, right), len(columns[0]))
            least[lone] = np.maximum(least[lone], share)
    return least


def _subsets(columns: Sequence[Column]) -> Iterator[Sequence[Column]]:
    """All columns together, then each."""
    yield columns
    for column in columns:
        yield [column]


def are_equal(columns: Sequence[Column], left: Int32, right: Int32) -> Bool:
    """Which pairs have equal values, or no values, in all columns, but not only missing ones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = Column("name", "text", np.array([0, 1, 0, -1, -1], np.int32), pa.array(["a", "b"]))
    >>> are_equal([column], np.array([0, 0, 3], np.int32), np.array([1, 2, 4], np.int32)).tolist()
    [False, True, False]
    """
    same = np.all([column.codes[left] == column.codes[right] for column in columns], axis=0)
    return np.asarray(same & np.any([column.codes[left] >= 0 for column in columns], axis=0))


def lone_pairs(left: Int32, right: Int32, same: Bool, records: int) -> Bool:
    """Which pairs are of equal records (`same`) neither of which is equal to any other record.

    Examples
    --------
    >>> left, right = np.array([0, 1, 1], np.int32), np.array([2, 3, 4], np.int32)
    >>> lone_pairs(left, right, np.array([True, True, True]), 5).tolist()
    [True, False, False]
    """
    often = np.bincount(np.concatenate([left[same], right[same]]), minlength=records)
    return np.asarray(same & (often[left] == 1) & (often[right] == 1))


def count_twins(columns: Sequence[Column], start: int, stop: int, texts: Sequence[Column] = ()) -> int:
    """The number of lone pairs of equal records within a table, that is records `start` to `stop`.

    Records that are equal in `texts`, too, are one entity that is listed twice, and count as one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = Column("name", "text", np.array([0, 1, 0, 2, 2, 2, -1, -1], np.int32), pa.array(["a", "b", "c"]))
    >>> count_twins([column], 0, 8), count_twins([column], 1, 8), count_twins([column], 0, 8, [column])
    (1, 0, 0)
    """
    known = np.any([column.codes[start:stop] >= 0 for column in columns], axis=0)
    digests, more = (_digest(some, start, stop)[known] for some in (columns, [*columns, *texts]))
    if texts:
        digests = digests[np.unique(more, return_index=True)[1]]
    return int((np.unique(digests, return_counts=True)[1] == 2).sum())


def _digest(columns: Sequence[Column], start: int, stop: int) -> UInt64:
    """A digest of the values of each record `start` to `stop`."""
    return digest_rows(np.stack([column.codes[start:stop] for column in columns], axis=1))


def share_of_matches(between: int, within: int, sizes: tuple[int, int]) -> float:
    """The share of matches among lone pairs between two tables, of which there are `between`, and `within` in them.

    One more pair is assumed to be due to chance than is seen within the tables.

    Examples
    --------
    >>> [round(share_of_matches(*some, (100, 100)), 2) for some in ((1, 0), (10, 0), (10, 4), (10, 20))]
    [0.0, 0.9, 0.49, 0.0]
    """
    inside = sum(size * (size - 1) / 2 for size in sizes)
    by_chance = (within + 1) * sizes[0] * sizes[1] / max(1.0, inside)
    return max(0.0, 1 - by_chance / between) if between else 0.0


def _is_confirmed(
    lone: Bool, field: int, left: Int32, right: Int32, measured: Float32, features: Sequence[Feature]
) -> bool:
    """Whether most pairs that are equal in this field are each other's best partners by the other fields."""
    others = np.array([one.field != field and not one.what.startswith(WHOLE) for one in features])
    if not others.any():
        return False
    score = score_rows(measured[:, others], np.array([one.start for one, taken in zip(features, others) if taken]))
    best = Best.find(left, right, score, int(right.max()) + 1)
    return float(best.mutual(left, right)[lone].mean()) >= CONFIRMED
