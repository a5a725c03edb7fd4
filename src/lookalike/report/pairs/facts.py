"""The facts shown in the report of `lookalike pairs`: plain numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lookalike.engine.alarms import Alarm
from lookalike.report.distributions import SimilarityBin, SizeBin
from lookalike.report.shown import ShownPair
from lookalike.types.frozen import frozen


@frozen
class Component:
    """Items that are connected by pairs: some of them, and the pairs among those."""

    size: int
    pairs: int
    """Of all its items."""
    names: Sequence[object]
    """Items that are drawn, those with the most pairs first."""
    edges: Sequence[tuple[int, int, float]]
    """Two numbers of drawn items, and their similarity or distance."""


@frozen
class PairsReport:
    """Everything that the page shows.

    Parameters
    ----------
    title
        Heading of the page.
    value_name
        similarity or distance.
    pairs, items
        Number of pairs, and of distinct items in them.
    bins
        Pairs by similarity.
    sizes, components, largest
        Sizes of the components, their number, and the largest ones.
    examples
        The least similar pairs, with their contents.
    run
        What `--json` prints, if the page is made during the run.
    command
        How to repeat the run, if known.
    two_sided
        Whether the pairs are between two collections.
    alarms
        As in the record of the run; of a file of pairs alone, what the pairs show.
    """

    title: str
    value_name: str
    pairs: int
    items: int
    bins: Sequence[SimilarityBin] = ()
    sizes: Sequence[SizeBin] = ()
    components: int = 0
    largest: Sequence[Component] = ()
    examples: Sequence[ShownPair] = ()
    run: Mapping[str, Any] | None = None
    command: str = ""
    threshold: float | None = None
    two_sided: bool = False
    alarms: Sequence[Alarm] = ()
