"""The probability that best partners are matches, judging by the best partners that records have by chance.

Between two tables, a match is usually the best partner of both its records. Records without a match have best partners
too, and within.py shows what these look like. But records of one table are written in a similar way, so scores within
and between tables cannot be compared. The *lead* can: by how much the best partner is better than the next best ones.
(If the tail of the scores is exponential, the lead does not depend on their level.) So the leads within the tables are
added to the next best partners between them, which are hardly ever matches.

This rather overestimates chance, and is used to learn weights. Once it is known which pairs are hardly matches, their
leads and their next best partners give a second estimate, which decides what is linked and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lookalike.linkage.scoring.words.best_partners import Partners
from lookalike.linkage.scoring.words.within import WithinTable
from lookalike.tuning.monotone import rising
from lookalike.types import Float64

BINS = 60
"""The most bins of scores, with equal numbers of best partners."""
PER_BIN = 5
"""The fewest best partners per bin. With fewer, the excess over chance would consist of noise, and noise is counted as
matches where it is positive."""
FEWEST_BINS = 4
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
UNCERTAIN = 1.0
"""Standard errors by which the number of pairs by chance may exceed the one predicted from the tables. Without them, a
few pairs more than predicted would count as matches, which leave fewer records to chance, so that even more would."""
MISSING = 2.0
"""Standard errors of the number of pairs by chance that may be missing where they are expected."""
MIDDLE = (0.2, 0.7)
"""The range of quantiles of scores by chance in which partners by chance are counted: it contains few matches."""


def judge_partners(
    between: Partners, within: Sequence[WithinTable], sizes: tuple[int, int], wrong: Float64 | None = None
) -> Float64:
    """The probability that each of these pairs, which are each other's best partners, is a match.

    Partners by chance score like those within the tables, moved to the level of other pairs between them. Two facts
    limit their number. First, a record has such a partner only if it has no match, or a less similar one, and the same
    holds for the partner. Second, at the scores where chance produces most of its pairs, it produces no more than are
    observed.

    Parameters
    ----------
    between
        The pairs between the tables.
    within
        What records find by chance in one table or both. Tables have weights in proportion to their records.
    sizes
        The number of records in each table.
    wrong
        The weight of each pair between the tables as one by chance, whose next best score is that of such pairs. By
        default, all pairs have the same weight.

    Examples
    --------
    Of 100 + 100 records, 50 match; the others' best partners are as much better than the next as within the tables.

    >>> between = Partners(np.append(np.linspace(8, 9, 50), np.linspace(0, 1, 12)), np.zeros(62))
    >>> within = WithinTable(Partners(np.linspace(5, 6, 25), np.full(25, 5.0)), 100, 0.5)
    >>> found = judge_partners(between, [within], (100, 100))
    >>> bool(found[:50].mean() > 0.95), bool(found[50:].mean() < 0.3)
    (True, True)
    """
    within = [one for one in within if len(one.partners.score)]
    if not len(between.score) or not within:
        return np.full(len(between.score), 0.5)
    edges = bin_edges(between.score)
    weights = [one.records for one in within]
    often = float(np.average([one.often for one in within], weights=weights))
    moved = [one.move(between.next, wrong) for one in within]
    shape = np.average([np.histogram(one, edges)[0] / len(one) for one in moved], axis=0, weights=weights)
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
    """The probability of each pair, if chance produces pairs in the proportions of `shape`.

    `often` is the share of the records of the smaller table that have a partner by chance if none has a match.
    For records whose match is beaten by a partner by chance, the proportions are `beaten`.
    """
    most = most_by_chance(np.histogram(score, edges)[0], shape)
    better = np.cumsum(shape[::-1])[::-1] - shape / 2
    rate = often / max(sizes) * (1 + UNCERTAIN / np.sqrt(len(score)))
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


def bin_edges(score: Float64, per_bin: int = PER_BIN) -> Float64:
    """The edges of bins that hold about as many scores each, at least `per_bin`; the first and the last are infinite.

    Examples
    --------
    >>> len(bin_edges(np.arange(100.0))), len(bin_edges(np.arange(100.0), 0))
    (21, 61)
    """
    bins = min(BINS, max(FEWEST_BINS, len(score) // per_bin)) if per_bin else BINS
    edges = np.unique(np.quantile(score, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.concatenate([[-np.inf], edges, [np.inf]])


def settle(score: Float64, edges: Float64, by_chance: Callable[[Float64], Float64]) -> Float64:
    """The probability of each pair, such that matches and pairs by chance add up to the observed pairs in each bin.

    `by_chance` takes the number of matches in each bin and returns the expected number of pairs by chance.
    """
    seen = np.histogram(score, edges)[0].astype(np.float64)
    weight, matches = np.maximum(seen, 1e-9), np.zeros(len(seen))
    share = matches
    for _ in range(ROUNDS):
        excess = np.maximum(1 - move_down(by_chance(matches), seen) / weight, -LESS_THAN_CHANCE)
        share = np.clip(rising(excess, weight), 0.0, 1.0)
        now = share * seen
        if np.abs(now - matches).sum() < 1e-3 * len(score):
            break
        matches = (matches + now) / 2
    return share[np.searchsorted(edges, score, "right") - 1]


def move_down(by_chance: Float64, seen: Float64) -> Float64:
    """Move pairs by chance that are expected at higher scores than are seen to lower ones, but for a few (`MISSING`).

    If every record of a table is one of a pair, such as the two volumes of a book, chance is expected to score higher
    than anything between the tables. Then it explains what scores lower, too.

    Examples
    --------
    >>> move_down(np.array([0.0, 0, 80, 20]), np.array([50.0, 40, 9, 1])).tolist()
    [30.0, 40.0, 10.0, 20.0]
    >>> move_down(np.array([50.0, 30, 9, 1]), np.array([50.0, 40, 19, 11])).tolist()
    [50.0, 30.0, 9.0, 1.0]
    """
    total = float(by_chance.sum())
    least = total - (seen.sum() - np.cumsum(seen)) - MISSING * np.sqrt(total)
    return np.diff(np.maximum.accumulate(np.maximum(np.cumsum(by_chance), least)), prepend=0.0)
