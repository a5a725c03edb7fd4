"""Charts by themselves: edges, ticks, and a histogram of anything."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.svg import Column, Line, Marker, Point, Scale, close_edges, histogram


def test_open_columns_are_drawn_with_the_usual_width() -> None:
    assert close_edges([(-math.inf, 0), (0, 3), (3, math.inf)]) == [(-3, 0), (0, 3), (3, 6)]


@given(st.floats(-1e6, 1e6), st.floats(1e-2, 1e9))
def test_ticks_are_round_few_and_within_the_scale(low: float, width: float) -> None:
    scale = Scale.over([low, low + width])
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 8
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    assert Scale(0, 12).ticks() == [0, 2, 4, 6, 8, 10, 12]


COLUMNS = [Column(1, 2, 40, "small", "40 clusters of two"), Column(2, 4, 10, "large")]


def draw(**options: object) -> str:
    return histogram(COLUMNS, "cluster size", counted="clusters", description="Clusters by size", **options)  # type: ignore[arg-type]


def test_a_histogram_needs_neither_line_nor_marker() -> None:
    chart = draw()
    assert re.findall(r'<rect x="[^"]*" y="[^"]*" width="[^"]*" height="([^"]*)" class="(\w+)"', chart) == [
        ("190", "small"),
        ("47.5", "large"),
    ]
    assert re.findall("<title>([^<]*)</title>", chart) == ["40 clusters of two"]
    assert ">clusters</text>" in chart
    assert ">cluster size</text>" in chart
    assert 'aria-label="Clusters by size"' in chart
    assert "circle" not in chart
    assert "marker" not in chart


def test_line_and_marker_are_drawn_where_they_are_known() -> None:
    chart = draw(line=Line("share checked", [None, Point(0.5, 0.4, 0.6)]), marker=Marker(2.5, "limit"))
    assert ">share checked</text>" in chart
    assert chart.count("<circle") == 1
    assert chart.count('class="interval"') == 1
    assert chart.count('class="marker"') == 2, "one through each panel"
    assert re.findall('x="([^"]*)" y="16" class="marker-name start">(\\w+)<', chart) == [("50%", "limit")]
    assert "marker" not in draw(marker=Marker(math.inf, "limit"))
