"""A small graph as inline SVG. Connected items attract each other, all others repel; nothing is random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.report.examples import shorten
from lookalike.report.html import Markup, tag
from lookalike.report.pairs.facts import Component
from lookalike.types import Float64

STEPS = 150
WIDTH, HEIGHT, MARGIN = 420, 300, 26
NAMED = 6
"""Items whose names are drawn, if there is room; all have theirs as a tooltip."""
NAME = 16
"""Characters of a drawn name."""
DOT, LETTER, LINE = 5, 8, 14
"""In units of the drawing: the radius of a dot, and the largest width and height of a letter."""
MANY = 60
"""Lines that can be distinguished; if there are more, they are thinner."""


def draw_component(one: Component, value_name: str) -> Markup:
    """The items of a component as dots, its pairs as lines: the more similar, the thicker."""
    places = lay_out(len(one.names), [edge[:2] for edge in one.edges])
    low, high = places.min(axis=0), places.max(axis=0)
    share = (places - low) / np.where(high > low, high - low, 1)
    spots = np.round(MARGIN + share * np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN]), 1)
    values = [value for *_, value in one.edges]
    parts = []
    for left, right, value in one.edges:
        ends = {"x1": spots[left, 0], "y1": spots[left, 1], "x2": spots[right, 0], "y2": spots[right, 1]}
        words = tag("title", f"{_short(one.names[left])} and {_short(one.names[right])}: {value_name} {value:.4g}")
        parts.append(tag("line", words, **ends, class_="link", stroke_width=_thickness(value, values, value_name)))
    for number, name in enumerate(one.names):
        x, y = spots[number]
        parts.append(tag("circle", tag("title", _short(name)), cx=x, cy=y, r=DOT, class_="taken"))
    parts += [
        tag("text", words, x=x, y=y + 4, class_=side)
        for words, x, y, side in place_names(short_names(one.names), spots)
    ]
    label = f"A component of {one.size:,} items and {one.pairs:,} pairs"
    return tag("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label, class_="graph")


def _short(name: object) -> str:
    return shorten(name, 80)


def short_names(names: Sequence[object]) -> list[str]:
    """Names to draw: only the rows if all are rows of one file, else the end of each.

    Examples
    --------
    >>> short_names(["crawl/a.dat:256", "crawl/a.dat:7"]), short_names(["a.txt:1", "b.txt:1"])
    ([':256', ':7'], ['a.txt:1', 'b.txt:1'])
    """
    parts = [str(name).rpartition(":") for name in names]
    if len(parts) > 1 and parts[0][1] and len({file for file, *_ in parts}) == 1:
        return [f":{_ending(row)}" for *_, row in parts]
    return [_ending(str(name)) for name in names]


def place_names(names: Sequence[str], spots: Float64) -> list[tuple[str, float, float, str]]:
    """Names beside their dots, on the side that has room: text, place and side. Names without room are left out.

    Examples
    --------
    >>> place_names(["one", "two"], np.array([[50.0, 50], [60, 52]]))
    [('one', 42.0, 50.0, 'end'), ('two', 68.0, 52.0, 'start')]
    """
    taken = [(x - DOT, x + DOT, y - DOT, y + DOT) for x, y in spots.tolist()]
    found: list[tuple[str, float, float, str]] = []
    for name, (x, y) in zip(names, spots.tolist()):
        width = LETTER * len(name)
        sides = [("start", x + 8, x + 8 + width), ("end", x - 8, x - 8 - width)]
        for side, start, end in sides if x < WIDTH / 2 else sides[::-1]:
            box = min(start, end), max(start, end), y - LINE / 2, y + LINE / 2
            if box[0] >= 0 and box[1] <= WIDTH and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                found.append((name, start, y, side))
                break
        if len(found) == NAMED:
            break
    return found


Box = tuple[float, float, float, float]
"""Left, right, top, bottom."""


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _ending(name: str) -> str:
    """The end of a name, which distinguishes files and rows of one folder.

    Examples
    --------
    >>> _ending("news.jsonl:7"), _ending("/data/crawl/2026/news.jsonl:12345")
    ('news.jsonl:7', '…ews.jsonl:12345')
    """
    return name if len(name) <= NAME else f"…{name[1 - NAME :]}"


def _thickness(value: float, values: Sequence[float], value_name: str) -> str:
    low, high = min(values), max(values)
    share = 1.0 if high == low else (value - low) / (high - low)
    thick = 1 + 2 * (1 - share if value_name == "distance" else share)
    return f"{thick / max(1.0, len(values) / MANY):.1f}"


def lay_out(items: int, edges: Sequence[tuple[int, int]]) -> Float64:
    """Places of items: from a circle, moved by springs along the edges and repulsion between all.

    Examples
    --------
    >>> places = lay_out(3, [(0, 1)])
    >>> gaps = np.linalg.norm(places[[0, 0]] - places[[1, 2]], axis=1)
    >>> bool(gaps[0] < gaps[1])
    True
    """
    angles = 2 * np.pi * np.arange(items) / max(1, items)
    places = np.stack([np.cos(angles), np.sin(angles)], 1)
    if items < 3:
        return places
    wanted = 1.0 / np.sqrt(items)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    for step in range(STEPS):
        apart = places[:, None] - places[None]
        gaps = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        force = (apart * (wanted**2 / gaps**2)[..., None]).sum(axis=1)
        pull = places[ends[:, 0]] - places[ends[:, 1]]
        pull *= np.linalg.norm(pull, axis=1, keepdims=True) / wanted
        np.add.at(force, ends[:, 0], -pull)
        np.add.at(force, ends[:, 1], pull)
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places += force / size * np.minimum(size, 0.2 * (1 - step / STEPS))
    return places
