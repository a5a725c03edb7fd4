"""The facts shown in the report of `lookalike dedup`: plain numbers and texts.

`jobs/reports/` collects them, `page.py` turns them into HTML. They know neither Arrow nor HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lookalike.report.distributions import SimilarityBin, SizeBin
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.types.frozen import frozen


@frozen
class SourceCount:
    """The items of a source, and how many of them were removed. `items` is None if only the latter is known."""

    name: str
    items: int | None
    removed: int

    @property
    def kept(self) -> int | None:
        """How many items are kept."""
        return None if self.items is None else self.items - self.removed


@frozen
class ShownCluster:
    """A kept item, and some of the items that were removed for it."""

    keeper: ShownItem
    size: int
    members: Sequence[ShownPair]
    """The least similar members; the kept item is the right one of each."""


@frozen
class DedupReport:
    """Everything that the page shows.

    Parameters
    ----------
    run
        What run.json holds.
    title
        Heading of the page.
    command
        How to repeat the run.
    by
        What `sources` are: "file", "folder" or the name of a column.
    sources
        In descending order of removed items; the last may stand for all others.
    bins
        Similarities of the removed items, ascending.
    equal
        How many removed items are identical to the item kept for them.
    sizes
        Sizes of the clusters, ascending.
    largest_size, clusters
        Items of the largest cluster, and the number of clusters.
    largest, doubtful, closest
        Examples.
    about_closest
        How the closest pairs were found, or why there are none.
    notes
        What a reader should know about the page itself, such as texts that are no longer there.
    """

    run: Mapping[str, Any]
    title: str
    command: str
    by: str = "file"
    sources: Sequence[SourceCount] = ()
    bins: Sequence[SimilarityBin] = ()
    equal: int = 0
    sizes: Sequence[SizeBin] = ()
    largest_size: int = 0
    clusters: int = 0
    largest: Sequence[ShownCluster] = ()
    doubtful: Sequence[ShownPair] = ()
    closest: Sequence[ShownPair] = ()
    about_closest: str = ""
    notes: Sequence[str] = ()

    @property
    def is_distance(self) -> bool:
        """Whether smaller values mean more similar."""
        return self.run["options"].get("measure") in ("euclidean", "hamming")

    @property
    def value_name(self) -> str:
        """Similarity or distance."""
        return "distance" if self.is_distance else "similarity"

    @property
    def threshold(self) -> float:
        """The threshold as a number."""
        from fractions import Fraction

        return float(Fraction(str(self.run["options"]["threshold"])))
