"""Weights of evidence for records made of words, learned without labels from each record's best partner.

Levels and expectation-maximisation need several fields that are independent among non-matches. Records with one or two
texts have no such fields, and the hard cases are not random pairs but products of the same series. So here a match must
beat its rivals: a logistic regression separates the best partners, weighted by the probability that they are matches
(chance.py), from the other candidates of the same records. No weight may have the wrong sign. Better weights find
better partners, so this is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.kernels.scoring import number_rows
from lookalike.linkage.scoring.logistic import Pull, fit_logistic, score_rows
from lookalike.linkage.scoring.weights import WeightsRow
from lookalike.linkage.scoring.words.alike import add_bits, alike_bits, are_alike
from lookalike.linkage.scoring.words.alone import judge_alone, judge_groups
from lookalike.linkage.scoring.words.best_partners import Partners, second_leads
from lookalike.linkage.scoring.words.chance import judge_partners
from lookalike.linkage.scoring.words.evidence import Evidence, Feature
from lookalike.linkage.scoring.words.leads import NO_LEADS, ChanceLeads
from lookalike.linkage.scoring.words.within import Chance, rescale
from lookalike.types import Bool, Float32, Float64, Int8, Int32, Int64, UInt64

ROUNDS = 3
"""How often the weights are learned again; little changes from the second time on."""
RIDGE = 1e-5
"""Keeps weights finite."""
FEW = 20.0
"""With fewer expected matches, weights are not learned: the sum of similarities is the score."""
CLEAR = 0.5
"""Weights are learned from best partners with at least this probability."""
LOST = 0.5
"""New weights are rejected if they find less than this share of the clear matches found before."""
GROWN = 2.5
"""New weights are rejected if the number of matches grows by more than this factor: they fit partners by chance."""
GROWN_UNCLEAR = 1.5
"""The same if there are too few clear matches, before and after."""
GROWN_ALONE = 1.8
"""The same for one table, where chance is known less precisely."""
LEARNED = 0.15
"""The least share of the records of one table that must have a match for weights to be learned. If it is smaller, there
are as many pairs with something else in common, such as discs of a set, and weights would fit those."""
UNSURE = 1.3
"""Nine in ten times, the estimated scale of the leads by chance is within this factor of the true one."""
LEAST_WRONG = 1e-9
"""The least weight of a pair as one by chance, so that there is a mean even if all pairs are matches."""
NINE_IN_TEN = 1.645
"""Standard errors on either side of an estimate between which nine in ten values are."""
SAMPLE = 30_000
"""The most best partners, and the most rivals of best partners, to learn weights from."""
LIKELY = (1e-3, 1 - 1e-3)
"""Probabilities are clipped to these bounds before the scale of scores is fitted to them."""
FLAT = 1e-3
"""Keeps the scale of scores finite."""
LN2 = float(np.log(2))


@dataclass(frozen=True, slots=True)
class WordWeights:
    """The weight of each feature of each field, in bits, and the prior."""

    evidence: Evidence
    weights: Float64
    """float64[features]."""
    prior_bits: float
    expected: float
    """The estimated number of matches."""
    learned: bool
    notes: tuple[str, ...] = ()
    rows: tuple[WeightsRow, ...] = ()
    """The frequency and the mean weight of each level of each field."""
    converged: bool = True
    iterations: int = ROUNDS
    single: str = "both"
    """Which records have at most one match: those of `both` tables, of the `left` or `right` one, or of `none`; `alone`
    for a single table, whose pairs are also scored by their lead, and `groups` if its entities have up to ten records,
    whose groups are scored in this way."""
    doubts: tuple[tuple[float, float], ...] = ()
    """Factors and shifts that convert scores to those under other estimates of chance."""
    equal: tuple[float, ...] = ()
    """Between two tables, the least probability of a pair that is equal in all fields, and in each of them; 0 for a
    field that does not identify entities (`equal.judge_equal`)."""
    left_over: tuple[tuple[float, float], ...] = ()
    """Between two tables, factors and shifts that convert the scores of best partners among the records that are left
    once those with a clear match are set aside, once or more (`left_over.judge_left_over`)."""
    leads: ChanceLeads = NO_LEADS
    """Between two tables of which both have at most one match per record, the leads of partners by chance."""

    @property
    def features(self) -> list[Feature]:
        """The features that are measured for each pair."""
        return self.evidence.features

    def table(self) -> list[WeightsRow]:
        """The frequency of each level of each field, and its mean weight among matches."""
        return list(self.rows)

    def by_field(self, measured: Float32) -> Float64:
        """The weight of each field in each pair, in bits: float64[pairs, fields]."""
        fields = np.array([one.field for one in self.features])
        found = np.zeros((len(measured), int(fields.max()) + 1))
        for field in range(found.shape[1]):
            here = fields == field
            found[:, field] = score_rows(measured[:, here], self.weights[here])
        return found

    def bounds(self, score: Float64, least: Float64) -> tuple[float, float] | None:
        """The lowest and the highest plausible share of matches among pairs with these scores; None if unknown.

        Even if chance were known exactly, the number of pairs that it produces varies, as in any Poisson process.
        Pairs of equal records have a `least` probability, regardless of the scores by chance.
        """
        if not self.doubts or not len(score):
            return None
        means = [float(np.maximum(probability_of(one * score + other), least).mean()) for one, other in self.doubts]
        errors = [NINE_IN_TEN * math.sqrt((1 - mean) / len(score)) for mean in means]
        lowest, highest = (side(range(len(means)), key=means.__getitem__) for side in (min, max))
        return max(0.0, means[lowest] - errors[lowest]), min(1.0, means[highest] + errors[highest])

    def parts_of(self, left: Int32, right: Int32, levels: Int8) -> Float64:
        """The weight of each field in the given pairs, in bits: float64[pairs, fields]."""
        return self.by_field(self.evidence.measure(left, right, levels))


class Learned(NamedTuple):
    """Weights, and the best partners that they find."""

    weights: Float64
    """float64[features]."""
    start: float
    """The score of a pair with nothing in common."""
    mutual: Bool
    """Which pairs are each other's best partners."""
    likely: Float64
    """The probability that each of those is a match."""
    learned: bool
    """Whether the weights were learned; otherwise the score is the sum of similarities."""


