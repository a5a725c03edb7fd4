"""Links what is left between two tables in the same way, once the records with a clear match are set aside.

Two records that match are not each other's best partners if a variant of one of them is more similar to the other: a
blue pen to a red one that is described in the same words. The variant usually has a match of its own. Without it, and
without the variants within the tables, the pair may stand out from what is left.

If few records have a match, hardly any of those that are left has one, and it is not worth the wrong links. In large
tables, records have few candidates, and those that are left may have none among each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lookalike.linkage.partners import LARGE
from lookalike.linkage.scoring.words.best_partners import Best
from lookalike.linkage.scoring.words.weights import (
    CLEAR,
    LIKELY,
    estimate_two,
    judge_two,
    probability_of,
    scale_scores,
)
from lookalike.linkage.scoring.words.within import Chance
from lookalike.types import Bool, Float32, Float64, Int32, Int64

ROUNDS = 3
"""How often records are set aside; little is found from the second time on."""
MOST = 0.6
"""The least share of the smaller table that must have a clear match."""

FEWEST = 5
"""With fewer records left in a table, nothing is known about partners by chance."""
CERTAIN = float(np.log2(LIKELY[1] / (1 - LIKELY[1])))
"""The most bits of such a pair: scales are fitted to probabilities up to this."""

Scale = tuple[float, float]
"""A factor and a shift that convert scores to bits."""
Search = Callable[[Int64], tuple[Chance, Float32, Float32]]
"""Takes the numbers of some records. Returns the pairs within the tables among these, their features, and those of some
records compared with themselves."""


def judge_left_over(
    left: Int32, right: Int32, score: Float64, bits: Float64, sizes: tuple[int, int], search: Search, weights: Float64,
    start: float,
) -> tuple[Scale, ...]:  # fmt: skip
    """The scale of the scores of best partners among the records that are left, in each round.

    Parameters
    ----------
    left, right, score, bits
        The pairs between the tables, their scores, and what is added because of other partners.
    sizes
        The number of records in each table.
    search
        Finds the pairs within the tables among some records.
    weights, start
        What scores are computed from.
    """
    scales: list[Scale] = []
    likely = probability_of(score + bits)
    if max(sizes) > LARGE or likely[likely >= CLEAR].sum() < MOST * min(sizes):
        return ()
    bits = bits.copy()
    while len(scales) < ROUNDS:
        free = _free_records(left, right, score + bits, sum(sizes))
        some = free[left] & free[right]
        if min(free[: sizes[0]].sum(), free[sizes[0] :].sum()) < FEWEST or not some.any():
            break
        number = (np.cumsum(free) - 1).astype(np.int32)
        chance, measured, selves = search(np.flatnonzero(free))
        given = number[left[some]], number[right[some]], chance, measured
        mutual, cautious = judge_two(*given)(score[some], weights, start)
        best = estimate_two(*given, selves)(score[some], weights, start, cautious)[0]
        if best.max() < CLEAR:
            break
        scales.append(scale_scores(score[some][mutual], best))
        bits = add_left_over(left, right, score, bits, sum(sizes), scales[-1:])
    return tuple(scales)


def add_left_over(
    left: Int32, right: Int32, score: Float64, bits: Float64, records: int, scales: Sequence[Scale]
) -> Float64:
    """The bits of all pairs, such that best partners among the records that are left score as in `scales`.

    Examples
    --------
    The second record is more similar to the partner of the first one, but that is taken:

    >>> left, right = np.array([0, 1, 1], np.int32), np.array([2, 2, 3], np.int32)
    >>> score, bits = np.array([9.0, 8.0, 7.0]), np.array([0.0, -19.0, -18.0])
    >>> (score + add_left_over(left, right, score, bits, 4, [(1.0, -1.0)])).tolist()
    [9.0, -11.0, 6.0]
    """
    bits = bits.copy()
    for factor, shift in scales:
        free = _free_records(left, right, score + bits, records)
        places: Int64 = np.flatnonzero(free[left] & free[right])
        ends = left[places], right[places]
        chosen = places[Best.find(*ends, score[places], records).mutual(*ends)]
        bits[chosen] = np.minimum(factor * score[chosen] + shift, CERTAIN) - score[chosen]
    return bits


def _free_records(left: Int32, right: Int32, score: Float64, records: int) -> Bool:
    """Which records are in no pair that is more likely a match than not."""
    free, matches = np.ones(records, np.bool_), score >= 0
    free[left[matches]] = free[right[matches]] = False
    return free
