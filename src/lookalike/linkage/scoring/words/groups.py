"""Groups of records in one table that are each other's best partners: entities with three to ten records.

A group is *closed* if the best partners of each of its records are the others. Closed groups with a record in common
contain each other. Like a pair, a group stands out by its score (that of its worst pair) and by its lead over the best
pair of its records with any other record.

Products of a series are such groups, too. So a group of three or more must be *alike*: each of its records has more in
common than not with most of the others, and does not conflict with them in numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.partners import rank_partners
from lookalike.types import Bool, Float64, Int32, Int64, UInt64

MOST = 10
"""The most records of a group. Tables in which records are typically similar to more are scored by levels."""


class Groups(NamedTuple):
    """The closed groups of a table, numbered; those with more records have greater numbers."""

    of_record: Int64
    """int64[records, sizes]: for each record, its group of 2, 3, ... records; -1 for none."""
    size: Int64
    stands_out: Float64
    """The score of each group and its lead."""

    @classmethod
    def find(cls, left: Int32, right: Int32, score: Float64, alike: Bool, records: int) -> Groups:
        """The closed groups among these pairs; `alike` says which pairs may be in a group of three or more.

        Examples
        --------
        >>> left, right = np.array([0, 0, 1, 0], np.int32), np.array([1, 2, 2, 3], np.int32)
        >>> groups = Groups.find(left, right, np.array([9.0, 8.0, 7.0, 1.0]), np.ones(4, np.bool_), 4)
        >>> groups.size.tolist(), groups.stands_out.tolist()
        ([2, 3], [10.0, 13.0])
        """
        if not len(score):
            return cls(np.full((records, MOST - 1), -1), np.empty(0, np.int64), np.empty(0))
        best, places = np.full((records, MOST), score.min(initial=0.0)), np.full((records, MOST), -1, np.int32)
        rank_partners(left, right, score, best, places)
        partners = np.where(places >= 0, left[places] + right[places] - np.arange(records)[:, None], -1)
        similar = np.cumsum(np.where(places >= 0, alike[places], False), axis=1)
        names = np.random.default_rng(1).integers(1, 1 << 62, records, dtype=np.uint64)
        of_record, found, number = np.full((records, MOST - 1), -1), [], 0
        sums = names.copy()  # the same for all records of a closed group, and (almost) never for others
        for rank in range(MOST - 1):
            sums += np.where(partners[:, rank] >= 0, names[partners[:, rank]], names)
            fits = (partners[:, rank] >= 0) & ((rank == 0) | (2 * similar[:, rank] > rank))
            members, group = _number_groups(sums, fits, rank + 2)
            of_record[members, rank] = group + number
            found.append(_score_groups(group, best[members, rank], best[members, rank + 1]))
            number += len(found[-1])
        sizes = [np.full(len(some), rank + 2) for rank, some in enumerate(found)]
        return cls(of_record, np.concatenate(sizes), np.concatenate(found))

    def choose(self, least: float) -> Int64:
        """The group of each record, such that groups do not overlap; -1 for none.

        These are the largest groups that stand out by `least` or more. Elsewhere, they are those that stand out most.

        Examples
        --------
        >>> groups = Groups(np.array([[0, 1], [0, 1], [-1, 1]]), np.array([2, 3]), np.array([10.0, 9.0]))
        >>> groups.choose(8.0).tolist(), groups.choose(10.0).tolist()
        ([1, 1, 1], [0, 0, -1])
        """
        rank = np.append(np.where(self.stands_out >= least, np.inf, self.stands_out), -np.inf)
        rank[np.isposinf(rank)] = self.stands_out.max(initial=0.0) + self.size[np.isposinf(rank[:-1])]
        chosen, open_groups = np.full(len(self.of_record), -1), np.append(np.ones(len(self.size), np.bool_), False)
        while open_groups.any():
            given = np.where(open_groups[self.of_record], rank[self.of_record], -np.inf)
            best = self.of_record[np.arange(len(given)), given.argmax(axis=1)]
            best[np.isneginf(given.max(axis=1, initial=-np.inf))] = -1
            wanted = np.bincount(best[best >= 0], minlength=len(self.size)) == self.size
            taken = np.append(wanted, False)[best]
            chosen[taken] = best[taken]
            open_groups[self.of_record[taken]] = False
        return chosen

    def inside(self, chosen: Int64, left: Int32, right: Int32, alike: Bool) -> Bool:
        """Which pairs are within the chosen groups; a group of two counts only if its records are alike, too.

        Groups of two that are not alike are kept apart only here, since they show what stands out by chance.
        """
        return within(chosen, left, right) & (alike | (np.append(self.size, 0)[chosen[left]] > 2))


def within(groups: Int64, left: Int32, right: Int32) -> Bool:
    """Which pairs are within one of the chosen groups."""
    return np.asarray((groups[left] == groups[right]) & (groups[left] >= 0))


def stand_out_in_groups(left: Int32, right: Int32, score: Float64, alike: Bool, records: int) -> tuple[Bool, Float64]:
    """Which pairs are within a group, and for each of those by how much the group stands out; `score` is in bits.

    If a group is more likely an entity than not, smaller groups within it are not considered.
    """
    groups = Groups.find(left, right, score, alike, records)
    chosen = groups.choose(0.0)
    inside = groups.inside(chosen, left, right, alike)
    return inside, groups.stands_out[chosen[left[inside]]]


def _number_groups(sums: UInt64, fits: Bool, size: int) -> tuple[Int64, Int64]:
    """The records of closed groups of a size, those of a group next to each other, and the number of their group."""
    order = np.argsort(sums, kind="stable")
    starts = np.flatnonzero(np.diff(sums[order], prepend=sums[order[:1]] - np.uint64(1)))
    ends = np.append(starts[1:], len(order))
    whole = ends - starts == size
    whole[whole] = np.add.reduceat(fits[order].astype(np.int64), starts)[whole] == size if len(starts) else False
    members = order[np.repeat(whole, ends - starts)]
    return members, np.repeat(np.arange(len(members) // size), size)


def _score_groups(group: Int64, inner: Float64, outer: Float64) -> Float64:
    """The worst score within each group, and its lead over the best score with others."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(starts):
        return np.empty(0)
    return np.asarray(2 * np.minimum.reduceat(inner, starts) - np.maximum.reduceat(outer, starts))
