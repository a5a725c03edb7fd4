"""Turn parts of an index into segments: write tables, and merge small segments. Publishing them is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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


class Merge(NamedTuple):
    """Parts in a row that become one segment."""

    place: int
    """Of the first among the parts of the view."""
    parts: tuple[Part, ...]
    alive: tuple[Int64, ...]
    """The items of each part that had not been removed when the merge was planned."""

    def write(self, new_segment: Callable[[], SegmentWriter], pages: Pages) -> Segment | None:
        """Write the segment; None if no item is left."""
        living = [(part, alive) for part, alive in zip(self.parts, self.alive) if len(alive)]
        return write_parts(living, new_segment(), pages) if living else None


def plan_merge(view: View, *, only_tables: bool) -> Merge | None:
    """The next merge of the parts of a view, all but the last, which still grows; None if there is nothing to do.

    Parameters
    ----------
    only_tables
        Leave segments as they are, because one of them cannot be read.
    """
    parts = view.parts[:-1]
    firsts = [first for first, _ in view.each()]
    alive = [view.count_alive(first, part) for first, part in zip(firsts, parts)]
    most = 2 * view.kind.settings.execution.budget.sets_bytes // item_bytes(view.kind)
    groups = [[place] for place in range(len(parts))] if only_tables else merge_groups(alive, most=most)
    for group in groups:
        if len(group) > 1 or not isinstance(parts[group[0]], Segment) or not alive[group[0]]:
            chosen = tuple(parts[place] for place in group)
            return Merge(group[0], chosen, tuple(view.alive(firsts[place], parts[place]) for place in group))
    return None


def merge_all(view: View) -> Merge | None:
    """All parts but the last as one segment, unless they are one without removed items already."""
    parts = view.parts[:-1]
    if not parts or (len(parts) == 1 and isinstance(parts[0], Segment) and len(view) == view.total):
        return None
    return Merge(0, parts, tuple(view.alive(first, part) for (first, part), _ in zip(view.each(), parts)))


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


def remove_file(path: Path) -> None:
    """Remove the file of a segment; where open files cannot be removed, the next writer does it."""
    with suppress(PermissionError):  # Windows, while a reader has it mapped
        path.unlink(missing_ok=True)
