from __future__ import annotations

import numpy as np
import pytest

from lookalike.linkage.scoring.chance import Best, Chance, judge_partners


def test_best_partners_by_definition():
    draw = np.random.default_rng(1)
    left, right = draw.integers(0, 20, 300).astype(np.int32), draw.integers(20, 40, 300).astype(np.int32)
    score = draw.integers(0, 9, 300).astype(np.float64)
    best = Best.find(left, right, score, 41)
    for record in range(41):
        own = [(-s, a + b - record) for a, b, s in zip(left.tolist(), right.tolist(), score) if record in (a, b)]
        assert best.partner[record] == (min(own)[1] if own else -1)


def scores_of(draw, matches, free, lift):
    """Scores of best partners: of matches, and by chance."""
    return np.append(draw.normal(6, 1, matches), draw.normal(lift, 1, free // 2))


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_precision_is_estimated_without_labels(share, apart):
    # Within the left table, best partners score `apart` more than between the tables, within the right one less.
    draw, size = np.random.default_rng(2), 2000
    matches = int(share * size)
    score = scores_of(draw, matches, size - matches, 1.0)
    pairs = np.arange(0, size, 2, dtype=np.int32)
    chance = Chance(np.append(pairs, pairs + size), np.append(pairs, pairs + size) + np.int32(1), (size, size))
    inside = np.append(draw.normal(1 + apart, 1, size // 2), draw.normal(1 - apart, 1, size // 2))
    likely = judge_partners(score, chance, inside)
    chosen = likely > 0.5
    assert chosen.any()
    truth = np.arange(len(score)) < matches
    assert abs(likely[chosen].mean() - truth[chosen].mean()) < 0.1


def test_nothing_stands_out_if_the_tables_share_nothing():
    draw, size = np.random.default_rng(3), 1000
    pairs = np.arange(0, size, 2, dtype=np.int32)
    chance = Chance(np.append(pairs, pairs + size), np.append(pairs, pairs + size) + np.int32(1), (size, size))
    likely = judge_partners(draw.normal(1, 1, size // 2), chance, draw.normal(1, 1, size))
    assert likely.sum() < 0.1 * size
