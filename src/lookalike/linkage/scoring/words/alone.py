"""The probability that best partners within one table are matches, judging by second choices.

A pair stands out by its score and by its lead: by how much it is better than any other pair of its two records. Records
of a series, discs of a set and entries without content have many partners that are as good, so their lead is small.

If the tail of the scores of a record is exponential, the best score is on average better than the second by twice the
difference between second and third. What stands out by chance can therefore be predicted from second choices: their
score and four times their lead, twice for the score and twice for the lead. Real tails are often longer, so the factor
is fitted to the middle of what is observed, where there are hardly any matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.linkage.scoring.words.best_partners import Best, best_two
from lookalike.linkage.scoring.words.chance import bin_edges, most_by_chance, settle
from lookalike.linkage.scoring.words.groups import Groups, within
from lookalike.types import Bool, Float64, Int32, distinct

LIFTS = (4.0, 6.0)
"""The least and the greatest multiple of the lead of second choices; the least is that of exponential tails."""
LIFT_STEP = 0.25
LOWER, UPPER = np.array([0.3, 0.4, 0.5]), np.array([0.6, 0.7, 0.8])
"""Quantiles of what chance predicts, at which it is compared with what is observed."""
STEPS = 80
"""Steps into which the upper half of the scores is divided to look for a valley."""
SIGNIFICANT = 3.5
"""Standard errors by which scores above a valley must be further from it than with a constant density. High, because
many intervals are tried."""
CLEAR = 0.5
"""Groups with at least this probability are more likely entities than not."""
REPEATED = 0.2
"""Entities have more than two records if more than this share of the records in clear groups is in groups of three or
more. Between two tables, the same share of records with several partners is allowed before links are one-to-one."""
CERTAIN = 0.9
"""Pairs below a valley are matches only if they are at least this likely."""


def stand_out(left: Int32, right: Int32, score: Float64, records: int) -> Float64:
    """The score of each pair and its lead over the best other pair of its two records; the lead may be negative.

    Examples
    --------
    >>> left, right = np.array([0, 0, 1], np.int32), np.array([1, 2, 3], np.int32)
    >>> stand_out(left, right, np.array([9.0, 7.0, 1.0]), 4).tolist()
    [11.0, 5.0, -7.0]
    """
    ends = np.concatenate([left, right])
    best, second = best_two(ends, np.concatenate([score, score]), records)
    second[np.isneginf(second)] = score.min(initial=0.0)  # a record with one candidate only
    others = [np.where(score >= best[side], second[side], best[side]) for side in (left, right)]
    return np.asarray(2 * score - np.maximum(*others))


def judge_alone(left: Int32, right: Int32, score: Float64, records: int) -> tuple[Bool, Float64]:
    """Which pairs of one table are each other's best partners, and the probability that each of those is a match.

    Examples
    --------
    >>> left, right = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    >>> mutual, likely = judge_alone(left, right, np.array([9.0, 2.0, 1.0]), 3)
    >>> mutual.tolist(), likely.tolist()
    ([True, False, False], [1.0])
    """
    mutual = Best.find(left, right, score, records).mutual(left, right)
    seen = stand_out(left, right, score, records)[mutual]
    return mutual, _judge_by_others(seen, left[~mutual], right[~mutual], score[~mutual], records)


class JudgedGroups(NamedTuple):
    """Pairs of one table within groups of records that may be an entity."""

    inside: Bool
    """Which pairs are within a group."""
    likely: Float64
    """The probability that each of those is a match."""
    stands_out: Float64
    """By how much the group of each of those stands out."""
    repeated: float
    """Of the records in groups that are more likely entities than not, the share in groups of three or more."""


def judge_groups(left: Int32, right: Int32, score: Float64, alike: Bool, records: int) -> JudgedGroups:
    """Judge the pairs of one table like `judge_alone`, but in groups of up to ten records.

    Chance is seen in second choices outside of all groups. Among groups within each other that are more likely entities
    than not, the largest counts.

    Examples
    --------
    >>> left, right = np.array([0, 0, 1, 0], np.int32), np.array([1, 2, 2, 3], np.int32)
    >>> found = judge_groups(left, right, np.array([9.0, 8.0, 8.0, 1.0]), np.ones(4, np.bool_), 4)
    >>> found.inside.tolist(), found.stands_out.tolist()
    ([True, True, True, False], [15.0, 15.0, 15.0])
    """
    groups = Groups.find(left, right, score, alike, records)
    clearest = groups.choose(np.inf)
    rest = ~(within(clearest, left, right) | within(groups.choose(-np.inf), left, right))
    used = distinct(clearest[clearest >= 0])
    used = used[np.argsort(groups.stands_out[used], kind="stable")]
    seen, size = groups.stands_out[used], groups.size[used]
    likely = _judge_by_others(seen, left[rest], right[rest], score[rest], records)
    clear = likely >= CLEAR
    known = float(size[clear].sum())
    repeated = float(size[clear & (size > 2)].sum()) / known if known else 0.0
    chosen = groups.choose(float(seen[clear].min())) if known else clearest
    inside = groups.inside(chosen, left, right, alike)
    stands_out = groups.stands_out[chosen[left[inside]]]
    rank = np.maximum(np.searchsorted(seen, stands_out, "right") - 1, 0)
    return JudgedGroups(inside, likely[rank], stands_out, repeated)


def _judge_by_others(seen: Float64, left: Int32, right: Int32, score: Float64, records: int) -> Float64:
    """The probability that what is seen to stand out is a match, judging by the other pairs: second choices."""
    second = Best.find(left, right, score, records).mutual(left, right)
    if not second.any() or not len(seen):
        return np.full(len(seen), 0.5)
    plain = score[second]
    predicted = _lift(seen, plain, stand_out(left, right, score, records)[second] - plain)
    edges = bin_edges(seen, per_bin=0)  # the limits below were chosen with narrow bins
    shape = np.histogram(predicted, edges)[0] / len(predicted)
    by_chance = shape * most_by_chance(np.histogram(seen, edges)[0], shape)
    likely = settle(seen, edges, lambda _: by_chance)
    valley = find_valley(seen)
    return np.where((seen < valley) & (likely < CERTAIN), 0.0, likely)


def _lift(seen: Float64, second: Float64, lead: Float64) -> Float64:
    """Second choices, lifted by the smallest multiple of their lead that makes them as spread out as what is observed.

    That is so if the number of pairs by chance is the same whether counted in the lower or in the upper middle.
    """
    seen = np.sort(seen)
    for lift in np.arange(LIFTS[0], LIFTS[1] + LIFT_STEP, LIFT_STEP):
        lifted = second + lift * lead
        below = [np.searchsorted(seen, np.quantile(lifted, some), "right") / some for some in (LOWER, UPPER)]
        if below[1].mean() <= below[0].mean():
            break
    return np.asarray(lifted)


def find_valley(seen: Float64) -> float:
    """The score above which the density rises again, among the upper half of all; minus infinity if it only falls.

    Some pairs of different entities have more in common than chance predicts, such as two discs of a set, and matches
    have even more. The valley between the two is visible if matches are few. With a density that does not rise, scores
    of an interval are in the mean no further from its lower end than the middle of the interval.

    Examples
    --------
    >>> one, other = np.linspace(0, 3, 300) ** 2 / 3, np.linspace(7, 9, 60)
    >>> 3 < find_valley(np.append(one, other)) < 7, find_valley(one[::-1])
    (True, -inf)
    """
    seen = np.sort(seen)[len(seen) // 2 :]
    ends = np.linspace(seen[0], seen[-1], STEPS + 1)
    below, sums = np.searchsorted(seen, ends), np.concatenate([[0.0], np.cumsum(seen)])
    low, high = np.triu_indices(len(ends), 4)
    width, count = ends[high] - ends[low], np.maximum(below[high] - below[low], 1)
    mean = (sums[below[high]] - sums[below[low]]) / count - ends[low]
    errors = np.where(below[high] > below[low], (mean / np.maximum(width, 1e-9) - 0.5) * np.sqrt(12 * count), 0.0)
    steepest = int(np.argmax(errors))
    return float(ends[low[steepest]]) if errors[steepest] >= SIGNIFICANT else -np.inf
