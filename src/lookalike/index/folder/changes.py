"""One transaction on the folder of an index: small changes go to the log, large ones to segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lookalike.index.batch import Batch, no_items
from lookalike.index.folder.merging import remove_file, write_parts
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
        self._segments: list[Segment] = []
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
            for batch in (*self._small, *batches):
                self._writer.add(batch)
        self._small = []
        if self._writer.key_bytes > self._share or len(self._writer) >= SEGMENT_ITEMS:
            self._end_segment()

    def _end_segment(self) -> None:
        if self._writer is not None:
            with disk_errors(self._folder.path), self._writer:
                self._writer.finish()
            self._segments.append(Segment(self._writer.path, self._folder.pages))
            self._view = self._view.with_parts([*self._view.parts, self._segments[-1]])
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
        if self._pending is None:
            return
        parts = list(self._view.parts[:-1])
        if len(self._pending):
            everyone = np.arange(len(self._pending))
            with disk_errors(self._folder.path):
                held = [(self._pending, everyone)]
                self._segments.append(write_parts(held, self._folder.new_segment(), self._folder.pages))
            parts.append(self._segments[-1])
        self._view, self._pending = self._view.with_parts(parts), None

    def finish(
        self, *, repeated: Int64 | None = None, integers: bool = True, counted: int = 0, run: str | None = None
    ) -> None:
        """Make all changes visible and durable."""
        again = no_items() if repeated is None else repeated
        if run is None and self._is_small():
            removed = np.concatenate(self._removed)
            batch = self._small_batch(again)
            self._folder.commit(removed[removed < self._base], batch, integers=integers, counted=counted)
        else:
            if self._small:
                self._write()
            self._end_segment()
            self._write_held()
            removed = np.concatenate([*self._removed, self._base + again])
            self._folder.publish(self._segments, removed, integers=integers, counted=counted, run=run)
        self.finished = True

    def _is_small(self) -> bool:
        """Whether everything fits in the log."""
        if self._writer is not None or self._segments:
            return False
        return self._pending is None or self._pending.nbytes < LOGGED_BYTES

    def _small_batch(self, again: Int64) -> Batch | None:
        """The additions, without those that are void or were removed again; None if there are none."""
        if self._pending is not None:
            batch = self._pending.batch(self._view.alive(self._base, self._pending))
        elif self._small:
            batch = Batch.joined(self._small)
            kept = np.ones(len(batch), np.bool_)
            kept[again] = False
            batch = batch.take(np.flatnonzero(kept))
        else:
            return None
        return batch if len(batch) else None

    def discard(self) -> None:
        """Remove the files of a transaction that was not finished."""
        if self._writer is not None:
            self._writer.discard()
        for segment in self._segments:
            remove_file(segment.file.path)
