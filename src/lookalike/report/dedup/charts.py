"""The charts in a report on dedup, each with a title that states the finding and its numbers as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.report.dedup.facts import DedupReport, SourceCount
from lookalike.report.distributions import chart_bins, chart_sizes, no_chart
from lookalike.report.frame import figure
from lookalike.report.html import Markup, join, show_interval, show_share, table, tag
from lookalike.report.plot import Axis, Dot, plot
from lookalike.report.svg import Marker, Scale, axis, bar, legend
from lookalike.tuning.plan import Plan
from lookalike.types.wording import count

_POINTS = 120
"""Points of the S-curve."""


def chart_sources(report: DedupReport) -> Markup:
    """Kept and removed items by source, as bars."""
    known = all(one.items is not None for one in report.sources)
    most = max([*((one.items if known else one.removed) or 0 for one in report.sources), 1])
    scale = Scale(0, most)
    head = tag("th", axis(scale, "items" if known else "removed items"), class_="chart", scope="col")
    heads = [tag("th", report.by, scope="col"), head, tag("th", "removed", class_="number", scope="col")]
    rows = [_source_row(one, scale, known) for one in report.sources]
    columns = tag("colgroup", *(tag("col", class_=kind) for kind in ("c-name", "c-chart", "c-figure")))
    chart = tag("table", columns, tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="bars sources")
    entries = [("rect", "against", "removed"), *([("rect", "for", "kept")] if known else [])]
    cells = [[one.name, *(_number(value) for value in (one.items, one.kept, one.removed)), _share(one)]
             for one in report.sources]  # fmt: skip
    numbers = table([report.by, "items", "kept", "removed", "share removed"], cells, numeric=range(1, 5),
                    caption=f"Kept and removed items by {report.by}")  # fmt: skip
    return figure(_say_sources(report), chart, numbers, legend=legend(entries))


def _source_row(one: SourceCount, scale: Scale, known: bool) -> Markup:
    steps = [(0.0, float(one.removed), "against")]
    if known and one.kept:
        steps.append((float(one.removed), float(one.removed + one.kept), "for"))
    words = f"{one.name}: {one.removed:,} removed" + (f", {one.kept:,} kept" if one.kept is not None else "")
    figures = [f"{one.removed:,}", *([tag("span", _share(one), class_="level")] if known else [])]
    return tag(
        "tr",
        tag("th", tag("bdi", one.name), scope="row"),
        tag("td", bar(scale, steps, title=words), class_="chart"),
        tag("td", *figures, class_="number", data_name="removed"),
    )


def _say_sources(report: DedupReport) -> str:
    removed = sum(one.removed for one in report.sources)
    if not removed:
        return f"Nothing was removed from {'any' if len(report.sources) > 1 else 'the'} {report.by}"
    first = report.sources[0]
    if len(report.sources) == 1:
        return f"{first.name}: {show_share(removed / max(1, first.items or 1))} of the items were removed"
    return f"{show_share(first.removed / removed)} of the removed items come from {first.name}"


def _share(one: SourceCount) -> str:
    return "–" if not one.items else show_share(one.removed / one.items)


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def chart_values(report: DedupReport) -> Markup:
    """The similarities (or distances) of removed items, with the threshold."""
    if not report.bins:
        return no_chart("Nothing was removed, so there are no similarities to show.")
    name = report.value_name
    label = f"{name} to the kept item"
    return chart_bins(
        report.bins, _say_values(report), value_name=name, label=label, noun="removed item", threshold=report.threshold
    )


def _say_values(report: DedupReport) -> str:
    """How many removals are close calls: in the fifth of the range next to the threshold."""
    removed = sum(one.count for one in report.bins)
    far = report.bins[0].low if report.is_distance else report.bins[-1].high
    limit = report.threshold + (far - report.threshold) / 5
    if report.is_distance:
        near = sum(one.count for one in report.bins if one.low >= limit - 1e-12)
        share = f"{show_share(near / removed)} of the removed items are" if near else "No removed item is"
        return f"{share} at a distance above {limit:g}"
    near = sum(one.count for one in report.bins if one.high <= limit + 1e-12)
    if far == report.threshold:
        return "All removed items are at the threshold"
    share = f"{show_share(near / removed)} of the removed items are" if near else "No removed item is"
    return f"{share} close to the threshold (below {limit:.4g})"


def chart_clusters(report: DedupReport) -> Markup:
    """Clusters by size."""
    if not report.sizes:
        return no_chart("There are no clusters: nothing was removed.")
    note = "A cluster is a kept item and the items removed because of it."
    return chart_sizes(report.sizes, report.clusters, report.largest_size, noun="cluster", twos="pairs", note=note)


def chart_recall(report: DedupReport) -> Markup:
    """The S-curve of the plan, with the recall that was measured; exact methods have neither."""
    plan, audit = _plan(report.run["plan"]), report.run.get("audit")
    parts: list[Markup] = [tag("p", *_say_audit(audit, plan))]
    if plan is None:
        return join(parts)
    xs = np.linspace(*plan.axis, _POINTS + 1)
    curve = [(float(x), float(plan.curve(float(x)))) for x in xs]
    dots = [Dot(plan.threshold, plan.recall, f"at the threshold: {show_share(plan.recall)}", kind="curve")]
    if audit and audit["recall"] is not None:
        low, high = audit["interval"]
        words = f"measured: {show_share(audit['recall'])} ({show_interval(low, high)})"
        dots.append(Dot(_beside(plan), audit["recall"], words, low, high, "measured"))
    chart = plot(
        Axis(*plan.axis, plan.scale.title),
        Axis(0, 1, "probability of becoming a candidate pair"),
        description="Probability that a pair is compared, by similarity; the table below has the numbers",
        curve=curve,
        dots=dots,
        marker=Marker(plan.threshold, f"threshold {plan.threshold:g}"),
        shares=True,
    )
    rows = [[f"{x:.4g}", show_share(float(plan.curve(float(x))))] for x in np.linspace(*plan.axis, 21)]
    numbers = table([plan.scale.noun, "becomes a candidate pair"], rows, numeric=range(2), caption="The S-curve")
    entries, note = [("line", "curve", "predicted by the plan")], f"The plan: {plan.banding}."
    if len(dots) > 1:
        entries.append(("rect", "measured", "measured over all similar pairs of the sample, with its 95% interval"))
        beyond = "at or below" if plan.scale.is_distance else "at or above"
        note += f" The measured recall is that of all pairs {beyond} the threshold; it is drawn in the middle of them."
    title = f"A pair at the threshold is found with probability {show_share(plan.recall)}, a closer one more often"
    return join([*parts, figure(title, chart, numbers, note=note, legend=legend(entries))])


def _beside(plan: Plan) -> float:
    """Where the measured recall is drawn: in the middle of the range of pairs at or beyond the threshold."""
    nearest = plan.axis[0] if plan.scale.is_distance else plan.axis[1]
    return (plan.threshold + nearest) / 2


def _plan(known: dict[str, Any]) -> Plan | None:
    """The plan in run.json; None for exact methods."""
    if not known.get("bands") or "threshold" not in known:
        return None
    names = ("threshold", "wanted_recall", "hashes", "bands", "rows", "recall", "measure", "bits", "width")
    return Plan(**{name: known[name] for name in names if name in known})


def _say_audit(audit: dict[str, Any] | None, plan: Plan | None) -> list[object]:
    if plan is None:
        return ["The method is exact: no similar pair is missed (recall 100%)."]
    if not audit:
        later, during = tag("code", "lookalike audit OUT"), tag("code", "--audit 1000")
        return ["The recall was not measured. ", later, " measures it for a finished run, ", during, " during one."]
    if audit["recall"] is None:
        return [
            f"None of {count(audit['sample'], 'sampled item')} has a similar item, so there is no recall to measure."
        ]
    low, high = audit["interval"]
    return [
        f"Measured on {count(audit['sample'], 'random item')}: {audit['found']:,} of their "
        f"{count(audit['pairs'], 'similar pair')} were found, a recall of ",
        tag("b", show_share(audit["recall"])),
        f" (95% interval: {show_interval(low, high)}). Predicted: {show_share(audit['predicted'])}; "
        f"target: {show_share(audit['wanted'])}.",
    ]
