"""When learned weights are kept: not if they were learned from doubtful pairs and then find many more of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.kernels.scoring import number_rows
from lookalike.linkage.scoring.words.evidence import Feature
from lookalike.linkage.scoring.words.weights import learn_weights

PAIRS = 200


def learn(before, now):
    """Learn from pairs whose probability is `before` by the first weights, and `now` by all others."""
    left, right = np.repeat(np.arange(PAIRS // 2), 2).astype(np.int32), np.arange(PAIRS, 2 * PAIRS, dtype=np.int32)
    measured = np.random.default_rng(1).random((PAIRS, 2)).astype(np.float32)
    features = [Feature(0, "words", True), Feature(0, "trigrams", True)]
    first = np.array([one.start for one in features])
    mutual = np.arange(PAIRS) % 2 == 0

    def judge(score, weights, start):
        return mutual, np.full(PAIRS // 2, before if np.array_equal(weights, first) else now)

    return learn_weights(left, right, measured, features, 2 * PAIRS, judge).learned


@pytest.mark.parametrize(
    ("before", "now", "learned"),
    [
        (0.3, 0.4, True),
        (0.3, 0.49, False),
        (0.3, 0.7, True),
        (0.3, 0.8, False),
        (0.5, 0.9, True),
        (0.9, 0.3, False),
        (0.1, 0.1, False),
    ],
)
def test_weights_from_doubtful_pairs_must_not_find_many_more(before, now, learned):
    assert learn(before, now) == learned


VALUES = st.sampled_from([0.0, -0.0, 0.25, 1e30])


@given(arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(1, 4)), elements=VALUES))
def test_the_number_of_a_row_depends_on_its_values_alone(table):
    rows = np.arange(len(table))[::-1].copy()
    numbers = np.empty(len(rows), np.uint64)
    number_rows(table.view(np.uint32), rows, numbers)
    for row, number in zip(rows, numbers):
        state = 0
        for value in table[row]:
            bits = int.from_bytes((value + np.float32(0)).tobytes(), "little")
            state = (state ^ bits) * 0x9E3779B97F4A7C15 % 2**64
            state ^= state >> 29
        assert number == state
