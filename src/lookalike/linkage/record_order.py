"""The order in which records are compared: by what they say, so that the order of the rows decides nothing but ties.

Many steps depend on the numbers of records: random pairs are drawn by number, floating-point sums are in the order of
pairs, and the first of equally good partners is used. So records are numbered by a digest of their values, and the
smaller table comes first. Only records that are equal in every field keep the order of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.kernels.sets import hash_strings
from lookalike.linkage.blocking.copies import add_to_digests
from lookalike.linkage.fields.columns import Column
from lookalike.types import Float64, Int32, UInt64, text_arrays, to_arrow
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

OTHER_SIDE = {"left": "right", "right": "left"}


@frozen
class RecordOrder:
    """A numbering of the records of one table or two; rows are counted from the first one of the left table."""

    rows: Int32
    """int32[records]: the row of each record."""
    numbers: Int32
    """int32[records]: by row, the number of its record."""
    group: Int32
    """int32[records]: the group of equal records of its table that each record belongs to."""
    swapped: bool
    """Whether the records of the right table come first."""

    @classmethod
    def find(
        cls, columns: Sequence[Column], split: int | None, more: Float64 | None = None, *, keep_sides: bool = False
    ) -> RecordOrder:
        """Order the records by their values.

        Parameters
        ----------
        columns
            The fields of all rows.
        split
            The first row of the right table; None for one table.
        more
            Another value of each row.
        keep_sides
            Whether the left table comes first even if it is larger.

        Examples
        --------
        >>> from lookalike.types import strings_to_arrow
        >>> names = Column("name", "text", np.array([0, 1, 2, 1], np.int32), strings_to_arrow(["ann", "bob", "cy"]))
        >>> other = names.take(np.array([2, 1, 0, 3]))
        >>> [one.codes[RecordOrder.find([one], 3).rows].tolist() for one in (names, other)]
        [[1, 0, 2, 1], [1, 0, 2, 1]]
        """
        digests = _digest_records(columns, more)
        tables = np.split(np.arange(len(digests), dtype=np.int32), [] if split is None else [split])
        swapped = len(tables) == 2 and not keep_sides and _size(digests[tables[1]]) < _size(digests[tables[0]])
        tables = tables[::-1] if swapped else tables
        rows = np.concatenate([table[np.argsort(digests[table], kind="stable")] for table in tables])
        numbers = np.empty_like(rows)
        numbers[rows] = np.arange(len(rows), dtype=np.int32)
        new = np.append(True, digests[rows[1:]] != digests[rows[:-1]])[: len(rows)]
        new[len(tables[0]) : len(tables[0]) + 1] = True
        return cls(rows, numbers, np.cumsum(new, dtype=np.int32) - np.int32(1), swapped)

    def split(self, split: int | None) -> int | None:
        """The first record of the table that comes second, if `split` is the first row of the right table."""
        return len(self.rows) - split if split is not None and self.swapped else split

    def sort(self, column: Column) -> Column:
        """The field of all records, its values in the order of the records that have them first.

        Examples
        --------
        >>> from lookalike.types import strings_to_arrow
        >>> column = Column("name", "text", np.array([1, 0, -1], np.int32), strings_to_arrow(["ann", "bob"]))
        >>> order = RecordOrder.find([column], None)
        >>> order.rows.tolist(), order.sort(column).codes.tolist(), order.sort(column).values.to_pylist()
        ([2, 1, 0], [-1, 0, 1], ['ann', 'bob'])
        """
        codes, values = column.codes[self.rows], len(column.values)
        known = np.flatnonzero(codes >= 0)[::-1]
        first = np.full(values, len(codes), np.int64)
        first[codes[known]] = known  # of several assignments, the last one stays: the first record
        order = np.argsort(first, kind="stable")
        place = np.empty(values + 1, np.int32)
        place[order], place[-1] = np.arange(values), -1
        return replace(column, codes=place[codes], values=pc.take(column.values, to_arrow(order)))

    def restore(self, column: Column) -> Column:
        """The field of all rows."""
        apart = None if column.apart is None else column.apart[self.numbers]
        return replace(column, codes=column.codes[self.numbers], apart=apart)

    def side(self, name: str) -> str:
        """The other name of `left` or `right`, if the tables are swapped; any other name as it is."""
        return OTHER_SIDE.get(name, name) if self.swapped else name

    def count_ties(self, left: Int32, right: Int32) -> int:
        """The number of links that the order of the rows decides; `left` and `right` are their records.

        These are the links between two groups of equal records of which not all are linked with each other.

        Examples
        --------
        >>> from lookalike.types import strings_to_arrow
        >>> column = Column("name", "text", np.array([0, 0, 1, 0, 1], np.int32), strings_to_arrow(["ann", "bob"]))
        >>> order, ends = RecordOrder.find([column], 3, keep_sides=True), np.array([[0, 2], [3, 4]])
        >>> order.count_ties(*order.numbers[ends])  # ann could be either of two
        1
        """
        groups, sizes = len(self.group), np.bincount(self.group)
        low, high = np.minimum(left, right), np.maximum(left, right)
        pairs, links = np.unique(self.group[low].astype(np.int64) * groups + self.group[high], return_counts=True)
        one, other = pairs // max(1, groups), pairs % max(1, groups)
        possible = np.where(one == other, sizes[one] * (sizes[one] - 1) // 2, sizes[one] * sizes[other])
        return int(links[links < possible].sum())


def _digest_records(columns: Sequence[Column], more: Float64 | None) -> UInt64:
    """A digest of the values of each row; a missing value counts as 0."""
    digests = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes = np.append(hash_strings(*text_arrays(column.values)), np.uint64(0))
        add_to_digests(digests, hashes[column.codes])  # -1 picks the last entry
    if more is not None:
        add_to_digests(digests, more.view(np.uint64))
    return digests


def _size(digests: UInt64) -> tuple[int, int]:
    """The number of records of a table, then what does not depend on their order."""
    return len(digests), int(digests.sum())
