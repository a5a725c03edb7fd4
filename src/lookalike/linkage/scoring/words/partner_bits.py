"""What other pairs of two records say about their pair: a better partner, a lead over others, equal records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.words.alike import alike_bits, are_alike
from lookalike.linkage.scoring.words.alone import stand_out
from lookalike.linkage.scoring.words.best_partners import Best, Partners
from lookalike.linkage.scoring.words.equal import are_equal, least_likely
from lookalike.linkage.scoring.words.groups import stand_out_in_groups
from lookalike.linkage.scoring.words.leads import NO_LEADS, ChanceLeads
from lookalike.linkage.scoring.words.left_over import add_left_over
from lookalike.linkage.scoring.words.weights import LIKELY, probability_of
from lookalike.types import Float64, Int32

LEAST_DOUBT = 10.0
"""The fewest bits that a pair loses if one of its records has a better partner."""
SECOND_CHOICE = 3.0
"""The bits that a pair loses for each of its records with a better partner, if records can have several matches."""


def partner_bits(
    left: Int32,
    right: Int32,
    score: Float64,
    records: int,
    single: str = "both",
    common: Float64 | None = None,
    columns: Sequence[Column] = (),
    equal: Sequence[float] = (),
    left_over: Sequence[tuple[float, float]] = (),
    leads: ChanceLeads = NO_LEADS,
) -> Float64:
    """The (negative) bits of a pair if one of its records has a better partner, or the bits of its lead.

    `single` says which records have at most one match (`WordWeights.single`). If those of `both` tables have, best
    partners gain or lose bits for their lead, according to `leads` by chance. With several matches per record
    (`none`), a pair loses its distance to the best score of either record, and `SECOND_CHOICE` for each of the two
    records that has a better partner: matches of the same record have similar scores. In one table (`alone`), a pair
    gains or loses its lead; in one table of `groups`, the lead of its group, if the pair is within one. There, it
    also loses bits if its records have less in common than not (`common`, needed for one table only).

    What other records are similar says nothing about two that are equal in all `columns`, or in a code that identifies
    them. So none of these pairs is less likely a match than such pairs are on average: in one table, according to these
    scores, between two tables, according to `equal` (`WordWeights.equal`). Best partners among the records that are
    left once those with a clear match are set aside score as in `left_over` (`WordWeights.left_over`).

    Examples
    --------
    >>> left, right, score = np.array([0, 0], np.int32), np.array([1, 2], np.int32), np.array([4.0, 3.0])
    >>> [partner_bits(left, right, score, 3, single).tolist() for single in ("both", "none", "right")]
    [[0.0, -14.0], [0.0, -4.0], [0.0, 0.0]]
    >>> common = np.array([1.0, 0.0])
    >>> [partner_bits(left, right, score, 3, single, common).round().tolist() for single in ("alone", "groups")]
    [[1.0, -11.0], [1.0, -13.0]]
    """
    least = np.zeros(len(left))
    if single in ("alone", "groups"):
        assert common is not None
        bits = _bits_alone(left, right, score, records, single, common)
        if columns and (same := are_equal(columns, left, right)).any():
            least[same] = probability_of((score + bits)[same]).mean()
    else:
        bits = _bits_between(left, right, score, records, single, leads)
        least = least_likely(columns, left, right, equal)
    some = least > 0
    usual = np.clip(least[some], *LIKELY)
    bits[some] = np.maximum(bits[some], np.log2(usual / (1 - usual)) - score[some])
    return add_left_over(left, right, score, bits, records, left_over)


def _bits_alone(left: Int32, right: Int32, score: Float64, records: int, single: str, common: Float64) -> Float64:
    """The bits of the pairs of one table; see `partner_bits`."""
    if single == "alone":
        return stand_out(left, right, score, records) - score + alike_bits(common)
    bits = -np.maximum(score, 0.0) - LEAST_DOUBT
    inside, stands_out = stand_out_in_groups(left, right, score, are_alike(common), records)
    bits[inside] = stands_out - score[inside] + alike_bits(common[inside])
    return bits


def _bits_between(left: Int32, right: Int32, score: Float64, records: int, single: str, leads: ChanceLeads) -> Float64:
    """The bits of the pairs between two tables; see `partner_bits`."""
    best = Best.find(left, right, score, records)
    if single == "none":
        rival = np.maximum(best.score[left], best.score[right])
        choices = (best.partner[left] != right).astype(np.float64) + (best.partner[right] != left)
        return np.asarray(score - rival - SECOND_CHOICE * choices)
    ends = {"left": [(left, right)], "right": [(right, left)], "both": [(left, right), (right, left)]}[single]
    chosen = np.all([best.partner[own] == other for own, other in ends], axis=0)
    rival = np.max([best.score[own] for own, _ in ends], axis=0)
    bits = np.where(chosen, 0.0, -np.maximum(rival, 0.0) - LEAST_DOUBT)
    if single == "both":
        bits[chosen] = leads.bits(*Partners.find(left, right, score, records)[1])
    return bits
