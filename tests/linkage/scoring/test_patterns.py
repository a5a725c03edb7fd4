from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.linkage.scoring.patterns import check_levels, patterns_of
from lookalike.linkage.scoring.points import deduct
from lookalike.tuning.monotone import rising

tables = st.integers(1, 30).flatmap(
    lambda fields: st.lists(st.lists(st.integers(0, 9), min_size=fields, max_size=fields), min_size=1, max_size=30)
)


@given(tables)
def test_pairs_are_counted_by_pattern(rows):
    found = patterns_of(np.array(rows, np.int8))
    want = sorted(Counter(map(tuple, rows)).items())
    assert list(zip(map(tuple, found.levels.tolist()), found.counts.tolist())) == want
    assert found.levels[found.of_pair].tolist() == rows


def test_more_fields_than_fit_a_number():
    # 40 fields of 10 levels have 10^40 possible patterns; the first and the last field tell these apart.
    rows = np.full((6, 40), 9, np.int8)
    rows[1, 0] = rows[2, 39] = rows[4, 0] = 3
    found = patterns_of(rows)
    assert found.counts.tolist() == [2, 1, 3]
    assert found.levels[found.of_pair].tolist() == rows.tolist()


def test_many_patterns_in_any_order_of_memory():
    rows = np.random.default_rng(1).integers(0, 10, (200_000, 6), np.int8)
    found = patterns_of(np.asfortranarray(rows))
    levels, counts = np.unique(rows, axis=0, return_counts=True)
    assert (found.levels == levels).all()
    assert (found.counts == counts).all()
    assert (found.levels[found.of_pair] == rows).all()


def test_no_pairs_have_no_patterns():
    found = patterns_of(np.empty((0, 3), np.int8))
    assert found.levels.shape == (0, 3)
    assert len(found.counts) == len(found.of_pair) == 0


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        (np.zeros(3, np.int8), r"at least one field, not \(3,\)"),
        (np.zeros((2, 0), np.int8), r"at least one field, not \(2, 0\)"),
        (np.array([[-1]], np.int8), "must not be negative"),
    ],
)
def test_levels_that_are_none_are_refused(levels, says):
    with pytest.raises(UsageError, match=says):
        patterns_of(levels)


def test_levels_that_a_field_does_not_have_are_refused():
    with pytest.raises(UsageError, match=r"field 1 has levels 0 .missing. to 2, not 3"):
        check_levels(np.array([[1, 3]], np.int8), (4, 2))
    with pytest.raises(UsageError, match=r"field 0 .* not -1"):
        check_levels(np.array([[-1, 1]], np.int8), (4, 2))
    with pytest.raises(UsageError, match="by 3 fields"):
        check_levels(np.array([[1, 1]], np.int8), (2, 2, 2))


sequences = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 5)), min_size=1, max_size=12)


@given(sequences)
def test_rising_is_the_largest_of_smallest_means(pairs):
    values, weights = np.array(pairs, np.float64).T

    def mean(first, last):
        return np.average(values[first : last + 1], weights=weights[first : last + 1])

    count = len(values)
    want = [max(min(mean(s, t) for t in range(i, count)) for s in range(i + 1)) for i in range(count)]
    got = rising(values, weights)
    np.testing.assert_allclose(got, want, atol=1e-9)
    assert got @ weights == pytest.approx(values @ weights, abs=1e-9)


def test_points_of_a_pair_are_the_sum_of_its_fields():
    # 100 points for each of three fields; a small slip costs a little, another value all.
    points = deduct((3, 4, 2), deductions=[[0, 5, 100], None, None])
    assert points.total == 300
    levels = np.array([[1, 1, 1], [2, 1, 1], [1, 3, 1], [3, 4, 2], [0, 0, 0], [2, 2, 0]], np.int8)
    want = [300, 295, 100 + 100 / 3 + 100, 0, 150, 95 + 200 / 3 + 50]
    assert points.score(levels).tolist() == pytest.approx(want)
    assert points.by_field(levels)[5].tolist() == pytest.approx([95, 200 / 3, 50])
    assert [tuple(row) for row in points.table()[:4]] == [(0, 0, 50), (0, 1, 100), (0, 2, 95), (0, 3, 0)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sizes": [1]}, "two levels"),
        ({"sizes": [2], "worth": [0]}, "must be positive"),
        ({"sizes": [2], "worth": [1, 2]}, "points for 2"),
        ({"sizes": [3], "deductions": [[0, 1]]}, "one for each level"),
        ({"sizes": [3], "deductions": [[0, 9, 1]]}, "must not decrease"),
        ({"sizes": [2], "missing": 2}, "between 0 and 1"),
    ],
)
def test_points_that_make_no_sense_are_refused(options, says):
    with pytest.raises(UsageError, match=says):
        deduct(**options)


def test_levels_without_points_are_refused():
    with pytest.raises(UsageError, match=r"field 0 has levels 0 \(missing\) to 2, not 3"):
        deduct((2, 2)).score(np.array([[3, 1]], np.int8))
