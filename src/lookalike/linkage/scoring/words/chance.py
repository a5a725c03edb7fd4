"""The probability that best partners are matches, judging by the best partners that records have by chance.

Between two tables, a match is usually the best partner of both its records. Records without a match have best partners
too: the nearest of the wrong ones. Such partners can be observed *within* each table, where (nearly) no two records are
the same entity. But records of one table are written in a similar way, and one table may be larger or more verbose than
the other, so scores within and between tables cannot be compared. The *lead* can: by how much the best partner is
better than the next best ones. (If the tail of the scores is exponential, the lead depends neither on their level nor
on the number of records.) So the leads within the tables are added to the next best partners between them, which are
hardly ever matches.

Records of one table also have larger leads if they are written in a similar way: two products of a series share a whole
description. By how much can be seen from partners that are not matches in either case: the distance from the second to
the third best partner, within the table and between the tables.

This rather overestimates chance, and is used to learn weights and to decide what is linked. Once it is known which
pairs are hardly matches, their leads give a second estimate (`rescale`), for the probabilities that are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lookalike.kernels.partners import find_best, rank_partners
from lookalike.tuning.monotone import rising
from lookalike.types import Bool, Float64, Int32

BINS = 60
"""Bins of scores, with equal numbers of best partners."""
ROUNDS = 100
LEAST_FREE = 1e-9
"""The least number of records without a better match, so that the limit is computed instead of 0 / 0."""
LEAST_VISIBLE = 0.2
"""At most four in five matches of a score are assumed to be hidden by better partners."""
LESS_THAN_CHANCE = 1.0
"""A deficit of pairs compared with chance offsets an excess at a better score, up to the number observed there."""
BEATEN = 0.5
"""The share of pairs by chance that beat a match and have a lead over the next best. If the next best one is itself the
best of the wrong partners, they have no lead; if that is hidden, they have one. Which holds is unknown."""
SURE = 2.0
"""Standard errors by which the ratio of leads between and within tables may be greater than the observed one."""
MIDDLE = (0.2, 0.7)
"""The range of quantiles of scores by chance in which partners by chance are counted: it contains few matches."""


class Best(NamedTuple):
    """For each record, its best score and the partner with that score; -1 for none."""

    score: Float64
    partner: Int32

    @classmethod
    def find(cls, left: Int32, right: Int32, score: Float64, records: int) -> Best:
        """The best partners among these pairs.

        Examples
        --------
        >>> left, right = np.array([0, 0, 1], np.int32), np.array([2, 3, 3], np.int32)
        >>> Best.find(left, right, np.array([5.0, 7.0, 6.0]), 4).partner.tolist()
        [3, 3, 0, 0]
        """
        best, partner = np.full(records, -np.inf), np.full(records, -1, np.int32)
        find_best(left, right, np.asarray(score, np.float64), best, partner)
        return cls(best, partner)

    def mutual(self, left: Int32, right: Int32) -> Bool:
        """Which pairs are each other's best partners."""
        return np.asarray((self.partner[left] == right) & (self.partner[right] == left))


