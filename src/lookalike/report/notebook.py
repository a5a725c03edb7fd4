"""Results as a notebook shows them: a sentence and a small table, all escaped, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lookalike.report.html import Markup, join, tag
from lookalike.types.wording import count

SHOWN = 10
"""Rows of a result that are shown."""
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
    return _result(f"{sentence}.", removed.select(["id", "kept_id", value]), "removed item")


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
    return _result(sentence, links.select(["left", "right", "score", "probability"]), "link")


def _result(sentence: str, rows: pa.Table, noun: str) -> str:
    parts = [tag("p", sentence)]
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
