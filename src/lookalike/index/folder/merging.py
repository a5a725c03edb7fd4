"""Turn parts of an index into segments: write tables, and merge small segments. Publishing them is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lookalike.index.batch import no_items
from lookalike.index.folder.pages import Pages
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.tiers import merge_groups
from lookalike.index.kind import Kind
from lookalike.index.part import Part
from lookalike.index.table import FirstItems, Table
from lookalike.index.view import View
from lookalike.types import Int64

Living = tuple[Part, Int64]
"""A part, and the items of it that have not been removed."""


ITEM_BYTES, KEY_BYTES = 96, 1.5
"""Memory per item while segments are merged: a band, sorted, places, lengths and ids; and the filter, per key."""


def merge_parts(
    view: View, new_segment: Callable[[], SegmentWriter], pages: Pages, *, everything: bool = False
) -> list[tuple[Segment, Int64]]:
    """The segments that contain the items of a view, each with the numbers of its removed items.

    Parameters
    ----------
    new_segment
        Starts a segment.
    pages
        The mapped pages of the files.
    everything
        Merge all of them into one without removed items.
    """
    parts = [(part, view.alive(first, part)) for first, part in view.each()]
    parts = [(part, alive) for part, alive in parts if len(alive)]
    kept = []
    most = 2 * view.kind.settings.execution.budget.sets_bytes // item_bytes(view.kind)
    for group in merge_groups([len(alive) for _, alive in parts], everything, most):
        part, alive = parts[group[0]]
        whole = not everything or len(alive) == len(part)
        if len(group) == 1 and isinstance(part, Segment) and whole:
            gone = np.ones(len(part), np.bool_)
            gone[alive] = False
            kept.append((part, np.flatnonzero(gone)))
        else:
            kept.append((write_parts([parts[place] for place in group], new_segment(), pages), no_items()))
    return kept


def item_bytes(kind: Kind) -> int:
    """Memory per item while segments are merged."""
    return ITEM_BYTES + int(KEY_BYTES * kind.plan.bands) if kind.decided else ITEM_BYTES


def write_parts(parts: Sequence[Living], writer: SegmentWriter, pages: Pages) -> Segment:
    """Write the items of some parts as one segment."""
    with writer:
        for part, alive in parts:
            if isinstance(part, Segment):
                writer.add_items(part, alive)
                continue
            assert isinstance(part, Table | FirstItems)
            for piece in part.batches(alive):
                writer.add(piece)
        writer.finish()
    return Segment(writer.path, pages)
