from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.tuning.plan import Plan, lecture_plan, tune
from lookalike.tuning.wording import percent

decimals = st.integers(1, 999).map(lambda thousandths: Fraction(thousandths, 1000))


def exact_recall(threshold: Fraction, bands: int, rows: int) -> Fraction:
    return 1 - (1 - threshold**rows) ** bands


def search_every_plan(threshold: Fraction, recall: Fraction, hashes: int) -> tuple[int, int] | None:
    """(bands, rows) by trying all of them in exact arithmetic."""
    good = [
        (-rows, bands)
        for rows in range(1, hashes + 1)
        for bands in range(1, hashes // rows + 1)
        if exact_recall(threshold, bands, rows) >= recall
    ]
    return (min(good)[1], -min(good)[0]) if good else None


@given(decimals, decimals, st.integers(1, 48))
@example(Fraction(1, 2), Fraction(3, 4), 2)  # met exactly by 2 bands of 1 row
@example(Fraction(1, 2), Fraction(7, 16), 4)  # met exactly by 2 bands of 2 rows
@example(Fraction(9, 10), Fraction(999, 1000), 3)  # met exactly, and 0.9, 0.999 are no binary fractions
@example(Fraction(1), Fraction(99, 100), 48)
def test_tune_agrees_with_a_search_of_every_plan(threshold, recall, hashes):
    best = search_every_plan(threshold, recall, hashes)
    if best is None:
        with pytest.raises(UsageError, match=r"set hashes to|raise the threshold"):
            tune(threshold, recall, hashes)
    else:
        plan = tune(threshold, recall, hashes)
        assert (plan.bands, plan.rows) == best
        assert plan.recall == pytest.approx(float(exact_recall(threshold, *best)), rel=1e-12)


@pytest.mark.parametrize(
    ("threshold", "recall", "hashes", "bands", "rows"),
    [
        (0.8, 0.99, 256, 26, 8),
        (0.8, 0.95, 256, 21, 9),
        (0.8, 0.999, 256, 30, 7),
        (0.8, 0.99, 128, 16, 6),
        (0.7, 0.99, 256, 37, 6),
        (0.9, 0.99, 256, 18, 14),
        (0.5, 0.99, 256, 35, 3),
    ],
)
def test_neighbours_of_the_default(threshold, recall, hashes, bands, rows):
    plan = tune(threshold, recall, hashes)
    assert (plan.bands, plan.rows) == (bands, rows)
    assert 1 - (1 - threshold**rows) ** bands >= recall
    assert 1 - (1 - threshold**rows) ** (bands - 1) < recall
    # One more row no longer fits, even with all the bands that there is room for.
    assert 1 - (1 - threshold ** (rows + 1)) ** (hashes // (rows + 1)) < recall


def test_the_defaults_are_those_of_the_command_line():
    assert tune() == tune(threshold=0.8, recall=0.99, hashes=256)


@pytest.mark.parametrize("value", ["0.8", 0.8, np.float32(0.8), np.float64(0.8), Fraction(4, 5), "4/5"])
def test_a_threshold_is_the_same_however_it_is_written(value):
    assert tune(threshold=value) == tune(threshold=0.8)


def test_recall_met_exactly_is_enough():
    # 1 - (1 - 0.9)^3 is 0.999; in floats it is 0.99900000000000000 or a digit less.
    plan = tune(threshold=0.9, recall=0.999, hashes=3)
    assert (plan.bands, plan.rows) == (3, 1)
    assert plan.recall >= 0.999


@given(decimals, decimals)
def test_recall_is_never_below_what_was_wanted(threshold, recall):
    try:
        plan = tune(threshold, recall, 200)
    except UsageError:
        return
    assert plan.wanted_recall is not None
    assert plan.recall >= plan.wanted_recall


def test_threshold_1_takes_one_band_of_all_hashes():
    plan = tune(threshold=1, recall=0.99, hashes=256)
    assert (plan.bands, plan.rows, plan.recall) == (1, 256, 1.0)


def test_many_hashes_and_extreme_values_are_quick_and_right():
    plan = tune(threshold=0.99, recall=0.5, hashes=65536)
    assert (plan.bands, plan.rows) == (125, 517)
    steep = tune(threshold="0.999999999999", recall=0.99, hashes=65536)
    assert (steep.bands, steep.rows) == (1, 65536)
    assert tune(threshold=0.8, recall="0.999999999999999999", hashes=65536).rows >= 1


def test_too_few_hashes_says_how_many_would_do():
    with pytest.raises(UsageError, match=r"16 hashes cannot find .* set hashes to 90 or more"):
        tune(threshold=0.05, hashes=16)
    assert tune(threshold=0.05, hashes=90).bands == 90
    with pytest.raises(UsageError, match="set hashes to 90 or more"):
        tune(threshold=0.05, hashes=89)
    with pytest.raises(UsageError, match="nor can the maximum of 65536"):
        tune(threshold=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be above 0 and at most 1"),
        ({"threshold": 1.01}, "threshold must be above 0 and at most 1"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"threshold": float("nan")}, "threshold must be a number"),
        ({"recall": 0}, "recall must be above 0 and below 1"),
        ({"recall": -0.5}, "recall must be above 0 and below 1"),
        ({"recall": "all"}, "recall must be a number"),
        ({"recall": 1}, "--method exact"),
        ({"recall": 1.5}, "recall must be above 0 and below 1"),
        ({"hashes": 0}, "hashes must be a whole number from 1 to 65536"),
        ({"hashes": 65537}, "hashes must be a whole number from 1 to 65536"),
        ({"hashes": 12.5}, "hashes must be a whole number from 1 to 65536"),
        ({"hashes": True}, "hashes must be a whole number from 1 to 65536"),
    ],
)
def test_values_out_of_range_are_usage_errors_that_name_the_option(options, message):
    with pytest.raises(UsageError, match=message) as caught:
        tune(**options)
    assert caught.value.exit_code == 2


