"""Example pairs in a report on links: both values of every field, and the steps from the prior to the score."""

from __future__ import annotations

import difflib
import re

from lookalike.report.html import Markup, escape, join, show_number, show_share, tag
from lookalike.report.linkage.facts import LinkReport, PairExample, PairField
from lookalike.report.svg import Scale, axis, bar, legend

_LONGEST = 200  # longest value shown in full, in characters
_COMPARED = 120  # longest values whose differences are marked: finding them takes quadratic time
_ALIKE = 0.5  # values less similar than this differ as a whole; marks would not help
_WORDS = re.compile(r"\s+|\S+")
_OPEN = 1  # examples on either side of the cut that are initially open
_ROUNDING = 0.005
_SLIGHT = 0.1  # fields with less weight against a match are not worth naming


def list_chosen(report: LinkReport) -> Markup:
    """Selected links, each as a waterfall chart."""
    if not report.chosen:
        return tag("p", "There are no links to show.", class_="soft")
    words = (
        "Starting from the prior (the odds before any field is considered), each field moves the score to the right, "
        "for a match, or to the left, against one. The lighter part of a bar reflects how rare or common the value is. "
        "Differing words and letters are highlighted."
    )
    if report.model == "words":
        words = (
            "From the start of the scale, each field moves the score to the right, for a match, or to the left, "
            "against one. The rarer the common words, the longer the bar. The scale was fitted to records and their "
            "best partners, so its start says nothing about two records with nothing in common, which are not even "
            "compared. Differing words and letters are highlighted."
        )
    if report.points:
        words = (
            "Each field moves the score to the right, for a match, or to the left, against one. "
            "Differing words and letters are highlighted."
        )
    return join([tag("p", words), _legend(report), _tools(), *(_example(one, report, True) for one in report.chosen)])


def list_around(report: LinkReport) -> Markup:
    """Examples from the highest score to the lowest, with a divider at the cut."""
    if not report.around:
        return tag("p", "There are no pairs to show.", class_="soft")
    ordered = sorted(report.around, key=lambda one: -one.score)
    cut = report.cut
    if cut is None:
        return join([_tools(), *(_example(one, report, False) for one in ordered)])
    above = [one for one in ordered if one.score >= cut]
    below = ordered[len(above) :]
    return join([
        tag("p", "Pairs just above and just below the cut, highest score first. Open one to see its fields."),
        _tools(),
        *(_example(one, report, len(above) - place <= _OPEN) for place, one in enumerate(above)),
        tag("div", f"cut at {show_number(cut)}", class_="divider"),
        *(_example(one, report, place < _OPEN) for place, one in enumerate(below)),
    ])  # fmt: skip


def compare_values(left: object, right: object) -> tuple[Markup, Markup]:
    """Two values as HTML; if they are similar, differing words are marked, and differing letters of similar words.

    Examples
    --------
    >>> compare_values("Meier", "Meyer")[1]
    '<bdi>Me<mark>y</mark>er</bdi>'
    """
    if left is None or right is None:
        return _value(left), _value(right)
    first, second = str(left), str(right)
    if first == second or max(len(first), len(second)) > _COMPARED:
        return _value(first), _value(second)
    if difflib.SequenceMatcher(None, first, second, autojunk=False).ratio() < _ALIKE:
        return _value(first), _value(second)
    sides = _compare_words(_WORDS.findall(first), _WORDS.findall(second))
    return tag("bdi", *sides[0]), tag("bdi", *sides[1])


def _compare_words(left: list[str], right: list[str]) -> tuple[list[Markup], list[Markup]]:
    """Mark words that only one side has; of similar words in the same place, only the letters that differ."""
    marked: tuple[list[Markup], list[Markup]] = [], []
    for kind, first, end, second, until in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        here, there = left[first:end], right[second:until]
        if kind == "equal" or len(here) != len(there):
            here, there = ["".join(here)], ["".join(there)]
        for pair in zip(here, there):
            for side, pieces in zip(marked, _compare_letters(*pair)):
                side += pieces
    return marked


def _compare_letters(left: str, right: str) -> tuple[list[Markup], list[Markup]]:
    """Mark the letters that differ, or all if most do or if there are several words."""
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    if left != right and (matcher.ratio() < _ALIKE or len(_WORDS.findall(left)) > 1 or len(_WORDS.findall(right)) > 1):
        return [_piece(left, True)], [_piece(right, True)]
    marked: tuple[list[Markup], list[Markup]] = [], []
    for kind, first, end, second, until in matcher.get_opcodes():
        marked[0].append(_piece(left[first:end], kind != "equal"))
        marked[1].append(_piece(right[second:until], kind != "equal"))
    return marked


def _piece(text: str, differs: bool) -> Markup:
    return tag("mark", text) if differs and text else escape(text)


def _value(value: object) -> Markup:
    if value is None:
        return tag("span", "missing", class_="missing")
    text = str(value)
    if text == "":
        return tag("span", "empty", class_="missing")
    if len(text) <= _LONGEST:
        return tag("bdi", text)
    return join([tag("bdi", text[:_LONGEST]), tag("span", f" … ({len(text):,} characters)", class_="missing")])


