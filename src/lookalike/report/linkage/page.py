"""The report of `lookalike link`: one HTML file that shows what was linked, how reliable the links are, and why.

The file is self-contained and readable without its script.
"""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.report.frame import Section, figure, frame, list_alarms
from lookalike.report.html import (
    Markup,
    code_options,
    join,
    show_about,
    show_interval,
    show_number,
    show_share,
    table,
    tag,
)
from lookalike.report.linkage.examples import list_around, list_chosen
from lookalike.report.linkage.facts import Bin, LinkReport
from lookalike.report.linkage.summary import estimate_precision, sum_up, summarize, tiles_of
from lookalike.report.linkage.weights import show_weights
from lookalike.report.svg import Column, Line, Marker, Point, histogram, legend
from lookalike.types.wording import count

_SECTIONS = {
    "weights": "Field weights",
    "scores": "Scores and precision",
    "pairs": "Score breakdown of selected links",
    "cut": "Pairs around the cut",
    "candidates": "How candidates were found",
    "fields": "Fields",
    "notes": "Notes",
}


def links_page(report: LinkReport) -> str:
    """Make the page; the same report gives the same text.

    Examples
    --------
    >>> text = links_page(LinkReport(title="a & b", tables=[("a.csv", 3), ("b.csv", 2)]))
    >>> text.count("a &amp; b"), "0 links" in text
    (2, True)
    """
    contents = {
        "weights": show_weights(report),
        "scores": _scores(report),
        "pairs": list_chosen(report),
        "cut": list_around(report),
        "candidates": _candidates(report),
        "fields": _fields(report),
        "notes": _notes(report),
    }
    return frame(
        report.title,
        sum_up(report),
        [Section(name, _SECTIONS[name], content) for name, content in contents.items()],
        kind="Linkage report",
        tiles=tiles_of(report),
        warnings=list_alarms(report.alarms),
        lead=summarize(report),
    )


def _scores(report: LinkReport) -> Markup:
    """The histogram, its legend, and its numbers as a table."""
    if not report.bins:
        return tag("p", "No pair was scored.", class_="soft")
    known = any(part.precision is not None for part in report.bins)
    entries = [("rect", "taken", "pairs at or above the cut"), ("rect", "left-out", "pairs below the cut")]
    if known:
        entries.append(("line", "curve", "estimated precision"))
    if any(part.precision_low is not None for part in report.bins):
        entries.append(("rect", "interval", "interval of the estimate"))
    if report.cut is not None:
        entries.append(("line", "marker", "cut"))
    origin = f"Source of the precision: {report.source_of_precision}." if known else "The precision was not estimated."
    note = f"Candidate pairs by score. {origin}"
    chart, numbers = _score_histogram(report, known), _score_table(report.bins)
    return figure(_say_scores(report), chart, numbers, note=note, legend=legend(entries))


def _say_scores(report: LinkReport) -> str:
    """How many pairs reach the cut, and how many of them are right."""
    pairs = sum(part.pairs for part in report.bins)
    above = sum(part.pairs for part in report.bins if part.is_above(report.cut))
    if report.cut is None:
        return f"{count(pairs, 'candidate pair')} {'was' if pairs == 1 else 'were'} scored"
    precision = estimate_precision(report)
    right = "" if precision is None or not above else f"; {show_about(precision[0])} of these are matches"
    return f"{above:,} of {count(pairs, 'candidate pair')} {'reaches' if above == 1 else 'reach'} the cut{right}"


def _score_histogram(report: LinkReport, known: bool) -> Markup:
    columns = [
        Column(part.low, part.high, part.pairs, "taken" if part.is_above(report.cut) else "left-out", _describe(part))
        for part in report.bins
    ]
    points = [
        None if part.precision is None else Point(part.precision, part.precision_low, part.precision_high)
        for part in report.bins
    ]
    return histogram(
        columns,
        "score (points)" if report.points else "score (log2 of the odds)",
        counted="pairs",
        description="Number of pairs by score, and their estimated precision; the table below has the numbers",
        line=Line("estimated precision", points) if known else None,
        marker=None if report.cut is None else Marker(report.cut, f"cut {show_number(report.cut)}"),
    )


def _describe(part: Bin) -> str:
    text = f"score {show_number(part.low)} to {show_number(part.high)}: {count(part.pairs, 'pair')}"
    if part.precision is None:
        return text
    interval = show_interval(part.precision_low, part.precision_high)
    return f"{text}, precision {show_share(part.precision)}" + (f" ({interval})" if interval else "")


def _score_table(bins: Sequence[Bin]) -> Markup:
    rows = [
        [show_number(part.low), show_number(part.high), f"{part.pairs:,}", show_share(part.precision),
         show_interval(part.precision_low, part.precision_high) or "–"]
        for part in bins
    ]  # fmt: skip
    return table(["score from", "below", "pairs", "precision", "interval"], rows, numeric=range(5))


def _candidates(report: LinkReport) -> Markup:
    """One row per hash function, and the recall that they reach together."""
    if not report.hashes:
        return tag("p", "No hash functions were used.", class_="soft")
    words = "Two records are compared if at least one of these hash functions maps both to the same value. "
    if report.recall is not None:
        value, low, high = report.recall
        words += (
            f"Together they find about {show_share(value)} ({show_interval(low, high)}) of the matches, as estimated "
            "from the overlap between what two independent groups of them find."
        )
    rows = [
        [one.name, *(f"{n:,}" for n in (one.records, one.blocks, one.largest, one.pairs, one.only)), one.note]
        for one in report.hashes
    ]
    heads = ["hash function", "records", "blocks", "largest block", "pairs", "pairs only it found", "note"]
    return join([tag("p", words), table(heads, rows, numeric=range(1, 6))])


def _fields(report: LinkReport) -> Markup:
    if not report.fields:
        return tag("p", "No fields were compared.", class_="soft")
    rows = [[one.name, one.kind, one.why, show_share(one.missing_share), f"{one.distinct:,}"] for one in report.fields]
    return table(["field", "kind", "reason for the kind", "missing", "distinct values"], rows, numeric=[3, 4])


def _notes(report: LinkReport) -> Markup:
    return (
        tag("ul", *(tag("li", code_options(note)) for note in report.notes)) if report.notes else tag("p", "No notes.")
    )
