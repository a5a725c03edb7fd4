"""Linking what is left once the records with a clear match are set aside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lookalike.linkage.scoring.words.left_over import add_left_over, judge_left_over
from lookalike.linkage.scoring.words.within import Chance


@pytest.mark.parametrize("seed", range(20))
def test_left_over_partners_by_definition(seed):
    draw = np.random.default_rng(seed)
    pairs = sorted({(int(a), int(b)) for a, b in zip(draw.integers(0, 12, 60), draw.integers(12, 26, 60))})
    left, right = np.array(pairs, np.int32).T.copy()
    score = draw.permutation(len(pairs)) - 20.0  # all different
    bits = np.where(draw.random(len(pairs)) < 0.3, 0.0, -99.0)
    scales = [(0.5, 3.0), (1.0, 1.0)]
    expected = dict(zip(pairs, bits.tolist()))
    scores = dict(zip(pairs, score.tolist()))
    for factor, shift in scales:
        taken = {end for pair in pairs if scores[pair] + expected[pair] >= 0 for end in pair}
        free = [pair for pair in pairs if not taken & set(pair)]
        best = {
            end: max((pair for pair in free if end in pair), key=scores.__getitem__) for pair in free for end in pair
        }
        for pair in free:
            if best[pair[0]] == best[pair[1]] == pair:
                expected[pair] = min(factor * scores[pair] + shift, math.log2(999)) - scores[pair]
    found = add_left_over(left, right, score, bits, 26, scales)
    assert found.tolist() == pytest.approx(list(expected.values()))
    assert add_left_over(left, right, score, bits, 26, []).tolist() == bits.tolist()


def make_points(share, records=300, seed=1):
    """Pairs of points, alike in groups of three, the first ones of both tables the same but for noise."""
    draw = np.random.default_rng(seed)
    tables = [np.repeat(draw.random((records // 3, 5)), 3, axis=0) + draw.normal(0, 0.03, (records, 5)) for _ in "ab"]
    matches = int(share * records)
    tables[1][:matches] = tables[0][:matches] + draw.normal(0, 0.02, (matches, 5))
    every = np.arange(records, dtype=np.int32)

    def score(one, other):
        return -20 * np.linalg.norm(one[:, None] - other[None], axis=2).ravel()

    left, right = (grid.ravel().astype(np.int32) for grid in np.meshgrid(every, every, indexing="ij"))
    apart = left < right
    inside = [np.concatenate([ends[apart], ends[apart] + records]) for ends in (left, right)]
    measured = np.concatenate([score(table, table)[apart] for table in tables])[:, None].astype(np.float32)

    def search(some):
        """All pairs of these records within a table."""
        kept = np.isin(inside, some).all(axis=0)
        numbers = (np.searchsorted(some, ends[kept]).astype(np.int32) for ends in inside)
        every = np.ones(len(some), np.bool_)
        sizes = int((some < records).sum()), int((some >= records).sum())
        return Chance(*numbers, every, every, sizes), measured[kept], np.zeros((1, 1), np.float32)

    return left, right + records, score(*tables), search


@pytest.mark.parametrize(("share", "rounds"), [(1.0, True), (0.2, False)])
def test_nothing_is_left_to_link_if_few_records_have_a_match(share, rounds):
    left, right, score, search = make_points(share)
    match = (right - left == 300) & (left < share * 300)
    clear = match & (left % 3 > 0)  # one in three matches was not found
    bits = np.where(clear, 5.0, -50.0) - score
    scales = judge_left_over(left, right, score, bits, (300, 300), search, np.ones(1), 0.0)
    assert bool(scales) == rounds
    assert not judge_left_over(left, right, score, bits, (300, 20_001), search, np.ones(1), 0.0)
    found = score + add_left_over(left, right, score, bits, 600, scales)
    assert (found[match & ~clear] >= 0).mean() > 0.9 if rounds else np.array_equal(found, score + bits)
