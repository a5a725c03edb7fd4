"""The pictures of a report on links, as SVG that lies within HTML.

Horizontal places are percentages, so that a picture fills whatever room it has while its letters keep their size.
Nothing here knows what a record or a field is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lookalike.report.html import Markup, join, show_interval, show_number, show_share, tag
from lookalike.report.linkage.facts import Bin

_EDGE = 2.0  # per cent of the width kept free on either side
_TOP, _PRECISION, _GAP, _COUNTS, _BOTTOM = 44, 130, 40, 190, 46  # heights in the histogram, in pixels
_AXIS = 54  # room for the numbers of the vertical axes


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers to places, in per cent of the width.

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
        # Numbers that are hardly apart give no scale that could be told apart in writing, or in floats.
        return cls(low, high) if high - low > 1e-9 * size else cls(low - max(1.0, size), high + max(1.0, size))

    def place(self, value: float) -> float:
        """Where a value is; what is outside of the scale is at its end."""
        value = self.low if math.isnan(value) else value
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _EDGE + share * (100 - 2 * _EDGE)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within the scale: at most about `most`."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def axis(scale: Scale, label: str) -> Markup:
    """The numbers above a column of bars."""
    return join(
        [tag("span", label, class_="label"), _svg([_number(scale, tick, 12) for tick in scale.ticks()], "axis")]
    )


def bar(
    scale: Scale,
    steps: Sequence[tuple[float, float, str]],
    cut: float | None = None,
    above: bool = False,
    below: bool = False,
    title: str = "",
) -> Markup:
    """One row of bars, each from a number to a number.

    Parameters
    ----------
    scale : Scale
        The same for all rows.
    steps : sequence of (float, float, str)
        Start and end of each bar, and what it is called in the style sheet.
    cut : float, optional
        Where to draw the cut.
    above, below : bool
        Lead thin lines to the start of the first bar from the row above, and from the end of the last to the row below,
        as in a waterfall.
    title : str
        Said when the mouse rests on it, and read aloud.
    """
    parts = [_vertical(scale.place(tick), "grid") for tick in scale.ticks()]
    parts.append(_vertical(scale.place(0.0), "zero"))
    if cut is not None and math.isfinite(cut):
        parts.append(_vertical(scale.place(cut), "cut"))
    for start, end, name in steps:
        left, right = sorted((scale.place(start), scale.place(end)))
        parts.append(
            tag(
                "rect",
                x=_percent(left),
                width=_percent(right - left),
                y="50%",
                height=14,
                class_=name,
                transform="translate(0,-7)",
            )
        )
    if above:
        parts.append(_vertical(scale.place(steps[0][0]), "step", to="50%"))
    if below:
        parts.append(_vertical(scale.place(steps[-1][1]), "step", start="50%"))
    return _svg(parts, "bar", title)


def histogram(bins: Sequence[Bin], cut: float | None, label: str) -> Markup:
    """Number of pairs by score below, their estimated precision above, and the cut through both.

    Counts are drawn on a logarithmic scale where the largest is more than a hundred times the smallest. The precision
    is left out where no bin has one.
    """
    edges = close_edges(bins)
    known = any(part.precision is not None for part in bins)
    cut = cut if cut is not None and math.isfinite(cut) else None
    scale = Scale.over([edge for pair in edges for edge in pair] + ([] if cut is None else [cut]))
    top = _TOP + (_PRECISION + _GAP if known else 0)
    floor = top + _COUNTS
    side, area = _count_panel(bins, edges, scale, cut, top)
    if known:
        side = [*side, _text(0, _TOP - 10, "estimated precision", "label")]
        side += [_text(_AXIS - 6, _level(share / 100) + 4, f"{share}%", "end") for share in (0, 50, 100)]
        area += [_across(_level(share / 100), "grid") for share in (0, 50, 100)]
        area += _precision_shapes(bins, edges, scale)
    area += [_across(floor, "zero"), *(_number(scale, tick, floor + 18) for tick in scale.ticks())]
    area.append(tag("text", label, x="50%", y=floor + 38, class_="label middle"))
    if cut is not None:
        # In two parts, so that it does not run through the words between them.
        area += _cut_mark(cut, scale, [(top, floor), (_TOP, _TOP + _PRECISION)] if known else [(top, floor)])
    height = floor + _BOTTOM
    words = "Number of pairs by score, and their estimated precision; the numbers are in the table below"
    pictures = [
        tag("svg", *side, width=_AXIS, height=height, class_="side"),
        tag("svg", *area, width="100%", height=height, role="img", aria_label=words),
    ]
    return tag("div", *pictures, class_="plot")


def _count_panel(
    bins: Sequence[Bin], edges: Sequence[tuple[float, float]], scale: Scale, cut: float | None, top: float
) -> tuple[list[Markup], list[Markup]]:
    """The numbers beside the bars, and the bars with lines behind them."""
    rise, marks, logarithmic = _count_scale([part.pairs for part in bins])
    levels = [top + _COUNTS * (1 - rise(mark)) for mark in marks]
    side = [_text(0, top - 10, "pairs, logarithmic scale" if logarithmic else "pairs", "label")]
    side += [_text(_AXIS - 6, level + 4, f"{mark:,}", "end") for mark, level in zip(marks, levels, strict=True)]
    area = [_across(level, "grid") for level in levels]
    for part, (low, high) in zip(bins, edges, strict=True):
        if part.pairs <= 0:
            continue
        left, right, share = scale.place(low), scale.place(high), rise(part.pairs)
        area.append(
            tag(
                "rect",
                tag("title", _words(part)),
                x=_percent(left),
                y=_short(top + _COUNTS * (1 - share)),
                width=_percent(max(right - left - 0.08, 0.05)),  # a little apart, and never invisible
                height=_short(_COUNTS * share),
                class_="taken" if is_taken(part, cut) else "left-out",
            )
        )
    return side, area


def _cut_mark(cut: float, scale: Scale, panels: Sequence[tuple[float, float]]) -> list[Markup]:
    place = scale.place(cut)
    name = f"cut-name {'end' if place > 50 else 'start'}"
    lines = [_vertical(place, "cut", _short(start), _short(end)) for start, end in panels]
    return [*lines, tag("text", f"cut {show_number(cut)}", x=_percent(place), y=16, class_=name)]


def legend(entries: Iterable[tuple[str, str, str]]) -> Markup:
    """What shapes mean: a shape (`rect` or `line`), its name in the style sheet, and words for each."""
    parts = []
    for shape, name, words in entries:
        places = {"width": "100%", "height": "100%"} if shape == "rect" else {"x2": "100%", "y1": "50%", "y2": "50%"}
        parts.append(tag("span", tag("svg", tag(shape, **places, class_=name), aria_hidden="true"), words))
    return tag("div", *parts, class_="legend")


def close_edges(bins: Sequence[Bin]) -> list[tuple[float, float]]:
    """Scores between which each bin is drawn: open ones get the usual width.

    Examples
    --------
    >>> close_edges([Bin(-math.inf, 0, 5), Bin(0, 2, 5)])
    [(-2.0, 0.0), (0.0, 2.0)]
    """
    widths = sorted(part.high - part.low for part in bins if math.isfinite(part.high - part.low))
    usual = widths[len(widths) // 2] if widths else 1.0
    edges = []
    for part in bins:
        low, high = float(part.low), float(part.high)
        if not math.isfinite(low):
            low = high - usual if math.isfinite(high) else 0.0
        edges.append((low, high if math.isfinite(high) else low + usual))
    return edges


def is_taken(part: Bin, cut: float | None) -> bool:
    """Whether all pairs of the bin are at or above the cut; its edge may differ from the cut by rounding."""
    return cut is not None and part.low >= cut - 1e-9 * max(1.0, abs(cut))


def _precision_shapes(bins: Sequence[Bin], edges: Sequence[tuple[float, float]], scale: Scale) -> list[Markup]:
    """The interval of each bin as a box, its precision as a dot, and a line through neighbours."""
    boxes, lines, dots = [], [], []
    before: tuple[float, float] | None = None
    for part, (low, high) in zip(bins, edges, strict=True):
        if part.precision is None:
            before = None
            continue
        if part.precision_low is not None and part.precision_high is not None:
            upper, lower = _level(part.precision_high), _level(part.precision_low)
            boxes.append(
                tag(
                    "rect",
                    x=_percent(scale.place(low)),
                    width=_percent(scale.place(high) - scale.place(low)),
                    y=_short(upper),
                    height=_short(max(lower - upper, 1)),
                    class_="interval",
                )
            )
        here = scale.place((low + high) / 2), _level(part.precision)
        if before is not None:
            ends = {"x1": _percent(before[0]), "y1": _short(before[1]), "x2": _percent(here[0]), "y2": _short(here[1])}
            lines.append(tag("line", **ends, class_="precision"))
        dots.append(
            tag(
                "circle",
                tag("title", _words(part)),
                cx=_percent(here[0]),
                cy=_short(here[1]),
                r=2.5,
                class_="precision",
            )
        )
        before = here
    return boxes + lines + dots


def _count_scale(counts: Sequence[int]) -> tuple[_Rise, list[int], bool]:
    """Counts to shares of the height, the counts to mark on the axis, and whether the scale is logarithmic."""
    some = [count for count in counts if count > 0] or [1]
    if max(some) <= 100 * min(some):
        ticks = [int(tick) for tick in Scale(0, max(some)).ticks(5) if tick == int(tick)]
        return _Rise(max(max(some), max(ticks)), False), ticks, False
    powers = [10**power for power in range(math.floor(math.log10(max(some))) + 1)]
    return _Rise(max(some), True), powers[:: -(-len(powers) // 5)], True


@dataclass(frozen=True, slots=True)
class _Rise:
    """Height of a count, as a share of the height of the largest. On a logarithmic scale, half a pair would be flat."""

    largest: int
    logarithmic: bool

    def __call__(self, count: int) -> float:
        if not self.logarithmic:
            return count / self.largest
        return math.log(2 * count) / math.log(2 * self.largest) if count > 0 else 0.0


def _words(part: Bin) -> str:
    text = f"score {show_number(part.low)} to {show_number(part.high)}: {part.pairs:,} pairs"
    if part.precision is None:
        return text
    interval = show_interval(part.precision_low, part.precision_high)
    return f"{text}, precision {show_share(part.precision)}" + (f" ({interval})" if interval else "")


def _level(share: float) -> float:
    return _TOP + _PRECISION * (1 - min(max(share, 0.0), 1.0))


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