Judge = Callable[[Float64, Float64, float], tuple[Bool, Float64]]
"""Takes the scores of all pairs, and the weights and the start that they were computed from. Returns which pairs are
each other's best partners, and the probability that each of those is a match."""


Estimate = Callable[[Float64, Float64, float, Float64], list[Float64]]
"""Takes the same arguments, and the probabilities according to the judge. Returns the best estimate of them, and those
under other estimates of chance."""


def judge_two(left: Int32, right: Int32, chance: Chance, measured: Float32) -> Judge:
    """Judge the pairs between two tables by the pairs within each; `measured` are the features of the latter."""

    def judge(score: Float64, weights: Float64, start: float) -> tuple[Bool, Float64]:
        mutual, between = Partners.find(left, right, score, sum(chance.sizes))
        leads = second_leads(left, right, score, sum(chance.sizes))
        return mutual, judge_partners(between, chance.within(score_rows(measured, weights, start), leads), chance.sizes)

    return judge


def estimate_two(left: Int32, right: Int32, chance: Chance, measured: Float32, selves: Float32) -> Estimate:
    """Judge the same pairs again, now that it is known which ones are hardly matches, and what their leads are.

    The next best partner of a match is the best one by chance, but that of a pair by chance is only the second best. So
    leads should be added to the next best scores of pairs that are no matches. But these are known only in part, and
    may have few look-alikes for the very reason that they are known to be none. So the estimate is the mean of two,
    with the next best scores of all pairs and of such pairs. The others have larger or smaller leads, too.
    """

    def estimate(score: Float64, weights: Float64, start: float, likely: Float64) -> list[Float64]:
        between = Partners.find(left, right, score, sum(chance.sizes))[1]
        leads = second_leads(left, right, score, sum(chance.sizes))
        inner, own = (score_rows(some, weights, start) for some in (measured, selves))
        inside = chance.within(inner, leads, float(np.median(own)))
        wrong = np.maximum(1 - likely, LEAST_WRONG)

        def judge(times: float, weights: Float64 | None) -> Float64:
            return judge_partners(between, rescale(inside, between, wrong, times), chance.sizes, weights)

        best = (judge(1.0, None) + judge(1.0, wrong)) / 2
        return [best, np.minimum(best, judge(UNSURE, None)), np.maximum(best, judge(1 / UNSURE, wrong))]

    return estimate


