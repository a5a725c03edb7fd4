"""Charts as inline SVG: axes, rows of bars, and a histogram with an optional line above it.

Horizontal positions are percentages, so a chart fills the available width while its text keeps its size. Colours come
from the style sheet, by class. Knows numbers and words, not what they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lookalike.report.html import Markup, join, tag
from lookalike.types.frozen import frozen

_MARGIN = 2.0  # per cent of the width kept free on either side
_TOP, _LINE, _GAP, _COUNTS, _BOTTOM = 44, 130, 40, 190, 46  # heights of the parts of a histogram, in pixels
_SIDE = 54  # width of the labels of the vertical axes, in pixels
_LARGEST_RATIO = 100  # of counts on a linear scale


@frozen
class Scale:
    """Maps numbers to horizontal positions, in per cent of the width.

    Examples
    --------
    >>> Scale(0, 10).place(5), Scale.over([-3.0, 7.0, float("inf")])
    (50.0, Scale(low=-3.0, high=7.0))
    """

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Scale:
        """From the smallest to the largest finite value."""
        finite = [float(value) for value in values if math.isfinite(value)] or [0.0]
        low, high = min(finite), max(finite)
        size = max(abs(low), abs(high))
        # Values that are almost equal would get indistinguishable labels, or vanish in rounding.
        return cls(low, high) if high - low > 1e-9 * size else cls(low - max(1.0, size), high + max(1.0, size))

    def place(self, value: float) -> float:
        """The position of a value; values outside the scale are placed at its ends."""
        value = self.low if math.isnan(value) else value
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _MARGIN + share * (100 - 2 * _MARGIN)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within the scale, about `most` at most."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


@frozen
class Column:
    """A column of a histogram: a count between two numbers."""

    low: float
    high: float
    count: int
    kind: str
    """Class in the style sheet."""
    title: str = ""
    """Shown when the mouse rests on it."""


class Point(NamedTuple):
    """A share from 0 to 1, with its interval if known."""

    value: float
    low: float | None = None
    high: float | None = None


class Line(NamedTuple):
    """A line above a histogram: one share per column, None where it is unknown."""

    label: str
    points: Sequence[Point | None]


class Marker(NamedTuple):
    """A labelled vertical line."""

    value: float
    label: str


def axis(scale: Scale, label: str) -> Markup:
    """The numbers above a table column of bars."""
    return join(
        [tag("span", label, class_="label"), _svg([_number(scale, tick, 12) for tick in scale.ticks()], "axis")]
    )


def bar(
    scale: Scale,
    steps: Sequence[tuple[float, float, str]],
    marker: float | None = None,
    above: bool = False,
    below: bool = False,
    title: str = "",
) -> Markup:
    """One row of bars.

    Parameters
    ----------
    scale : Scale
        The same for all rows.
    steps : sequence of (float, float, str)
        Start and end of each bar, and its class in the style sheet.
    marker : float, optional
        Position of a vertical line.
    above, below : bool
        Connect the start of the first bar with the row above, and the end of the last bar with the row below, as in a
        waterfall chart.
    title : str
        Tooltip and description for screen readers.
    """
    parts = [_vertical(scale.place(tick), "grid") for tick in scale.ticks()]
    parts.append(_vertical(scale.place(0.0), "zero"))
    if marker is not None and math.isfinite(marker):
        parts.append(_vertical(scale.place(marker), "marker"))
    for start, end, name in steps:
        left, right = sorted((scale.place(start), scale.place(end)))
        size = {"x": _percent(left), "width": _percent(right - left), "y": "50%", "height": 14}
        parts.append(tag("rect", **size, class_=name, transform="translate(0,-7)"))
    if above:
        parts.append(_vertical(scale.place(steps[0][0]), "step", to="50%"))
    if below:
        parts.append(_vertical(scale.place(steps[-1][1]), "step", start="50%"))
    return _svg(parts, "bar", title)


def histogram(
    columns: Sequence[Column],
    label: str,
    *,
    counted: str,
    description: str,
    line: Line | None = None,
    marker: Marker | None = None,
) -> Markup:
    """Counts as columns, a line of shares above them, and a vertical marker through both.

    Counts are on a logarithmic scale if the largest is more than a hundred times the smallest.

    Parameters
    ----------
    label : str
        Label of the horizontal axis.
    counted : str
        What is counted, in the plural.
    description : str
        For screen readers.
    line : Line, optional
        Drawn in a panel of its own.
    """
    edges = close_edges([(column.low, column.high) for column in columns])
    marker = marker if marker is not None and math.isfinite(marker.value) else None
    scale = Scale.over([edge for pair in edges for edge in pair] + ([] if marker is None else [marker.value]))
    top = _TOP + (_LINE + _GAP if line else 0)
    floor = top + _COUNTS
    side, area = _count_panel(columns, edges, scale, counted, top)
    if line:
        side += [_text(0, _TOP - 10, line.label, "label")]
        side += [_text(_SIDE - 6, _level(share / 100) + 4, f"{share}%", "end") for share in (0, 50, 100)]
        area += [_across(_level(share / 100), "grid") for share in (0, 50, 100)]
        area += _line_shapes(line, columns, edges, scale)
    area += [_across(floor, "zero"), *(_number(scale, tick, floor + 18) for tick in scale.ticks())]
    area.append(tag("text", label, x="50%", y=floor + 38, class_="label middle"))
    if marker is not None:
        # In two parts, so that it does not run through the label between the panels.
        area += _marker_shapes(marker, scale, [(top, floor), (_TOP, _TOP + _LINE)] if line else [(top, floor)])
    height = floor + _BOTTOM
    pictures = [
        tag("svg", *side, width=_SIDE, height=height, class_="side"),
        tag("svg", *area, width="100%", height=height, role="img", aria_label=description),
    ]
    return tag("div", *pictures, class_="plot")


def _count_panel(
    columns: Sequence[Column], edges: Sequence[tuple[float, float]], scale: Scale, counted: str, top: float
) -> tuple[list[Markup], list[Markup]]:
    """The labels of the vertical axis, and the columns with grid lines behind them."""
    heights, marks = _count_scale([column.count for column in columns])
    levels = [top + _COUNTS * (1 - heights.share(mark)) for mark in marks]
    side = [_text(0, top - 10, f"{counted}, logarithmic scale" if heights.logarithmic else counted, "label")]
    side += [_text(_SIDE - 6, level + 4, f"{mark:,}", "end") for mark, level in zip(marks, levels, strict=True)]
    area = [_across(level, "grid") for level in levels]
    for column, (low, high) in zip(columns, edges, strict=True):
        if column.count <= 0:
            continue
        left, right, share = scale.place(low), scale.place(high), heights.share(column.count)
        size = {
            "x": _percent(left),
            "y": _short(top + _COUNTS * (1 - share)),
            "width": _percent(max(right - left - 0.08, 0.05)),  # a narrow gap, but never invisible
            "height": _short(_COUNTS * share),
        }
        area.append(tag("rect", *_title(column.title), **size, class_=column.kind))
    return side, area


def _line_shapes(
    line: Line, columns: Sequence[Column], edges: Sequence[tuple[float, float]], scale: Scale
) -> list[Markup]:
    """Intervals as boxes, values as dots, and lines between adjacent dots."""
    boxes, lines, dots = [], [], []
    before: tuple[float, float] | None = None
    for point, column, (low, high) in zip(line.points, columns, edges, strict=True):
        if point is None:
            before = None
            continue
        if point.low is not None and point.high is not None:
            upper, lower = _level(point.high), _level(point.low)
            width = _percent(scale.place(high) - scale.place(low))
            size = {"x": _percent(scale.place(low)), "width": width, "y": _short(upper)}
            boxes.append(tag("rect", **size, height=_short(max(lower - upper, 1)), class_="interval"))
        here = scale.place((low + high) / 2), _level(point.value)
        if before is not None:
            ends = {"x1": _percent(before[0]), "y1": _short(before[1]), "x2": _percent(here[0]), "y2": _short(here[1])}
            lines.append(tag("line", **ends, class_="curve"))
        place = {"cx": _percent(here[0]), "cy": _short(here[1]), "r": 2.5}
        dots.append(tag("circle", *_title(column.title), **place, class_="curve"))
        before = here
    return boxes + lines + dots


def _marker_shapes(marker: Marker, scale: Scale, panels: Sequence[tuple[float, float]]) -> list[Markup]:
    place = scale.place(marker.value)
    name = f"marker-name {'end' if place > 50 else 'start'}"
    lines = [_vertical(place, "marker", _short(start), _short(end)) for start, end in panels]
    return [*lines, tag("text", marker.label, x=_percent(place), y=16, class_=name)]


def legend(entries: Iterable[tuple[str, str, str]]) -> Markup:
    """The legend: for each entry a shape (`rect` or `line`), its class in the style sheet, and its meaning."""
    parts = []
    for shape, name, words in entries:
        places = {"width": "100%", "height": "100%"} if shape == "rect" else {"x2": "100%", "y1": "50%", "y2": "50%"}
        parts.append(tag("span", tag("svg", tag(shape, **places, class_=name), aria_hidden="true"), words))
    return tag("div", *parts, class_="legend")


def close_edges(edges: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The edges between which columns are drawn; open (infinite) columns get the median width.

    Examples
    --------
    >>> close_edges([(-math.inf, 0), (0, 2)])
    [(-2.0, 0.0), (0.0, 2.0)]
    """
    widths = sorted(high - low for low, high in edges if math.isfinite(high - low))
    usual = widths[len(widths) // 2] if widths else 1.0
    closed = []
    for low, high in edges:
        if not math.isfinite(low):
            low = high - usual if math.isfinite(high) else 0.0
        closed.append((float(low), float(high if math.isfinite(high) else low + usual)))
    return closed


@frozen
class _Heights:
    """Maps counts to heights, as a share of the highest. On a logarithmic scale, a count of 1/2 would have height 0."""

    largest: int
    logarithmic: bool

    def share(self, count: int) -> float:
        if not self.logarithmic:
            return count / self.largest
        return math.log(2 * count) / math.log(2 * self.largest) if count > 0 else 0.0


def _count_scale(counts: Sequence[int]) -> tuple[_Heights, list[int]]:
    """The scale of the counts, and the counts to label on the axis."""
    some = [count for count in counts if count > 0] or [1]
    if max(some) <= _LARGEST_RATIO * min(some):
        ticks = [int(tick) for tick in Scale(0, max(some)).ticks(5) if tick == int(tick)]
        return _Heights(max(max(some), max(ticks)), False), ticks
    powers = [10**power for power in range(math.floor(math.log10(max(some))) + 1)]
    return _Heights(max(some), True), powers[:: -(-len(powers) // 5)]


def _level(share: float) -> float:
    return _TOP + _LINE * (1 - min(max(share, 0.0), 1.0))


def _title(text: str) -> list[Markup]:
    return [tag("title", text)] if text else []


def _svg(parts: Sequence[Markup], name: str, title: str = "") -> Markup:
    if not title:
        return tag("svg", *parts, class_=name, aria_hidden="true")
    return tag("svg", tag("title", title), *parts, class_=name, role="img")


def _vertical(place: float, name: str, start: str = "0", to: str = "100%") -> Markup:
    return tag("line", x1=_percent(place), x2=_percent(place), y1=start, y2=to, class_=name)


def _across(height: float, name: str) -> Markup:
    return tag("line", x1="0", x2="100%", y1=_short(height), y2=_short(height), class_=name)


def _number(scale: Scale, value: float, height: float) -> Markup:
    return tag("text", f"{value:,.10g}".replace("-", "−"), x=_percent(scale.place(value)), y=height, class_="middle")


def _text(x: float, y: float, words: str, name: str) -> Markup:
    return tag("text", words, x=_short(x), y=_short(y), class_=name)


def _percent(place: float) -> str:
    return f"{_short(place)}%"


def _short(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
