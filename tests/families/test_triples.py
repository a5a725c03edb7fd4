"""Triples: the lecture's numbers, and how often squares that are drawn by its model agree."""

import math

import numpy as np
import pytest

from lookalike.errors import UsageError
from lookalike.families import Or
from lookalike.families.triples import Triples
from lookalike.types import NOWHERE


def test_the_numbers_of_the_lecture():
    family = Triples(occupied=0.2)
    same, random = family.probability(0.2), family.probability(0.8)
    assert same == pytest.approx(0.004096)
    assert random == pytest.approx(0.000064)
    assert Or(family, 1024).sensitivity(0.2, 0.8)[2:] == pytest.approx((0.985, 0.063), abs=5e-4)
    assert Or(family, 1024).curve(same) == pytest.approx(1 - (1 - 0.004096) ** 1024)
    assert family.sensitivity(0.2, 0.8) == (0.2, 0.8, same, random)


@pytest.mark.parametrize("occupied", [0.2, 0.5])
@pytest.mark.parametrize("distance", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_prints_share_a_triple_as_often_as_the_formula_says(occupied, distance):
    pairs, functions, squares = 3000, 30, 300
    random = np.random.default_rng(5)
    left = random.random((pairs, squares)) < occupied
    right = left & (random.random((pairs, squares)) >= distance)
    family = Triples(squares, occupied)
    hashed = family.hash(np.concatenate([left, right]), functions)
    places = np.arange(pairs)
    agree = sum(int(hashed.agree(k, places, places + pairs).sum()) for k in range(functions))
    expected, draws = family.probability(distance), pairs * functions
    # triples seldom have squares in common, so they are nearly independent
    assert abs(agree - draws * expected) <= 5 * math.sqrt(draws * expected * (1 - expected))


def test_a_print_is_in_the_bucket_if_it_has_all_three_squares():
    random = np.random.default_rng(2)
    prints = random.random((50, 20)) < 0.6
    family = Triples(20, seed=4)
    hashed = family.hash(prints, 40)
    assert hashed.buckets.shape == (40, 50, 1)
    for function in range(40):
        a, b, c = family.triple(function).tolist()
        want = [0 if row[a] and row[b] and row[c] else NOWHERE for row in prints]
        assert hashed.buckets[function, :, 0].tolist() == want
        assert family.buckets_of(prints, function)[:, 0].tolist() == want
    assert any(not np.array_equal(family.triple(k), Triples(20, seed=5).triple(k)) for k in range(5))


@pytest.mark.parametrize("wrong", [{"squares": 2}, {"occupied": 0}, {"occupied": 1.1}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(UsageError, match=rf"^{next(iter(wrong))} .*must be .*, not {next(iter(wrong.values()))}$"):
        Triples(**wrong)


@pytest.mark.parametrize("items", [np.zeros((3, 5), bool), np.zeros((3, 4)), np.zeros(4, bool)])
def test_wrong_items_are_refused(items):
    with pytest.raises(UsageError, match="4 columns"):
        Triples(4).hash(items, 1)
