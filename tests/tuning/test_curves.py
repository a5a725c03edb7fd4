from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.tuning.curves import (
    error_bound,
    false_negatives,
    false_positives,
    hashes_needed,
    lecture_threshold,
    miss_probability,
    probability,
    similarity_at,
)

small = st.integers(1, 12)
similarities = st.fractions(0, 1, max_denominator=50)


def exact_miss(similarity: Fraction, bands: int, rows: int) -> Fraction:
    return (1 - similarity**rows) ** bands


@given(similarities, small, small)
def test_probability_agrees_with_exact_arithmetic(similarity, bands, rows):
    missed = exact_miss(similarity, bands, rows)
    assert probability(float(similarity), bands, rows) == pytest.approx(float(1 - missed), rel=1e-12, abs=0)
    assert miss_probability(float(similarity), bands, rows) == pytest.approx(float(missed), rel=1e-12, abs=0)


def test_tiny_and_nearly_certain_probabilities_keep_their_digits():
    # 1 - (1 - s^r)^b is 20 s^r to first order; the plain formula gives 0 here.
    assert probability(0.01, 20, 10) == pytest.approx(20e-20, rel=1e-12, abs=0)
    assert 1 - (1 - 0.01**10) ** 20 == 0
    exact = exact_miss(Fraction(95, 100), 20, 5)
    assert float(exact) < 1.3e-13
    assert miss_probability(0.95, 20, 5) == pytest.approx(float(exact), rel=1e-12, abs=0)
    near_one = 1 - 2.0**-40
    exact = exact_miss(Fraction(near_one), 3, 7)
    assert miss_probability(near_one, 3, 7) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_ends_of_the_curve():
    for bands, rows in [(1, 1), (20, 5), (1, 65536), (65536, 1)]:
        assert probability(0.0, bands, rows) == 0
        assert probability(1.0, bands, rows) == 1
        assert miss_probability(0.0, bands, rows) == 1
        assert miss_probability(1.0, bands, rows) == 0


def test_arrays_keep_their_shape_and_scalars_are_floats():
    grid = np.linspace(0, 1, 6).reshape(2, 3)
    values = probability(grid, 20, 5)
    assert values.shape == (2, 3)
    assert values[1, 2] == probability(1.0, 20, 5)
    assert type(probability(0.5, 20, 5)) is float
    assert type(miss_probability(0.5, 20, 5)) is float


@pytest.mark.parametrize("similarity", [-0.1, 1.1, math.nan])
def test_similarities_out_of_range_are_refused(similarity):
    with pytest.raises(UsageError, match="from 0 to 1"):
        probability(similarity, 20, 5)
    with pytest.raises(UsageError, match="from 0 to 1"):
        similarity_at(similarity, 20, 5)
    with pytest.raises(UsageError, match="from 0 to 1"):
        false_negatives(similarity, 20, 5)


@pytest.mark.parametrize(("bands", "rows"), [(0, 5), (20, 0), (2.5, 4), (-1, 3)])
def test_bands_and_rows_must_be_whole_numbers_from_1(bands, rows):
    with pytest.raises(UsageError, match="bands and rows"):
        lecture_threshold(bands, rows)
    with pytest.raises(UsageError, match="bands and rows"):
        probability(0.5, bands, rows)


@given(st.floats(0.001, 0.999), st.integers(1, 500), st.integers(1, 500))
def test_similarity_at_inverts_the_curve(chance, bands, rows):
    assert probability(similarity_at(chance, bands, rows), bands, rows) == pytest.approx(chance, rel=1e-9)


def exact_area(start: Fraction, end: Fraction, bands: int, rows: int) -> Fraction:
    """The integral of (1 - s^rows)^bands by the binomial theorem."""
    return sum(
        (
            Fraction((-1) ** k * math.comb(bands, k), rows * k + 1) * (end ** (rows * k + 1) - start ** (rows * k + 1))
            for k in range(bands + 1)
        ),
        Fraction(0),
    )


@given(similarities, small, small)
def test_areas_agree_with_the_exact_integral(threshold, bands, rows):
    missed = exact_area(threshold, Fraction(1), bands, rows)
    false = threshold - exact_area(Fraction(0), threshold, bands, rows)
    assert false_negatives(float(threshold), bands, rows) == pytest.approx(float(missed), rel=1e-9, abs=1e-15)
    assert false_positives(float(threshold), bands, rows) == pytest.approx(float(false), rel=1e-9, abs=1e-15)


def test_areas_of_a_cliff():
    # With 60,000 rows in one band only similarity 1 is found: all that is wanted from 0.5 on is missed.
    assert false_negatives(0.5, 1, 60000) == pytest.approx(0.5 - 1 / 60001, rel=1e-9)
    # With 60,000 bands of one row all that shares anything is a candidate pair.
    assert false_positives(0.5, 60000, 1) == pytest.approx(0.5 - 1 / 60001, rel=1e-9)


@given(st.floats(0.005, 0.9), st.floats(1e-9, 0.9))
def test_hashes_needed_is_the_smallest_number_within_the_bound(error, chance):
    needed = hashes_needed(error, chance)
    assert 2 * math.exp(-2 * error**2 * needed) <= chance * (1 + 1e-12)
    if needed > 1:
        assert 2 * math.exp(-2 * error**2 * (needed - 1)) > chance * (1 - 1e-12)


def test_error_bound_is_a_probability():
    assert error_bound(1, 0.01) == 1.0
    assert error_bound(2000, 0.05) == pytest.approx(2 * math.exp(-10))
    with pytest.raises(UsageError, match="hashes"):
        error_bound(0, 0.05)
    with pytest.raises(UsageError, match="error must be above 0"):
        hashes_needed(0, 0.01)
    with pytest.raises(UsageError, match="probability must be above 0 and below 1"):
        hashes_needed(0.05, 1)
