"""Single pairs in a report on links: both values of every field, and the way from the prior to the score."""

from __future__ import annotations

import difflib

from lookalike.report.html import Markup, escape, join, show_number, show_share, tag
from lookalike.report.linkage.facts import LinkReport, PairExample, PairField
from lookalike.report.svg import Scale, axis, bar, legend

_LONGEST = 200  # characters of a value that are shown
_COMPARED = 120  # characters up to which differences are marked: their search takes quadratic time
_ALIKE = 0.5  # values less alike than this are different as a whole, and marks would not help
_OPEN = 1  # example on either side of the cut that is open from the start
_ROUNDING = 0.005


def list_chosen(report: LinkReport) -> Markup:
    """The waterfalls of chosen pairs."""
    if not report.chosen:
        return tag("p", "No pair was chosen to be shown.", class_="soft")
    words = (
        "From the prior (what is known before any field is looked at) each field moves the score to the right, for a "
        "match, or to the left, against it. The lighter part of a bar is there because the value is rare or common. "
        "Letters that differ are marked."
    )
    if report.points:
        words = (
            "Each field moves the score to the right, for a match, or to the left, against it. "
            "Letters that differ are marked."
        )
    return join(
        [tag("p", words), _legend(report.points), _tools(), *(_example(one, report, True) for one in report.chosen)]
    )


def list_around(report: LinkReport) -> Markup:
    """Examples from the highest score to the lowest, with a line where the cut is."""
    if not report.around:
        return tag("p", "There is no pair to show.", class_="soft")
    ordered = sorted(report.around, key=lambda one: -one.score)
    cut = report.cut
    if cut is None:
        return join([_tools(), *(_example(one, report, False) for one in ordered)])
    above = [one for one in ordered if one.score >= cut]
    below = ordered[len(above) :]
    return join([
        tag("p", "Pairs on either side of the cut, the highest score first. Open one to see its fields."),
        _tools(),
        *(_example(one, report, len(above) - place <= _OPEN) for place, one in enumerate(above)),
        tag("div", f"cut at {show_number(cut)}", class_="cut-here"),
        *(_example(one, report, place < _OPEN) for place, one in enumerate(below)),
    ])  # fmt: skip


def compare_values(left: object, right: object) -> tuple[Markup, Markup]:
    """Two values as HTML; letters that differ are marked where the two are much alike.

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
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return _value(first), _value(second)
    marked_left, marked_right = [], []
    for kind, left_start, left_end, right_start, right_end in matcher.get_opcodes():
        marked_left.append(_piece(first[left_start:left_end], kind != "equal"))
        marked_right.append(_piece(second[right_start:right_end], kind != "equal"))
    return tag("bdi", *marked_left), tag("bdi", *marked_right)


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
    """A pair that can be opened: its ids and score in a line, its fields below."""
    against = [field.name for field in one.fields if field.weight + field.adjusted < 0]
    chance = "" if one.probability is None else f", probability {show_share(one.probability)}"
    words: list[object] = [tag("b", f"score {show_number(one.score)}"), f"{chance}: "]
    words += [tag("bdi", one.left_id), " and ", tag("bdi", one.right_id)]
    if against:
        words += [" ", tag("span", f"(against it: {', '.join(against)})", class_="soft")]
    return tag("details", tag("summary", *words), _waterfall(one, report), class_="example", open=is_open)


def _waterfall(one: PairExample, report: LinkReport) -> Markup:
    """A row for the prior, one per field, and one for the score."""
    ends = [one.prior]
    for field in one.fields:
        ends += [ends[-1] + field.weight, ends[-1] + field.weight + field.adjusted]
    rest = one.score - ends[-1]
    cuts = [] if report.cut is None else [report.cut]
    scale = Scale.over([0.0, one.score, *ends, *cuts])
    rows = []
    if not report.points:
        picture = bar(scale, [(0.0, one.prior, "base")], report.cut, below=True, title="prior")
        rows.append(_row("prior", _prior_words(one.prior), picture, show_number(one.prior, sign=True)))
    for place, field in enumerate(one.fields):
        start = ends[2 * place]
        rows.append(_field_row(field, start, scale, report, first=place == 0 and report.points))
    if abs(rest) > _ROUNDING:
        # The picture must lead to the score that is given; what no field explains is shown as such.
        picture = bar(scale, [(ends[-1], one.score, _kind(rest))], report.cut, above=True, below=True, title="rest")
        rows.append(_row("rest", "not explained by a field", picture, show_number(rest, sign=True)))
    chance = "" if one.probability is None else f"probability {show_share(one.probability)}"
    total = bar(scale, [(one.score, 0.0, "base")], report.cut, above=True, title="score")
    rows.append(_row("score", chance, total, show_number(one.score), "total"))
    kinds = ("c-name", "c-value", "c-value", "c-chart", "c-figure")
    heads = [tag("th", head) for head in ("field", "left", "right")]
    heads += [tag("th", axis(scale, "score so far"), class_="chart"), tag("th", "weight", class_="number")]
    columns = tag("colgroup", *(tag("col", class_=kind) for kind in kinds))
    return tag("table", columns, tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="bars falls")


def _prior_words(prior: float) -> str:
    """What the prior says, before any field is looked at: odds of 1 to n are one match in n + 1 pairs."""
    words = "before any field is looked at"
    return words if prior >= 0 or prior < -60 else f"{words}: one match in about {1 + 2.0**-prior:,.0f} pairs"


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
        tag("td", field.name, tag("span", field.level, class_="level"), class_="field"),
        tag("td", left),
        tag("td", right),
        tag("td", picture, class_="chart"),
        tag("td", *figure, class_="number weight"),
    )


def _kind(weight: float) -> str:
    return "for" if weight >= 0 else "against"


def _legend(points: bool) -> Markup:
    entries = [("rect", "for", "for a match"), ("rect", "against", "against a match")]
    if not points:
        entries += [("rect", "for-more", "the value is rare"), ("rect", "against-more", "the value is common")]
    return legend([*entries, ("line", "cut", "the cut")])


def _tools() -> Markup:
    """Filter and buttons. The script shows them; without it they would do nothing."""
    return tag(
        "div",
        tag("input", type="search", placeholder="Show only pairs with …", aria_label="Show only pairs with this text"),
        tag("button", "Open all", type="button"),
        tag("button", "Close all", type="button"),
        class_="tools",
        hidden=True,
    )
