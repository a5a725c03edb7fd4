"""The facts that the report of a list of pairs shows, found in passes over its batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lookalike.engine.alarms import about_components
from lookalike.jobs.reports.dedup_facts import bin_sizes, bin_values
from lookalike.jobs.reports.listed_pairs import ListedPairs
from lookalike.kernels.unionfind import flatten, unite
from lookalike.report.pairs.facts import Component, PairsReport
from lookalike.types import Int32, Int64, to_arrow

SHOWN, DRAWN = 6, 30
"""Components that are drawn, and items of each."""


def facts_of_pairs(pairs: ListedPairs, title: str, threshold: float | None = None) -> PairsReport:
    r"""Count pairs by similarity, and the items that they connect.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lookalike.engine.memory import Budget
    >>> from lookalike.jobs.reports.listed_pairs import PairsOfFile
    >>> path = Path(tempfile.mkdtemp(), "pairs.csv")
    >>> _ = path.write_text("left,right,similarity\na,b,0.9\nb,c,0.8\nx,y,1.0\n")
    >>> facts = facts_of_pairs(PairsOfFile(path, Budget.split(1 << 30)), "three pairs")
    >>> facts.items, facts.components, facts.largest[0].names
    (5, 2, ['b', 'a', 'c'])
    """
    total, low, parent, degrees = _connect(pairs)
    roots, sizes = np.unique(parent, return_counts=True)
    numbers = [*zip(*(some.tolist() for some in np.unique(sizes, return_counts=True)))]
    largest = roots[np.lexsort((roots, -sizes))[:SHOWN]]

    def values(_: Sequence[str]) -> Iterator[pa.Table]:
        for batch in pairs.batches():
            yield pa.table({pairs.value_name: to_arrow(batch.values)})

    return PairsReport(
        title,
        pairs.value_name,
        total,
        len(parent),
        bin_values(values, pairs.value_name, low if threshold is None else threshold),
        bin_sizes(dict(numbers)),
        len(roots),
        _draw(pairs, parent, degrees, largest.tolist()),
        threshold=threshold,
        alarms=about_components(int(sizes.max(initial=0)), len(parent)),
    )


def _connect(pairs: ListedPairs) -> tuple[int, float, Int32, Int64]:
    """The number of pairs, the least value, the first item of the component of each item, and the pairs of each."""
    parent, degrees = np.empty(0, np.int32), np.empty(0, np.int64)
    total, low = 0, np.inf
    for left, right, values in pairs.batches():
        if not len(values):
            continue
        items = max(len(parent), int(max(left.max(), right.max())) + 1)
        if items > len(parent):
            parent = np.concatenate([parent, np.arange(len(parent), items, dtype=np.int32)])
            degrees = np.concatenate([degrees, np.zeros(items - len(degrees), np.int64)])
        unite(parent, left, right, np.empty(len(left), np.bool_))
        for side in (left, right):
            np.add.at(degrees, side, 1)
        total, low = total + len(values), min(low, float(values.min()))
    flatten(parent)
    return total, low if total else 0.0, parent, degrees


def _draw(pairs: ListedPairs, parent: Int32, degrees: Int64, roots: list[int]) -> list[Component]:
    """The components with these roots: their items with the most pairs, and the pairs among these."""
    members = [np.flatnonzero(parent == root) for root in roots]
    drawn = [some[np.lexsort((some, -degrees[some]))[:DRAWN]] for some in members]
    component = np.full(len(parent), -1, np.int32)
    place = np.full(len(parent), -1, np.int32)
    for number, items in enumerate(drawn):
        component[items], place[items] = number, np.arange(len(items))
    edges: list[list[tuple[int, int, float]]] = [[] for _ in roots]
    for left, right, values in pairs.batches() if roots else ():
        for row in np.flatnonzero((place[left] >= 0) & (place[right] >= 0)).tolist():
            ends = int(place[left[row]]), int(place[right[row]])
            edges[component[left[row]]].append((*ends, float(values[row])))
    return [
        Component(len(some), int(degrees[some].sum()) // 2, pairs.names(items), of)
        for some, items, of in zip(members, drawn, edges)
    ]
