from __future__ import annotations

import numpy as np
import pytest

from lookalike.linkage.scoring.chance import Best, Chance, judge_alone, judge_partners

NO_OTHERS = np.empty(0)
"""Without other pairs, similarity within and between the tables is not compared."""


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
    likely = judge_partners(score, NO_OTHERS, chance, inside)
    chosen = likely > 0.5
    assert chosen.any()
    truth = np.arange(len(score)) < matches
    assert abs(likely[chosen].mean() - truth[chosen].mean()) < 0.1


@pytest.mark.parametrize("apart", [-2.0, 2.0])
def test_records_of_a_table_may_be_more_alike_than_those_of_two(apart):
    # Six other pairs per record show by how much.
    draw, size, matches = np.random.default_rng(2), 2000, 200
    score = scores_of(draw, matches, size - matches, 1.0)
    pairs, left = np.arange(0, 2 * size, 2, dtype=np.int32), np.repeat(np.arange(2 * size, dtype=np.int32), 6)
    right = (np.where(left < size, 0, size) + draw.integers(0, size, len(left))).astype(np.int32)
    chance = Chance(np.append(left, pairs), np.append(right, pairs + np.int32(1)), (size, size))
    inside = np.append(draw.normal(-2, 1, len(left)), draw.normal(1, 1, size)) + apart
    others = draw.normal(-2, 1, len(left))
    likely = judge_partners(score, others, chance, inside)
    assert abs(likely.sum() - matches) < 0.15 * matches


def test_nothing_stands_out_if_the_tables_share_nothing():
    draw, size = np.random.default_rng(3), 1000
    pairs = np.arange(0, size, 2, dtype=np.int32)
    chance = Chance(np.append(pairs, pairs + size), np.append(pairs, pairs + size) + np.int32(1), (size, size))
    likely = judge_partners(draw.normal(1, 1, size // 2), NO_OTHERS, chance, draw.normal(1, 1, size))
    assert likely.sum() < 0.1 * size


def test_wrong_partners_that_beat_the_match_are_counted():
    # All records match, but record n of the left table may be more like record n + 1 of the right one.
    draw, size = np.random.default_rng(4), 2000
    match, wrong = draw.normal(2.5, 1, size), draw.normal(1.5, 1, size)
    wins = (wrong > match) & (wrong > np.roll(match, -1))
    kept = ~wins & ~np.roll(wins, 1)
    score, right = np.append(match[kept], wrong[wins]), np.arange(kept.sum() + wins.sum()) < kept.sum()
    pairs = np.arange(0, size, 2, dtype=np.int32)
    chance = Chance(np.append(pairs, pairs + size), np.append(pairs, pairs + size) + np.int32(1), (size, size))
    inside = np.tile(np.sort(wrong)[::-1][::2], 2)
    likely = judge_partners(score, NO_OTHERS, chance, inside)
    assert right.mean() < 0.88
    assert abs(likely.mean() - right.mean()) < 0.1


def neighbours(draw, records, matched, top=8):
    """Pairs of one table: exponential scores by chance, and matches of the first records, two by two."""
    left = np.repeat(np.arange(records, dtype=np.int32), top)
    right = ((left + draw.integers(1, records, len(left))) % records).astype(np.int32)
    score = draw.exponential(1, len(left))
    pairs = np.arange(0, matched, 2, dtype=np.int32)
    left, right = np.append(left, pairs), np.append(right, pairs + 1)
    return left, right, np.append(score, draw.normal(12, 1, len(pairs))), np.arange(len(left)) >= records * top


@pytest.mark.parametrize("matched", [0, 100, 600, 1800])
def test_one_table_is_judged_by_second_choices(matched):
    left, right, score, truth = neighbours(np.random.default_rng(5), 2000, matched)
    mutual, likely = judge_alone(left, right, score, 2000)
    assert abs(likely.sum() - truth[mutual].sum()) < 0.1 * len(likely)
    assert likely[truth[mutual]].sum() >= 0.65 * matched / 2
