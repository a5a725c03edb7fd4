"""Distributions as charts: similarities as a histogram, sizes of clusters on logarithmic scales."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lookalike.report.frame import figure
from lookalike.report.html import Markup, show_share, table, tag
from lookalike.report.plot import Axis, Dot, plot
from lookalike.report.svg import Column, Marker, histogram
from lookalike.types.frozen import frozen
from lookalike.types.wording import count


@frozen
class SimilarityBin:
    """How many similarities (or distances) are at least `low` and below `high`; the last bin includes it."""

    low: float
    high: float
    count: int


@frozen
class SizeBin:
    """The clusters that have from `low` to `high` items."""

    low: int
    high: int
    clusters: int


def chart_bins(
    bins: Sequence[SimilarityBin], title: str, *, value_name: str, label: str, noun: str, threshold: float | None = None
) -> Markup:
    """Counts by similarity or distance, with the threshold if it is known; `noun` is what is counted."""
    columns = [Column(one.low, one.high, one.count, "taken", _describe(one, value_name, noun)) for one in bins]
    chart = histogram(
        columns,
        label,
        counted=f"{noun}s",
        description=f"{title}; the table below has the numbers",
        marker=None if threshold is None else Marker(threshold, f"threshold {threshold:g}"),
    )
    rows = [[f"{one.low:g}", f"{one.high:g}", f"{one.count:,}"] for one in bins]
    heads = [f"{value_name} from", "below (the last: up to)", f"{noun}s"]
    caption = f"{noun.capitalize()}s by {value_name}"
    return figure(title, chart, table(heads, rows, numeric=range(3), caption=caption))


def _describe(one: SimilarityBin, value_name: str, noun: str) -> str:
    return f"{value_name} {one.low:g} to {one.high:g}: {count(one.count, noun)}"


def chart_sizes(sizes: Sequence[SizeBin], number: int, largest: int, *, noun: str, twos: str, note: str) -> Markup:
    """Clusters or components by size, on logarithmic scales; `twos` is the word for those of two items."""
    small = sum(one.clusters for one in sizes if one.high == 2)
    title = f"There is 1 {noun}, of {largest:,} items"
    if number > 1:
        title = f"{show_share(small / number)} of {count(number, noun)} are {twos}; the largest has {largest:,} items"
    if number > 1 and small == number:
        title = f"All {count(number, noun)} are {twos}"
    rows = [[_size(one), f"{one.clusters:,}"] for one in sizes]
    heads = [f"items in a {noun}", f"{noun}s"]
    numbers = table(heads, rows, numeric=range(2), caption=f"{noun.capitalize()}s by size")
    if len(sizes) == 1:  # the title says it all
        return figure(title, Markup(""), numbers, note=note)
    if any(one.low < one.high for one in sizes):
        note += " Large ones are grouped by size, with a dot in the middle of each group."
    return figure(title, _draw_sizes(sizes, largest, noun, title), numbers, note=note)


def _draw_sizes(sizes: Sequence[SizeBin], largest: int, noun: str, title: str) -> Markup:
    most, high = max(one.clusters for one in sizes), max(largest, 20)
    dots = [
        Dot(
            math.sqrt(one.low * min(one.high, largest)),
            one.clusters,
            f"{_size(one)} items: {count(one.clusters, noun)}",
        )
        for one in sizes
    ]
    return plot(
        Axis(1.8, high * 1.1, f"items in a {noun}, logarithmic scale", logarithmic=True),
        Axis(0.8, max(most, 10) * 1.2, f"{noun}s, logarithmic scale", logarithmic=True),
        description=f"{title}; the table below has the numbers",
        dots=dots,
    )


def _size(one: SizeBin) -> str:
    return f"{one.low:,}" if one.low == one.high else f"{one.low:,} to {one.high:,}"


def no_chart(words: str) -> Markup:
    """The text that replaces a chart that would be empty."""
    return tag("p", words, class_="soft")
