"""The top of a report on links: what was compared and found, how sure it is, how that is known, what to do next."""

from __future__ import annotations

from lookalike.report.html import Markup, count, join, show_interval, show_number, show_share, tag
from lookalike.report.linkage.facts import MODEL_ALONE, LinkReport
from lookalike.report.svg import is_taken

_GOOD_RECALL = 0.95  # below this, what to do about it is said


def summarize(report: LinkReport) -> Markup:
    """Figures that are read first, and the same in words."""
    entries: list[tuple[str, object]] = [
        ("What was compared", _compared(report)),
        ("What was found", _found(report)),
        ("How sure it is", _sure(report)),
        ("How that is known", _known(report)),
        ("What may be missing", _missing(report)),
        ("What to do next", tag("ul", *(tag("li", step) for step in _next_steps(report)))),
    ]
    words = tag("dl", *(part for name, text in entries for part in (tag("dt", name), tag("dd", text))))
    return join([_tiles(report), words])


def estimate_precision(report: LinkReport) -> tuple[float, float | None, float | None, float] | None:
    """Precision of all pairs from the cut on, its interval, and the share of these pairs that it is known for.

    Where the run does not say, it is the mean over the bins by number of pairs. The ends of the interval are means too,
    which is wide enough even if the errors of all bins go the same way.

    Examples
    --------
    >>> from lookalike.report.linkage.facts import Bin
    >>> bins = [Bin(0, 1, 100, 0.5), Bin(1, 2, 30, 0.9), Bin(2, 3, 10, 1.0)]
    >>> estimate_precision(LinkReport("two tables", [], bins=bins, cut=1))
    (0.925, None, None, 1.0)
    """
    if report.precision is not None:
        return (*report.precision, 1.0)
    taken = [part for part in report.bins if is_taken(part, report.cut) and part.pairs > 0]
    known = [part for part in taken if part.precision is not None]
    pairs = sum(part.pairs for part in known)
    if not pairs:
        return None

    def mean(shares: list[float | None]) -> float | None:
        products = [share * part.pairs for share, part in zip(shares, known, strict=True) if share is not None]
        return sum(products) / pairs if len(products) == len(known) else None

    value = mean([part.precision for part in known])
    assert value is not None
    low, high = mean([part.precision_low for part in known]), mean([part.precision_high for part in known])
    return value, low, high, pairs / sum(part.pairs for part in taken)


def list_words(words: list[str]) -> str:
    """A list in a sentence.

    Examples
    --------
    >>> list_words(["name", "phone", "zip"])
    'name, phone and zip'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _tiles(report: LinkReport) -> Markup:
    figures = [(f"{report.links:,}", "link" if report.links == 1 else "links")]
    if report.clusters is not None:
        figures.append((f"{report.clusters:,}", "entities with several records"))
    precision = estimate_precision(report)
    origin = "by the model alone" if report.source_of_precision == MODEL_ALONE else "estimated"
    if precision is None:
        figures.append(("unknown", "precision"))
    else:
        figures.append((show_share(precision[0]), f"precision, {origin}"))
    figures.append(
        ("unknown" if report.recall is None else show_share(report.recall[0]), "of the matches were compared")
    )
    return tag("div", *(tag("div", tag("b", figure), tag("span", name), class_="tile") for figure, name in figures),
               class_="tiles")  # fmt: skip


def _compared(report: LinkReport) -> str:
    tables = [f"{name} ({count(records, 'record')})" for name, records in report.tables]
    text = " with ".join(tables) if len(tables) != 1 else f"{tables[0]} with itself"
    fields = list_words([field.name for field in report.fields])
    pairs = sum(part.pairs for part in report.bins)
    return f"{text or 'Nothing'}{f', by {fields}' if fields else ''}. {count(pairs, 'candidate pair')} got a score."


def _found(report: LinkReport) -> str:
    text = count(report.links, "link")
    if report.clusters is not None:
        text += f", which make {count(report.clusters, 'entity', 'entities')} with several records"
    if report.cut is None:
        return f"{text}. No cut was set{f': {report.cut_reason}' if report.cut_reason else ''}."
    reason = f": {report.cut_reason}" if report.cut_reason else ""
    return f"{text}. The cut is at a score of {show_number(report.cut)}{reason}."


def _sure(report: LinkReport) -> str:
    precision = estimate_precision(report)
    if precision is None:
        return "Not known: no precision was estimated for the pairs at or above the cut."
    value, low, high, share = precision
    interval = show_interval(low, high)
    text = (
        f"About {show_share(value)}{f' ({interval})' if interval else ''} of the pairs at or above the cut are matches."
    )
    return text if share == 1 else f"{text} That is known for {show_share(share)} of them; the rest has no estimate."


def _known(report: LinkReport) -> str:
    if estimate_precision(report) is None:
        return "Nothing was there to estimate it from."
    if report.source_of_precision == MODEL_ALONE:
        return f"It is {MODEL_ALONE}. Nothing outside of the model confirms it."
    return f"{report.source_of_precision[:1].upper()}{report.source_of_precision[1:]}."


def _missing(report: LinkReport) -> str:
    if report.recall is None:
        return "Not known: the share of the matches that became candidates was not estimated."
    value, low, high = report.recall
    return (
        f"About {show_share(value)} ({show_interval(low, high)}) of the matches became candidates; the others "
        "were never compared. Matches with a score below the cut are not linked either."
    )


def _next_steps(report: LinkReport) -> list[str]:
    steps = []
    if report.converged is False:
        steps.append("The weights had not settled: use more or better fields before you rely on any number here.")
    if report.links == 0:
        steps.append(
            "Nothing was linked. Look at the scores and the fields below: is the cut too high, is a field empty?"
        )
    if report.source_of_precision == MODEL_ALONE and report.bins:
        steps.append(
            "Check the precision by a field that takes no part in the score, such as a date: --validate FIELD."
        )
    if report.recall is not None and report.recall[1] < _GOOD_RECALL:
        steps.append(
            "Many matches may never have been compared: add fields, so that there are more hashes to find them by."
        )
    if report.around:
        steps.append("Look at the pairs around the cut: are those above it the same, and those below it not?")
    if report.links > 0:
        steps.append("Move the cut with --precision if there are too many wrong links, or too few links.")
        steps.append("Use links.parquet: it holds every link with its score and what each field added to it.")
    return steps or ["Look at the notes below."]
