"""Two tables of which one has several records of an entity, as where a crawler cites a paper of a library many times.

Each record of that table still has one partner at most, so that its own best partner is judged, whether or not the
partner has a better one. Its other partners are chance: the other table has every entity once.
"""

from __future__ import annotations

import numpy as np

from lookalike.linkage.scoring.chance import Chance, Partners, judge_each
from lookalike.linkage.scoring.logistic import score_rows
from lookalike.linkage.scoring.words import Doubt, Judge
from lookalike.types import Bool, Float32, Float64, Int32

CLEAR = 0.5
"""Best partners at least this likely show what matches score."""
FEWEST = 50
"""With fewer of them, every record is taken to have one partner."""
AS_GOOD = 0.75
"""A further partner is as good as the best if its record prefers it by at least this part of the usual lead."""
OFTEN = 0.5
"""Further partners as good as that, for each record that has any, from which on entities have several records in a
table. Seen: 1.0 and 1.8 with up to six and five crawled records of a paper; 0.4 with products of a series that share a
description; at most 0.08 elsewhere, also with versions of software, which are different products."""


def find_single(left: Int32, right: Int32, chance: Chance, measured: Float32, score: Float64, weights: Float64) -> str:
    """Which records have one partner at most: those of `both` tables, or those of the `left` or the `right` one.

    Parameters
    ----------
    measured
        What the pairs within the tables have in common.
    score, weights
        Of the pairs between them, and the weights that scores are made of.
    """
    often = {}
    for single, other in (("left", right), ("right", left)):
        best, between = Partners.find_each(left, right, score, sum(chance.sizes), single)
        likely = judge_each(between, chance.within_each(score_rows(measured, weights), single))
        clear = likely >= CLEAR
        often[single] = count_further(other[best][clear], between.score[clear], between.next[clear])
    found = max(often, key=lambda one: often[one])
    return found if often[found] >= OFTEN else "both"


def count_further(records: Int32, score: Float64, following: Float64) -> float:
    """How many further partners each record has that are about as good as the best partners of records, on average.

    Parameters
    ----------
    records, score, following
        Of each clear pair, the record that may have several partners, the score, and the next best score of the other
        record.

    Examples
    --------
    >>> records, score = np.repeat(np.arange(60, dtype=np.int32), 3), np.tile([5.0, 4.9, 2.0], 60)
    >>> count_further(records, score, np.ones(180))
    1.0
    """
    order = np.lexsort((-score, records))
    first = np.diff(records[order], prepend=-1) > 0
    if int(first.sum()) < FEWEST:
        return 0.0
    lead = (score - following)[order]
    return int((lead[~first] >= AS_GOOD * np.median(lead[first])).sum()) / int(first.sum())


def judge_single(left: Int32, right: Int32, chance: Chance, measured: Float32, single: str) -> Judge:
    """Judges the best partner of each record of one table by what is best within the other table.

    `measured` is what the pairs within the tables have in common; `single` names the table.
    """

    def judge(score: Float64, weights: Float64, start: float) -> tuple[Bool, Float64]:
        records = sum(chance.sizes)
        best, between = Partners.find_each(left, right, score, records, single)
        return best, judge_each(between, chance.within_each(score_rows(measured, weights, start), single))

    return judge


def doubt_single(left: Int32, right: Int32, chance: Chance, measured: Float32, single: str) -> Doubt:
    """The same pairs, judged as if a record by chance led by half as much, or by half as much again."""

    def doubt(score: Float64, weights: Float64, start: float) -> list[Float64]:
        records = sum(chance.sizes)
        between = Partners.find_each(left, right, score, records, single)[1]
        within = chance.within_each(score_rows(measured, weights, start), single)
        leads = within.score - within.next
        return [judge_each(between, Partners(within.next + factor * leads, within.next)) for factor in (0.5, 1.5)]

    return doubt
