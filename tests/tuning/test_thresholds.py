from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.tuning.thresholds import DISTANCES, MEASURES, check_threshold, jaccard_floor, parse_threshold


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.8, Fraction(4, 5)),
        (0.55, Fraction(11, 20)),
        (1 / 3, Fraction(3333333333333333, 10**16)),
        ("0.8", Fraction(4, 5)),
        (" .8 ", Fraction(4, 5)),
        ("8e-1", Fraction(4, 5)),
        ("2/3", Fraction(2, 3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (Decimal("0.8"), Fraction(4, 5)),
        (np.float64(0.8), Fraction(4, 5)),
        (np.float32(0.8), Fraction(4, 5)),
        (np.int64(3), Fraction(3)),
        (1, Fraction(1)),
        (1.0, Fraction(1)),
        (0, Fraction(0)),
        (-0.5, Fraction(-1, 2)),
    ],
)
def test_decimals_mean_what_they_say(value, fraction):
    assert parse_threshold(value) == fraction


def test_fifty_five_of_a_hundred_is_fifty_five():
    assert parse_threshold(0.55) * 100 == 55
    assert 0.55 * 100 > 55  # which is why


@given(st.integers(0, 10**15), st.integers(0, 15))
def test_every_short_decimal_survives_the_float(digits, places):
    decimal = Decimal(digits).scaleb(-places)
    assert parse_threshold(float(decimal)) == Fraction(decimal)


@pytest.mark.parametrize(
    "value",
    ["", "x", "0.8.1", "nan", "inf", float("nan"), float("inf"), "1/0", None, True, [0.8], 0.8j, b"0.8"],
)
def test_values_that_are_not_numbers_are_refused(value):
    with pytest.raises(UsageError, match="threshold must be a number such as"):
        parse_threshold(value)


@pytest.mark.parametrize("value", ["1e999999999", "1e-100", f"1/{10**70}", Fraction(1, 10**70)])
def test_numbers_with_absurdly_many_digits_are_refused_at_once(value):
    with pytest.raises(UsageError, match="threshold must be a number such as"):
        parse_threshold(value)


def test_values_too_small_to_distinguish_from_0_are_0():
    assert parse_threshold("1e-999999999") == 0
    with pytest.raises(UsageError, match="above 0"):
        check_threshold("jaccard", "1e-999999999")


@pytest.mark.parametrize("measure", [m for m in MEASURES if m not in ("overlap", *DISTANCES)])
def test_shares_lie_between_0_and_1(measure):
    assert check_threshold(measure, 1) == 1
    assert check_threshold(measure, "0.001") == Fraction(1, 1000)
    for value in (0, -0.1, 1.001, 2):
        with pytest.raises(UsageError, match=f"above 0 and at most 1 for {measure}"):
            check_threshold(measure, value)


def test_distances_have_no_largest_one():
    assert [check_threshold("euclidean", value) for value in (0, "0.5", 1000)] == [0, Fraction(1, 2), 1000]
    assert [check_threshold("hamming", value) for value in (0, 12, "3.0")] == [0, 12, 3]
    for measure, value in (("euclidean", -0.1), ("hamming", -1), ("hamming", 1.5)):
        with pytest.raises(UsageError, match=f"for {measure} .it is the largest distance.*not {value}"):
            check_threshold(measure, value)


def test_overlap_counts():
    assert check_threshold("overlap", 5) == 5
    assert check_threshold("overlap", "5.0") == 5
    for value in (0, -1, 0.8, 1.5):
        with pytest.raises(UsageError, match="whole number of at least 1 for overlap"):
            check_threshold("overlap", value)


def test_an_unknown_measure_is_refused_with_the_known_ones():
    for call in (check_threshold, jaccard_floor):
        with pytest.raises(UsageError, match="overlap, euclidean, hamming, not 'euclid'"):
            call("euclid", Fraction(1, 2))


SIMILARITY = {
    "jaccard": lambda n, m, i: i / (n + m - i),
    "dice": lambda n, m, i: 2 * i / (n + m),
    "cosine": lambda n, m, i: i / sqrt(n * m),
}


@pytest.mark.parametrize("measure", SIMILARITY)
@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(3, 4), Fraction(4, 5)])
def test_floor_is_below_every_pair_at_the_threshold_and_met_by_one(measure, threshold):
    floor = jaccard_floor(measure, threshold)
    assert floor is not None
    sizes = [(n, m, i) for n in range(1, 61) for m in range(n, 61) for i in range(1, n + 1)]
    # Floats only choose which pairs count; a hair below the threshold stays out.
    reached = [s for s in sizes if SIMILARITY[measure](*s) >= float(threshold) - 1e-12]
    smallest = min(Fraction(i, n + m - i) for n, m, i in reached)
    assert smallest >= floor
    assert smallest == floor


def test_containment_and_overlap_have_no_floor():
    assert jaccard_floor("containment", Fraction(4, 5)) is None
    assert jaccard_floor("overlap", Fraction(3)) is None
