"""Best partners by chance: what they look like is seen within a table, where (nearly) no two records are one entity.

A record that has no match in the other table still has a best partner there: the nearest of the wrong ones. A record of
that other table that looks for a partner among the *other* records of its own table is in the same position. It chooses
among as many records and finds the same look-alikes: editions, branches, products of a series. So each table shows what
records find in it by chance, and the larger one shows it more reliably: look-alikes are rarely found in a few records.

In a larger table, only as many records as the other table has look for partners at a time, since records are each
other's best partners more often if few others compete for them.

Records of one table may still be written in a more similar way: two products of a series share a whole description. By
how much can be seen from partners that are hardly ever matches: the distance from the second to the third best partner,
between the tables and within one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.linkage.scoring.words.best_partners import Best, Partners, best_two, second_leads
from lookalike.types import Bool, Float64, Int32, Int64

IN_GROUPS = 3.0
"""Three or more records of a table are alike if leads between the tables are more than this many times as large."""
MOSTLY = 0.7
"""If more than this share of the pairs between the tables are matches, nothing is known about the leads of others."""
SURE = 2.0
"""Standard errors by which the ratio of leads between and within tables may be greater than the observed one."""


class WithinTable(NamedTuple):
    """What records find by chance in one table."""

    partners: Partners
    records: int
    """The number of records in the table."""
    often: float
    """The share of records that find a partner whose best partner they are."""
    observed: Float64 = np.empty(0)
    """The scores of `partners` before their leads were changed."""
    most: float = np.inf
    """What a record typically scores with itself."""

    def move(self, level: Float64, weights: Float64 | None = None) -> Float64:
        """The scores of these partners if the next best ones scored as in `level` (see `Partners.move`).

        If every product is one of a pair, such as a left and a right shoe, the next best partner of a match already is
        the best wrong one, and a lead over it would exceed what equal records score. Then partners by chance score no
        more than those observed within the table.

        Examples
        --------
        >>> table = WithinTable(Partners(np.array([8.0, 8.5]), np.array([1.0, 2.0])), 9, 0.5, np.array([8.0, 8.5]), 9.0)
        >>> table.move(np.array([1.0, 1.0])).tolist(), table.move(np.array([1.0, 7.0])).tolist()
        ([7.5, 8.0], [8.0, 8.5])
        >>> table._replace(most=20.0).move(np.array([1.0, 7.0])).tolist()
        [9.5, 12.0]
        """
        moved = np.sort(self.partners.move(level, weights))
        beyond = moved > self.most
        return np.where(beyond, np.minimum(moved, np.sort(self.observed)), moved) if beyond.any() else moved


class Chance(NamedTuple):
    """Pairs within two tables, from which chance is estimated."""

    left: Int32
    right: Int32
    sampled: Bool
    """The records that represent their table."""
    searched: Bool
    """The records whose partners were looked up."""
    sizes: tuple[int, int]
    """The number of records in each table."""

    def within(self, score: Float64, between: Float64 | None = None, most: float = np.inf) -> list[WithinTable]:
        """What records find by chance in each table, by the scores of these pairs.

        `between` are the `second_leads` of all records between the tables. If they are smaller for the records that
        look for partners in a table than for its own records, all leads within it are reduced in proportion. `most` is
        what a record typically scores with itself.
        """
        found = []
        for table in (0, 1):
            own, other = self._records(table), self._records(1 - table)
            some = (self.left < self.sizes[0]) == (table == 0)
            left, right = self.left[some] - own.start, self.right[some] - own.start
            one = self._of_table(left, right, score[some], table)._replace(most=most)
            if between is not None:
                inside = second_leads(left, right, score[some], self.sizes[table])
                known = self.sampled[own] & self.searched[own]
                one = one._replace(partners=one.partners.shrink(_ratio(between[other], inside[known])))
            found.append(one)
        return found

    def within_each(self, score: Float64, single: str) -> Partners:
        """The best partner of each record within the table whose entities have one record: the one not `single`."""
        first = (self.left < self.sizes[0]) == (single == "right")
        ends = np.concatenate([self.left[first], self.right[first]])
        best, second = best_two(ends, np.concatenate([score[first], score[first]]), sum(self.sizes))
        known = self.sampled & self.searched & np.isfinite(second)
        return Partners(best[known], second[known])

    def _records(self, table: int) -> slice:
        """The numbers of the records of a table."""
        return slice(self.sizes[0] * table, self.sizes[0] + self.sizes[1] * table)

    def _of_table(self, left: Int32, right: Int32, score: Float64, table: int) -> WithinTable:
        """The best partners that the sampled records of a table find in it; `left` and `right` are numbered from 0."""
        records, own = self.sizes[table], self._records(table)
        groups = draw_groups(records, self.sizes[1 - table])
        askers, partners = np.concatenate([left, right]), np.concatenate([right, left])
        # A record that is asked has a number of its own for each group that asks, after those of the askers.
        numbers = np.unique(groups[askers] * records + partners, return_inverse=True)[1]
        asked = (numbers + records).astype(np.int32)
        scores, every = np.concatenate([score, score]), records + len(asked)
        best = Best.find(askers, asked, scores, every)
        mutual = best.mutual(askers, asked)
        following = Best.find(askers[~mutual], asked[~mutual], scores[~mutual], every).score
        searched, sampled = self.searched[own], self.sampled[own]
        taken = sampled[askers] & searched[askers] & searched[partners]
        known = mutual & taken & np.isfinite(following[askers])  # otherwise, nothing is known of the next best partner
        next_best = np.maximum(following[askers], following[asked])[known]
        often = int((mutual & taken).sum()) / max(1, int(((best.partner[askers] == asked) & taken).sum()))
        return WithinTable(Partners(scores[known], next_best), records, often, scores[known])


def draw_groups(records: int, other: int) -> Int64:
    """Divide the records of a table into groups at random, each about as large as the other table.

    Examples
    --------
    >>> np.bincount(draw_groups(10, 3)).tolist(), np.bincount(draw_groups(10, 30)).tolist()
    ([4, 3, 3], [10])
    """
    groups = min(records, max(1, round(records / max(1, other))))
    return np.random.default_rng(1).permutation(records) % max(1, groups)


def rescale(within: list[WithinTable], between: Partners, wrong: Float64, times: float = 1.0) -> list[WithinTable]:
    """Adapt leads within the tables to those of the pairs between them that are no matches, and multiply them.

    Both are estimates of the leads by chance: the first is too large if records of a table are alike, the second if
    matches are not recognised. The geometric mean is used, if it is smaller than the first. But if three or more
    records of a table are alike, such as the sizes of a shirt, their leads over each other vanish. Then those between
    the tables are used, unless most pairs are matches. `wrong` are the probabilities that the pairs between the tables
    are no matches.

    Examples
    --------
    >>> between = Partners(np.array([9.0, 2.5, 2.5]), np.array([2.0, 2.0, 2.0]))
    >>> within = WithinTable(Partners(np.array([5.0, 9.0]), np.array([4.0, 6.0])), 8, 0.5)
    >>> [scaled] = rescale([within], between, np.array([0.0, 1.0, 1.0]))
    >>> (scaled.partners.score - scaled.partners.next).round(6).tolist(), scaled.records
    ([0.5, 1.5], 8)
    >>> alike = within._replace(partners=Partners(np.array([5.0, 9.0]), np.array([5.0, 8.8])))
    >>> [scaled] = rescale([alike], between, np.array([0.0, 1.0, 1.0]))
    >>> (scaled.partners.score - scaled.partners.next).round(6).tolist()
    [0.5, 0.5]
    """
    leads = between.score - between.next
    lead, few = float(np.average(leads, weights=wrong)), float(wrong.mean()) > 1 - MOSTLY
    found = []
    for one in within:
        own = one.partners.score - one.partners.next
        mean = float(own.mean()) if len(own) else 0.0
        if len(own) and few and lead > IN_GROUPS * mean:
            partners = one.partners.raise_leads(leads, wrong).shrink(times)
        else:
            partners = one.partners.shrink(times * min(1.0, np.sqrt(lead / mean)) if mean > 0 else 1.0)
        found.append(one._replace(partners=partners))
    return found


def _ratio(between: Float64, inside: Float64) -> float:
    """How many times as large the leads between the tables are as those within a table: the most that is plausible.

    Never more than 1: if a record has a match, its second best partner between the tables is the best one by chance,
    whose lead is larger.

    Examples
    --------
    >>> round(_ratio(np.array([1.0, np.nan, 1.0]), np.array([3.0, 3.0])), 2), _ratio(np.array([2.0]), np.array([1.0]))
    (0.33, 1.0)
    """
    one, other = between[~np.isnan(between)], inside[~np.isnan(inside)]
    if not len(one) or not len(other) or not one.any() or not other.any():
        return 1.0
    error = np.sqrt(sum((some.std() / some.mean()) ** 2 / len(some) for some in (one, other)))
    return float(min(1.0, one.mean() / other.mean() * (1 + SURE * error)))
