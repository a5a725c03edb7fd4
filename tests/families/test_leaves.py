"""Every family's functions agree as often as its formula says, and refuse what they cannot hash."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_items import bits_at, points_at, sets_at, spread, vectors_at_angle
from lookalike.errors import UsageError
from lookalike.families import BitSampling, Family, Hyperplanes, Lines, MinHash
from lookalike.tuning.collisions import (
    angle_of,
    bit_collision,
    hyperplane_collision,
    line_collision,
    unit_line_collision,
)
from lookalike.types import NOWHERE

FUNCTIONS = 20_000


def agreements(family: Family, items, functions: int = FUNCTIONS) -> int:
    buckets = family.hash(items, functions).buckets[:, :, 0]
    return int((buckets[:, ::2] == buckets[:, 1::2]).sum())


def check_frequency(family: Family, items, distance: float) -> None:
    """One pair under many functions: they are drawn independently, so the count is binomial."""
    chance = family.probability(distance)
    assert abs(agreements(family, items) - FUNCTIONS * chance) <= spread(chance, FUNCTIONS)


@pytest.mark.parametrize("method", ["fast", "universal"])
@pytest.mark.parametrize("distance", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_minhash(method, distance):
    # Many pairs with elements of their own instead: the values of one signature vary less than independent draws.
    items, exact = sets_at(distance, pairs=400)
    chance = MinHash().probability(exact)
    assert abs(agreements(MinHash(method=method), items, 50) - 400 * 50 * chance) <= spread(chance, 400 * 50)


@pytest.mark.parametrize("dimension", [2, 3, 100])
@pytest.mark.parametrize("degrees", [0.0, 5.0, 30.0, 60.0, 90.0, 120.0, 170.0])
def test_hyperplanes(degrees, dimension):
    check_frequency(Hyperplanes(), vectors_at_angle(degrees, 1, dimension), degrees)


@pytest.mark.parametrize("degrees", [5.0, 30.0, 60.0, 90.0, 120.0, 170.0])
def test_hyperplanes_of_signs_in_many_dimensions(degrees):
    check_frequency(Hyperplanes(vectors="signs"), vectors_at_angle(degrees, 1, 256), degrees)


@pytest.mark.parametrize("dimension", [2, 300])
def test_hyperplanes_of_signs_are_only_two_where_two_components_matter(dimension):
    # (1, 0.5) and (0.5, 1) are on one side of one diagonal, and not of the other, though only 37 degrees apart.
    items = np.zeros((2, dimension))
    items[:, :2] = [[1, 0.5], [0.5, 1]]
    share = agreements(Hyperplanes(vectors="signs"), items, 4000) / 4000
    assert share == pytest.approx(0.5, abs=0.05)
    assert Hyperplanes().probability(angle_of(0.8)) == pytest.approx(0.795, abs=1e-3)


@pytest.mark.parametrize("dimension", [1, 2, 30])
@pytest.mark.parametrize("distance", [0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_lines(distance, dimension):
    width = 1.5
    check_frequency(Lines(width), points_at(distance * width, 1, dimension), distance * width)


@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 30])
@pytest.mark.parametrize("distance", [0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_lines_in_unit_directions(distance, dimension):
    family = Lines(0.5, direction="unit", dimensions=dimension)
    check_frequency(family, points_at(distance * 0.5, 1, dimension), distance * 0.5)


@pytest.mark.parametrize("bits", [1, 13, 64])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_bits(share, bits):
    differ = round(share * bits)
    items = bits_at(differ, bits, 1)
    check_frequency(BitSampling(bits), items, differ)
    if bits % 8 == 0:
        check_frequency(BitSampling(), items, differ / bits)


def test_bits_are_those_of_packbits():
    rows = np.random.default_rng(3).integers(0, 2, (5, 21), np.uint8)
    family = BitSampling(21, seed=5)
    positions = family.positions_for(21, 200)
    assert set(positions.tolist()) == set(range(21))
    assert (family.hash(np.packbits(rows, axis=1), 200).buckets[:, :, 0] == rows[:, positions].T).all()


def test_line_buckets_are_floors_of_the_projections():
    items, family = np.random.default_rng(3).uniform(-9, 9, (6, 4)), Lines(0.75, seed=5)
    lines, offsets = family.lines_for(4, 30)
    assert lines.dtype == np.float32
    assert ((offsets >= 0) & (offsets < 1)).all()
    for function in range(30):
        for item in range(6):
            place = math.fsum(float(a) * float(b) for a, b in zip(items[item], lines[:, function])) / 0.75
            assert family.hash(items, 30).buckets[function, item, 0] == math.floor(place + offsets[function])


FAMILIES = [
    (MinHash(method="universal"), sets_at(0.3, 20)[0]),
    (Hyperplanes(), vectors_at_angle(30, 20, 7)),
    (Hyperplanes(vectors="signs"), vectors_at_angle(30, 20, 7)),
    (Lines(2.0), points_at(1, 20, 7)),
    (Lines(2.0, direction="unit"), points_at(1, 20, 7)),
    (BitSampling(), bits_at(3, 40, 20)),
]


@pytest.mark.parametrize(("family", "items"), FAMILIES, ids=lambda value: repr(value) if hasattr(value, "hash") else "")
def test_functions_come_from_the_seed_and_the_first_do_not_depend_on_how_many(family, items):
    many, few = family.hash(items, 33).buckets, family.hash(items, 5).buckets
    if not isinstance(family, MinHash):  # a whole signature is drawn at once
        assert (many[:5] == few).all()
    assert (family.hash(items, 33).buckets == many).all()
    arguments = {**vars(family), "seed": 2}
    other = type(family)(**{name: arguments[name] for name in arguments if name not in ("distance", "farthest")})
    assert (other.hash(items, 33).buckets != many).any()
    assert len({buckets.tobytes() for buckets in many}) > 5


@pytest.mark.parametrize("vectors", ["gaussian", "signs"])
def test_a_dot_product_of_0_counts_as_positive_and_a_zero_vector_is_nowhere(vectors):
    family = Hyperplanes(vectors=vectors)
    drawn = family.vectors_for(2, 64)
    across = np.stack([-drawn[1], drawn[0]], axis=1).astype(np.float64)  # perpendicular to each vector in turn
    items = np.vstack([across, [[0.0, -0.0]]])
    buckets = family.hash(items, 64).buckets[:, :, 0]
    assert [buckets[k, k] for k in range(64)] == [1] * 64
    assert (buckets[:, 64] == NOWHERE).all()


def test_hyperplanes_depend_on_directions_not_lengths():
    items = vectors_at_angle(40, 30, 6)
    small = Hyperplanes().hash(items, 20).buckets
    for power in (-1000, -500, 500, 1000):
        assert (Hyperplanes().hash(np.ldexp(items, power), 20).buckets == small).all()
    assert (Hyperplanes().hash(items.astype(np.float32), 20).buckets == small).all()


@pytest.mark.parametrize("family", [Hyperplanes(), Lines()])
def test_rows_that_are_not_numbers_are_named(family):
    for value in (math.nan, math.inf, -math.inf):
        items = np.ones((5, 3))
        items[3, 1] = value
        with pytest.raises(UsageError, match=f"row 3 .*{value}"):
            family.hash(items, 4)
    for shape in ((5,), (2, 0), (2, 2, 2)):
        with pytest.raises(UsageError, match="matrix"):
            family.hash(np.ones(shape), 4)
    with pytest.raises(UsageError, match="all of one length"):
        family.hash([[1.0], [1.0, 2.0]], 4)
    assert family.hash(np.ones((0, 3)), 4).buckets.shape == (4, 0, 1)


def test_points_too_far_away_for_a_bucket_are_named():
    with pytest.raises(UsageError, match=r"row 1 .* width 1e-10"):
        Lines(1e-10).hash([[1.0], [1e12]], 4)
    with pytest.raises(UsageError, match="row 0"):
        Lines(1e-3).hash([[1e308, -1e308]], 4)


def test_bits_that_are_none_are_refused():
    for items in (np.zeros(3, np.uint8), np.zeros((2, 3)), np.zeros((2, 0), np.uint8), [[True, False]]):
        with pytest.raises(UsageError, match="uint8 matrix"):
            BitSampling().hash(items, 3)
    with pytest.raises(UsageError, match="fewer than the 25"):
        BitSampling(25).hash(np.zeros((2, 3), np.uint8), 3)
    assert BitSampling(17).hash(np.zeros((2, 3), np.uint8), 3).buckets.shape == (3, 2, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hyperplanes(vectors="random"), "gaussian, signs"),
        (lambda: Hyperplanes(seed=-1), "seed must be a whole number from 0 to"),
        (lambda: Hyperplanes(seed=1.5), "seed must be a whole number from 0 to"),
        (lambda: Lines(0), "width must be a number above 0"),
        (lambda: Lines(math.nan), "width must be a number above 0"),
        (lambda: Lines(direction="up"), "gaussian, unit"),
        (lambda: Lines(direction="unit", dimensions=1), "dimensions"),
        (lambda: BitSampling(0), "bits must be a whole number of at least 1"),
        (lambda: BitSampling(2.5), "bits must be a whole number of at least 1"),
        (lambda: BitSampling(True), "bits must be a whole number of at least 1"),
        (lambda: Hyperplanes().probability(181), "from 0 to 180"),
        (lambda: Lines().probability(-1), "from 0 to inf"),
        (lambda: BitSampling(8).probability(9), "from 0 to 8"),
        (lambda: BitSampling(8).sensitivity(4, 9), "from 0 to 8"),
        (lambda: angle_of(1.1), "cosine must be from -1 to 1"),
        (lambda: bit_collision(0.0, 0), "bits"),
        (lambda: line_collision(1.0, 0), "width"),
        (lambda: unit_line_collision(1.0, 1.0, 1), "dimensions"),
    ],
)
def test_values_out_of_range_are_usage_errors(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_families_are_shown_as_they_are_written():
    families = [MinHash(), MinHash(64), Hyperplanes(), Hyperplanes(2, "signs"), Lines(), Lines(0.5), BitSampling(64)]
    shown = [
        "MinHash()", "MinHash(hashes=64)", "Hyperplanes()", "Hyperplanes(seed=2, vectors='signs')", "Lines()",
        "Lines(width=0.5)", "BitSampling(bits=64)",
    ]  # fmt: skip
    assert [repr(family) for family in families] == shown


# The formulas against integrals by hand.


def by_integral(distance: float, width: float, density) -> float:
    """E[max(0, 1 - distance |x| / width)] for x of this density from 0 to 1 (or 12): plain midpoints."""
    x, step = density.points
    return float((np.maximum(0, 1 - distance * x / width) * density.heights).sum() * step)


class Density:
    def __init__(self, height, end: float, steps: int = 400_000) -> None:
        step = end / steps
        x = (np.arange(steps) + 0.5) * step
        self.points, self.heights = (x, step), height(x)


@given(st.floats(0.01, 20), st.floats(0.1, 10))
def test_the_formula_of_gaussian_lines_is_its_integral(ratio, width):
    expected = by_integral(ratio * width, width, HALF_NORMAL)
    assert line_collision(ratio * width, width) == pytest.approx(expected, rel=1e-6)


HALF_NORMAL = Density(lambda x: math.sqrt(2 / math.pi) * np.exp(-x * x / 2), 12)


@pytest.mark.parametrize("dimensions", [2, 3, 4, 7, 50])
def test_the_formula_of_unit_lines_is_its_integral(dimensions):
    # By the angle a to the perpendicular: the density of directions is proportional to cos(a)^(dimensions - 2).
    step = math.pi / 2 / 200_000
    angles = (np.arange(200_000) + 0.5) * step
    weights = np.cos(angles) ** (dimensions - 2)
    for ratio in (0.0, 0.3, 1.0, 1.7, 2.0, 9.0):
        expected = (np.maximum(0, 1 - ratio * np.sin(angles)) * weights).sum() / weights.sum()
        assert unit_line_collision(ratio, 1.0, dimensions) == pytest.approx(expected, rel=1e-6)


@given(st.floats(0.001, 1000))
def test_unit_lines_in_the_plane_have_a_closed_form(ratio):
    inside = 1 - 2 * ratio / math.pi
    outside = 2 / math.pi * (math.asin(min(1, 1 / ratio)) - ratio + math.sqrt(max(0, ratio**2 - 1)))
    assert unit_line_collision(ratio, 1.0) == pytest.approx(inside if ratio <= 1 else outside, rel=1e-6, abs=1e-9)


def test_in_many_dimensions_a_unit_line_is_a_gaussian_one_that_is_longer_by_the_root_of_the_dimensions():
    for distance in (0.5, 2.0, 5.0):
        unit = unit_line_collision(distance * 100, 1.0, 10_000)
        assert unit == pytest.approx(line_collision(distance, 1.0), rel=1e-3)


def test_formulas_take_arrays_and_their_ends():
    grid = np.array([[0.0, 90.0], [45.0, 180.0]])
    assert hyperplane_collision(grid).tolist() == [[1.0, 0.5], [0.75, 0.0]]
    assert bit_collision(np.array([0.0, 8.0, 2.0]), 8).tolist() == [1.0, 0.0, 0.75]
    far = np.array([0.0, 1e-300, 1e300, np.inf])
    for formula in (line_collision, unit_line_collision):
        assert formula(far, 1.0) == pytest.approx([1, 1, 0, 0], abs=1e-12)
        assert type(formula(0.5, 1.0)) is float
        assert (np.diff(formula(np.linspace(0, 50, 500), 1.0)) < 0).all()
    assert angle_of(np.array([1.0, 0.0, -1.0])).tolist() == [0.0, 90.0, 180.0]
