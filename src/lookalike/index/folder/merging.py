"""Parts of an index become segments: tables, and small segments that are merged. Which count is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lookalike.index.batch import no_items
from lookalike.index.folder.segment import Segment, SegmentWriter
from lookalike.index.folder.tiers import merge_groups
from lookalike.index.part import Part
from lookalike.index.view import View
from lookalike.types import Int64

Living = tuple[Part, Int64]
"""A part, and the items of it that have not been removed."""


def merge_parts(
    view: View, new_segment: Callable[[], SegmentWriter], *, everything: bool = False
) -> list[tuple[Segment, Int64]]:
    """The segments that have the items of a view, each with the numbers of its removed items.

    Parameters
    ----------
    new_segment
        Begins a segment.
    everything
        Merge all of them into one without removed items.
    """
    parts = [(part, view.alive(first, part)) for first, part in view.each()]
    parts = [(part, alive) for part, alive in parts if len(alive)]
    kept = []
    for group in merge_groups([len(alive) for _, alive in parts], everything):
        part, alive = parts[group[0]]
        whole = not everything or len(alive) == len(part)
        if len(group) == 1 and isinstance(part, Segment) and whole:
            gone = np.ones(len(part), np.bool_)
            gone[alive] = False
            kept.append((part, np.flatnonzero(gone)))
        else:
            kept.append((_write([parts[place] for place in group], new_segment()), no_items()))
    return kept


def _write(parts: Sequence[Living], writer: SegmentWriter) -> Segment:
    with writer:
        for part, alive in parts:
            for piece in part.batches(alive):
                writer.add(piece)
        writer.finish()
    return Segment(writer.path)
