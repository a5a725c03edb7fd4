"""Records with many identical copies in one table: one of them stands for all.

A customer who was entered a thousand times makes half a million pairs, more than the budget allows, so that no two of
these records would be compared. Nor would they form a cluster by majority, which needs most of these pairs. So only the
first of many copies is paired with other records, and each other copy only with the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.linkage.blocking.find import CandidatePairs, default_budget
from lookalike.linkage.blocking.third_records import insert_pairs
from lookalike.linkage.fields.columns import Column
from lookalike.types import Bool, Int32, Int64, UInt64
from lookalike.types.frozen import frozen

FEWEST = 8
"""Up to this many identical records, all of them are compared with each other."""
SHARE = 1 / 4
"""The share of the pairs per record that comparing all copies of a record may take."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@frozen
class Copies:
    """The records of one table that are copies of an earlier one."""

    first: Int32
    """int32[records]: the record that stands for each; its own number if it stands for itself."""
    many: int
    """Up to this many identical records all stand for themselves."""

    @property
    def apart(self) -> Bool:
        """For each record, whether another one stands for it."""
        return np.asarray(self.first != np.arange(len(self.first)))

    @property
    def share(self) -> float:
        """The share of the records for which another one stands."""
        return float(self.apart.mean()) if len(self.first) else 0.0

    @property
    def kept(self) -> Int64:
        """The numbers of the records that stand for themselves."""
        return np.flatnonzero(~self.apart)

    def leave_out(self, pairs: tuple[Int32, Int32]) -> tuple[Int32, Int32]:
        """The pairs without copies. Among random pairs, they would make equal values look like chance."""
        own = ~(self.apart[pairs[0]] | self.apart[pairs[1]])
        return pairs[0][own], pairs[1][own]

    def complete(self, pairs: CandidatePairs) -> CandidatePairs:
        """The pairs of the kept records by their own numbers, and a pair of each other record with its first."""
        kept = self.kept.astype(np.int32)
        own = replace(pairs, left=kept[pairs.left], right=kept[pairs.right])
        copies = np.flatnonzero(self.apart).astype(np.int32)
        return insert_pairs(own, self.first[copies], copies, "copies and the first of them")[0]


def many_copies(records: int) -> int:
    """The most identical records of one table that are all compared with each other: 25 of a few thousand.

    Examples
    --------
    >>> many_copies(3_000), many_copies(100_000), many_copies(3_000_000)
    (25, 13, 8)
    """
    return max(FEWEST, int(SHARE * default_budget(records) / max(1, records)))


def find_copies(columns: Sequence[Column], many: int) -> Copies:
    """The copies of records with more than `many` identical ones, equal in all fields. Empty records have none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = Column("name", "person", np.array([0, 1, 0, 0, -1, -1], np.int32), pa.array(["ann", "bob"]))
    >>> find_copies([column], many=2).first.tolist(), find_copies([column], many=3).first.tolist()
    ([0, 1, 0, 0, 4, 5], [0, 1, 2, 3, 4, 5])
    """
    codes = np.stack([column.codes for column in columns], axis=1)
    found = np.arange(len(codes), dtype=np.int32)
    _, starts, group, sizes = np.unique(digest_rows(codes), return_index=True, return_inverse=True, return_counts=True)
    often = (sizes[group] > many) & (codes >= 0).any(axis=1)
    places = np.flatnonzero(often)
    first = starts[group[places]]
    same = (codes[places] == codes[first]).all(axis=1)  # digests may be equal by chance
    found[places[same]] = first[same]
    return Copies(found, many)


def number_distinct(columns: Sequence[Column], split: int) -> tuple[Int64, Int32]:
    """The records that are no copy of an earlier one of their table, and for each record its place among these.

    The right table starts at record `split`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = Column("name", "text", np.array([0, 0, 1, 0, 1, 1, -1], np.int32), pa.array(["ann", "bob"]))
    >>> [one.tolist() for one in number_distinct([column], 3)]
    [[0, 2, 3, 4, 6], [0, 0, 1, 2, 3, 3, 4]]
    """
    records = np.arange(len(columns[0]))
    firsts = [
        find_copies([column.take(table) for column in columns], many=1).first + table[0]
        for table in (records[:split], records[split:])
        if len(table)
    ]
    kept, number = np.unique(np.concatenate(firsts), return_inverse=True)
    return kept.astype(np.int64), number.astype(np.int32)


def digest_rows(codes: Int32) -> UInt64:
    """A digest of each row of int32[records, fields]."""
    digests = np.zeros(len(codes), np.uint64)
    for field in codes.T:
        add_to_digests(digests, field.astype(np.int64).view(np.uint64) + np.uint64(1))
    return digests


def add_to_digests(digests: UInt64, values: UInt64) -> None:
    """Make each digest depend on another value, in place.

    Examples
    --------
    >>> digests = np.zeros(3, np.uint64)
    >>> add_to_digests(digests, np.array([1, 1, 2], np.uint64))
    >>> len(set(digests.tolist()))
    2
    """
    digests ^= values
    digests *= _MULTIPLIER
    digests ^= digests >> np.uint64(29)
