"""How likely best partners are to be matches, judged by the best partners that records have by chance.

Between two tables, a match is usually the best partner of both its records. Records without a match have best partners
too: the nearest of the wrong ones. How similar those are is seen *within* each table, where (nearly) no two records are
the same entity. One table may describe its records at length and the other in a few words, so the similarity of pairs
between them is taken to lie in the middle, rank by rank, once the difference between pairs within a table and between
the tables is allowed for. Only a record without a match, or with one less similar, can
have a partner by chance, so that few are expected where most records match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lookalike.kernels.partners import find_best
from lookalike.linkage.scoring.monotone import rising
from lookalike.types import Bool, Float64, Int32

BINS = 60
"""Bins of scores, with equal numbers of best partners."""
ROUNDS = 100
SMOOTH = 0.5
"""The best of n pairs stands for half a pair in n."""
LEAST_VISIBLE = 0.2
"""At most four in five matches of a score are taken to be hidden by better partners."""
LESS_THAN_CHANCE = 1.0
"""Fewer pairs than expected by chance count against more at a better score, at most as many as are seen there."""
COMPARED = (0.5, 2.0)
"""Pairs per record (of the larger table) by which similarity within and between the tables is compared: matches, of
which a record has one, are a small part of these."""
FEW_PAIRS = 20
"""With fewer pairs, the similarity within and between tables is not compared."""
GRID = 500
"""Shares of pairs at which the scores within the two tables are compared."""


class Best(NamedTuple):
    """Of each record, the greatest score and the partner it has that with; -1 for none."""

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


class Chance(NamedTuple):
    """Pairs within two tables, by which chance is judged."""

    left: Int32
    right: Int32
    sizes: tuple[int, int]
    """The number of records in each table."""

    def rates(self, score: Float64, between: Float64, edges: Float64) -> Float64:
        """The share of pairs between the tables that are best partners by chance, by bin of their score.

        As similar as one pair in a thousand within the left table, on average with one in a thousand within the right,
        is one pair in a thousand between them. `between` are the scores of pairs between the tables that are not each
        other's best partners.
        """
        found = [one for first, size in self._spans() if len((one := self._within(score, between, first, size))[0])]
        if not found:
            return np.zeros(len(edges) - 1)
        ends = [rates[place] for _, rates in found for place in (0, -1)]
        grid = np.geomspace(min(ends), max(ends), GRID)
        # A small table does not show what is rarer than one of its pairs.
        seen = np.array([grid >= 0.99 * rates[0] for _, rates in found])
        likely = np.array([np.interp(np.log(grid), np.log(rates), pairs) for pairs, rates in found])
        scores = np.minimum.accumulate(np.average(likely, axis=0, weights=seen))
        from_edge = np.exp(np.interp(-edges, -scores, np.log(grid)))
        from_edge[edges > scores[0]] = 0.0
        return np.maximum(-np.diff(from_edge), 0.0)

    def _spans(self) -> list[tuple[int, int]]:
        """The first record of each table, and its number of records."""
        return [(0, self.sizes[0]), (self.sizes[0], self.sizes[1])]

    def _within(self, score: Float64, between: Float64, first: int, size: int) -> tuple[Float64, Float64]:
        """Scores that best partners within a table would have between the tables, descending, and their rates.

        Records of one table are written alike, which makes them more similar than those of two tables, or, if one is
        terse, less. By how much is seen where matches are too few to matter: among pairs that are not best partners.
        """
        inside = (self.left >= first) & (self.left < first + size)
        left, right, own = self.left[inside], self.right[inside], score[inside]
        mutual, pairs = (
            Best.find(left, right, own, sum(self.sizes)).mutual(left, right),
            max(1.0, size * (size - 1) / 2),
        )
        (best, rates), others = _rates(own[mutual], pairs), _rates(own[~mutual], pairs)
        return best + self._shift(others, _rates(between, float(np.prod(self.sizes)))), rates

    def _shift(self, within: tuple[Float64, Float64], between: tuple[Float64, Float64]) -> float:
        """By how much pairs between the tables score more than pairs within a table that are as rare."""
        if min(len(within[0]), len(between[0])) < FEW_PAIRS:
            return 0.0
        grid = np.geomspace(*COMPARED, 9) / max(self.sizes)
        grid = grid[(grid >= within[1][3]) & (grid <= min(within[1][-1], between[1][-1]))]
        if not len(grid):
            return 0.0
        own, other = (np.interp(np.log(grid), np.log(rates), scores) for scores, rates in (within, between))
        return float(np.mean(other - own))


def _rates(scores: Float64, pairs: float) -> tuple[Float64, Float64]:
    """Scores in descending order, and which share of all pairs reaches each."""
    return np.sort(scores)[::-1], (np.arange(len(scores), dtype=np.float64) + SMOOTH) / pairs


def judge_partners(score: Float64, between: Float64, chance: Chance, chance_score: Float64) -> Float64:
    """The probability that each of these pairs, which are each other's best partners, is a match.

    A partner by chance is the best of a record that has no match, or one that is better than the match. So matches are
    counted with those that chance hides.

    Parameters
    ----------
    score
        Of the pairs.
    between
        Scores of the other pairs between the tables.
    chance, chance_score
        Pairs within the tables, and their scores.

    Examples
    --------
    Of 100 + 100 records, 50 match; the others' best partners are no better than those within the tables.

    >>> inside = np.arange(0, 100, 2, dtype=np.int32)
    >>> chance = Chance(np.append(inside, inside + 100), np.append(inside, inside + 100) + np.int32(1), (100, 100))
    >>> score = np.append(np.linspace(8, 9, 50), np.linspace(0, 1, 25))
    >>> found = judge_partners(score, np.empty(0), chance, np.tile(np.linspace(0, 1, 50), 2))
    >>> bool(found[:50].mean() > 0.95), bool(found[50:].mean() < 0.3)
    (True, True)
    """
    if not len(score):
        return np.empty(0)
    edges = _edges(score)
    rates, sizes = chance.rates(chance_score, between, edges), chance.sizes
    visible = np.ones(len(rates))

    def by_chance(matches: Float64) -> Float64:
        """Expected pairs by chance in each bin, given the matches seen in it."""
        nonlocal visible
        every = matches / visible
        total = float(every.sum())
        worse = (np.cumsum(every) - every / 2) / max(total, 1e-9)
        free = [size * (1 - min(total / size, 1.0) * (1 - worse)) for size in sizes]
        rivals = rates * (free[0] + free[1])
        visible = np.maximum(np.exp(rivals / 2 - np.cumsum(rivals[::-1])[::-1]), LEAST_VISIBLE)
        return np.asarray(rates * free[0] * free[1])

    return _settle(score, edges, by_chance)


def judge_alone(left: Int32, right: Int32, score: Float64, records: int) -> tuple[Bool, Float64]:
    """Which pairs of one table are each other's best partners, and the probability that each of those is a match.

    In one table, the best partners left when those pairs are set aside show what chance makes of records that have a
    match. For a record without one they are only its second choice: the best is better, by about twice what the second
    is better than the third (as in every exponential tail), once for each of the two records.

    Examples
    --------
    >>> left, right = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    >>> mutual, likely = judge_alone(left, right, np.array([9.0, 2.0, 1.0]), 3)
    >>> mutual.tolist(), likely.tolist()
    ([True, False, False], [1.0])
    """
    mutual = Best.find(left, right, score, records).mutual(left, right)
    rest = np.flatnonzero(~mutual)
    left, right, others = left[rest], right[rest], score[rest]
    second = Best.find(left, right, others, records).mutual(left, right)
    if not second.any():
        return mutual, np.full(int(mutual.sum()), 0.5)
    drop = _drops(left, right, others, records)
    best, seen = others[second], score[mutual]
    raised = best + drop[left[second]] + drop[right[second]]
    edges = _edges(seen)
    matched, free = np.histogram(best, edges)[0], np.histogram(raised, edges)[0] * (len(seen) / len(best))

    def by_chance(matches: Float64) -> Float64:
        """Expected pairs by chance in each bin, given the matches seen in it."""
        share = min(1.0, 2 * float(matches.sum()) / records)
        return np.asarray(share * matched + (1 - share) * free)

    return mutual, _settle(seen, edges, by_chance)


def _drops(left: Int32, right: Int32, score: Float64, records: int) -> Float64:
    """By how much the best of each record's pairs is better than the next; 0 if it has fewer than two."""
    ends, scores = np.concatenate([left, right]), np.concatenate([score, score])
    order = np.lexsort((-scores, ends))
    ends, scores = ends[order], scores[order]
    first = np.flatnonzero(np.diff(ends, prepend=-1))
    first = first[(first + 1 < len(ends)) & (ends[np.minimum(first + 1, len(ends) - 1)] == ends[first])]
    drops = np.zeros(records)
    drops[ends[first]] = scores[first] - scores[first + 1]
    return drops


def _edges(score: Float64) -> Float64:
    edges = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.concatenate([[-np.inf], edges, [np.inf]])


def _settle(score: Float64, edges: Float64, by_chance: Callable[[Float64], Float64]) -> Float64:
    """The probability of each pair, such that matches and pairs by chance add up to the pairs seen in each bin."""
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