def _example(one: PairExample, report: LinkReport, is_open: bool) -> Markup:
    """A pair that can be opened: ids and score in one line, the fields below."""
    against = [field.name for field in one.fields if field.weight + field.adjusted < -_SLIGHT]
    chance = "" if one.probability is None else f", probability {show_share(one.probability)}"
    words: list[object] = [tag("b", f"score {show_number(one.score)}"), f"{chance}: "]
    words += [tag("bdi", one.left_id), " and ", tag("bdi", one.right_id)]
    if against:
        words += [" ", tag("span", f"(against: {', '.join(against)})", class_="soft")]
    content = _waterfall(one, report)
    return tag(
        "details", tag("summary", *words), content, class_="example", open=is_open, data_score=f"{one.score:.6g}"
    )


def _waterfall(one: PairExample, report: LinkReport) -> Markup:
    """One row for the prior, one per field, and one for the score."""
    ends = [one.prior]
    for field in one.fields:
        ends += [ends[-1] + field.weight, ends[-1] + field.weight + field.adjusted]
    rest = one.score - ends[-1]
    cuts = [] if report.cut is None else [report.cut]
    scale = Scale.over([0.0, one.score, *ends, *cuts])
    rows = []
    if not report.points:
        name = "start" if report.model == "words" else "prior"
        picture = bar(scale, [(0.0, one.prior, "base")], report.cut, below=True, title=name)
        rows.append(_row(name, _explain_prior(one.prior, report), picture, show_number(one.prior, sign=True)))
    for place, field in enumerate(one.fields):
        start = ends[2 * place]
        rows.append(_field_row(field, start, scale, report, first=place == 0 and report.points))
    if abs(rest) > _ROUNDING:
        # The chart must end at the given score, so whatever the fields do not explain gets its own row.
        picture = bar(scale, [(ends[-1], one.score, _kind(rest))], report.cut, above=True, below=True, title="rest")
        rows.append(_row("rest", _explain_rest(rest, report), picture, show_number(rest, sign=True)))
    chance = "" if one.probability is None else f"probability {show_share(one.probability)}"
    total = bar(scale, [(one.score, 0.0, "base")], report.cut, above=True, title="score")
    rows.append(_row("score", chance, total, show_number(one.score), "total"))
    kinds = ("c-name", "c-value", "c-value", "c-chart", "c-figure")
    heads = [tag("th", head) for head in ("field", "left", "right")]
    heads += [tag("th", axis(scale, "score so far"), class_="chart"), tag("th", "weight", class_="number")]
    columns = tag("colgroup", *(tag("col", class_=kind) for kind in kinds))
    return tag("table", columns, tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="bars falls")


def _explain_prior(prior: float, report: LinkReport) -> str:
    """The prior in words; odds of 1 to n mean one match in n + 1 pairs."""
    if report.model == "words":
        return "of the scale, which was fitted to best partners"
    words = "before any field is considered"
    return words if prior >= 0 or prior < -60 else f"{words}: one match in about {1 + 2.0**-prior:,.0f} pairs"


def _explain_rest(rest: float, report: LinkReport) -> str:
    """What the fields do not explain, in words: records made of words are also judged by their other partners."""
    if report.model != "words":
        return "not explained by the fields"
    if rest < 0:
        return "a record has another partner that is nearly as similar, or more"
    return "stands out: no similar partner is left, or all fields or a code are equal"


def _row(name: str, words: str, picture: Markup, figure: str, kind: str | None = None) -> Markup:
    return tag(
        "tr",
        tag("td", name, class_="field"),
        tag("td", words, colspan=2, class_="soft"),
        tag("td", picture, class_="chart"),
        tag("td", figure, class_="number weight"),
        class_=kind,
    )


def _field_row(field: PairField, start: float, scale: Scale, report: LinkReport, first: bool) -> Markup:
    middle, end = start + field.weight, start + field.weight + field.adjusted
    steps = [(start, middle, _kind(field.weight))]
    total = show_number(field.weight + field.adjusted, sign=True)
    figure: list[object] = [total]
    if round(field.adjusted, 2):
        steps.append((middle, end, f"{_kind(field.adjusted)}-more"))
        kind = "rare" if field.adjusted > 0 else "common"
        figure.append(tag("span", f"{kind} {show_number(field.adjusted, sign=True)}", class_="level"))
    picture = bar(scale, steps, report.cut, above=not first, below=True, title=f"{field.name}: {total}")
    left, right = compare_values(field.left, field.right)
    return tag(
        "tr",
        tag("td", field.name, tag("span", field.level, class_="level"), _shared(field), class_="field"),
        tag("td", left),
        tag("td", right),
        tag("td", picture, class_="chart"),
        tag("td", *figure, class_="number weight"),
    )


def _shared(field: PairField) -> Markup:
    """The words in common, with the number of records that have each."""
    if not field.shared:
        return join([])
    words = ", ".join(f"{word} ({count:,})" for word, count in field.shared)
    return tag("span", f"in common, and in how many records: {words}", class_="level")


def _kind(weight: float) -> str:
    return "for" if weight >= 0 else "against"


def _legend(report: LinkReport) -> Markup:
    entries = [("rect", "for", "for a match"), ("rect", "against", "against a match")]
    if not report.points and report.model != "words":
        entries += [("rect", "for-more", "rare value"), ("rect", "against-more", "common value")]
    return legend([*entries, ("line", "marker", "cut")])


def _tools() -> Markup:
    """A filter and buttons, hidden until the script, which they need, shows them."""
    return tag(
        "div",
        tag("input", type="search", placeholder="Filter pairs …", aria_label="Show only pairs that contain this text"),
        tag("label", "score at least ", tag("input", type="number", step="any", class_="least")),
        tag("button", "Open all", type="button"),
        tag("button", "Close all", type="button"),
        class_="tools",
        hidden=True,
    )
