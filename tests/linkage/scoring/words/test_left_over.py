"""Linking what is left once the records with a clear match are set aside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lookalike.linkage.partners import LARGE
from lookalike.linkage.scoring.words.left_over import add_left_over, judge_left_over
from lookalike.linkage.scoring.words.weights import estimate_two, judge_two, scale_scores
from lookalike.linkage.scoring.words.within import Chance


@pytest.mark.parametrize("seed", range(20))
def test_left_over_partners_by_definition(seed):
    draw = np.random.default_rng(seed)
    pairs = sorted({(int(a), int(b)) for a, b in zip(draw.integers(0, 12, 60), draw.integers(12, 26, 60))})
    left, right = np.array(pairs, np.int32).T.copy()
    score = draw.permutation(len(pairs)) - 20.0  # all different
    bits = np.where(draw.random(len(pairs)) < 0.3, 0.0, -99.0)
    scales = [(0.5, 3.0), (1.0, 1.0)]
    expected, given = dict(zip(pairs, bits.tolist())), bits.copy()
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
    assert add_left_over(left, right, score, bits, 26, []).tolist() == bits.tolist() == given.tolist()


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


class SearchedError(Exception):
    """Raised with the records that are searched."""


def searched_records(matches, sizes, further=(), score=1.0):
    """The records that are left and searched, or None; certain matches are followed by pairs with this score."""

    def search(some):
        raise SearchedError(some.tolist())

    pairs = [*((n, sizes[0] + n) for n in range(matches)), *further]
    left, right = np.array(pairs, np.int32).T.copy()
    plain = np.full(len(pairs), 700.0)
    bits = np.where(np.arange(len(pairs)) < matches, 600.0, score) - plain
    try:
        assert judge_left_over(left, right, plain, bits, sizes, search, np.ones(1), 0.0) == ()
    except SearchedError as error:
        return error.args[0]
    return None


def test_most_records_of_the_smaller_table_must_have_a_clear_match():
    last = [(19, 49)]
    assert searched_records(12, (20, 30), last, -9.0) == [*range(12, 20), *range(32, 50)]  # 60 %
    assert searched_records(11, (20, 30), last, -9.0) is None
    unclear = [(left, right) for left in range(11, 20) for right in range(31, 50)]
    assert searched_records(11, (20, 30), unclear, -1.0) is None  # 171 times a third of a match


def test_records_that_are_left_must_be_enough_and_have_pairs():
    for sizes in ((20, 30), (30, 20)):
        last = [(sizes[0] - 1, sum(sizes) - 1)]
        assert searched_records(15, sizes, last, -9.0) == [*range(15, sizes[0]), *range(sizes[0] + 15, sum(sizes))]
        assert searched_records(16, sizes, last, -9.0) is None
        assert searched_records(15, sizes, [(0, sum(sizes) - 1)], -9.0) is None


def test_nothing_is_left_to_link_in_large_tables():
    for large, yes in ((LARGE, True), (LARGE + 1, False)):
        assert (searched_records(15, (20, large), [(19, large)], -9.0) is not None) == yes


@pytest.mark.parametrize("matches", [105, 120])
def test_what_is_left_is_scaled_in_three_rounds(matches):
    """As if there were only the records that are left; each round starts with the matches of those before."""
    records = 150
    left, right, score, search = make_points(matches / records, records, seed=3)
    bits = np.where((right - left == records) & (left < matches), 5.0, -50.0) - score

    def judge(bits):
        return judge_left_over(left, right, score, bits, (records, records), search, np.ones(1), 0.0)

    scales = judge(bits)
    rest = (left >= matches) & (right >= records + matches)
    chance, measured, selves = search(np.append(np.arange(matches, records), np.arange(matches, records) + records))
    given = left[rest] - np.int32(matches), right[rest] - np.int32(2 * matches), chance, measured
    mutual, cautious = judge_two(*given)(score[rest], np.ones(1), 0.0)
    likely = estimate_two(*given, selves)(score[rest], np.ones(1), 0.0, cautious)[0]
    assert scales[0] == pytest.approx(scale_scores(score[rest][mutual], likely))
    assert len(scales) == 3
    for done in (1, 2, 3):
        further = judge(add_left_over(left, right, score, bits, 2 * records, scales[:done]))
        assert further  # also after the third round
        assert np.allclose(further[: 3 - done], scales[done:])


def test_no_scale_if_nothing_that_is_left_is_likely_a_match():
    left, right, score, search = make_points(0.7)
    bits = np.where((right - left == 300) & (left < 210), 5.0, -50.0) - score
    assert judge_left_over(left, right, score, bits, (300, 300), search, np.ones(1), 0.0) == ()
