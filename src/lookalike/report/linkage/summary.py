"""The top of a report on links: what was compared and found, how reliable it is, and what to do next."""

from __future__ import annotations

from lookalike.report.html import (
    Markup,
    code_options,
    show_about,
    show_interval,
    show_number,
    show_roughly,
    show_share,
    tag,
)
from lookalike.report.linkage.facts import CALIBRATED, MODEL_ALONE, LinkReport, short_names
from lookalike.types.wording import count, list_words

_MANY_WRONG = 0.3  # above this share of wrong links, a warning is shown
_WIDE = 0.2  # above this width of its interval, the estimated precision may be off by more than 0.1
_WIDE_MEASURED = 0.4  # the same if it was measured on labels, of which sixty rarely give a narrow interval
ENOUGH_LABELS = 60
LABEL_PAIRS = f"label {ENOUGH_LABELS} pairs (--review {ENOUGH_LABELS}, then --labels)"
"""What to do if the tables do not show which pairs are matches. With as many labels, the precision was measured within
0.1 in nine of ten runs with few matches (docs/link-quality.md)."""
GOOD_RECALL = 0.95
"""Below this, an alarm is raised, and the next steps say how to improve it."""


def summarize(report: LinkReport) -> Markup:
    """The outcome in words."""
    entries: list[tuple[str, object]] = [
        ("Compared", _compared(report)),
        *([("Scoring", _scoring(report))] if report.model else []),
        ("Found", _found(report)),
        *([("Labels", report.labels)] if report.labels else []),
        ("Precision", _precision(report)),
        ("Evidence", _evidence(report)),
        ("Recall", _recall(report)),
        ("Next steps", tag("ul", *(tag("li", code_options(step)) for step in _next_steps(report)))),
    ]
    return tag("dl", *(part for name, text in entries for part in (tag("dt", name), tag("dd", text))))


def sum_up(report: LinkReport) -> str:
    """The outcome in one sentence.

    Examples
    --------
    >>> sum_up(LinkReport("a and b", [("a.csv", 3), ("b.csv", 2)], links=1))
    '1 link was found between a.csv (3 records) and b.csv (2 records); its precision is unknown.'
    """
    names = short_names([name for name, _ in report.tables])
    tables = [f"{name} ({count(records, 'record')})" for name, (_, records) in zip(names, report.tables)]
    among = f"between {list_words(tables)}" if len(tables) > 1 else f"among the records of {''.join(tables)}"
    was, its = ("was", "its") if report.links == 1 else ("were", "their")
    precision = estimate_precision(report)
    if precision is None:
        known = "unknown"
    else:
        wide = _wide_interval(*precision[1:3])
        known = f"probably {wide}" if wide else show_about(precision[0])
    return f"{count(report.links, 'link')} {was} found {among}; {its} precision is {known}."


def describe_doubt(share: float, low: float | None, high: float | None) -> str:
    """What to do if many links are probably wrong, or if the tables do not show how many are; otherwise, nothing.

    Examples
    --------
    >>> describe_doubt(0.6, None, None)
    'many links are probably wrong (about 40%): add fields, or set --precision'
    >>> describe_doubt(0.97, 0.94, 0.99)
    ''
    """
    if wide := _wide_interval(low, high):
        return f"the tables alone do not show how many links are correct: probably {wide}. To measure it, {LABEL_PAIRS}"
    return _describe_wrong(share)


def describe_measured_doubt(share: float, low: float, high: float) -> str:
    """The same if the precision was measured on labels.

    Examples
    --------
    >>> describe_measured_doubt(0.9, 0.5, 0.99)
    'the labels do not show how many links are correct: probably 50% to 99%. To measure it, label more pairs (--review)'
    >>> describe_measured_doubt(0.4, 0.3, 0.5)
    'most links are probably wrong (about 60%): add fields, or set --precision'
    """
    if wide := _wide_interval(low, high, _WIDE_MEASURED):
        unknown = f"the labels do not show how many links are correct: probably {wide}"
        return f"{unknown}. To measure it, label more pairs (--review)"
    return _describe_wrong(share)


def _describe_wrong(share: float) -> str:
    if 1 - share <= _MANY_WRONG:
        return ""
    many = "most links" if share < 0.5 else "many links"
    return f"{many} are probably wrong (about {show_share(1 - share)}): add fields, or set --precision"


def _wide_interval(low: float | None, high: float | None, wide: float = _WIDE) -> str:
    """The interval of the precision, if it is too wide for a single number to say much; otherwise, nothing."""
    return "" if low is None or high is None or high - low <= wide else show_roughly(low, high)


