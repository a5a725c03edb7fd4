"""Equal records in two tables: equal records within a table show how many of them are due to chance.

Records of two tables that are equal in all fields are usually one entity, whatever else is similar to them. But some
values are common: many companies make a `Keyboard`. How often different entities have equal records can be seen within
the tables, where (nearly) no two records are the same entity. Only *lone* pairs are judged in this way: records that
are equal to a single other one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.linkage.blocking.copies import digest_rows
from lookalike.linkage.fields.columns import Column
from lookalike.types import Bool, Int32


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


def count_twins(columns: Sequence[Column], start: int, stop: int) -> int:
    """The number of lone pairs of equal records within a table, that is records `start` to `stop`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = Column("name", "text", np.array([0, 1, 0, 2, 2, 2, -1, -1], np.int32), pa.array(["a", "b", "c"]))
    >>> count_twins([column], 0, 8), count_twins([column], 1, 8)
    (1, 0)
    """
    codes = np.stack([column.codes[start:stop] for column in columns], axis=1)
    codes = codes[(codes >= 0).any(axis=1)]
    return int((np.unique(digest_rows(codes), return_counts=True)[1] == 2).sum())


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