def test_plan_as_json():
    plan = tune()
    loaded = json.loads(json.dumps(plan.to_dict()))
    assert loaded == {
        "threshold": 0.8,
        "wanted_recall": 0.99,
        "hashes": 256,
        "bands": 26,
        "rows": 8,
        "recall": plan.recall,
        "used_hashes": 208,
    }


def test_plan_curve():
    plan = Plan(threshold=0.55, wanted_recall=None, hashes=100, bands=20, rows=5, recall=0.64)
    assert plan.curve(0.5) == pytest.approx(1 - (1 - 0.5**5) ** 20)
    assert plan.curve(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert plan.used_hashes == 100


def test_the_description_states_bands_recall_and_false_candidates():
    text = tune().describe()
    assert "26 bands of 8 rows, using 208 of 256 hashes." in text
    assert "99.16%" in text
    assert "35.6% of pairs of similarity 0.6" in text
    assert "1 band of 256 rows" in tune(threshold=1).describe()
    assert "wanted" not in lecture_plan().describe()
    assert "false candidates" not in tune(threshold=0.1, recall=0.5).describe()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.5, "50%"),
        (0.356, "35.6%"),
        (0.99, "99%"),
        (0.9916, "99.16%"),
        (0.99999999, "99.999999%"),
        (1e-6, "0.0001%"),
        (1e-30, "almost 0%"),
    ],
)
def test_percent_never_rounds_to_never_or_always(share, text):
    assert percent(share) == text


def test_percent_with_a_rest_too_small_for_a_float():
    assert percent(1.0, rest=1e-20) == "almost 100%"
    assert percent(1.0, rest=0.0) == "100%"


@given(st.integers(1, 300), decimals)
def test_lecture_plan_is_the_nearest_of_all_divisors(hashes, threshold):
    plan = lecture_plan(threshold, hashes)
    assert plan.bands * plan.rows == hashes
    distances = {b: abs((1 / b) ** (b / hashes) - float(threshold)) for b in range(1, hashes + 1) if hashes % b == 0}
    assert distances[plan.bands] == pytest.approx(min(distances.values()), abs=1e-12)
