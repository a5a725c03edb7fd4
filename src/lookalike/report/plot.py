"""Lines and dots over two axes, each linear or logarithmic, as inline SVG.

As in `svg.py`, horizontal positions are percentages, so that a plot fills the width while its text keeps its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from lookalike.report.html import Markup, tag
from lookalike.report.svg import Marker, Scale
from lookalike.types.frozen import frozen

HEIGHT, TOP, BOTTOM, SIDE = 240, 50, 46, 54
"""In pixels: the area, what is above and below it, and the labels on its left."""


@frozen
class Axis:
    """Maps numbers to shares of a length, on a linear or logarithmic scale.

    Examples
    --------
    >>> Axis(1, 100, logarithmic=True).share(10), Axis(1, 1000, logarithmic=True).ticks()
    (0.5, [1, 10, 100, 1000])
    """

    low: float
    high: float
    label: str = ""
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a number is, from 0 to 1."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round numbers to label; powers of ten, with 2 and 5 between them if those are few."""
        if not self.logarithmic:
            return Scale(self.low, self.high).ticks()
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1, 2, 5) if len(powers) <= 3 else (1,)
        every = [factor * 10**power for power in powers for factor in factors]
        shown = [tick for tick in every if self.low <= tick <= self.high * (1 + 1e-9)]
        return shown[:: -(-len(shown) // 7)] or [self.low]


class Dot(NamedTuple):
    """A dot, with its interval if known and a tooltip."""

    x: float
    y: float
    title: str
    low: float | None = None
    high: float | None = None
    kind: str = "taken"


def plot(
    x: Axis,
    y: Axis,
    *,
    description: str,
    curve: Sequence[tuple[float, float]] = (),
    dots: Sequence[Dot] = (),
    marker: Marker | None = None,
    shares: bool = False,
) -> Markup:
    """A curve, dots and a labelled vertical line; with `shares`, the vertical axis is in per cent."""
    area: list[Markup] = []
    side = [tag("text", y.label, x=0, y=12, class_="label")]
    for tick in y.ticks():
        level = _level(y, tick)
        name = f"{tick:.0%}" if shares else f"{tick:,.10g}"
        side.append(tag("text", name, x=SIDE - 6, y=_short(level + 4), class_="end"))
        area.append(tag("line", x1="0", x2="100%", y1=_short(level), y2=_short(level), class_="grid"))
    floor = TOP + HEIGHT
    area.append(tag("line", x1="0", x2="100%", y1=floor, y2=floor, class_="zero"))
    area += [tag("text", f"{tick:,.10g}", x=_place(x, tick), y=floor + 18, class_="middle") for tick in x.ticks()]
    area.append(tag("text", x.label, x="50%", y=floor + 38, class_="label middle"))
    for (first, low), (second, high) in pairwise(curve):
        ends = {"x1": _place(x, first), "y1": _short(_level(y, low)), "x2": _place(x, second)}
        area.append(tag("line", **ends, y2=_short(_level(y, high)), class_="curve"))
    if marker is not None:
        at, end = _place(x, marker.value), "end" if x.share(marker.value) > 0.5 else "start"
        area.append(tag("line", x1=at, x2=at, y1=TOP - 10, y2=floor, class_="marker"))
        area.append(tag("text", marker.label, x=at, y=TOP - 16, class_=f"marker-name {end}"))
    for dot in dots:
        area += _dot(x, y, dot)
    pictures = [
        tag("svg", *side, width=SIDE, height=floor + BOTTOM, class_="side", aria_hidden="true"),
        tag("svg", *area, width="100%", height=floor + BOTTOM, role="img", aria_label=description),
    ]
    return tag("div", *pictures, class_="plot")


def _dot(x: Axis, y: Axis, dot: Dot) -> list[Markup]:
    at, parts = _place(x, dot.x), []
    if dot.low is not None and dot.high is not None:
        ends = {"y1": _short(_level(y, dot.high)), "y2": _short(_level(y, dot.low))}
        parts.append(tag("line", x1=at, x2=at, **ends, class_="whisker"))
    parts.append(tag("circle", tag("title", dot.title), cx=at, cy=_short(_level(y, dot.y)), r=4, class_=dot.kind))
    return parts


def _level(y: Axis, value: float) -> float:
    return TOP + HEIGHT * (1 - y.share(value))


def _place(x: Axis, value: float) -> str:
    return f"{_short(2 + 96 * x.share(value))}%"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
