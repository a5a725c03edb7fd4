"""The frame that all pages share: a summary, warnings, figures, contents, sections, a footer.

Knows HTML, not what the pages are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lookalike.engine.alarms import Alarm, show_alarms
from lookalike.report.html import GENERATOR, Markup, code_options, join, page, tag


class Section(NamedTuple):
    """A part of a page."""

    name: str
    """Its anchor."""
    heading: str
    content: Markup


def frame(
    title: str,
    sentence: str,
    sections: Sequence[Section],
    *,
    kind: str,
    tiles: Sequence[tuple[str, str]] = (),
    warnings: Sequence[str] = (),
    lead: Markup | None = None,
) -> str:
    """A complete page; warnings come first, right after the summary.

    Parameters
    ----------
    kind
        What the page is, such as "Report of lookalike dedup".
    tiles
        Figures with their names.
    lead
        Other content above the sections.

    Examples
    --------
    >>> text = frame("a & b", "1 item.", [Section("more", "More", tag("p", "."))], kind="Report", warnings=["Look!"])
    >>> text.index("1 item.") < text.index("Look!") < text.index('id="more"')
    True
    """
    top = [tag("p", kind, class_="kind"), tag("h1", title), tag("p", sentence, class_="sentence")]
    links = [tag("a", one.heading, href=f"#{one.name}") for one in sections]
    main = [warn(warnings), tiles_of(tiles), *([lead] if lead is not None else []), *map(_section, sections)]
    body = [
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", *top),
        tag("nav", *links, aria_label="Contents"),
        tag("main", join([one for one in main if one], "\n"), id="content"),
        tag("footer", f"Made by {GENERATOR}. This page is one self-contained file: it loads nothing from elsewhere."),
    ]
    return page(title, join(body, "\n"))


def _section(one: Section) -> Markup:
    heading = f"{one.name}-heading"
    return tag("section", tag("h2", one.heading, id=heading), one.content, id=one.name, aria_labelledby=heading)


def list_alarms(alarms: Sequence[Alarm]) -> list[str]:
    """The alarms of a run as sentences.

    Examples
    --------
    >>> list_alarms([{"kind": "no_items", "text": "there were no items in the input"}])
    ['There were no items in the input.']
    """
    texts = show_alarms(alarms)
    return [f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}" for text in texts]


def warn(warnings: Sequence[str]) -> Markup:
    """A list of what to check first; empty if there is nothing to check."""
    if not warnings:
        return Markup("")
    head = tag("h2", "Check this first" if len(warnings) > 1 else "Check this", id="warnings-heading")
    listed = tag("ul", *(tag("li", code_options(one)) for one in warnings))
    return tag("section", head, listed, class_="warnings", id="warnings", aria_labelledby="warnings-heading")


def tiles_of(figures: Sequence[tuple[str, str]]) -> Markup:
    """Figures in large type, each with its name."""
    if not figures:
        return Markup("")
    tiles = (tag("div", tag("b", figure), " ", tag("span", name), class_="tile") for figure, name in figures)
    return tag("div", *tiles, class_="tiles")


def figure(title: str, chart: Markup, numbers: Markup, *, note: str = "", legend: Markup | None = None) -> Markup:
    """A chart: a title that states what it shows, and its numbers as a table."""
    parts = [tag("figcaption", tag("h3", title), *([tag("p", note, class_="soft")] if note else []))]
    parts += [*([legend] if legend is not None else []), chart]
    return tag("figure", *parts, tag("details", tag("summary", "Show the numbers as a table"), numbers))