def judge_one(left: Int32, right: Int32, common: Float64, records: int) -> Judge:
    """Judge the pairs of one table by each other, and by what they have in common."""

    def judge(score: Float64, weights: Float64, start: float) -> tuple[Bool, Float64]:
        del weights, start  # the scores of all pairs are enough
        mutual, likely = judge_alone(left, right, score, records)
        return mutual, add_bits(likely, alike_bits(common[mutual]))

    return judge


def judge_many(left: Int32, right: Int32, common: Float64, records: int) -> Judge:
    """Judge the pairs of one table, in groups of up to ten records."""

    def judge(score: Float64, weights: Float64, start: float) -> tuple[Bool, Float64]:
        del weights, start  # the scores of all pairs are enough
        found = judge_groups(left, right, score, are_alike(common), records)
        return found.inside, add_bits(found.likely, alike_bits(common[found.inside]))

    return judge


def learn_weights(
    left: Int32, right: Int32, measured: Float32, features: list[Feature], records: int, judge: Judge,
    grown: float = GROWN, fewest: float = FEW,
) -> Learned:  # fmt: skip
    """Learn weights by which as many best partners as possible stand out from chance.

    Weights are not learned from fewer than `fewest` expected matches.
    """
    signs, unclear = [one.helps for one in features], min(grown, GROWN_UNCLEAR)
    weights, start, kept = np.array([one.start for one in features]), 0.0, None
    for turn in range(ROUNDS + 1):
        mutual, likely = judge(score_rows(measured, weights, start), weights, start)
        if kept is not None:
            clear = _is_clear(kept.likely) or _is_clear(likely)
            if _has_lost_its_way(kept.likely, likely, grown if clear else unclear):
                break
        kept = Learned(weights, start, mutual, likely, turn > 0)
        if turn == ROUNDS or likely.sum() < fewest:
            break
        chosen, belief = _examples(left, right, measured, mutual, _clear(likely), records)
        weights, start = _regress(measured[chosen], mutual[chosen], belief, signs, (weights, start))
    assert kept is not None
    return kept


def _clear(likely: Float64) -> Float64:
    """The weight of each best partner as an example to learn from.

    Partners that are probably due to chance count only if there are too few others. Each has little weight, but there
    are many of them, and together they would teach what the best partners by chance have in common.

    Examples
    --------
    >>> _clear(np.array([0.9] * 30 + [0.1, 0.2]))[28:].tolist(), _clear(np.array([0.9, 0.1])).tolist()
    ([0.9, 0.9, 0.0, 0.0], [0.9, 0.1])
    """
    return np.where(likely >= CLEAR, likely, 0.0) if _is_clear(likely) else likely


def _is_clear(likely: Float64) -> bool:
    """Whether there are enough clear matches to learn from."""
    return float(likely[likely >= CLEAR].sum()) >= FEW


def _has_lost_its_way(before: Float64, now: Float64, grown: float = GROWN) -> bool:
    """Whether new weights find far fewer clear matches than before, or suddenly far more matches.

    Examples
    --------
    >>> _has_lost_its_way(np.array([0.9, 0.8, 0.1]), np.array([0.9, 0.9])), _has_lost_its_way(np.ones(9), np.ones(3))
    (False, True)
    """
    clear = [float(likely[likely > 0.5].sum()) for likely in (before, now)]
    return clear[1] < LOST * clear[0] or float(now.sum()) > grown * float(before.sum())