class Partners(NamedTuple):
    """Pairs that are each other's best partners."""

    score: Float64
    next: Float64
    """The best score that either record of each pair has with another partner."""

    @classmethod
    def find(cls, left: Int32, right: Int32, score: Float64, records: int) -> tuple[Bool, Partners]:
        """Which of these pairs are each other's best partners, and these pairs.

        Examples
        --------
        >>> left, right = np.array([0, 0, 1], np.int32), np.array([2, 3, 3], np.int32)
        >>> Partners.find(left, right, np.array([5.0, 7.0, 6.0]), 4)[1]
        Partners(score=array([7.]), next=array([6.]))
        """
        mutual = Best.find(left, right, score, records).mutual(left, right)
        others = Best.find(left[~mutual], right[~mutual], score[~mutual], records).score
        others[np.isneginf(others)] = score.min(initial=0.0)  # a record with one candidate only
        return mutual, cls(score[mutual], np.maximum(others[left[mutual]], others[right[mutual]]))

    @classmethod
    def find_each(cls, left: Int32, right: Int32, score: Float64, records: int, single: str) -> tuple[Bool, Partners]:
        """Which pairs are the best of their `left` (or `right`) record, and these with the record's next best score.

        Examples
        --------
        >>> left, right = np.array([0, 0, 1], np.int32), np.array([2, 3, 3], np.int32)
        >>> Partners.find_each(left, right, np.array([5.0, 7.0, 6.0]), 4, "right")[1]
        Partners(score=array([5., 7.]), next=array([0., 6.]))
        """
        own, other = (right, left) if single == "right" else (left, right)
        best = Best.find(left, right, score, records).partner[own] == other
        second = Best.find(left[~best], right[~best], score[~best], records).score
        second[np.isneginf(second)] = score.min(initial=0.0)  # a record with one candidate only
        return best, cls(score[best], second[own[best]])

    def shrink(self, factor: float) -> Partners:
        """The same pairs with leads multiplied by a factor.

        Examples
        --------
        >>> Partners(np.array([5.0, 9.0]), np.array([4.0, 6.0])).shrink(0.5)
        Partners(score=array([4.5, 7.5]), next=array([4., 6.]))
        """
        return Partners(self.next + factor * (self.score - self.next), self.next)

    def move(self, level: Float64) -> Float64:
        """The scores of these pairs if the next best ones scored as in `level`, rank by rank.

        Examples
        --------
        >>> Partners(np.array([5.0, 9.0]), np.array([4.0, 6.0])).move(np.array([1.0, 2.0, 3.0])).tolist()
        [2.5, 5.5]
        """
        order = np.argsort(self.next, kind="stable")
        ranks = (np.arange(len(order)) + 0.5) / max(1, len(order))
        level = np.sort(level)  # np.quantile takes far longer for this many ranks
        moved = np.interp(ranks * (len(level) - 1), np.arange(len(level)), level)
        return np.asarray(moved + (self.score - self.next)[order])


Within = list[tuple[Partners, float]]
"""The best partners within one table or both, and its number of records."""


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

    def within(self, score: Float64, between: Float64 | None = None) -> Within:
        """The best partners within each table, by the scores of these pairs, and the number of records.

        `between` are the `second_leads` of all records between the tables. If they are smaller than within a table, all
        leads within it are reduced in proportion.
        """
        first, start = self.left < self.sizes[0], self.sizes[0]
        found = []
        for some, own in ((first, slice(start)), (~first, slice(start, None))):
            partners, records = self._of_table(some, score, int(self.sampled[own].sum()))
            if between is not None:
                inside = second_leads(self.left[some], self.right[some], score[some], sum(self.sizes))[own]
                known = self.sampled[own] & self.searched[own]
                denser = max(1.0, (sum(self.sizes) - len(known)) / len(known))
                partners = partners.shrink(min(1.0, denser * _ratio(between[own][known], inside[known])))
            found.append((partners, records))
        return found

    def within_each(self, score: Float64, single: str) -> Partners:
        """The best partner of each record within the table whose entities have one record: the one not `single`."""
        first = (self.left < self.sizes[0]) == (single == "right")
        ends = np.concatenate([self.left[first], self.right[first]])
        best, second = best_two(ends, np.concatenate([score[first], score[first]]), sum(self.sizes))
        known = self.sampled & self.searched & np.isfinite(second)
        return Partners(best[known], second[known])

    def _of_table(self, some: Bool, score: Float64, sampled: int) -> tuple[Partners, float]:
        """The best partners among some pairs, if both were looked up and one is among the `sampled` records."""
        left, right = self.left[some], self.right[some]
        mutual, found = Partners.find(left, right, score[some], sum(self.sizes))
        left, right = left[mutual], right[mutual]
        ends = self.sampled[left].astype(np.int64) + self.sampled[right]
        known = (ends > 0) & self.searched[left] & self.searched[right]
        # A pair counts once for each of its records in the sample.
        records = 2 * sampled * int(known.sum()) / max(1, int(ends[known].sum()))
        return Partners(found.score[known], found.next[known]), records


