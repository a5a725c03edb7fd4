"""Two items side by side, with their differences marked. Knows texts, lists of tokens and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lookalike.report.differences import Sides, compare_texts, compare_tokens, compare_vectors
from lookalike.report.html import Markup, join, tag
from lookalike.report.shown import ShownItem, ShownPair

OPEN = 3
"""Examples of a list that are initially open."""
LONGEST = 120
"""Characters of an id or a file name that are shown."""


def side_by_side(left: Any, right: Any, heads: tuple[Markup, Markup]) -> Markup:
    """Both contents under their headings, or a note if a content is not available.

    Examples
    --------
    >>> picture = side_by_side("a b", "a c", (tag("b", "removed"), tag("b", "kept")))
    >>> "<del>b</del>" in picture, "<ins>c</ins>" in picture
    (True, True)
    """
    sides = _compare(left, right)
    boxes = [
        tag("div", tag("p", head, class_="head"), tag("div", side, dir="auto", class_="text"), class_="side-of-pair")
        for head, side in zip(heads, sides[:2])
    ]
    note = [tag("p", sides.note, class_="soft note")] if sides.note else []
    return join([tag("div", *boxes, class_="pair"), *note])


def _compare(left: Any, right: Any) -> Sides:
    if left is None or right is None:
        return Sides(_alone(left), _alone(right), "")
    if isinstance(left, str) and isinstance(right, str):
        return compare_texts(left, right)
    if not isinstance(left, str) and not isinstance(right, str):
        if _are_numbers(left) and _are_numbers(right) and len(left) == len(right):
            return compare_vectors(left, right)
        return compare_tokens(_listed(left), _listed(right))
    return Sides(_alone(left), _alone(right), "")


def _alone(content: Any) -> Markup:
    if content is None:
        return tag("span", "not available", class_="missing")
    text = content if isinstance(content, str) else " ".join(str(one)[:80] for one in _listed(content)[:60])
    return join([text[:400], *(["…"] if len(text) > 400 else [])])


def _listed(content: Any) -> list[Any]:
    return list(content) if isinstance(content, Sequence) and not isinstance(content, bytes) else [content]


def _are_numbers(content: Any) -> bool:
    return isinstance(content, Sequence) and bool(content) and any(isinstance(one, float) for one in content)


def shorten(text: object, most: int = LONGEST) -> str:
    """Shorten a long name by omitting its middle.

    Examples
    --------
    >>> shorten("a" * 10, most=5)
    'aa…aa'
    """
    words = str(text)
    half = (most - 1) // 2
    return words if len(words) <= most else f"{words[:half]}…{words[-half:]}"


def show_pair(one: ShownPair, value_name: str, words: tuple[str, str], is_open: bool) -> Markup:
    """A pair that can be opened: names and similarity in one line, the contents below; `words` say what each is."""
    line = [tag("b", f"{value_name} {show_value(one.value)}"), ": ", name_item(one.left), " and ", name_item(one.right)]
    heads = _head(words[0], one.left), _head(words[1], one.right)
    content = side_by_side(one.left.content, one.right.content, heads)
    return tag("details", tag("summary", *line), content, class_="example", open=is_open)


def list_pairs(pairs: Sequence[ShownPair], value_name: str, words: tuple[str, str], sentence: str) -> Markup:
    """A sentence, and pairs of which the first ones are open; only the sentence, if there are none."""
    if not pairs:
        return tag("p", sentence, class_="soft")
    shown = (show_pair(one, value_name, words, place < OPEN) for place, one in enumerate(pairs))
    return join([tag("p", sentence), *shown])


def name_item(one: ShownItem) -> Markup:
    """Its id."""
    return tag("bdi", shorten(one.id))


def _head(word: str, one: ShownItem) -> Markup:
    place = f"{shorten(one.file)}, row {one.row:,}" if one.file and str(one.id) != f"{one.file}:{one.row}" else ""
    parts = [tag("b", word), " ", name_item(one)]
    return join([*parts, *([tag("span", " ", tag("bdi", place), class_="soft")] if place else [])])


def show_value(value: float) -> str:
    """At most four decimals, but never rounded up to 1.

    Examples
    --------
    >>> show_value(0.99999), show_value(0.7), show_value(12.0)
    ('0.99999', '0.7', '12')
    """
    rounded = round(value, 4)
    return f"{value:.8g}" if rounded in (0, 1) and value != rounded else f"{rounded:,.10g}"
