"""AND and OR: curves to the last digit, decisions, candidates equal to brute force, and rates that match the curves."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_items import Choices, bits_at, even_and_odd, points_at, sets_at, spread, vectors_at_angle
from lookalike.errors import ResourceError, UsageError
from lookalike.families import (
    And,
    BitSampling,
    Family,
    Hashed,
    Hyperplanes,
    Lines,
    MinHash,
    Or,
    Sensitivity,
    fixed_point,
    steepest,
)
from lookalike.tuning import curves
from lookalike.types import NOWHERE

AND_OR = Or(And(MinHash(), 4), 4)
OR_AND = And(Or(MinHash(), 4), 4)
CASCADE = Or(And(OR_AND, 4), 4)


def nested(kinds: list[tuple[type, int]], leaf: Family) -> And | Or:
    for kind, times in kinds:
        leaf = kind(leaf, times)
    assert isinstance(leaf, And | Or)
    return leaf


def layers(largest: int, depth: int):
    return st.lists(st.tuples(st.sampled_from([And, Or]), st.integers(1, largest)), min_size=1, max_size=depth)


def exact_curve(family: Family, p: Fraction) -> Fraction:
    if isinstance(family, And):
        return exact_curve(family.family, p) ** family.times
    if isinstance(family, Or):
        return 1 - (1 - exact_curve(family.family, p)) ** family.times
    return p


# Curves.


@given(layers(6, 4), st.fractions(0, 1, max_denominator=64))
def test_curves_agree_with_exact_arithmetic_on_both_sides(kinds, p):
    construction = nested(kinds, MinHash())
    yes = exact_curve(construction, p)
    assert construction.curve(float(p)) == pytest.approx(float(yes), rel=1e-12, abs=1e-300)
    # 1 - p is itself rounded, by half a digit, which powers magnify.
    assert construction.miss(float(p)) == pytest.approx(float(1 - yes), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("p", [2.0**-60, 2.0**-20, 0.5, 1 - 2.0**-20, 1 - 2.0**-50])
@pytest.mark.parametrize("construction", [AND_OR, OR_AND, CASCADE, Or(MinHash(), 9), And(MinHash(), 9)])
def test_digits_are_kept_next_to_0_and_1(construction, p):
    yes = exact_curve(construction, Fraction(p))
    assert construction.curve(p) == pytest.approx(float(yes), rel=1e-12, abs=0)
    assert construction.miss(p) == pytest.approx(float(1 - yes), rel=1e-12, abs=0)


@given(layers(6, 4), st.floats(0.01, 0.99))
def test_inverse_and_slope_belong_to_the_curve(kinds, p):
    construction = nested(kinds, MinHash())
    chance = construction.curve(p)
    if 1e-12 < chance < 1 - 1e-12:
        assert construction.inverse(chance) == pytest.approx(p, rel=1e-3)
    step = 1e-6
    below, above = construction.curve(p - step), construction.curve(p + step)
    assert construction.slope(p) == pytest.approx((above - below) / (2 * step), rel=1e-3, abs=1e-6)


def test_curves_take_arrays_and_their_ends():
    grid = np.array([[0.0, 0.5], [0.8, 1.0]])
    for construction in (AND_OR, OR_AND, CASCADE):
        values = construction.curve(grid)
        assert values.shape == (2, 2)
        assert values.tolist() == [[construction.curve(p) for p in row] for row in grid.tolist()]
        assert (values[0, 0], values[1, 1]) == (0, 1)
        assert (construction.miss(0.0), construction.miss(1.0)) == (1, 0)
        assert (construction.slope(0.0), construction.slope(1.0)) == (0, 0)
    assert type(AND_OR.curve(0.5)) is type(AND_OR.miss(0.5)) is type(AND_OR.slope(0.5)) is float
    assert And(MinHash(), 1).slope(np.array([0.0, 1.0])).tolist() == [1.0, 1.0]


def test_the_chance_at_a_distance_is_the_curve_at_the_leafs():
    lines = Or(And(Lines(2.0), 3), 5)
    assert lines.probability(1.5) == lines.curve(Lines(2.0).probability(1.5))
    assert (lines.farthest, lines.distance) == (float("inf"), "Euclidean distance")
    assert Or(BitSampling(64), 3).farthest == 64
    assert AND_OR.sensitivity(0.2, 0.8) == Sensitivity(0.2, 0.8, AND_OR.curve(0.8), AND_OR.curve(1 - 0.8))
    with pytest.raises(UsageError, match="distances"):
        AND_OR.sensitivity(0.8, 0.2)


# The lecture's numbers. Where one is given to three digits, it is compared to three.

AND_OR_TABLE = {0.2: "0.0064", 0.3: "0.032", 0.4: "0.0985", 0.5: "0.2275", 0.6: "0.426", 0.7: "0.6666", 0.8: "0.8785",
                0.9: "0.986"}  # fmt: skip
OR_AND_TABLE = {0.1: "0.014", 0.2: "0.1215", 0.3: "0.3334", 0.4: "0.574", 0.5: "0.7725", 0.6: "0.9015", 0.7: "0.9680",
                0.8: "0.9936"}  # fmt: skip


@pytest.mark.parametrize(("construction", "table"), [(AND_OR, AND_OR_TABLE), (OR_AND, OR_AND_TABLE)])
def test_the_tables_of_the_lecture(construction, table):
    for p, written in table.items():
        assert f"{construction.curve(p):.{len(written) - 2}f}" == written


def test_the_sensitivities_of_the_lecture():
    assert MinHash().sensitivity(1 / 3, 2 / 3) == pytest.approx((1 / 3, 2 / 3, 2 / 3, 1 / 3))
    assert [round(p, 4) for p in AND_OR.sensitivity(0.2, 0.8)] == [0.2, 0.8, 0.8785, 0.0064]
    assert [round(p, 4) for p in OR_AND.sensitivity(0.2, 0.8)] == [0.2, 0.8, 0.9936, 0.1215]


def test_the_cascade_of_the_lecture():
    assert CASCADE.functions == 256
    assert round(CASCADE.curve(0.2), 7) == 0.0008715
    # The notes write 0.99999996, a 9 too many: 4.1e-7 are missed.
    assert CASCADE.miss(0.8) == pytest.approx(4.094e-7, abs=5e-11)
    assert round(CASCADE.curve(0.8), 7) == 0.9999996
    assert CASCADE.miss(0.8) == pytest.approx(float(1 - exact_curve(CASCADE, Fraction(4, 5))), rel=1e-12)


def test_20_bands_of_5_of_the_lecture():
    bands = Or(And(MinHash(), 5), 20)
    assert bands.miss(0.8) == pytest.approx(0.000356, abs=5e-7)  # the notes: 0.00035
    assert bands.curve(0.3) == pytest.approx(0.04749, abs=5e-6)  # the notes: 0.0474


def test_or_before_and_is_and_before_or_mirrored():
    for p in (0.0, 0.1, 0.37, 0.5, 0.9, 1.0):
        assert OR_AND.curve(p) == pytest.approx(AND_OR.miss(1 - p), rel=1e-12)


def test_lines_are_as_sensitive_as_the_lecture_says():
    # (a/2, 2a, 1/2, 1/3), as bounds: on a line in the plane, and with Gaussian directions in any dimensions.
    for family in (Lines(3.0, direction="unit"), Lines(3.0)):
        _, _, near, far = family.sensitivity(1.5, 6)
        assert near >= 1 / 2
        assert far <= 1 / 3
    # With unit directions the second bound ends at four dimensions: more directions are almost perpendicular.
    far = [Lines(1.0, direction="unit", dimensions=d).probability(2) for d in (2, 3, 4, 5, 6)]
    assert [round(p, 4) for p in far] == [0.1628, 0.25, 0.3115, 0.3594, 0.3986]
    # "If d is much smaller than a, the chance is at least 1 - d/a": on every line of length 1.
    for d in (0.01, 0.1, 0.5, 1.0):
        assert Lines(direction="unit").probability(d) >= 1 - d


def test_hyperplanes_are_as_sensitive_as_the_lecture_says():
    for d1, d2 in ((10, 20), (60, 120), (1, 179)):
        assert Hyperplanes().sensitivity(d1, d2) == pytest.approx((d1, d2, 1 - d1 / 180, 1 - d2 / 180))


def test_fingerprints_of_the_lecture():
    # Three squares of which each has the minutia in both prints: an And of three, 1,024 times.
    prints = Or(And(MinHash(), 3), 1024)
    assert round(prints.curve(0.2 * 0.8), 3) == 0.985
    # 0.06343...: the notes' 0.063, which they call 6.3%.
    assert round(prints.curve(0.2 * 0.2), 3) == 0.063


# Fixed points and slopes.


@given(st.integers(2, 3000), st.integers(2, 3000))
def test_the_fixed_point_of_bands_divides_the_curve_of_the_plans(bands, rows):
    point = fixed_point(Or(And(MinHash(), rows), bands))
    assert 0 < point < 1
    assert curves.miss_probability(point, bands, rows) == pytest.approx(1 - point, rel=1e-6)
    assert curves.probability(point, bands, rows) == pytest.approx(point, rel=1e-6)
    assert curves.probability(point * 0.99, bands, rows) < point * 0.99
    above = 1 - (1 - point) * 0.99
    assert curves.miss_probability(above, bands, rows) < 1 - above


@given(st.integers(2, 40), st.integers(2, 40))
def test_the_steepest_point_of_bands(bands, rows):
    """Setting the second derivative to 0 gives p^rows = (rows - 1)/(bands rows - 1)."""
    where, slope = steepest(Or(And(MinHash(), rows), bands))
    power = (rows - 1) / (bands * rows - 1)
    exact = power ** (1 / rows)
    assert slope == pytest.approx(bands * rows * exact ** (rows - 1) * (1 - power) ** (bands - 1), rel=1e-9)
    assert where == pytest.approx(exact, rel=1e-4)


@given(layers(5, 4))
def test_a_fixed_point_is_fixed_and_divides_the_curve(kinds):
    construction = nested(kinds, MinHash())
    point = fixed_point(construction)
    powers = {kind for kind, times in kinds if times > 1}
    grid = np.linspace(0.001, 0.999, 999)
    if len(powers) < 2:
        assert point is None
        lifted = construction.curve(grid) - grid
        assert (lifted > 0).all() if powers == {Or} else (lifted < 0).all() if powers else abs(lifted).max() < 1e-12
    else:
        assert 0 < point < 1
        assert construction.curve(point) == pytest.approx(point, rel=1e-6)
        below, above = grid[grid < point * 0.999], grid[grid > point * 1.001]
        assert (construction.curve(below) < below).all()
        assert (construction.miss(above) < 1 - above).all()


@given(layers(5, 4))
def test_nothing_is_steeper_than_the_steepest_point(kinds):
    construction = nested(kinds, MinHash())
    where, slope = steepest(construction)
    assert construction.slope(where) == slope
    grid = np.linspace(0, 1, 4001)
    assert construction.slope(grid).max() <= slope * (1 + 1e-9)
    assert (np.diff(construction.curve(grid)) / np.diff(grid)).max() <= slope * (1 + 1e-9)


def test_the_steepest_point_of_one_kind_alone_is_an_end():
    assert steepest(And(MinHash(), 5)) == (1.0, 5.0)
    assert steepest(Or(MinHash(), 5)) == (0.0, 5.0)


# Decisions and candidates.


def plain_decision(family: Family, hashed: Hashed, start: int, i: int, j: int) -> bool:
    """The definition, pair by pair."""
    if isinstance(family, And | Or):
        parts = [
            plain_decision(family.family, hashed, start + k * family.family.functions, i, j)
            for k in range(family.times)
        ]
        return all(parts) if isinstance(family, And) else any(parts)
    one, other = set(hashed.buckets[start, i].tolist()), set(hashed.buckets[start, j].tolist())
    return bool((one & other) - {NOWHERE})


@st.composite
def constructions_with_items(draw):
    construction = nested(draw(layers(3, 3)), Choices())
    items, choices = draw(st.integers(0, 8)), draw(st.integers(1, 3))
    # -1 is nowhere; few buckets, so that items share them, and one bucket may be listed twice for an item.
    numbers = draw(st.lists(st.integers(-1, 3), min_size=1, max_size=40))
    size = construction.functions * items * choices
    start = draw(st.integers(0, 1000))
    random = np.random.default_rng(start).choice(np.array(numbers), size)
    return construction, random.reshape(construction.functions, items, choices)


@given(constructions_with_items())
@settings(max_examples=300)
def test_candidates_are_the_pairs_it_says_yes_to_and_no_other(drawn):
    construction, items = drawn
    hashed = construction.hash(items, construction.functions)
    wanted = [
        (i, j) for i, j in combinations(range(items.shape[1]), 2) if plain_decision(construction, hashed, 0, i, j)
    ]
    left, right = construction.candidates(items)
    assert list(zip(left.tolist(), right.tolist())) == wanted
    everyone = np.array(list(combinations(range(items.shape[1]), 2)), np.int64).reshape(-1, 2)
    decided = construction.decide(hashed, everyone[:, 0], everyone[:, 1])
    assert [tuple(pair) for pair in everyone[decided].tolist()] == wanted
    for i, j in everyone[:3].tolist():
        assert construction.says_yes(items, i, j) is construction.says_yes(items, j, i) is ((i, j) in wanted)


@pytest.mark.parametrize(
    "construction",
    [
        AND_OR,
        Or(And(Hyperplanes(), 9), 5),
        And(Or(And(Hyperplanes(), 6), 4), 2),
        Or(And(Lines(4.0), 4), 6),
        Or(And(And(BitSampling(), 5), 2), 6),
    ],
    ids=repr,
)
def test_candidates_of_real_items_equal_brute_force(construction):
    items = {
        "MinHash": sets_at(0.3, 100)[0],
        "Hyperplanes": np.vstack([vectors_at_angle(20, 99, 12), np.zeros((2, 12))]),
        "Lines": points_at(2.0, 100, 3),
        "BitSampling": bits_at(4, 40, 100),
    }[type(construction.leaf).__name__]
    hashed = construction.hash(items, construction.functions)
    left, right = np.triu_indices(len(hashed), 1)
    wanted = construction.decide(hashed, left, right)
    found = construction.candidates(items)
    assert 50 < wanted.sum() < len(left) / 2
    assert (found[0] == left[wanted]).all()
    assert (found[1] == right[wanted]).all()


def test_items_in_no_bucket_are_not_candidates():
    left, right = Or(Hyperplanes(), 3).candidates(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]))
    assert (left.tolist(), right.tolist()) == ([1], [3])
    for items in (np.zeros((3, 2)), np.zeros((0, 2))):
        assert [len(side) for side in OR_HYPERPLANES.candidates(items)] == [0, 0]


OR_HYPERPLANES = And(Or(Hyperplanes(), 2), 2)


def test_too_many_pairs_are_refused_before_they_are_made():
    same = np.ones((2000, 1), np.uint8)
    with pytest.raises(ResourceError, match=r"1,999,000 pairs, more than 1,000,000 \(the largest has 2,000 items\)"):
        And(BitSampling(), 3).candidates(same, most=1_000_000)
    assert len(And(BitSampling(), 3).candidates(same, most=1_999_000)[0]) == 1_999_000
    # 200,000 equal items would be 160 GB of pairs.
    with pytest.raises(ResourceError, match="19,999,900,000 pairs"):
        Or(And(BitSampling(), 2), 2).candidates(np.ones((200_000, 1), np.uint8))


def test_unions_and_combinations_are_bounded_too():
    apart = np.array([[[1], [1], [2], [3]], [[1], [2], [2], [3]], [[1], [2], [3], [3]]])
    assert len(Or(Choices(), 3).candidates(apart, most=3)[0]) == 3
    with pytest.raises(ResourceError, match="more than 2 candidate pairs"):
        Or(Choices(), 3).candidates(apart, most=2)
    wide = np.tile(np.arange(10), (8, 3, 1))
    with pytest.raises(ResourceError, match="combinations of buckets, more than 10,000"):
        And(Choices(), 8).candidates(wide, most=10_000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: And(MinHash(), 0), "And takes a whole number of functions, at least 1, not 0"),
        (lambda: Or(MinHash(), 2.5), "Or takes a whole number of functions, at least 1, not 2.5"),
        (lambda: And(4, 4), "And is made of a family"),
        (lambda: AND_OR.curve(1.5), "from 0 to 1"),
        (lambda: AND_OR.miss(float("nan")), "from 0 to 1"),
        (lambda: AND_OR.decide(MinHash().hash(sets_at(0.5, 1)[0], 15), 0, 1), "16 functions; .* by 15"),
        (lambda: AND_OR.says_yes(sets_at(0.5, 1)[0], 0, 2), "there are only 2"),
        (lambda: AND_OR.says_yes(sets_at(0.5, 1)[0], -1, 0), "there are only 2"),
    ],
)
def test_senseless_options_are_usage_errors(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_constructions_are_shown_as_they_are_written():
    assert repr(CASCADE) == "Or(And(And(Or(MinHash(), 4), 4), 4), 4)"
    assert repr(Or(And(Lines(0.5, seed=3), 2), 9)) == "Or(And(Lines(width=0.5, seed=3), 2), 9)"


# Rates: how often pairs at a distance become candidates.

SHAPES = {
    "and": [(And, 3)],
    "or": [(Or, 3)],
    "and-or": [(And, 4), (Or, 4)],
    "or-and": [(Or, 4), (And, 4)],
    "cascade": [(Or, 2), (And, 3), (And, 2), (Or, 3)],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "chance"), [("hyperplanes", 0.3), ("lines", 0.6), ("bits", 0.8)])
def test_one_pair_is_a_candidate_as_often_as_the_curve_says(name, chance, shape):
    """Seeds are drawn afresh every time: 400 independent trials for one pair."""
    leaves = {
        "hyperplanes": (lambda seed: Hyperplanes(seed), vectors_at_angle(180 * (1 - chance), 1, 5)),
        "lines": (lambda seed: Lines(2.0, seed), points_at(distance_with(chance, 2.0), 1, 5)),
        "bits": (lambda seed: BitSampling(40, seed), bits_at(round(40 * (1 - chance)), 40, 1)),
    }
    make, items = leaves[name]
    trials = 400
    found = sum(len(nested(SHAPES[shape], make(seed)).candidates(items)[0]) for seed in range(trials))
    expected = nested(SHAPES[shape], make(0)).curve(chance)
    assert abs(found - trials * expected) <= spread(expected, trials, 4.5)


def distance_with(chance: float, width: float) -> float:
    """The distance at which Gaussian lines agree with this probability, by halving."""
    near, far = 0.0, 1000.0
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if Lines(width).probability(middle) > chance else (near, middle)
    return near


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("distance", [0.2, 0.4, 0.7])
def test_sets_are_candidates_as_often_as_the_curve_says(distance, shape):
    """3,000 pairs of sets with elements of their own; universal, since the values of a fast sketch vary together."""
    construction = nested(SHAPES[shape], MinHash(method="universal"))
    items, exact = sets_at(distance, 3000)
    hashed = construction.hash(items, construction.functions)
    found = int(construction.decide(hashed, *even_and_odd(3000)).sum())
    expected = construction.probability(exact)
    assert abs(found - 3000 * expected) <= spread(expected, 3000)