def estimate_precision(report: LinkReport) -> tuple[float, float | None, float | None, float] | None:
    """Precision of all pairs at or above the cut, its interval, and the share of these pairs that it covers.

    If the run has no estimate, it is the mean over the bins, weighted by pairs. The ends of the interval are means too,
    which makes it wide enough even if all bins err in the same direction.

    Examples
    --------
    >>> from lookalike.report.linkage.facts import Bin
    >>> bins = [Bin(0, 1, 100, 0.5), Bin(1, 2, 30, 0.9), Bin(2, 3, 10, 1.0)]
    >>> estimate_precision(LinkReport("two tables", [], bins=bins, cut=1))
    (0.925, None, None, 1.0)
    """
    if report.precision is not None:
        return (*report.precision, 1.0)
    taken = [part for part in report.bins if part.is_above(report.cut) and part.pairs > 0]
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


def tiles_of(report: LinkReport) -> list[tuple[str, str]]:
    """The key figures, each with its name."""
    figures = [(f"{report.links:,}", "link" if report.links == 1 else "links")]
    if report.clusters is not None:
        figures.append((f"{report.clusters:,}", "entities with several records"))
    precision = estimate_precision(report)
    by = {MODEL_ALONE: "according to the model alone", CALIBRATED: "calibrated on labels"}
    origin = by.get(report.source_of_precision, "estimated")
    if precision is None:
        figures.append(("unknown", "precision"))
    else:
        shown = _wide_interval(*precision[1:3]) or show_share(precision[0])
        figures.append((shown, f"precision, {origin}"))
    if report.recall is not None:
        figures.append((show_share(report.recall[0]), "of the matches were compared"))
    return figures


def _compared(report: LinkReport) -> str:
    tables = [f"{name} ({count(records, 'record')})" for name, records in report.tables]
    text = " with ".join(tables) if len(tables) != 1 else f"{tables[0]} with itself"
    fields = list_words([field.name for field in report.fields])
    pairs = sum(part.pairs for part in report.bins)
    return f"{text or 'Nothing'}{f', by {fields}' if fields else ''}. {count(pairs, 'candidate pair')} scored."


def _scoring(report: LinkReport) -> str:
    return f"By {report.model}, because {report.model_reason}."


def _found(report: LinkReport) -> str:
    text = count(report.links, "link")
    if report.clusters is not None:
        text += f" forming {count(report.clusters, 'entity', 'entities')} with several records"
    reason = f": {report.cut_reason}" if report.cut_reason else ""
    cut = "No cut was set" if report.cut is None else f"The cut is at a score of {show_number(report.cut)}"
    return f"{text}. {cut}{reason}."


def _precision(report: LinkReport) -> str:
    precision = estimate_precision(report)
    if precision is None:
        return "Unknown: it could not be estimated for the pairs at or above the cut."
    value, low, high, share = precision
    interval = show_interval(low, high)
    about = show_about(value).capitalize()
    text = f"{about}{f' ({interval})' if interval else ''} of the pairs at or above the cut are matches."
    return text if share == 1 else f"{text} The estimate covers {show_share(share)} of them."


def _evidence(report: LinkReport) -> str:
    if estimate_precision(report) is None:
        return "None: there was nothing to estimate the precision from."
    if report.source_of_precision == CALIBRATED:
        return "The precision and probabilities were calibrated on the labelled pairs."
    if report.source_of_precision == MODEL_ALONE:
        return f"The precision is {MODEL_ALONE}. Nothing outside the model confirms it."
    return f"{report.source_of_precision[:1].upper()}{report.source_of_precision[1:]}."


def _recall(report: LinkReport) -> str:
    if report.recall is None:
        return "Unknown: the share of the matches that became candidates was not estimated."
    value, low, high = report.recall
    return (
        f"About {show_share(value)} ({show_interval(low, high)}) of the matches became candidates; the others "
        "were never compared. Matches that score below the cut are not linked either."
    )


def _next_steps(report: LinkReport) -> list[str]:
    steps = []
    if report.converged is False:
        steps.append("The weights did not converge: use more or better fields before relying on any number here.")
    if report.links == 0:
        steps.append("Nothing was linked. Check the scores and fields below: is the cut too high, or a field empty?")
    if report.source_of_precision == MODEL_ALONE and report.bins:
        steps.append(
            "Verify the precision with a field that is not part of the score, such as a date: --validate FIELD."
        )
    if report.recall is not None and report.recall[1] < GOOD_RECALL:
        steps.append("Many matches may never have been compared: add fields, which add hash functions to find them.")
    if report.around:
        steps.append("Inspect the pairs around the cut: those above should be the same entity, those below should not.")
    if report.links > 0:
        steps.append("If there are too many wrong links, or too few links, move the cut with --precision.")
        steps.append("Use links.parquet: it has every link, its score, and the contribution of each field.")
    return steps or ["Read the notes below."]