def rescale(within: Within, between: Partners, likely: Float64, times: float = 1.0) -> Within:
    """Shrink leads within the tables towards those of the pairs between them that are no matches, and multiply them.

    Both are estimates of the leads by chance: the first is too large if records of a table are alike, the second if
    matches are not recognised. The geometric mean is used, if it is smaller than the first. `likely` are the
    probabilities that the pairs between the tables are matches.

    Examples
    --------
    >>> between = Partners(np.array([9.0, 2.5, 2.5]), np.array([2.0, 2.0, 2.0]))
    >>> within = Partners(np.array([5.0, 9.0]), np.array([4.0, 6.0]))
    >>> [(scaled, size)] = rescale([(within, 8)], between, np.array([1.0, 0.0, 0.0]))
    >>> (scaled.score - scaled.next).round(6).tolist(), size
    ([0.5, 1.5], 8)
    """
    wrong = np.maximum(1 - likely, LEAST_FREE)
    lead = float(np.average(between.score - between.next, weights=wrong))
    found = []
    for one, records in within:
        mean = float((one.score - one.next).mean()) if len(one.score) else 0.0
        found.append((one.shrink(times * min(1.0, np.sqrt(lead / mean)) if mean > 0 else 1.0), records))
    return found


def judge_partners(between: Partners, within: Within, sizes: tuple[int, int], level: Float64 | None = None) -> Float64:
    """The probability that each of these pairs, which are each other's best partners, is a match.

    Partners by chance score like those within the tables, moved to the level of other pairs between them. Two facts
    limit their number. First, a record has such a partner only if it has no match, or a less similar one, and the same
    holds for the partner: n + m free records of two tables have nm / (n + m) pairs of mutual best partners, and n
    records of one table have n / 4. Second, at the scores where chance produces most of its pairs, it produces no more
    than are observed.

    Parameters
    ----------
    between
        The pairs between the tables.
    within
        The best partners within one table or both, and its number of records. Both tables have the same weight.
    sizes
        The number of records in each table.
    level
        The next best scores of pairs by chance; by default those of all pairs.

    Examples
    --------
    Of 100 + 100 records, 50 match; the others' best partners are as much better than the next as within the tables.

    >>> between = Partners(np.append(np.linspace(8, 9, 50), np.linspace(0, 1, 12)), np.zeros(62))
    >>> within = Partners(np.linspace(5, 6, 25), np.full(25, 5.0))
    >>> found = judge_partners(between, [(within, 100)], (100, 100))
    >>> bool(found[:50].mean() > 0.95), bool(found[50:].mean() < 0.3)
    (True, True)
    """
    within = [(one, size) for one, size in within if len(one.score)]
    if not len(between.score) or not within:
        return np.full(len(between.score), 0.5)
    edges = bin_edges(between.score)
    often = float(np.mean([len(one.score) / size for one, size in within]))
    moved = [one.move(between.next if level is None else level) for one, _ in within]
    shape = np.mean([np.histogram(one, edges)[0] / len(one) for one in moved], axis=0)
    beaten = BEATEN * shape + (1 - BEATEN) * np.histogram(between.next, edges)[0] / len(between.next)
    return _tell(between.score, edges, shape, beaten, often, sizes)


def judge_each(between: Partners, within: Partners) -> Float64:
    """The probability that the best partner of each record of a table is a match, if a partner may have several.

    Partners by chance have the leads observed within the other table, and every record without a better match has one.

    Examples
    --------
    >>> between = Partners(np.append(np.linspace(8, 9, 50), np.linspace(1, 2, 50)), np.zeros(100))
    >>> found = judge_each(between, Partners(np.linspace(5, 6, 25), np.full(25, 4.0)))
    >>> bool(found[:50].mean() > 0.95), bool(found[50:].mean() < 0.1)
    (True, True)
    """
    if not len(between.score) or not len(within.score):
        return np.full(len(between.score), 0.5)
    edges = bin_edges(between.score)
    shape = np.histogram(within.move(between.next), edges)[0] / len(within.score)
    most = most_by_chance(np.histogram(between.score, edges)[0], shape)

    def by_chance(matches: Float64) -> Float64:
        """Expected pairs by chance in each bin, given the matches seen in it."""
        better = np.cumsum(matches[::-1])[::-1] - matches / 2
        return np.asarray(shape * np.clip(len(between.score) - better, 0.0, most))

    return settle(between.score, edges, by_chance)


