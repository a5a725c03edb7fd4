"""The tables of the lecture notes that concern curves, plans and sizes, from public functions."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from lookalike.families import And, MinHash, Or, fixed_point
from lookalike.tuning.curves import (
    error_bound,
    false_negatives,
    false_positives,
    hashes_needed,
    lecture_threshold,
    miss_probability,
    probability,
)
from lookalike.tuning.plan import lecture_plan
from lookalike.types import Signatures

TABLE_20_BANDS_OF_5 = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975, 0.8: 0.9996}


@pytest.mark.parametrize(("similarity", "chance"), TABLE_20_BANDS_OF_5.items())
def test_20_bands_of_5_rows(similarity, chance):
    digits = 4 if chance > 0.99 else 3
    assert round(probability(similarity, bands=20, rows=5), digits) == chance


def test_80_percent_similar():
    assert round(0.8**5, 3) == 0.328
    missed = miss_probability(0.8, bands=20, rows=5)
    # 0.000356. The notes go on from the rounded 0.328 and get 0.00035, "about 1/3000".
    assert missed == pytest.approx(0.00035, abs=1e-5)
    assert missed == pytest.approx(0.000356, abs=5e-7)
    rounded = (1 - 0.328) ** 20
    assert rounded == pytest.approx(0.00035, abs=5e-6)
    assert 1 / missed == pytest.approx(3000, rel=0.1)
    # "99.965%" in the notes; 99.964% without the rounding on the way.
    assert round(100 * probability(0.8, bands=20, rows=5), 2) == 99.96


def test_30_percent_similar():
    assert round(0.3**5, 5) == 0.00243
    # 0.04749. The notes cut it off to 0.0474 and 4.74%; rounded it is 0.0475.
    assert probability(0.3, bands=20, rows=5) == pytest.approx(0.0474, abs=1e-4)
    assert round(probability(0.3, bands=20, rows=5), 4) == 0.0475


def test_40_percent_similar():
    # The notes bound it by the sum over the bands: 20 x 0.01 = 0.2.
    assert round(0.4**5, 2) == 0.01
    assert probability(0.4, bands=20, rows=5) < 20 * 0.4**5 < 20 * 0.0103


TABLE_10_BANDS_OF_5 = {
    0.2: 0.0032,
    0.3: 0.0240,
    0.4: 0.0978,
    0.5: 0.2720,
    0.6: 0.5549,
    0.7: 0.8412,
    0.8: 0.9811,
}


@pytest.mark.parametrize(("similarity", "chance"), TABLE_10_BANDS_OF_5.items())
def test_10_bands_of_5_rows(similarity, chance):
    # The notes draw this curve without numbers; these follow from 1 - (1 - s^5)^10.
    assert round(probability(similarity, bands=10, rows=5), 4) == chance
    assert probability(similarity, bands=10, rows=5) == pytest.approx(1 - (1 - similarity**5) ** 10, rel=1e-12)


def test_fewer_bands_mean_fewer_false_positives_and_more_false_negatives():
    for threshold in (0.3, 0.5, 0.8):
        assert false_positives(threshold, 10, 5) < false_positives(threshold, 20, 5)
        assert false_negatives(threshold, 10, 5) > false_negatives(threshold, 20, 5)


TABLE_4_BANDS_OF_4 = {
    0.2: 0.0064, 0.3: 0.032, 0.4: 0.0985, 0.5: 0.2275, 0.6: 0.426, 0.7: 0.6666, 0.8: 0.8785, 0.9: 0.986,
}  # fmt: skip


@pytest.mark.parametrize(("similarity", "chance"), TABLE_4_BANDS_OF_4.items())
def test_4_bands_of_4_rows(similarity, chance):
    # 0.3, 0.6 and 0.9 are given to three digits, the others to four.
    digits = len(str(chance)) - 2
    assert round(probability(similarity, bands=4, rows=4), digits) == chance


def test_or_before_and_is_the_same_curve_mirrored():
    # (1 - (1 - p)^4)^4 at p is the chance to miss at 1 - p.
    table = {
        0.1: 0.014,
        0.2: 0.1215,
        0.3: 0.3334,
        0.4: 0.574,
        0.5: 0.7725,
        0.6: 0.9015,
        0.7: 0.9680,
        0.8: 0.9936,
    }
    for p, chance in table.items():
        assert round(miss_probability(1 - p, bands=4, rows=4), len(str(chance)) - 2) == chance


def test_where_the_curve_rises():
    assert lecture_threshold(bands=20, rows=5) == pytest.approx((1 / 20) ** (1 / 5))
    assert round(lecture_threshold(bands=20, rows=5), 2) == 0.55
    assert round(lecture_threshold(bands=10, rows=5), 2) == 0.63
    assert round(lecture_threshold(bands=4, rows=4), 3) == 0.707
    # The rule is crude: at its threshold 20 bands of 5 find not half but 64% of the pairs.
    assert round(probability(lecture_threshold(20, 5), 20, 5), 2) == 0.64


def test_the_rule_for_bands_of_100_hashes():
    plan = lecture_plan(threshold=0.55, hashes=100)
    assert (plan.bands, plan.rows) == (20, 5)


def test_the_fixed_point_of_the_curve():
    point = fixed_point(Or(And(MinHash(), 4), 4))
    assert 1 - (1 - point**4) ** 4 == pytest.approx(point, rel=1e-12)
    # The table of 4 bands of 4 rows crosses the diagonal between 0.7 and 0.8.
    assert TABLE_4_BANDS_OF_4[0.7] < 0.7 < point < 0.8 < TABLE_4_BANDS_OF_4[0.8]


def test_chernoff():
    assert hashes_needed(error=0.05, probability=0.01) == 1060
    assert error_bound(1060, 0.05) <= 0.01 < error_bound(1059, 0.05)


def test_signatures_of_100_integers_for_100_000_columns_take_40_megabytes():
    # One column is enough to know the rest: 4 bytes a value.
    one = Signatures(np.zeros((1, 100), np.uint32), method="permutations", seed=1)
    assert one.values.nbytes * 100_000 == 4 * 10**7
    # 250 values for a million documents: 1000 bytes each, 1 GB in all.
    long = Signatures(np.zeros((1, 250), np.uint32), method="permutations", seed=1)
    assert long.values.nbytes * 10**6 == 10**9


def test_pairs_of_a_million_documents():
    assert comb(10**6, 2) == 499_999_500_000  # "5 * 10^11"
    assert comb(10**5, 2) == 4_999_950_000  # "5,000,000,000"
    # A microsecond each: 5.8 days. The notes say 6, and 5 where a day has 10^5 seconds.
    assert comb(10**6, 2) / 10**6 / 86_400 == pytest.approx(5.79, abs=0.01)
