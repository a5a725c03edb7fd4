"""How likely a partner is a match, from what records of one table find in it: the nearest of these are no matches."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit

from kinds.sketch.evidence import best_partners
from kinds.sketch.features import BETWEEN, LEFT, RIGHT, Pairs

FREE, NEXT = 3, 7
"""Ranks, from 0, of partners that are other entities: where the lists of two tables are brought to one scale."""
ROUNDS, ROWS = 5, 30_000
"""Rounds of learning, and the most pairs to learn from."""
RIDGE = 1.0
"""The pull towards the first weights, in units of one pair."""


def excess(target: np.ndarray, decoy: np.ndarray, weight: np.ndarray | float) -> np.ndarray:
    """The probability that each target is a match: the share by which targets exceed decoys, rising with the score."""
    values = np.concatenate([target, decoy])
    is_target = np.concatenate([np.ones(len(target)), np.zeros(len(decoy))])
    weights = np.concatenate([np.ones(len(target)), np.broadcast_to(weight, len(decoy))]) + 1e-9
    _, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, weights)
    share = isotonic_regression(np.bincount(place, weights * is_target) / sums, weights=sums).x
    share = np.clip(share[place[: len(target)]], 1e-3, 1 - 1e-3)
    return np.clip(1 - (1 - share) / share, 0, 1)


def judge_once(
    pairs: Pairs, score: np.ndarray, *, lead: bool = True, moved: bool = True, often: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mutual best partners of two tables that list entities once: pairs, their statistic, and their probability.

    The statistic is the score plus its lead over the next best pair of either record. Decoys are mutual best partners
    within the tables, moved to where they would be between them: each record's fourth best partners coincide, and
    distances are scaled so that those from the fourth to the eighth agree. Partners by chance are `often` times as
    frequent as decoys say.
    """
    between = np.flatnonzero(pairs.what == BETWEEN)
    within = np.flatnonzero((pairs.what == LEFT) | (pairs.what == RIGHT))
    if not len(between) or not len(within):
        return between[:0], np.zeros(0), np.zeros(0)
    best, rank, back = best_partners(
        pairs.left[between], pairs.right[between], score[between], pairs.records, NEXT + 1
    )  # fmt: skip
    near, rank_near, back_near = best_partners(
        pairs.left[within], pairs.right[within], score[within], pairs.records, NEXT + 1
    )  # fmt: skip
    target, decoy = between[(rank == 0) & (back == 0)], within[(rank_near == 0) & (back_near == 0)]
    left = np.arange(pairs.records) < pairs.split
    small = left if pairs.split <= pairs.records - pairs.split else ~left
    level, spread = best[:, FREE].copy(), (best[small, FREE] - best[small, NEXT]).mean()
    level[~small] = np.random.default_rng(0).choice(best[small, FREE], int((~small).sum()))  # they play small ones
    scale = np.ones(pairs.records)
    for side in (left, ~left):
        scale[side] = spread / max(1e-9, (near[side, FREE] - near[side, NEXT]).mean())
    i, j, x, y = pairs.left[target], pairs.right[target], pairs.left[decoy], pairs.right[decoy]
    lead_target = score[target] - np.maximum(best[i, 1], best[j, 1])
    lead_decoy = score[decoy] - np.maximum(near[x, 1], near[y, 1])
    placed = [level[end] + scale[end] * (score[decoy] - near[end, FREE]) for end in (x, y)]
    statistic, null = score[target], (placed[0] + placed[1]) / 2 if moved else score[decoy]
    if lead:
        statistic, null = statistic + lead_target, null + (scale[x] if moved else 1.0) * lead_decoy
    lefts, rights, expected = pairs.split, pairs.records - pairs.split, 0.0
    likely = np.zeros(len(target))
    for _ in range(30):  # partners by chance are those of records without a match
        one, other = max(lefts - expected, 1), max(rights - expected, 1)
        likely = excess(statistic, null, often * 4 * one * other / (one + other) / pairs.records)
        if abs(likely.sum() - expected) < 1:
            break
        expected = (expected + likely.sum()) / 2
    return target, statistic, likely


def best_of(pairs: Pairs, score: np.ndarray, what: int) -> tuple[np.ndarray, np.ndarray]:
    """Each record's best pair of a kind (-1: none), and its score plus its lead over the next one."""
    chosen = np.flatnonzero(pairs.what == what)
    place = np.full(pairs.records, -1)
    if not len(chosen):
        return place, np.zeros(pairs.records)
    best, rank, back = best_partners(pairs.left[chosen], pairs.right[chosen], score[chosen], pairs.records, 2)
    place[pairs.left[chosen[rank == 0]]] = chosen[rank == 0]
    place[pairs.right[chosen[back == 0]]] = chosen[back == 0]
    return place, 2 * best[:, 0] - best[:, 1]


