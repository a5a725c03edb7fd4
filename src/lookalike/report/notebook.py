"""Results as a notebook shows them: a sentence, a small chart and a small table, all escaped.

Text has the notebook's own colours. Nothing needs a style sheet or a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.report.html import Markup, join, tag
from lookalike.types import Float64, to_numpy
from lookalike.types import compute as pc
from lookalike.types.wording import count

SHOWN = 10
"""Rows of a result that are shown."""
COLUMNS, WIDTH, HEIGHT = 30, 420, 80
"""Columns of a chart, and its size in pixels."""
LONGEST = 80
"""Characters of an id that are shown."""


def dedup_html(counts: dict[str, int], removed: pa.Table) -> str:
    """The outcome of a dedup run: how many items were removed, and the first of them.

    Examples
    --------
    >>> removed = pa.table({"id": ["<b>"], "kept_id": ["a"], "similarity": [1.0]})
    >>> dedup_html({"items": 3, "kept": 2, "removed": 1}, removed).count("&lt;b&gt;")
    1
    """
    sentence = f"{count(counts['items'], 'item')}: {counts['kept']:,} kept, {counts['removed']:,} removed"
    value = next(name for name in ("similarity", "distance") if name in removed.column_names)
    label = f"removed items by {value} to the kept item"
    chart = draw_values(to_numpy(pc.cast(removed.column(value), pa.float64()).combine_chunks()), label)
    return _result(f"{sentence}.", removed.select(["id", "kept_id", value]), "removed item", chart)


def links_html(counts: dict[str, Any], links: pa.Table) -> str:
    """The outcome of linking: how many links were found, and the first of them.

    Examples
    --------
    >>> links = pa.table({"left": [1], "right": [2], "score": [9.5], "probability": [None]})
    >>> "1 link among 3 records." in links_html({"links": 1, "left": 3, "right": None}, links)
    True
    """
    among = count(counts["left"], "record")
    if counts["right"] is not None:
        among = f"{counts['left']:,} and {count(counts['right'], 'record')}"
    sentence = f"{count(counts['links'], 'link')} among {among}."
    chart = draw_values(to_numpy(pc.cast(links.column("score"), pa.float64()).combine_chunks()), "links by score")
    return _result(sentence, links.select(["left", "right", "score", "probability"]), "link", chart)


def draw_values(values: Float64, label: str) -> Markup:
    """A small histogram with its range below it; nothing if all values are the same.

    Examples
    --------
    >>> picture = draw_values(np.array([0.8, 0.9, 1.0]), "pairs by similarity")
    >>> picture.count("<rect"), "pairs by similarity" in picture, "0.8" in picture
    (3, True, True)
    """
    values = values[np.isfinite(values)]
    if not len(values) or values.min() == values.max():
        return Markup("")
    counts, edges = np.histogram(values, min(COLUMNS, max(3, len(values))))
    step = WIDTH / len(counts)
    bars = [
        _column(place * step, step - 1, number / int(counts.max()), f"{low:.4g} to {high:.4g}: {number:,}")
        for place, (number, low, high) in enumerate(zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist()))
        if number
    ]
    floor = tag("line", x1=0, x2=WIDTH, y1=HEIGHT, y2=HEIGHT, stroke="currentColor")
    style = {"y": HEIGHT + 14, "fill": "currentColor", "font_size": 11}
    words = [
        tag("text", f"{edges[0]:.4g}", x=0, **style),
        tag("text", label, x=WIDTH / 2, text_anchor="middle", **style),
        tag("text", f"{edges[-1]:.4g}", x=WIDTH, text_anchor="end", **style),
    ]
    return tag("svg", *bars, floor, *words, width=WIDTH, height=HEIGHT + 20, role="img", aria_label=label)


def _column(left: float, width: float, share: float, title: str) -> Markup:
    size = {"x": left, "y": HEIGHT * (1 - share), "width": width, "height": HEIGHT * share}
    return tag("rect", tag("title", title), **{name: f"{value:.1f}" for name, value in size.items()}, fill="#0072b2")


def _result(sentence: str, rows: pa.Table, noun: str, chart: Markup) -> str:
    parts = [tag("p", sentence), *([chart] if chart else [])]
    if len(rows):
        caption = f"First {SHOWN} of {count(len(rows), noun)}" if len(rows) > SHOWN else count(len(rows), noun)
        parts.append(_table(caption, rows.column_names, [list(row.values()) for row in rows[:SHOWN].to_pylist()]))
    return str(tag("div", *parts))


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    lines = [tag("tr", *(tag("td", _cell(value)) for value in row)) for row in rows]
    return tag("table", tag("caption", caption), tag("thead", head), tag("tbody", join(lines)))


def _cell(value: Any) -> str:
    """A value in at most a few characters; a similarity below 1 is never rounded up to 1.

    Examples
    --------
    >>> _cell(2 / 3), _cell(0.99999), _cell(1.0), _cell(None), _cell("x" * 99)[-2:]
    ('0.6667', '0.99999', '1.0', '–', 'x…')
    """
    if value is None:
        return "–"
    if isinstance(value, float):
        rounded = round(value, 4)
        return str(value if rounded == 1 else rounded)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
