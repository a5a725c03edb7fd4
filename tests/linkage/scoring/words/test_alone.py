from __future__ import annotations

import numpy as np
import pytest

from lookalike.linkage.scoring.words.alone import find_valley, judge_alone, stand_out


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
    assert abs(likely.sum() - truth[mutual].sum()) < 0.12 * len(likely)
    assert likely[truth[mutual]].sum() >= 0.65 * matched / 2


def test_what_many_records_have_in_common_does_not_hide_matches():
    """Entries without content are equal to each other: they score highest, but none of their pairs has a lead."""
    left, right, score, truth = neighbours(np.random.default_rng(5), 2000, 100)
    empty = np.array(np.triu_indices(40, 1), np.int32) + 1900
    left, right = np.append(left, empty[0]), np.append(right, empty[1])
    score, truth = np.append(score, np.full(empty.shape[1], 14.0)), np.append(truth, np.zeros(empty.shape[1], np.bool_))
    mutual, likely = judge_alone(left, right, score, 2000)
    assert likely[truth[mutual]].mean() > 0.6
    assert likely[~truth[mutual]].sum() < 5


def test_pairs_below_a_valley_are_no_matches():
    """Two discs of a set have more in common than chance predicts, and copies of a disc have even more."""
    draw = np.random.default_rng(5)
    left, right, score, truth = neighbours(draw, 2000, 100)
    discs = np.arange(1000, 1160, 2, dtype=np.int32)
    left, right = np.append(left, discs), np.append(right, discs + 1)
    score, truth = np.append(score, draw.normal(5, 0.5, len(discs))), np.append(truth, np.zeros(len(discs), np.bool_))
    mutual, likely = judge_alone(left, right, score, 2000)
    assert likely[truth[mutual]].mean() > 0.5
    assert likely[~truth[mutual]].sum() < 5


@pytest.mark.parametrize("seed", range(5))
def test_a_density_that_only_falls_has_no_valley(seed):
    draw = np.random.default_rng(seed)
    assert find_valley(draw.exponential(1, 3000)) == -np.inf
    assert find_valley(draw.normal(0, 1, 3000)) == -np.inf


def test_a_pair_stands_out_by_its_lead():
    draw = np.random.default_rng(1)
    left, right = draw.integers(0, 30, 300).astype(np.int32), draw.integers(30, 60, 300).astype(np.int32)
    _, once = np.unique(left * 100 + right, return_index=True)
    left, right, score = left[once], right[once], draw.integers(0, 9, len(once)).astype(np.float64)
    for number, found in enumerate(stand_out(left, right, score, 60)):
        rivals = (left == left[number]) | (right == right[number])
        rivals[number] = False
        best = max(score[rivals & (side == side[number])].max(initial=score.min()) for side in (left, right))
        assert found == 2 * score[number] - best
