"""What other pairs of two records say about their pair, compared with the definition in plain Python."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.words.partner_bits import partner_bits

CODES = Column("code", "code", np.array([0, 1, 2, 0, 1, 2], np.int32), pa.array(["a", "b", "c"]))
"""Records 0 to 2 are equal to records 3 to 5."""
BETWEEN = list(product(range(3), range(3, 6)))
WITHIN = [(a, b) for a in range(6) for b in range(a + 1, 6)]


def draw_scores(pairs):
    """Some pairs with different scores."""
    chosen = st.lists(st.sampled_from(pairs), min_size=1, unique=True).map(sorted)
    return st.tuples(chosen, st.permutations(range(-len(pairs) // 2, len(pairs) - len(pairs) // 2))).map(
        lambda given: dict(zip(given[0], map(float, given[1])))
    )


def score_pairs(scores, single, *more, **options):
    """The scores of pairs with the bits of their partners."""
    left, right = np.array(list(scores), np.int32).T.copy()
    score = np.array(list(scores.values()))
    return (score + partner_bits(left, right, score, 6, single, *more, **options)).tolist()


def least_score(likely):
    likely = min(max(likely, 0.001), 0.999)
    return log2(likely / (1 - likely))


@given(draw_scores(BETWEEN), st.sampled_from(["both", "left", "right", "none"]), st.sampled_from([0.0, 1e-6, 0.4, 1.0]))
def test_a_pair_loses_to_the_better_partners_of_its_records(scores, single, equal):
    best = [max((score for pair, score in scores.items() if end in pair), default=None) for end in range(6)]
    expected = []
    for pair, score in scores.items():
        rivals = {"left": [best[pair[0]]], "right": [best[pair[1]]]}.get(single, [best[end] for end in pair])
        if single == "none":
            found = score + (score - max(rivals)) - 3 * sum(rival > score for rival in rivals)
        else:
            found = score if max(rivals) == score else score - max(*rivals, 0) - 10
        is_equal = pair[1] - pair[0] == 3
        expected.append(max(found, least_score(equal)) if equal and is_equal else found)
    assert score_pairs(scores, single, columns=[CODES], equal=(equal, 0.0)) == pytest.approx(expected)


@given(draw_scores(WITHIN), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_pair_of_one_table_counts_by_its_lead(scores, common):
    """It loses ten bits if its records have nothing in common, and one if it is half."""
    loss, expected = log2(1 + 2 ** (10 * (1 - 2 * common))), []
    lowest = min(0.0, *scores.values())
    for pair, score in scores.items():
        others = [other for one, other in scores.items() if one != pair and set(one) & set(pair)]
        ends = [sum(end in one for one in scores) for end in pair]
        expected.append(2 * score - max([*others, *([lowest] if min(ends) == 1 else [])]) - loss)
    shares = np.full(len(scores), common)
    assert score_pairs(scores, "alone", shares) == pytest.approx(expected)
    same = [1 / (1 + 2**-bits) for pair, bits in zip(scores, expected) if pair[1] - pair[0] == 3]
    for place, pair in enumerate(scores):
        if pair[1] - pair[0] == 3:
            expected[place] = max(expected[place], least_score(sum(same) / len(same)))
    assert score_pairs(scores, "alone", shares, [CODES]) == pytest.approx(expected)


def test_a_pair_of_a_group_counts_by_the_lead_of_the_group():
    """The worst pair of records 0 to 2 has 7 bits, and the best one with another record has 1 bit."""
    scores = {(0, 1): 9.0, (0, 2): 8.0, (0, 3): 1.0, (1, 2): 7.0, (4, 5): -2.0}
    found = score_pairs(scores, "groups", np.array([1.0, 1.0, 1.0, 0.5, 0.2]))
    assert found == pytest.approx([13, 13, -10, 12, -12], abs=0.01)


def test_partners_that_are_left_over_are_scaled():
    """Record 1 is more similar to the partner of record 0, but that is taken; and so is record 0 for record 4."""
    scores = {(0, 3): 9.0, (0, 4): 7.5, (1, 3): 8.0, (1, 4): 7.0}
    assert score_pairs(scores, "both") == [9.0, -11.5, -11.0, -11.0]
    assert score_pairs(scores, "both", left_over=[(1.0, -1.0)]) == [9.0, -11.5, -11.0, 6.0]
