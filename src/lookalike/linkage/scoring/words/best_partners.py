"""The best partners of each record among scored pairs, and by how much they are better than the next best ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.partners import find_best, rank_partners
from lookalike.types import Bool, Float64, Int32


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

    def move(self, level: Float64, weights: Float64 | None = None) -> Float64:
        """The scores of these pairs if the next best ones scored as in `level`, rank by rank.

        Examples
        --------
        >>> pairs = Partners(np.array([5.0, 9.0]), np.array([4.0, 6.0]))
        >>> pairs.move(np.array([1.0, 2.0, 3.0])).tolist()
        [2.5, 5.5]
        >>> pairs.move(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0])).tolist()
        [2.0, 5.0]
        """
        order = np.argsort(self.next, kind="stable")
        ranks = (np.arange(len(order)) + 0.5) / max(1, len(order))
        if weights is None:
            level = np.sort(level)  # np.quantile takes far longer for this many ranks
            moved = np.interp(ranks * (len(level) - 1), np.arange(len(level)), level)
        else:
            moved = weighted_quantiles(level, weights, ranks)
        return np.asarray(moved + (self.score - self.next)[order])

    def raise_leads(self, leads: Float64, weights: Float64) -> Partners:
        """The same pairs with leads that are at least these, rank by rank.

        Examples
        --------
        >>> Partners(np.array([5.0, 9.0]), np.array([4.0, 9.0])).raise_leads(np.array([2.0, 3.0]), np.ones(2)).score
        array([ 7., 11.])
        """
        own = self.score - self.next
        ranks = np.empty(len(own))
        ranks[np.argsort(own, kind="stable")] = (np.arange(len(own)) + 0.5) / max(1, len(own))
        return Partners(self.next + np.maximum(own, weighted_quantiles(leads, weights, ranks)), self.next)


def weighted_quantiles(values: Float64, weights: Float64, ranks: Float64) -> Float64:
    """The values at these ranks, from 0 to 1, if each value has a weight.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 9.0]), np.array([1.0, 1.0, 0.0]), np.array([0.25, 0.5])).tolist()
    [1.0, 2.0]
    """
    rising = np.argsort(values, kind="stable")
    below = np.cumsum(weights[rising]) - weights[rising] / 2
    return np.asarray(np.interp(ranks * weights.sum(), below, values[rising]))


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
