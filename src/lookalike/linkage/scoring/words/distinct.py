"""Copies of records within two tables, equal in all fields: one of them is judged, and its scores hold for all.

A shop that lists each product twice would otherwise show that different records can be equal, so that no pair between
the tables stands out from chance; and no record would be better than the next best partner, which is its copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lookalike.linkage.blocking.copies import number_distinct
from lookalike.linkage.fields.columns import Column
from lookalike.types import Int32, Int64


class DistinctPairs(NamedTuple):
    """The candidate pairs between distinct records."""

    left: Int32
    """The place of each record among `kept`, for each pair."""
    right: Int32
    kept: Int64
    """The numbers of the records that are no copies."""
    where: Int64 | slice
    """For each of these pairs, a candidate pair of the same records, or of copies of them."""
    back: Int64 | slice
    """For each candidate pair, its place among these pairs."""

    @classmethod
    def find(cls, columns: Sequence[Column], left: Int32, right: Int32, split: int | None) -> DistinctPairs:
        """The distinct ones of these pairs; the right table starts at record `split`. One table stays as it is.

        Examples
        --------
        >>> import pyarrow as pa
        >>> column = Column("name", "text", np.array([0, 1, 0, 0, 1], np.int32), pa.array(["ann", "bob"]))
        >>> found = DistinctPairs.find([column], np.array([0, 0, 1], np.int32), np.array([2, 3, 4], np.int32), 2)
        >>> [one.tolist() for one in found]
        [[0, 1], [2, 3], [0, 1, 2, 4], [0, 2], [0, 0, 1]]
        """
        every = slice(None)
        if split is None or not len(columns[0]):
            return cls(left, right, np.arange(len(columns[0])), every, every)
        kept, number = number_distinct(columns, split)
        if len(kept) == len(number):
            return cls(left, right, kept, every, every)
        keys = number[left].astype(np.int64) << 32 | number[right]
        keys, where, back = np.unique(keys, return_index=True, return_inverse=True)
        return cls((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32), kept, where, back)

    def take(self, columns: Sequence[Column]) -> Sequence[Column]:
        """The values of the distinct records."""
        return columns if len(self.kept) == len(columns[0]) else [column.take(self.kept) for column in columns]

    def sizes(self, split: int) -> tuple[int, int]:
        """The number of distinct records in each table."""
        left = int((self.kept < split).sum())
        return left, len(self.kept) - left
