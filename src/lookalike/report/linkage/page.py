"""The report of a linking run: one HTML file that says what was linked, how sure that is, and why.

The file loads nothing from elsewhere and can be read without its script. Nothing is decided here.
"""

from __future__ import annotations

from lookalike.report.html import Markup, join, page, show_interval, show_number, show_share, table, tag
from lookalike.report.linkage.examples import list_around, list_chosen
from lookalike.report.linkage.facts import (
    LevelWeight,
    LinkReport,
)
from lookalike.report.linkage.summary import summarize
from lookalike.report.svg import Scale, axis, bar, histogram, legend

_SECTIONS = {
    "weights": "What each field counts",
    "scores": "Scores and precision",
    "pairs": "How single pairs got their score",
    "cut": "Pairs around the cut",
    "candidates": "How candidates were found",
    "fields": "Fields",
    "notes": "Notes and times",
}


def links_page(report: LinkReport) -> str:
    """Make the page.

    Parameters
    ----------
    report : LinkReport
        What the run has to tell.

    Returns
    -------
    str
        A whole HTML file, to be written as UTF-8. The same report gives the same text.

    Examples
    --------
    >>> text = links_page(LinkReport(title="a & b", tables=[("a.csv", 3), ("b.csv", 2)]))
    >>> text.count("a &amp; b"), "0 links" in text
    (2, True)
    """
    contents = {
        "weights": _weights(report),
        "scores": _scores(report),
        "pairs": list_chosen(report),
        "cut": list_around(report),
        "candidates": _candidates(report),
        "fields": _fields(report),
        "notes": _notes(report),
    }
    links = [tag("a", heading, href=f"#{name}") for name, heading in _SECTIONS.items()]
    sections = [
        tag("section", tag("h2", _SECTIONS[name]), content, id=name, aria_label=_SECTIONS[name])
        for name, content in contents.items()
    ]
    top = [tag("h1", report.title), summarize(report), tag("nav", *links, aria_label="Contents")]
    return page(report.title, join([*top, *sections], "\n"))


def _weights(report: LinkReport) -> Markup:
    """Bars of all levels on one scale, by field."""
    if not report.weights:
        return tag("p", "No weights: no pair was scored.", class_="soft")
    scale = Scale.over([0.0, *(level.weight for level in report.weights)])
    heads = [("level", "c-name"), ("", "c-chart"), ("weight", "c-figure")]
    heads += [(name, "c-figure") for name in (["pairs"] if report.points else ["m", "u", "pairs"])]
    cells = [
        tag("th", axis(scale, "against a match ← 0 → for a match"), class_="chart")
        if kind == "c-chart"
        else tag("th", name, class_="number" if kind == "c-figure" else None)
        for name, kind in heads
    ]
    rows: list[Markup] = []
    field = None
    for level in report.weights:
        if level.field != field:
            field = level.field
            rows.append(tag("tr", tag("td", field, colspan=len(heads)), class_="group"))
        rows.append(_weight_row(level, scale, report.points))
    columns = tag("colgroup", *(tag("col", class_=kind) for _, kind in heads))
    return join([
        _weights_words(report),
        tag("table", columns, tag("thead", tag("tr", *cells)), tag("tbody", *rows), class_="bars weights"),
    ])  # fmt: skip


def _weight_row(level: LevelWeight, scale: Scale, points: bool) -> Markup:
    weight = show_number(level.weight, sign=True)
    picture = bar(scale, [(0.0, level.weight, "for" if level.weight >= 0 else "against")],
                  title=f"{level.field}, {level.level}: {weight}")  # fmt: skip
    chances = [] if points else [("m", show_share(level.m)), ("u", show_share(level.u))]
    figures = [*chances, ("pairs", f"{level.pairs:,}")]
    return tag(
        "tr",
        tag("td", level.level, class_="level-name"),
        tag("td", picture, class_="chart"),
        tag("td", weight, class_="number weight", data_name="weight"),
        *(tag("td", figure, class_="number", data_name=name) for name, figure in figures),
    )


