"""Cells: how often two items share one, by the formula and by a plain reference."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.families import Or
from lookalike.families.cells import Cells
from lookalike.types import NOWHERE


def plain_cells(family, item, function):
    """The cells of one item as tuples of ranges."""
    columns, starts = family.chosen(function, len(item))
    options = []
    for column, start in zip(columns, starts):
        place = item[column] / family.widths[column % family.widths.size] + start
        own = math.floor(place)
        ranges = [own]
        if place - own < family.edge:
            ranges.append(own - 1)
        elif place - own > 1 - family.edge:
            ranges.append(own + 1)
        options.append(ranges)
    return set(itertools.product(*options))


@pytest.mark.parametrize("edge", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("distance", [0.0, 0.05, 0.2, 0.5, 0.9, 1.3, 2.5])
def test_items_share_a_cell_as_often_as_the_formula_says(edge, r, distance):
    functions, pairs = 40, 50
    random = np.random.default_rng(7)
    left = random.normal(0, 10, (pairs, 6))
    widths = random.uniform(0.5, 3, 6)
    signs = random.choice([-1.0, 1.0], (pairs, 6))
    family = Cells(widths, r, edge, seed=3)
    hashed = family.hash(np.concatenate([left, left + signs * distance * widths]), functions)
    agree = sum(
        int(hashed.agree(k, np.arange(pairs), np.arange(pairs) + pairs).sum()) for k in range(functions)
    )  # fmt: skip
    expected, draws = family.probability(distance), functions * pairs
    # The pairs of a function have its starts in common, but their own places: the ranges are independent.
    assert abs(agree - draws * expected) <= 5 * math.sqrt(draws * expected * (1 - expected)) + 1e-9 * draws


@given(
    st.lists(st.lists(st.floats(-50, 50), min_size=4, max_size=4), min_size=2, max_size=6),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.2, 0.5]),
    st.integers(0, 5),
)
def test_buckets_are_those_of_the_plain_reference(rows, r, edge, seed):
    family, items = Cells([1.0, 2.0, 0.5, 7.0], r, edge, seed), np.array(rows)
    hashed = family.hash(items, 2)
    for k in range(2):
        cells = [plain_cells(family, item, k) for item in items]
        for i, j in itertools.product(range(len(items)), repeat=2):
            shared = bool(hashed.agree(k, np.array([i]), np.array([j]))[0])
            assert shared == bool(cells[i] & cells[j])
        used = (hashed.buckets[k] != NOWHERE).sum(axis=1)
        assert used.tolist() == [len(one) for one in cells]


@pytest.mark.parametrize("edge", [0.0, 0.2])
def test_constructions_of_cells(edge):
    """Candidates of an OR of cells are the pairs that share a cell of one of them; as many as the curve says."""
    random = np.random.default_rng(3)
    left = random.normal(0, 30, (600, 8))
    family = Or(Cells(1.0, 3, edge), 4)
    items = np.concatenate([left, left + 0.5])
    found = set(zip(*(side.tolist() for side in family.candidates(items))))
    hashed = family.hash(items, 4)
    pairs = np.arange(600)
    agree = np.any([hashed.agree(k, pairs, pairs + 600) for k in range(4)], axis=0)
    assert {(a, b) for a, b in found if b - a == 600} == {(int(a), int(a) + 600) for a in pairs[agree]}
    expected = family.probability(0.5)
    assert abs(agree.sum() - 600 * expected) <= 5 * math.sqrt(600 * expected * (1 - expected))


def test_no_more_choices_are_stored_than_needed():
    items = np.random.default_rng(1).normal(size=(50, 5))
    assert Cells(1.0, 3).hash(items, 4).buckets.shape == (4, 50, 1)
    assert Cells(1.0, 3, edge=0.5).hash(items, 4).buckets.shape == (4, 50, 8)
    assert Cells(1.0, 3, edge=0.01).hash(items[:1], 1).buckets.shape[2] < 8


def test_the_first_functions_do_not_depend_on_their_number():
    items = np.random.default_rng(1).normal(size=(20, 5))
    few, many = Cells(1.0, 2, 0.1).hash(items, 3), Cells(1.0, 2, 0.1).hash(items, 9)
    room = few.buckets.shape[2]
    assert np.array_equal(few.buckets, many.buckets[:3, :, :room])
    other = Cells(1.0, 2, 0.1, seed=2).hash(items, 3)
    assert not np.array_equal(few.buckets[:, :, 0], other.buckets[:, :, 0])


def test_the_edge_rule_keeps_what_is_within_two_edges():
    family = Cells(1.0, 2, edge=0.2)
    assert family.probability(0.4) == pytest.approx(1)
    assert family.probability(0.5) == pytest.approx(0.9**2)
    assert family.probability(1.4) == pytest.approx(0)
    assert family.sensitivity(0.4, 1.4)[2:] == (pytest.approx(1), pytest.approx(0, abs=1e-12))


@pytest.mark.parametrize("wrong", [{"widths": 0}, {"widths": [1, -1]}, {"widths": []}, {"widths": np.nan},
                                   {"r": 0}, {"r": 17}, {"edge": -0.1}, {"edge": 0.6}])  # fmt: skip
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(UsageError, match=f"^{next(iter(wrong))} must be "):
        Cells(**({"widths": 1.0} | wrong))


def test_wrong_items_are_named():
    with pytest.raises(UsageError, match="3 widths for items of 2"):
        Cells([1, 1, 1], 1).hash(np.zeros((1, 2)), 1)
    with pytest.raises(UsageError, match="only 2 measurements"):
        Cells(1.0, 3).hash(np.zeros((1, 2)), 1)
    with pytest.raises(UsageError, match="matrix"):
        Cells(1.0, 1).hash(np.zeros(3), 1)
    for bad in (np.nan, np.inf, -np.inf):
        items = np.zeros((3, 2))
        items[2, 1] = bad
        with pytest.raises(BadDataError, match="row 2, column 1"):
            Cells(1.0, 2).hash(items, 1)
    with pytest.raises(BadDataError, match="row 0, column 0: too large"):
        Cells(1e-9, 1).hash(np.full((1, 1), 1e300), 1)
