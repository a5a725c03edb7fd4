"""One transaction on the folder of an index: small changes go to the log, large ones to a segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lookalike.index.batch import Batch, Change, no_items
from lookalike.index.folder.merging import write_parts
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import Int64
from lookalike.write import disk_errors

if TYPE_CHECKING:
    from lookalike.index.folder.store import Folder

LOGGED_BYTES = 1 << 20
"""A larger addition is written as a segment, not to the log."""
SEGMENT_ITEMS = 4_000_000
"""A segment is finished at this many items, or when the keys of its items do not fit in memory."""
PENDING_BYTES = 256 << 20
"""New items that are held in memory before they become a segment, if there is memory for them."""
GROWING = 4
"""How many times held items are in memory while their table grows."""


class FolderChanges:
    """Collects changes, invisible to others before `finish`. See `contract.Changes`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._view = folder.view
        self._base = folder.view.total
        self._small: list[Batch] = []
        self._writer: SegmentWriter | None = None
        self._removed: list[Int64] = [no_items()]
        self._pending: Table | None = None
        self._share = folder.kind.settings.execution.budget.sets_bytes
        self.finished = False

    @property
    def lookup(self) -> View:
        """The items, including those held."""
        return self._view

    def remove(self, numbers: Int64) -> None:
        """Remove items."""
        self._view = self._view.without(numbers)
        self._removed.append(numbers)

    def put(self, batch: Batch) -> None:
        """Add items; many of them go to a segment."""
        if self._writer is None and sum(one.nbytes for one in self._small) + batch.nbytes < LOGGED_BYTES:
            self._small.append(batch)
            return
        self._write(batch)

    def _write(self, *batches: Batch) -> None:
        """Write items to a segment; a new one is started when too many keys are in memory."""
        with disk_errors(self._folder.path):
            if self._writer is None:
                self._writer = self._folder.new_segment()
            for one in (*self._small, *batches):
                self._writer.add(one)
        self._small = []
        if self._writer.key_bytes > self._share or len(self._writer) >= SEGMENT_ITEMS:
            self._end_segment()

    def _end_segment(self) -> None:
        if self._writer is not None:
            with disk_errors(self._folder.path), self._writer:
                self._writer.finish()
            self._view = self._view.with_parts([*self._view.parts, Segment(self._writer.path, self._folder.pages)])
            self._writer = None

    def hold(self, batch: Batch) -> None:
        """Add new items so that the next ones are compared with them."""
        if self._pending is None or self._pending.nbytes > min(PENDING_BYTES, self._share // GROWING):
            self._write_held()
            self._pending = Table(len(batch.keys), self._folder.kind.dtype)
            self._view = self._view.with_parts([*self._view.parts, self._pending])
        if len(batch):
            self._pending.add(batch)
            self._view = self._view.with_parts(self._view.parts)

    def _write_held(self) -> None:
        """Turn the held items into a segment; all items keep their numbers, even removed ones."""
        if self._pending is not None:
            everyone = np.arange(len(self._pending))
            with disk_errors(self._folder.path):
                made = write_parts([(self._pending, everyone)], self._folder.new_segment(), self._folder.pages)
            self._view = self._view.with_parts([*self._view.parts[:-1], made])

    def finish(
        self, *, repeated: Int64 | None = None, integers: bool = True, counted: int = 0, run: str | None = None
    ) -> None:
        """Make all changes visible and durable."""
        again = no_items() if repeated is None else repeated
        removed = np.concatenate(self._removed)
        if self._pending is not None:
            self._finish_held(removed, integers, counted)
        elif self._writer is None and self._view.total == self._base and run is None:
            self._finish_small(removed, again, integers, counted)
        else:
            if self._small:
                self._write()
            self._end_segment()
            view = self._view.without(self._base + again)
            self._folder.publish(view, integers=integers, added=counted, run=run)
        self.finished = True

    def _finish_small(self, removed: Int64, again: Int64, integers: bool, counted: int) -> None:
        batch = Batch.joined(self._small) if self._small else None
        if batch is not None and len(again):
            kept = np.ones(len(batch), np.bool_)
            kept[again] = False
            batch = batch.take(np.flatnonzero(kept)) if kept.any() else None
        if batch is not None and len(batch):
            self._folder.commit(Change(removed, batch, integers, counted))
        elif len(removed):
            self._folder.commit(Change(removed, None))

    def _finish_held(self, removed: Int64, integers: bool, counted: int) -> None:
        pending, parts = self._pending, self._view.parts
        assert pending is not None
        if pending.nbytes < LOGGED_BYTES and len(parts) == len(self._folder.view.parts) + 1:
            alive = np.flatnonzero(~self._view.gone[self._base : self._view.total])
            batch = pending.batch(alive)
            if len(batch):
                self._folder.commit(Change(removed[removed < self._base], batch, integers, counted))
            return
        self._folder.publish(self._view, integers=integers, added=counted)