def _weights_words(report: LinkReport) -> Markup:
    if report.points:
        return tag("p", "Points that each level of agreement adds to the score of a pair, or takes from it.")
    parts: list[object] = [
        "A weight is the logarithm (base 2) of m / u: m is the share of matches at this level, u that of other pairs. "
        "Each +1 doubles the odds that two records are the same entity, each −1 halves them. "
    ]
    rounds = "" if report.iterations is None else f" after {report.iterations:,} rounds"
    if report.converged:
        parts.append(f"The estimation settled{rounds}.")
    words = tag("p", *parts)
    if report.converged is False:
        warning = f"The estimation of the weights had not settled{rounds}: they, and all scores, may be wrong."
        words = join([words, tag("p", warning, class_="warning")])
    return words


def _scores(report: LinkReport) -> Markup:
    """The histogram, its legend, and its numbers."""
    if not report.bins:
        return tag("p", "No pair was scored.", class_="soft")
    known = any(part.precision is not None for part in report.bins)
    entries = [("rect", "taken", "pairs at or above the cut"), ("rect", "left-out", "pairs below the cut")]
    if known:
        entries += [("line", "precision", "estimated precision"), ("rect", "interval", "its interval")]
    if report.cut is not None:
        entries.append(("line", "cut", "the cut"))
    label = "score (points)" if report.points else "score (logarithm of the odds, base 2)"
    origin = f"Source of the precision: {report.source_of_precision}." if known else "The precision was not estimated."
    rows = [
        [show_number(part.low), show_number(part.high), f"{part.pairs:,}", show_share(part.precision),
         show_interval(part.precision_low, part.precision_high) or "–"]
        for part in report.bins
    ]  # fmt: skip
    numbers = table(["score from", "to below", "pairs", "precision", "interval"], rows, numeric=range(5))
    return join([
        tag("p", "Candidate pairs by score. ", origin),
        legend(entries),
        histogram(report.bins, report.cut, label),
        tag("details", tag("summary", "The numbers as a table"), numbers),
    ])  # fmt: skip


def _candidates(report: LinkReport) -> Markup:
    """A row per hash function, and the recall that they reach together."""
    if not report.hashes:
        return tag("p", "No hash function is listed.", class_="soft")
    words = "Two records are compared if at least one of these hash functions gives both the same value. "
    if report.recall is not None:
        value, low, high = report.recall
        words += (
            f"Together they find about {show_share(value)} ({show_interval(low, high)}) of the matches, "
            "estimated from what two independent groups of them find in common."
        )
    rows = [
        [
            one.name,
            f"{one.records:,}",
            f"{one.blocks:,}",
            f"{one.largest:,}",
            f"{one.pairs:,}",
            f"{one.only:,}",
            one.note,
        ]
        for one in report.hashes
    ]
    heads = ["hash", "records", "blocks", "largest block", "pairs", "found by it alone", "note"]
    return join([tag("p", words), table(heads, rows, numeric=range(1, 6))])


def _fields(report: LinkReport) -> Markup:
    if not report.fields:
        return tag("p", "No field is listed.", class_="soft")
    rows = [[one.name, one.kind, one.why, show_share(one.missing_share), f"{one.distinct:,}"] for one in report.fields]
    return table(["field", "kind", "why this kind", "missing", "distinct values"], rows, numeric=[3, 4])


def _notes(report: LinkReport) -> Markup:
    notes = tag("ul", *(tag("li", note) for note in report.notes)) if report.notes else tag("p", "Nothing to note.")
    if not report.seconds:
        return notes
    rows = [[stage, f"{seconds:,.2f}"] for stage, seconds in report.seconds.items()]
    return join([notes, table(["stage", "seconds"], rows, numeric=[1])])
