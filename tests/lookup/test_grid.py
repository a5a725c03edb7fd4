"""Normalisation undoes what capturing does; squares are those of a plain reference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.lookup.grid import Grid, choose_grid, normalise
from lookalike.lookup.prints import Prints
from lookalike.lookup.simulated import draw_prints, recapture


def exactly(prints, **options):
    """Captured again with nothing missing, false or off."""
    options = {"shift": 0.0, "rotation": 0.0, "scale": 0.0} | options
    return recapture(prints, jitter=0.0, missing=0.0, false=0.0, **options)


def furthest(one, other):
    return float(np.hypot(one.x - other.x, one.y - other.y).max())


@pytest.mark.parametrize("rotation", ["axis", "angles", "none"])
def test_shift_and_scale_are_undone(rotation):
    prints = draw_prints(20)
    again = exactly(prints, shift=80.0, scale=0.2)
    assert furthest(prints, again) > 100
    assert furthest(normalise(prints, rotation=rotation), normalise(again, rotation=rotation)) < 1e-9


@pytest.mark.parametrize("rotation", ["axis", "angles"])
def test_turns_are_undone(rotation):
    prints = draw_prints(20)
    again = exactly(prints, rotation=25.0)
    assert furthest(normalise(prints, rotation="none"), normalise(again, rotation="none")) > 0.5
    assert furthest(normalise(prints, rotation=rotation), normalise(again, rotation=rotation)) < 1e-9


def test_what_normalised_means():
    prints = normalise(draw_prints(5), rotation="axis")
    for number in range(5):
        own = slice(*prints.indptr[number : number + 2])
        x, y = prints.x[own], prints.y[own]
        assert [x.mean(), y.mean(), (x * y).mean()] == pytest.approx([0, 0, 0], abs=1e-12)
        assert (x**2 + y**2).mean() == pytest.approx(1)
        assert (y**2).mean() > (x**2).mean()
    level = normalise(draw_prints(5), rotation="angles")
    doubled = 2 * np.radians(level.angles[level.owners == 3])
    assert np.sin(doubled).mean() == pytest.approx(0, abs=1e-12)
    assert np.cos(doubled).mean() > 0


def test_parts_of_the_normalisation_can_be_skipped():
    prints = draw_prints(3)
    same = normalise(prints, centre=False, scale="none", rotation="none")
    assert furthest(prints, same) < 1e-9
    without = Prints(prints.names, prints.indptr, prints.x, prints.y, np.full(len(prints.x), np.nan))
    assert furthest(normalise(without, rotation="angles"), normalise(prints, rotation="axis")) < 1e-12
    for wrong in ({"scale": "half"}, {"rotation": "left"}):
        with pytest.raises(UsageError, match="scale must be one of spread, none; rotation one of axis, angles, none"):
            normalise(prints, **wrong)


def test_empty_and_single_minutiae():
    odd = Prints(["none", "one"], np.array([0, 0, 1]), np.array([7.0]), np.array([8.0]), np.array([90.0]))
    done = normalise(odd)
    assert (done.x.tolist(), done.y.tolist()) == ([0.0], [0.0])
    assert Grid(4, edge=0.1).occupy(done).sum(axis=1).tolist() == [0, 4]  # at a corner of four squares
    assert choose_grid(Prints.joined([])).side == 16


def plain_squares(grid, minutiae):
    """The squares of one print, minutia by minutia."""
    found = set()
    for x, y in minutiae:
        both = []
        for value in (x, y):
            place = min(max((value + grid.reach) / (2 * grid.reach) * grid.side, 0), grid.side - 1e-9)
            own = math.floor(place)
            near = [own]
            if place - own < grid.edge and own > 0:
                near.append(own - 1)
            if place - own > 1 - grid.edge and own < grid.side - 1:
                near.append(own + 1)
            both.append(near)
        found |= {row * grid.side + column for column in both[0] for row in both[1]}
    return found


@given(
    st.lists(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), max_size=6), min_size=1, max_size=4),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.15, 0.4]),
)
def test_squares_are_those_of_the_plain_reference(prints, side, edge):
    grid = Grid(side, edge=edge)
    indptr = np.cumsum([0, *map(len, prints)])
    x, y = np.array([place for one in prints for place in one]).reshape(-1, 2).T
    occupied = grid.occupy(Prints([""] * len(prints), indptr, x, y, np.zeros(len(x))))
    assert [set(np.flatnonzero(row).tolist()) for row in occupied] == [plain_squares(grid, one) for one in prints]


def test_the_grid_has_a_fifth_of_its_squares_occupied():
    for minutiae in (20, 45, 80):
        prints = normalise(draw_prints(30, minutiae))
        assert choose_grid(prints).occupy(prints).mean() == pytest.approx(0.2, abs=0.03)
    with pytest.raises(UsageError, match=r"edge must be from 0 to 0\.5 .*, not 0\.7"):
        choose_grid(prints, edge=0.7)
