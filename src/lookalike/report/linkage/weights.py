"""The weights in a report on links: of levels of agreement or, for records made of words, of kinds of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lookalike.report.html import Markup, join, show_number, show_share, tag
from lookalike.report.linkage.facts import EvidenceWeight, LevelWeight, LinkReport
from lookalike.report.svg import Scale, axis, bar
from lookalike.types.wording import count

_ABOUT_WORDS = (
    "Pairs were scored by their words. Each kind of evidence is measured by a number from 0 (none) to 1 (all; for "
    "codes, up to 2), in which rare words count more than common ones. It adds this number times its weight to the "
    "score. “Both values known” is subtracted from every pair in which both records have a value, so that a pair with "
    "little in common loses by it. Kinds with weight 0 say nothing that the others do not. Unless a note says "
    "otherwise, the weights were learned from the best partners of the records."
)


def show_weights(report: LinkReport) -> Markup:
    """All weights on one scale, by field."""
    shown: Sequence[LevelWeight | EvidenceWeight] = report.evidence if report.model == "words" else report.weights
    if not shown:
        return tag("p", "No weights: no pair was scored.", class_="soft")
    scale = Scale.over([0.0, *(one.weight for one in shown)])
    figures = [] if report.model == "words" else ["pairs"] if report.points else ["m", "u", "pairs"]
    kind = "kind of evidence" if report.model == "words" else "level"
    heads = [(kind, "c-name"), ("", "c-chart"), *((name, "c-figure") for name in ("weight", *figures))]
    cells = [
        tag("th", axis(scale, "← against a match | for a match →"), class_="chart")
        if kind == "c-chart"
        else tag("th", name, class_="number" if kind == "c-figure" else None)
        for name, kind in heads
    ]
    rows: list[Markup] = []
    for field, some in groupby(shown, key=lambda one: one.field):
        rows.append(tag("tr", tag("td", field, colspan=len(heads)), class_="group"))
        rows += [_row(one, scale, report.points) for one in some]
    columns = tag("colgroup", *(tag("col", class_=kind) for _, kind in heads))
    return join([
        tag("h3", _say_weights(report, shown)),
        _explain_weights(report),
        tag("table", columns, tag("thead", tag("tr", *cells)), tag("tbody", *rows), class_="bars weights"),
    ])  # fmt: skip


def _say_weights(report: LinkReport, shown: Sequence[LevelWeight | EvidenceWeight]) -> str:
    """The strongest evidence for or against a match that was seen."""
    seen = [one for one in shown if not _is_assumed(one, report.points)] or shown
    most = max(seen, key=lambda one: abs(one.weight))
    way = "for" if most.weight >= 0 else "against"
    return f"The strongest evidence {way} a match is {most.field}: {most.level} ({show_number(most.weight, sign=True)})"


def _is_assumed(one: LevelWeight | EvidenceWeight, points: bool) -> bool:
    """Whether nothing was seen that this weight could have been learned from."""
    return isinstance(one, LevelWeight) and not points and not one.pairs


def _row(one: LevelWeight | EvidenceWeight, scale: Scale, points: bool) -> Markup:
    weight, assumed = show_number(one.weight, sign=True), _is_assumed(one, points)
    kind = "base" if assumed else "for" if one.weight >= 0 else "against"
    picture = bar(scale, [(0.0, one.weight, kind)], title=f"{one.field}, {one.level}: {weight}")
    figures: list[tuple[str, str]] = []
    if isinstance(one, LevelWeight):
        chances = [] if points else [("m", show_share(one.m)), ("u", show_share(one.u))]
        figures = [*chances, ("pairs", f"{one.pairs:,}")]
    note = [tag("span", "assumed", class_="level")] if assumed else []
    return tag(
        "tr",
        tag("td", one.level, class_="level-name"),
        tag("td", picture, class_="chart"),
        tag("td", weight, *note, class_="number weight", data_name="weight"),
        *(tag("td", value, class_="number", data_name=name) for name, value in figures),
        class_="assumed" if assumed else None,
    )


def _explain_weights(report: LinkReport) -> Markup:
    if report.points:
        return tag("p", "The points that each level of agreement adds to the score of a pair or subtracts from it.")
    if report.model == "words":
        return tag("p", _ABOUT_WORDS)
    text = (
        "A weight is log2(m / u), where m is the share of matches at this level and u the share of other pairs. "
        "Each +1 doubles the odds that two records are the same entity; each −1 halves them."
    )
    if any(_is_assumed(one, report.points) for one in report.weights):
        text += " No candidate pair is at a level in grey: its weight is assumed, and was not used."
    after = "" if report.iterations is None else f" after {count(report.iterations, 'iteration')}"
    if report.converged is not False:
        return tag("p", text + (f" The estimation converged{after}." if report.converged else ""))
    warning = f"The estimation of the weights did not converge{after}: the weights and all scores may be wrong."
    return join([tag("p", text), tag("p", warning, class_="warning")])