def judge_repeated(
    pairs: Pairs, score: np.ndarray, single: int, often: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best partner of each record of a table that repeats entities in the `single` table (LEFT or RIGHT)."""
    once = (np.arange(pairs.records) < pairs.split) == (single == LEFT)
    place, statistic = best_of(pairs, score, BETWEEN)
    _, null = best_of(pairs, score, single)
    records = np.flatnonzero(~once & (place >= 0))
    target, null = statistic[records], null[once]
    if not len(target) or not len(null):
        return place[:0], np.zeros(0), np.zeros(0)
    low = np.median(null)
    weight = min((target <= low).sum() / max(1, (null <= low).sum()), len(target) / len(null))
    return place[records], target, excess(target, null, often * max(weight, 1e-3))


def learn(pairs: Pairs, judge, scaled: np.ndarray, start: np.ndarray, rounds: int = ROUNDS):
    """Weights that tell likely matches from the rivals of their records, and what `judge` says by these."""
    score, weights, draw = scaled @ start, np.append(-5.0, start), np.random.default_rng(0)
    for number in range(rounds + 1):
        target, statistic, likely = judge(pairs, score)
        if number == rounds or likely.sum() < 1:
            break
        known, label = np.zeros(pairs.records), np.zeros(len(scaled))
        np.maximum.at(known, pairs.left[target], likely)
        np.maximum.at(known, pairs.right[target], likely)
        weight = np.where(pairs.what == BETWEEN, np.maximum(known[pairs.left], known[pairs.right]), 0)
        weight[target], label[target] = likely, 1
        used = np.flatnonzero(weight > 1e-3)
        share = min(1, ROWS / len(used))
        weight[used[label[used] == 0]] /= share
        used = used[(label[used] == 1) | (draw.random(len(used)) < share)]
        weights = solve(scaled[used], label[used], weight[used], pairs.signs, start, weights)
        score = scaled @ weights[1:] + weights[0]
    return target, statistic, likely, score


def solve(rows, label, weight, signs, start, first) -> np.ndarray:
    """Logistic regression whose weights have the right signs, pulled towards the first ones."""
    total = weight.sum()

    def loss(weights):
        value, change = rows @ weights[1:] + weights[0], weights[1:] - start
        slope = weight * (expit(value) - label) / total
        gradient = np.append(slope.sum(), rows.T @ slope + 2 * RIDGE / total * change)
        return (
            weight * (np.logaddexp(0, value) - label * value)
        ).sum() / total + RIDGE / total * change @ change, gradient

    bounds = [(None, None)] + [(0, None) if sign > 0 else (None, 0) for sign in signs]
    return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}).x


def judge_pairs_alone(pairs: Pairs, score: np.ndarray, known: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Mutual best partners of one table whose entities have at most two records.

    Decoys are the best of what a matched record is left with: its second is the first of its strangers.
    """
    between = np.flatnonzero(pairs.what == BETWEEN)
    left, right, own = pairs.left[between], pairs.right[between], score[between]
    best, rank, back = best_partners(left, right, own, pairs.records, 3)
    mutual = (rank == 0) & (back == 0)
    target = np.flatnonzero(mutual)
    statistic = 2 * own[target] - np.maximum(best[left[target], 1], best[right[target], 1])
    rest = np.flatnonzero(~mutual)
    if not len(rest) or not len(target):
        return between[target], statistic, np.zeros(len(target))
    best, rank, back = best_partners(left[rest], right[rest], own[rest], pairs.records, 3)
    decoy = rest[(rank == 0) & (back == 0)]
    null = 2 * own[decoy] - np.maximum(best[left[decoy], 1], best[right[decoy], 1])
    if not len(null):
        return between[target], statistic, np.zeros(len(target))
    likely = np.zeros(len(target))
    for _ in range(6):
        weight = np.ones(len(decoy)) if known is None else np.maximum(known[left[decoy]], known[right[decoy]]) + 0.02
        order = np.argsort(null)
        middle = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
        low = null[order][min(len(null) - 1, middle)]
        scale = min((statistic <= low).sum() / max(1e-9, weight[null <= low].sum()), len(target) / weight.sum())
        likely = excess(statistic, null, scale * weight)
        known = np.zeros(pairs.records)
        np.maximum.at(known, left[target], likely)
        np.maximum.at(known, right[target], likely)
    return between[target], statistic, likely


def cut(statistic: np.ndarray, likely: np.ndarray) -> np.ndarray:
    """The best pairs that maximise the expected F1; none if less than one match is expected."""
    if likely.sum() < 1:
        return np.zeros(0, np.int64)
    order = np.lexsort((-statistic, -likely))
    sums = np.cumsum(likely[order])
    return order[: int((2 * sums / (np.arange(1, len(order) + 1) + sums[-1])).argmax()) + 1]
