"""Two tables, one with several records per entity: for example, a crawler that cites a paper of a library many times.

Each record of that table still has at most one match. So its own best partner is judged, even if that partner has a
better one. Its other partners are due to chance: the other table has every entity once.
"""

from __future__ import annotations

import numpy as np

from lookalike.linkage.scoring.logistic import score_rows
from lookalike.linkage.scoring.words.best_partners import Partners
from lookalike.linkage.scoring.words.chance import judge_each
from lookalike.linkage.scoring.words.weights import Estimate, Judge
from lookalike.linkage.scoring.words.within import Chance
from lookalike.types import Bool, Float32, Float64, Int32

CLEAR = 0.5
"""Best partners with at least this probability show how high matches score."""
FEWEST = 50
"""With fewer such partners, every record is assumed to have at most one match."""
AS_GOOD = 0.75
"""A further partner counts as good as the best if its lead is at least this share of the usual lead."""
OFTEN = 0.5
"""The least number of such further partners, per record with a partner, for entities to have several records in a
table. Observed: 1.0 and 1.8 with up to six and five crawled records per paper; 0.4 with products of a series that share
a description; at most 0.08 otherwise, including versions of software, which are different products."""
SELDOM = 0.25
"""The greatest number of such further partners in the other table. If both tables have them, products come in series,
of which each table lacks some. Observed: 0 for a library and a crawler; 0.4 to 1.2 for three or five variants."""
MOSTLY_ALIKE = 0.5
"""Entities have several records only if more than this share of such further partners is alike. Observed: 0.9 for a
crawler; 0.1 to 0.4 for seasons of a league and for elections, of which one table has more than the other."""


def find_single(
    left: Int32, right: Int32, chance: Chance, measured: Float32, score: Float64, weights: Float64, alike: Bool
) -> str:
    """Which records have at most one match: those of `both` tables, or those of the `left` or the `right` one.

    Parameters
    ----------
    measured
        The features of the pairs within the tables.
    score, weights
        The scores of the pairs between the tables, and the weights that they were computed from.
    alike
        Whether the records of each of these pairs have more in common than not. The seasons of a league or the species
        of a genus are further partners that are about as good as the best, but have less in common.
    """
    often = {}
    for single, other in (("left", right), ("right", left)):
        best, between = Partners.find_each(left, right, score, sum(chance.sizes), single)
        likely = judge_each(between, chance.within_each(score_rows(measured, weights), single))
        clear = likely >= CLEAR
        often[single] = count_further(other[best][clear], between.score[clear], between.next[clear], alike[best][clear])
    found = max(often, key=often.__getitem__)
    return found if often[found] >= OFTEN and min(often.values()) <= SELDOM else "both"


def count_further(records: Int32, score: Float64, following: Float64, alike: Bool) -> float:
    """The mean number of further partners per record that are alike and about as good as best partners.

    0 if most of the further partners that are about as good are not alike.

    Parameters
    ----------
    records, score, following, alike
        For each clear pair: the record that may have several partners, the score, the next best score of the other
        record, and whether the two records are alike.

    Examples
    --------
    >>> records, score = np.repeat(np.arange(60, dtype=np.int32), 3), np.tile([5.0, 4.9, 2.0], 60)
    >>> [count_further(records, score, np.ones(180), np.full(180, alike)) for alike in (True, False)]
    [1.0, 0.0]
    """
    order = np.lexsort((-score, records))
    first = np.diff(records[order], prepend=-1) > 0
    if int(first.sum()) < FEWEST:
        return 0.0
    lead = (score - following)[order]
    further = alike[order][~first & (lead >= AS_GOOD * np.median(lead[first]))]
    mostly = len(further) and further.mean() > MOSTLY_ALIKE
    return int(further.sum()) / int(first.sum()) if mostly else 0.0


def are_doubtful(likely: Float64) -> bool:
    """Whether most links would be wrong if these are the probabilities of best partners, linked for the greatest F1.

    Then the further partners are not records of the same entity, but the entries below it in a hierarchy.

    Examples
    --------
    >>> are_doubtful(np.array([0.9, 0.8, 0.1])), are_doubtful(np.full(9, 0.4))
    (False, True)
    """
    right = np.cumsum(np.sort(likely)[::-1])
    links = np.arange(1, len(right) + 1)
    best = int(np.argmax(right / (links + right[-1])))
    return bool(right[best] < CLEAR * links[best])


def judge_single(left: Int32, right: Int32, chance: Chance, measured: Float32, single: str) -> Judge:
    """Judge the best partner of each record of one table by the best partners within the other table.

    `measured` are the features of the pairs within the tables; the records of table `single` have at most one match.
    """

    def judge(score: Float64, weights: Float64, start: float) -> tuple[Bool, Float64]:
        records = sum(chance.sizes)
        best, between = Partners.find_each(left, right, score, records, single)
        return best, judge_each(between, chance.within_each(score_rows(measured, weights, start), single))

    return judge


def estimate_single(left: Int32, right: Int32, chance: Chance, measured: Float32, single: str) -> Estimate:
    """Judge the same pairs as before, and as if the leads of partners by chance were smaller or larger by half."""

    def estimate(score: Float64, weights: Float64, start: float, likely: Float64) -> list[Float64]:
        records = sum(chance.sizes)
        between = Partners.find_each(left, right, score, records, single)[1]
        within = chance.within_each(score_rows(measured, weights, start), single)
        return [likely, *(judge_each(between, within.shrink(factor)) for factor in (0.5, 1.5))]

    return estimate
