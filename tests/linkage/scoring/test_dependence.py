"""Which fields depend on each other, compared with a plain reference."""

import numpy as np
import pytest

from lookalike.linkage.scoring.dependence import AGAINST, LEAST, _likely, _Pairs


def joint(levels, counts, sizes, evidence, prior, first, second):
    """Pattern by pattern: those whose other fields are evidence against a match, with none in favour."""
    together, doubtful = np.zeros((sizes[first], sizes[second])), 0.0
    for row, count, own in zip(levels, counts, evidence):
        others = [value for place, value in enumerate(own) if place not in (first, second)]
        against = min([0.0, *others])
        if max([0.0, *others]) > 0 or against > AGAINST:
            continue
        doubtful += count * float(_likely(np.array([max(against, LEAST)]), prior)[0])
        if row[first] and row[second]:
            together[row[first] - 1, row[second] - 1] += count
    return together, doubtful


@pytest.mark.parametrize("fields", [3, 4, 9])
def test_pairs_by_level_of_two_fields(fields):
    draw = np.random.default_rng(fields)
    sizes = tuple(draw.integers(2, 5, fields).tolist())
    levels = np.stack([draw.integers(0, size + 1, 300) for size in sizes], axis=1).astype(np.int8)
    counts = draw.integers(1, 50, 300).astype(np.float64)
    # Values recur, so that two fields are equally strong evidence.
    evidence = draw.choice([-9.0, -4.0, -0.5, 0.0, 3.0], (300, fields), p=[0.2, 0.3, 0.3, 0.1, 0.1])
    pairs = _Pairs.of(levels, counts, sizes, evidence, 1e-3, [False] * fields)
    seen = 0.0
    for first in range(fields):
        for second in range(first + 1, fields):
            found, doubtful = pairs.joint(first, second)
            expected, doubts = joint(levels, counts, sizes, evidence, 1e-3, first, second)
            assert found.tolist() == expected.tolist()
            assert doubtful == pytest.approx(doubts)
            seen += expected.sum()
    assert seen > 0


def test_pairs_that_differ_in_one_field_only_are_no_dependence():
    """Two fields tell records apart: pairs that are equal in both, and differ in one other, are matches."""
    levels = np.array([[1, 1, 2, 2], [1, 1, 2, 0], [1, 2, 2, 2], [2, 1, 2, 2], [2, 2, 2, 2]], np.int8)
    counts, sizes = np.array([7.0, 50.0, 40.0, 30.0, 1000.0]), (2, 2, 2, 2)
    evidence = np.where(levels == 0, 0.0, np.where(levels == 1, 9.0, -5.0))
    chance = 40 * 30 / 1000
    for telling, equal in (([True] * 4, 7.0), ([True, False, True, True], 57.0)):
        found, _ = _Pairs.of(levels, counts, sizes, evidence, 1e-3, telling).joint(0, 1)
        assert found.tolist() == [[equal, 40.0], [30.0, 1000.0]]
    found, _ = _Pairs.of(levels[1:], counts[1:], sizes, evidence[1:], 1e-3, [True] * 4).joint(0, 1)
    assert found[0, 0] == pytest.approx(chance)
