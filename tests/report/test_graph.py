"""Drawings of components: names lie over nothing; and sizes in groups."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.distributions import SizeBin, chart_sizes
from lookalike.report.pairs.facts import Component
from lookalike.report.pairs.graph import DOT, LETTER, LINE, NAMED, WIDTH, draw_component, place_names


@given(st.lists(st.tuples(st.integers(26, 394), st.integers(26, 274)), min_size=1, max_size=40))
def test_names_lie_over_no_dot_and_no_other_name(places):
    spots = np.array(places, np.float64)
    found = place_names([f":{number}" for number in range(len(spots))], spots)
    assert len(found) <= NAMED
    boxes = []
    for name, x, y, side in found:
        left = x if side == "start" else x - LETTER * len(name)
        boxes.append((left, left + LETTER * len(name), y))
        assert 0 <= left < left + LETTER * len(name) <= WIDTH
        for dot_x, dot_y in places:
            beside = dot_x + DOT <= left or dot_x - DOT >= left + LETTER * len(name)
            assert beside or abs(dot_y - y) >= DOT + LINE / 2
    for number, (left, right, y) in enumerate(boxes):
        assert all(right <= one[0] or left >= one[1] or abs(y - one[2]) >= LINE for one in boxes[:number])


def test_rows_of_one_file_are_named_by_their_numbers():
    page = draw_component(Component(2, 1, ["in/T10.dat:256", "in/T10.dat:7"], [(0, 1, 0.9)]), "similarity")
    assert ">:256<" in page
    assert "<title>in/T10.dat:256</title>" in page


def test_a_group_of_sizes_ends_at_the_largest():
    bins = [SizeBin(2, 2, 5), SizeBin(97, 192, 1)]
    page = chart_sizes(bins, 6, 118, noun="component", twos="single pairs", note="A component.")
    assert "Large ones are grouped by size" in page
    alone = chart_sizes([SizeBin(2, 2, 5), SizeBin(118, 118, 1)], 6, 118, noun="component", twos="pairs", note="")
    assert "grouped" not in alone

    def last_dot(page):
        return float(page.rpartition('cx="')[2].split("%")[0])

    assert 90 < last_dot(page) < last_dot(alone)
