"""The report of `lookalike pairs`: how similar the pairs are, and which items they connect."""

from __future__ import annotations

from lookalike.report.distributions import chart_bins, chart_sizes, no_chart
from lookalike.report.examples import list_pairs, shorten
from lookalike.report.frame import Section, frame, list_alarms
from lookalike.report.html import Markup, join, show_share, table, tag
from lookalike.report.pairs.facts import Component, PairsReport
from lookalike.report.pairs.graph import draw_component
from lookalike.report.stages import about_run
from lookalike.types.wording import count


def pairs_page(report: PairsReport) -> str:
    """Make the page; the same report gives the same text.

    Examples
    --------
    >>> "<b>3</b> <span>pairs" in pairs_page(PairsReport("a.csv", "similarity", pairs=3, items=4))
    True
    """
    name = report.value_name
    sections = [
        Section("values", f"{name.capitalize()} of the pairs", _values(report)),
        Section("sizes", "Sizes of components", _sizes(report)),
        Section("components", "Largest components", _components(report)),
    ]
    if report.examples:
        sections.append(Section("examples", "Least similar pairs", _examples(report)))
    if report.run is not None:
        sections.append(Section("run", "The run", _about_run(report)))
    tiles = [(report.pairs, "pairs"), (report.items, "items in pairs"), (report.components, "components")]
    return frame(
        report.title,
        _sum_up(report),
        sections,
        kind="Report on similar pairs",
        tiles=[(f"{number:,}", name) for number, name in tiles],
        warnings=list_alarms(report.alarms),
    )


def _values(report: PairsReport) -> Markup:
    if not report.bins:
        return no_chart("There are no pairs.")
    name = report.value_name
    most = max(report.bins, key=lambda one: one.count)
    title = f"{show_share(most.count / report.pairs)} of the pairs have a {name} from {most.low:g} to {most.high:g}"
    label = f"{name} of a pair"
    return chart_bins(report.bins, title, value_name=name, label=label, noun="pair", threshold=report.threshold)


def _sizes(report: PairsReport) -> Markup:
    if not report.sizes:
        return no_chart("There are no components.")
    note, largest = "A component is a set of items connected by pairs.", report.largest[0].size
    return chart_sizes(report.sizes, report.components, largest, noun="component", twos="single pairs", note=note)


def _sum_up(report: PairsReport) -> str:
    if not report.pairs:
        return "No similar pairs were found."
    items = count(report.items, "item")
    if report.run is not None:
        items = f"{report.items:,} of {count(report.run['counts']['items'], 'item')}"
    connect = "connects" if report.pairs == 1 else "connect"
    return f"{count(report.pairs, 'similar pair')} {connect} {items} into {count(report.components, 'component')}."


def _components(report: PairsReport) -> Markup:
    if not report.largest:
        return tag("p", "There are no components.", class_="soft")
    if report.largest[0].size == 2:
        return tag("p", "Every component is a single pair, so there is nothing to draw.", class_="soft")
    words = (
        f"The {count(len(report.largest), 'largest component')}. Each dot is an item, and each line a pair: the "
        "thicker, the more similar. Large components are shown as a sample: the items with the most pairs."
    )
    return join([tag("p", words), tag("div", *(_component(one, report) for one in report.largest), class_="graphs")])


def _component(one: Component, report: PairsReport) -> Markup:
    drawn = len(one.names)
    words = f"{count(one.size, 'item')}, {count(one.pairs, 'pair')}"
    if drawn < one.size:
        words += f" ({drawn} items drawn)"
    rows = [[shorten(one.names[left]), shorten(one.names[right]), f"{value:.6g}"] for left, right, value in one.edges]
    numbers = table(["left", "right", report.value_name], rows, numeric=[2], caption="Pairs in the drawing")
    return tag(
        "figure",
        tag("figcaption", tag("h3", words)),
        draw_component(one, report.value_name),
        tag("details", tag("summary", "Show the pairs as a table"), numbers),
    )


def _examples(report: PairsReport) -> Markup:
    words = f"A sample: the {len(report.examples)} least similar pairs."
    return list_pairs(report.examples, report.value_name, ("left", "right"), words)


def _about_run(report: PairsReport) -> Markup:
    assert report.run is not None
    return about_run(report.run, report.command)