def _examples(
    left: Int32, right: Int32, measured: Float32, mutual: Bool, likely: Float64, records: int
) -> tuple[Int64, Float64]:
    """The pairs to learn from, best partners and their rivals, and the weight of each.

    If there are too many pairs, a sample is drawn. The sample and its order depend on the features of the pairs, not on
    the order of the records.
    """
    taken = np.zeros(records, np.bool_)
    taken[left[mutual]] = taken[right[mutual]] = True
    belief = np.ones(len(left))
    belief[mutual] = likely
    parts = []
    for some in (mutual & (belief > 0), (taken[left] | taken[right]) & ~mutual):
        places = np.flatnonzero(some)
        numbers = _shuffle(measured, places)
        if len(places) > SAMPLE:
            belief[places] *= len(places) / SAMPLE  # the pairs drawn represent the others
            drawn = np.argpartition(numbers, SAMPLE)[:SAMPLE]
            places, numbers = places[drawn], numbers[drawn]
        parts.append(places[np.argsort(numbers)])
    chosen = np.concatenate(parts)
    return chosen, belief[chosen]


def _shuffle(measured: Float32, rows: Int64) -> UInt64:
    """A pseudo-random number for each of some rows, which depends only on the contents of the row.

    Examples
    --------
    >>> table = np.array([[0.5, 0], [0, 0.5], [0.5, -0.0]], np.float32)
    >>> numbers = _shuffle(table, np.arange(3))
    >>> numbers[0] == numbers[2], numbers[0] == numbers[1]
    (np.True_, np.False_)
    """
    numbers = np.empty(len(rows), np.uint64)
    number_rows(measured.view(np.uint32), rows, numbers)
    return numbers


def _regress(
    measured: Float32, matches: Bool, belief: Float64, helps: list[bool], known: tuple[Float64, float]
) -> tuple[Float64, float]:
    """Fit a logistic regression with the given signs, starting at known weights; return weights and intercept."""
    table, aim = np.c_[np.ones(len(measured)), measured.astype(np.float64)], matches.astype(np.float64)
    low, high = bounds_of(helps)
    pull = Pull(np.zeros(len(low)), np.append(0.0, np.full(len(helps), 2 * RIDGE)))
    found = fit_logistic(table, aim, belief / belief.sum(), low, high, pull, np.append(known[1], known[0]))
    return found[1:], float(found[0])


def bounds_of(helps: Sequence[bool]) -> tuple[Float64, Float64]:
    """Bounds for a start, which is unbounded, and for weights, which must not have the wrong sign.

    Examples
    --------
    >>> [one.tolist() for one in bounds_of([True, False])]
    [[-inf, 0.0, -inf], [inf, inf, 0.0]]
    """
    ups = np.array(helps, np.bool_)
    return np.append(-np.inf, np.where(ups, 0.0, -np.inf)), np.append(np.inf, np.where(ups, np.inf, 0.0))


def scale_scores(score: Float64, likely: Float64) -> tuple[float, float]:
    """The factor and shift that convert scores to bits, such that 1 / (1 + 2^-bits) best fits the probability.

    Examples
    --------
    >>> score = np.linspace(-4, 4, 50)
    >>> factor, shift = scale_scores(score, 1 / (1 + np.exp2(-(2 * score - 1))))
    >>> round(factor, 1), round(shift, 1)
    (2.0, -1.0)
    """
    centre, spread = float(score.mean()), float(score.std()) or 1.0
    table = np.c_[(score - centre) / spread, np.ones(len(score))]
    pull, limits = Pull(np.zeros(2), np.array([FLAT, 0.0])), np.array([np.inf, np.inf])
    found = fit_logistic(
        table, np.clip(likely, *LIKELY), np.ones(len(score)), np.array([FLAT, -np.inf]), limits, pull,
        np.array([1.0, 0.0]),
    )  # fmt: skip
    factor = float(found[0]) / spread
    return factor / LN2, (float(found[1]) - factor * centre) / LN2


def probability_of(bits: Float64) -> Float64:
    """The probability of a match at each score.

    Examples
    --------
    >>> probability_of(np.array([-9999.0, 0.0, 1.0, 9999.0])).round(2).tolist()
    [0.0, 0.5, 0.67, 1.0]
    """
    return np.asarray(1 / (1 + np.exp2(-np.clip(bits, -500, 500))))
