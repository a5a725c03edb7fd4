"""How likely best partners are to be matches, judged by the best partners that records have by chance.

Between two tables, a match is usually the best partner of both its records. Records without a match have best partners
too: the nearest of the wrong ones. How similar those are is seen *within* each table, where (nearly) no two records are
the same entity. One table may describe its records at length and the other in a few words, so the similarity of pairs
between them is taken to lie in the middle, rank by rank. Only records without a match can have a partner by chance, so
that few are expected where most records match.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.partners import find_best
from lookalike.linkage.scoring.monotone import rising
from lookalike.types import Bool, Float64, Int32

BINS = 60
"""Bins of scores, with equal numbers of best partners."""
ROUNDS = 60
SMOOTH = 0.5
"""The best of n pairs stands for half a pair in n."""
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

    def rates(self, score: Float64, edges: Float64) -> Float64:
        """The share of pairs between the tables that are best partners by chance, by bin of their score.

        As similar as one pair in a thousand within the left table, on average with one in a thousand within the right,
        is one pair in a thousand between them.
        """
        found, records = [], sum(self.sizes)
        for first, size in ((0, self.sizes[0]), (self.sizes[0], self.sizes[1])):
            inside = (self.left >= first) & (self.left < first + size)
            left, right, own = self.left[inside], self.right[inside], score[inside]
            pairs = np.sort(own[Best.find(left, right, own, records).mutual(left, right)])[::-1]
            found.append((pairs, (np.arange(len(pairs)) + SMOOTH) / max(1.0, size * (size - 1) / 2)))
        if not all(len(pairs) for pairs, _ in found):
            return np.zeros(len(edges) - 1)
        ends = [rates[place] for _, rates in found for place in (0, -1)]
        grid = np.geomspace(min(ends), max(ends), GRID)
        between = np.mean([np.interp(np.log(grid), np.log(rates), pairs) for pairs, rates in found], axis=0)
        from_edge = np.exp(np.interp(-edges, -between, np.log(grid)))
        from_edge[edges > between[0]] = 0.0
        return np.maximum(-np.diff(from_edge), 0.0)


def judge_partners(score: Float64, chance: Chance, chance_score: Float64) -> Float64:
    """The probability that each of these pairs, which are each other's best partners, is a match.

    Parameters
    ----------
    score
        Of the pairs.
    chance, chance_score
        Pairs within the tables, and their scores.

    Examples
    --------
    Of 100 + 100 records, 50 match; the others' best partners are no better than those within the tables.

    >>> inside = np.arange(0, 100, 2, dtype=np.int32)
    >>> chance = Chance(np.append(inside, inside + 100), np.append(inside, inside + 100) + np.int32(1), (100, 100))
    >>> score = np.append(np.linspace(8, 9, 50), np.linspace(0, 1, 25))
    >>> found = judge_partners(score, chance, np.tile(np.linspace(0, 1, 50), 2))
    >>> bool(found[:50].mean() > 0.95), bool(found[50:].mean() < 0.3)
    (True, True)
    """
    if not len(score):
        return np.empty(0)
    edges = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]))
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    seen = np.histogram(score, edges)[0].astype(np.float64)
    rates, matches = chance.rates(chance_score, edges), 0.0
    share = np.zeros(len(seen))
    for _ in range(ROUNDS):
        free = [max(1.0, size - matches) for size in chance.sizes]
        by_chance = rates * free[0] * free[1]
        share = rising(1 - np.minimum(1, by_chance / np.maximum(seen, 1e-9)), np.maximum(seen, 1e-9))
        now = float(share @ seen)
        if abs(now - matches) < 1e-3 * len(score):
            break
        matches = (matches + now) / 2
    return share[np.searchsorted(edges, score, "right") - 1]