def _tell(
    score: Float64, edges: Float64, shape: Float64, beaten: Float64, often: float, sizes: tuple[int, int]
) -> Float64:
    """The probability of each pair, if chance produces pairs in the proportions of `shape`, `often` per record.

    For records whose match is beaten by a partner by chance, the proportions are `beaten`.
    """
    most = most_by_chance(np.histogram(score, edges)[0], shape)
    better, rate = np.cumsum(shape[::-1])[::-1] - shape / 2, 4 * often / sum(sizes)
    visible = np.ones(len(shape))

    def by_chance(matches: Float64) -> Float64:
        """Expected pairs by chance in each bin, given the matches in it; others are hidden by better partners."""
        nonlocal visible
        every = matches / visible
        total = max(float(every.sum()), 1e-9)
        better_match = np.minimum(1 - (np.cumsum(every) - every / 2) / total, 1.0) * min(total, *sizes)
        free = [np.maximum(size - better_match, LEAST_FREE) for size in sizes]
        count = np.minimum(rate * free[0] * free[1], most)
        visible = np.maximum(np.exp(-better * count * (1 / free[0] + 1 / free[1])), LEAST_VISIBLE)
        alone = np.minimum(rate * float(np.prod([max(size - total, 0.0) for size in sizes])), count)
        return np.asarray(alone * shape + (count - alone) * beaten)

    return settle(score, edges, by_chance)


def most_by_chance(seen: Float64, shape: Float64) -> float:
    """The most pairs that chance can produce in these proportions, if it produces no more than are observed.

    Examples
    --------
    >>> most_by_chance(np.array([20.0, 20, 50, 60]), np.array([0.25, 0.25, 0.5, 0.0]))
    80.0
    """
    total, share = np.cumsum(seen), np.cumsum(shape)
    middle = (share >= MIDDLE[0]) & (share <= MIDDLE[1])
    found = float(np.mean(total[middle] / share[middle])) if middle.any() else float(total[-1])
    return min(found, float(total[-1]))


def best_two(ends: Int32, scores: Float64, records: int) -> tuple[Float64, Float64]:
    """The two best scores of each record; minus infinity where there are fewer.

    Examples
    --------
    >>> [one.tolist() for one in best_two(np.array([0, 0, 1], np.int32), np.array([2.0, 3.0, 1.0]), 3)]
    [[3.0, 1.0, -inf], [2.0, -inf, -inf]]
    """
    order = np.lexsort((-scores, ends))
    ends, scores = ends[order], scores[order]
    best, second = np.full(records, -np.inf), np.full(records, -np.inf)
    first = np.flatnonzero(np.diff(ends, prepend=-1))
    best[ends[first]] = scores[first]
    first = first[(first + 1 < len(ends)) & (ends[np.minimum(first + 1, len(ends) - 1)] == ends[first])]
    second[ends[first]] = scores[first + 1]
    return best, second


def second_leads(left: Int32, right: Int32, score: Float64, records: int) -> Float64:
    """By how much the second best partner of each record is better than the third; not a number if it has fewer.

    Examples
    --------
    >>> left, right = np.array([0, 0, 0], np.int32), np.array([1, 2, 3], np.int32)
    >>> second_leads(left, right, np.array([5.0, 2.0, 9.0]), 4).tolist()
    [3.0, nan, nan, nan]
    """
    best, places = np.full((records, 3), -np.inf), np.full((records, 3), -1, np.int32)
    rank_partners(left, right, np.asarray(score, np.float64), best, places)
    found = np.full(records, np.nan)
    np.subtract(best[:, 1], best[:, 2], out=found, where=np.isfinite(best[:, 2]))
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


def bin_edges(score: Float64) -> Float64:
    """The edges of bins that hold about as many scores each; the first and the last are infinite."""
    edges = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.concatenate([[-np.inf], edges, [np.inf]])


def settle(score: Float64, edges: Float64, by_chance: Callable[[Float64], Float64]) -> Float64:
    """The probability of each pair, such that matches and pairs by chance add up to the observed pairs in each bin."""
    seen = np.histogram(score, edges)[0].astype(np.float64)
    weight, matches = np.maximum(seen, 1e-9), np.zeros(len(seen))
    share = matches
    for _ in range(ROUNDS):
        excess = np.maximum(1 - by_chance(matches) / weight, -LESS_THAN_CHANCE)
        share = np.clip(rising(excess, weight), 0.0, 1.0)
        now = share * seen
        if np.abs(now - matches).sum() < 1e-3 * len(score):
            break
        matches = (matches + now) / 2
    return share[np.searchsorted(edges, score, "right") - 1]
