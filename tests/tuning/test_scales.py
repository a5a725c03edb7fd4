"""Plans for every measure: what the threshold means for one hash, and what follows."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.tuning.collisions import line_collision
from lookalike.tuning.curves import false_negatives, false_positives, probability
from lookalike.tuning.plan import Plan, lecture_plan, tune
from lookalike.tuning.scales import FUNCTIONS_PER_HASH, MOST_ROWS, PLANNED, Scale, make_scale

MEASURES = {
    "jaccard": {"threshold": 0.7},
    "dice": {"threshold": 0.7},
    "cosine": {"threshold": 0.9},
    "euclidean": {"threshold": 2.5},
    "hamming": {"threshold": 10, "bits": 64},
}


def one_hash(measure: str, value: float, threshold: float) -> float:
    """The chance that one hash agrees, as the lecture has it."""
    return {
        "jaccard": lambda: value,
        "dice": lambda: 1 / (2 / value - 1),
        "cosine": lambda: 1 - math.degrees(math.acos(value)) / 180,
        "euclidean": lambda: line_collision(value, 3 * threshold),
        "hamming": lambda: 1 - value / 64,
    }[measure]()


def test_every_measure_is_tried():
    assert set(MEASURES) == set(PLANNED)


@pytest.mark.parametrize("measure", PLANNED)
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("hashes", [64, 256, 2000])
def test_the_plan_is_the_best_of_all_that_reach_the_recall(measure, recall, hashes):
    plan = tune(recall=recall, hashes=hashes, measure=measure, **MEASURES[measure])
    p = one_hash(measure, plan.threshold, plan.threshold)
    limit = hashes * FUNCTIONS_PER_HASH.get(measure, 1)
    good = [
        (-rows, bands)
        for rows in range(1, (MOST_ROWS if measure in FUNCTIONS_PER_HASH else min(hashes, 500)) + 1)
        for bands in [math.ceil(math.log(1 - recall) / math.log1p(-(p**rows)) - 1e-9)]
        if bands * rows <= limit
    ]
    assert (-plan.rows, plan.bands) == min(good)
    assert plan.recall == pytest.approx(1 - (1 - p**plan.rows) ** plan.bands, abs=1e-9)
    assert plan.recall >= recall
    assert plan.curve(plan.threshold) == pytest.approx(plan.recall, abs=1e-9)


@pytest.mark.parametrize("measure", PLANNED)
def test_nearer_pairs_are_found_more_often(measure):
    plan = tune(measure=measure, **MEASURES[measure])
    grid = np.linspace(*plan.axis, 50)
    chances = plan.curve(grid)
    assert (np.diff(chances) * (-1 if plan.scale.is_distance else 1) >= 0).all()
    assert chances == pytest.approx([1 - plan.miss(float(x)) for x in grid], abs=1e-12)
    nearest = 0.0 if plan.scale.is_distance else 1.0
    assert plan.curve(nearest) == 1
    for chance in (0.1, 0.5, 0.9):
        assert plan.curve(plan.at(chance)) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("measure", PLANNED)
@given(value=st.floats(0.01, 0.99))
def test_a_scale_read_backwards_is_itself(measure, value):
    scale, _ = make_scale(measure, **MEASURES[measure])
    x = value * {"euclidean": 40, "hamming": 64}.get(measure, 1)
    assert scale.at(scale.collision(x)) == pytest.approx(x, rel=1e-6)
    both = np.array([x, x / 2])
    assert scale.at(scale.collision(both)) == pytest.approx(both, rel=1e-6)
    assert scale.collision(both).tolist() == [scale.collision(x), scale.collision(x / 2)]


def test_thresholds_become_exact_chances_where_they_can():
    assert Scale("dice").chance_at(Fraction(9, 10)) == Fraction(9, 11)
    assert Scale("hamming", bits=100).chance_at(Fraction(55)) == Fraction(45, 100)
    # 1 - (1 - 1/2)^2 = 0.75 is reached exactly by two bands of one row.
    assert tune(threshold=32, recall=0.75, hashes=1, measure="hamming", bits=64).recall == 0.75
    assert Scale("cosine").chance_at(Fraction(1)) == 1
    cut = Scale("cosine").chance_at(Fraction(1, 2))
    assert cut < Fraction(2, 3) < cut + Fraction(2, 10**12)


@pytest.mark.parametrize(
    "options",
    [
        {"measure": "cosine", "threshold": 1},
        {"measure": "euclidean", "threshold": 0},
        {"measure": "hamming", "threshold": 0, "bits": 64},
    ],
)
def test_equal_vectors_take_one_band_of_the_most_rows(options):
    plan = tune(**options)
    assert (plan.bands, plan.rows, plan.recall) == (1, MOST_ROWS, 1.0)
    assert plan.curve(plan.threshold) == 1
    assert "one of" not in plan.describe()
    assert "one at" not in plan.describe()
    assert plan.axis[0] == 0 < plan.axis[1]
    assert plan.areas()[0] == pytest.approx(0)


def test_the_width_is_three_thresholds_and_seldom_far_from_the_best():
    assert tune(threshold=0.25, measure="euclidean").width == 0.75
    assert tune(threshold=0.25, measure="euclidean", width=2).width == 2.0
    assert tune(threshold=0.25, measure="euclidean", width="2").scale == Scale("euclidean", width=2.0)
    for hashes in (64, 128, 256, 512, 1024):
        for recall in (0.9, 0.95, 0.99, 0.999):
            # False candidates at twice the threshold, with buckets of so many thresholds.
            false = {
                width: tune(1, recall, hashes, "euclidean", width=width).curve(2.0)
                for width in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20, 30)
            }
            assert false[3] <= 1.3 * min(false.values())
            assert false[3] < false[1]
            assert false[3] < false[10]


@pytest.mark.parametrize("measure", PLANNED)
def test_areas_are_integrals_along_the_axis(measure):
    plan = tune(recall=0.8, hashes=100, measure=measure, **MEASURES[measure])
    missed, false = plan.areas()
    steps = 200_000
    start, end = plan.axis
    values = start + (np.arange(steps) + 0.5) * (end - start) / steps
    wanted = values <= plan.threshold if plan.scale.is_distance else values >= plan.threshold
    width = (end - start) / steps
    assert missed == pytest.approx(float(plan.miss(values[wanted]).sum()) * width, rel=1e-3)
    assert false == pytest.approx(float(plan.curve(values[~wanted]).sum()) * width, rel=1e-3)


def test_areas_of_jaccard_are_those_of_its_curve():
    plan = tune(threshold=0.6, recall=0.9)
    curve = (0.6, plan.bands, plan.rows)
    assert plan.areas() == pytest.approx((false_negatives(*curve), false_positives(*curve)), rel=1e-9)


def test_the_axis_ends_where_little_is_found():
    for threshold in (0.001, 1, 5000):
        plan = tune(threshold=threshold, measure="euclidean")
        start, end = plan.axis
        assert start == 0
        assert end / threshold == pytest.approx(round(end / threshold))
        assert 2 * threshold <= end <= 8 * threshold
        assert plan.curve(end) <= 0.01
    assert tune(threshold=50, recall=0.9, measure="hamming", bits=64).axis == (0.0, 64.0)
    # With one row a band the chance falls so slowly that the axis would have no end.
    assert tune(threshold=1, hashes=8, recall=0.9, measure="euclidean", width=1).axis == (0.0, 8.0)


@pytest.mark.parametrize("measure", PLANNED)
def test_json_has_the_measure_and_what_the_user_gave(measure):
    plan = tune(measure=measure, **MEASURES[measure])
    shown = json.loads(json.dumps(plan.to_dict()))
    given = {"measure": measure, **MEASURES[measure]}
    if measure == "jaccard":  # as it was before there were others
        del given["measure"]
    extra = {"width": 7.5} if measure == "euclidean" else {}
    assert shown.items() >= {**given, **extra}.items()
    known = {"threshold", "wanted_recall", "hashes", "bands", "rows", "recall", "used_hashes"}
    assert set(shown) == known | set(given) | set(extra)
    assert Plan(**{name: value for name, value in shown.items() if name != "used_hashes"}) == plan


def test_descriptions_speak_of_distances_where_they_are():
    text = tune(threshold=2, measure="euclidean").describe()
    assert "99 bands of 10 rows, using 990 of 1,024 lines." in text
    assert "A pair at distance 2 is found with probability 99.01% (target: 99%), one at 1 with" in text
    assert "of pairs at distance 4 and" in text
    assert "those at 8." in text
    assert "Pairs at distance 3.008 have a 50% chance of becoming candidates." in text
    assert "buckets are 6 wide" in text
    assert "similarity" not in text
    near_all = tune(threshold=40, recall=0.9, measure="hamming", bits=64).describe()
    assert "false candidates" not in near_all  # twice the threshold is beyond the last bit
    assert "One hash agrees on a pair of similarity 0.8 with probability 0.6667." in tune(measure="dice").describe()


def test_the_rule_of_thumb_uses_the_probability_of_one_hash():
    for measure, options in MEASURES.items():
        plan = lecture_plan(hashes=128, measure=measure, **options)
        p = one_hash(measure, plan.threshold, plan.threshold)
        limit = 128 * FUNCTIONS_PER_HASH.get(measure, 1)
        divisors = (1 << power for power in range(limit.bit_length()))
        distances = {b: abs((1 / b) ** (b / limit) - p) for b in divisors}
        assert plan.used_hashes == limit
        assert distances[plan.bands] == min(distances.values())
        assert plan.recall == pytest.approx(probability(p, plan.bands, plan.rows), abs=1e-9)
        assert plan.measure == measure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "euclidean"}, "euclidean needs a threshold: the largest distance"),
        ({"measure": "euclidean", "threshold": -1}, "threshold must be 0 or more for euclidean"),
        ({"measure": "euclidean", "threshold": "far"}, "threshold must be a number"),
        ({"measure": "euclidean", "threshold": 1, "width": 0}, "width must be a number above 0"),
        ({"measure": "euclidean", "threshold": 1, "width": "wide"}, "width must be a number above 0"),
        ({"measure": "euclidean", "threshold": 1, "bits": 8}, "bits applies to hamming only"),
        ({"measure": "hamming", "threshold": 3}, "hamming needs bits"),
        ({"measure": "hamming", "threshold": -1, "bits": 8}, "a whole number of bits from 0 for hamming"),
        ({"measure": "hamming", "threshold": 2.5, "bits": 8}, "a whole number of bits"),
        ({"measure": "hamming", "threshold": 3, "bits": 0}, "bits must be a whole number of at least 1"),
        ({"measure": "hamming", "threshold": 3, "bits": 2.5}, "bits must be a whole number of at least 1"),
        ({"measure": "hamming", "threshold": 64, "bits": 64}, "threshold must be below 64, the number of bits"),
        ({"measure": "hamming", "threshold": 3, "bits": 64, "width": 1}, "width applies to euclidean only"),
        ({"measure": "cosine", "threshold": 1.5}, "threshold must be above 0 and at most 1 for cosine"),
        ({"measure": "cosine", "threshold": 0.5, "width": 1}, "width applies to euclidean only"),
        ({"measure": "containment"}, "minhash cannot promise a recall"),
        ({"measure": "overlap", "threshold": 3}, "minhash cannot promise a recall"),
        ({"measure": "manhattan"}, "measure must be one of jaccard, dice, cosine, euclidean, hamming"),
        ({"measure": "euclidean", "threshold": 9, "width": 1, "hashes": 16}, "lower the threshold"),
    ],
)
def test_senseless_options_are_usage_errors(options, message):
    with pytest.raises(UsageError, match=message):
        tune(**options)


def test_too_few_hashes_says_how_many_would_do():
    with pytest.raises(
        UsageError, match=r"8 hashes cannot find pairs at distance 60 with recall 0.99: set hashes to 9 or more"
    ):
        tune(threshold=60, hashes=8, measure="hamming", bits=64)
    assert tune(threshold=60, hashes=9, measure="hamming", bits=64).rows == 1
