"""HTML pages nested so deeply that a parser takes quadratic time: detect them, and get their text without a tree."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_EMPTY = "area base br col embed hr img input link meta param source track wbr"
_ENDED_BY_NEXT = "p li dd dt tr td th thead tbody tfoot option colgroup rt rp a"
_FLAT = frozenset(f"{_EMPTY} {_ENDED_BY_NEXT}".split())
"""Elements without content, and those that end where the next one starts: however many, they are not nested."""
_UNSEEN = frozenset(("script", "style", "noscript", "template"))


def is_deeper(page: str, depth: int) -> bool:
    """Whether elements of a page are nested more deeply than `depth`, judging by its tags.

    Examples
    --------
    >>> is_deeper("<div>" * 10, 9), is_deeper("<div></div>" * 10, 9), is_deeper("<p><br>" * 10, 9)
    (True, False, False)
    """
    if page.count("<") - page.count("</") <= depth:
        return False
    now = 0
    for found in _TAG.finditer(page):
        if found[2].lower() in _FLAT:
            continue
        now = max(0, now - 1) if found[1] else now + 1
        if now > depth:
            return True
    return False


def loose_text(page: str) -> str:
    """The text between the tags of a page, its pieces joined by spaces, in one pass.

    Examples
    --------
    >>> loose_text("<h1>Hello</h1><!-- no --><script>x()</script><p>wor<b>ld &amp; all")
    'Hello wor ld & all'
    """
    pieces, at = [], 0
    while (start := page.find("<", at)) >= 0:
        pieces.append(page[at:start])
        at = _after_tag(page, start)
        if at == start:  # a lone < is text
            pieces.append("<")
            at += 1
    pieces.append(page[at:])
    import html  # a large table of entities

    return " ".join(filter(None, (html.unescape(piece).strip() for piece in pieces)))


def _after_tag(page: str, start: int) -> int:
    """Where the tag or comment at `start` ends, including the content of scripts; `start` if it is neither."""
    if page.startswith("<!--", start):
        return _after(page, "-->", start + 4)
    found = _TAG.match(page, start)
    if found is None and not page.startswith(("<!", "<?", "</"), start):
        return start
    end = _after(page, ">", start)
    if found and not found[1] and (name := found[2].lower()) in _UNSEEN:
        closing = re.compile(rf"</{name}[^>]*>", re.IGNORECASE).search(page, end)
        return closing.end() if closing else len(page)
    return end


def _after(page: str, mark: str, start: int) -> int:
    end = page.find(mark, start)
    return len(page) if end < 0 else end + len(mark)
