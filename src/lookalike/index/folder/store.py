"""The folder of an index: one process writes, and any number of readers each see a consistent state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from lookalike.errors import LookalikeError
from lookalike.index.batch import Batch, Change, no_items
from lookalike.index.folder.changes import FolderChanges
from lookalike.index.folder.earlier import convert_earlier, find_index
from lookalike.index.folder.lock import take_lock
from lookalike.index.folder.merging import Merge, item_bytes, merge_all, plan_merge, remove_file
from lookalike.index.folder.reader import FolderReader, firsts_of
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.state import PartName, State, StoredChange
from lookalike.index.folder.state_file import create_state
from lookalike.index.folder.upkeep import Upkeep
from lookalike.index.kind import Kind
from lookalike.index.refining import Refining
from lookalike.index.view import View
from lookalike.types import INDEX_FILE, Int64
from lookalike.write import disk_errors

LOG_BYTES, LOG_RECORDS, LOG_ITEMS = 8 << 20, 2048, 4096
"""From this size on, the log becomes a segment: it is read whenever the index is opened, and its buckets are not
refined, so a query may have to be compared with all its items."""
MOST_PARTS = 64
"""With more parts, additions wait until some are merged: a query asks each."""
RUNS = 100
"""Batch jobs that are remembered."""


class Folder(FolderReader):
    """The files of an index.

    Parameters
    ----------
    path
        The folder.
    writing
        Take the lock; otherwise only read.
    grouped
        Additions are on disk after `sync`, not after each call.
    execution
        `threads` and `memory`.
    """

    def __init__(self, path: Path, *, writing: bool, grouped: bool = False, **execution: Any) -> None:
        self._changing = RLock()
        """Held while a transaction is under way, and while merged segments are published."""
        self._log_limits = (LOG_BYTES, LOG_RECORDS, LOG_ITEMS)
        self._upkeep: Upkeep | None = None
        self._closed = False
        with ExitStack() as stack:
            if writing:
                find_index(path)
                stack.callback(take_lock(path).release)
                convert_earlier(path)
            super().__init__(path, writing=writing, grouped=grouped, **execution)
            stack.callback(self._closing.close)
            if writing:
                self._upkeep = Upkeep(self._merge_next)
                self._remove_unused()
            self._closing = stack.pop_all()

    @property
    def writing(self) -> bool:
        """Whether this process may change the index."""
        return self._upkeep is not None and not self._closed

    @property
    def problem(self) -> str | None:
        """What keeps segments from being merged; additions go on without."""
        return self._upkeep.problem if self._upkeep is not None else None

    @property
    def ended(self) -> str | None:
        """Why it accepts no more changes; a change that is under way is not asked for its outcome."""
        if not self._changing.acquire(blocking=False):
            return self.file.failed
        try:
            return self.file.unusable
        finally:
            self._changing.release()

    def close(self) -> None:
        """Finish what is worth merging, flush everything to disk and release the lock."""
        was_writing, self._closed = self.writing, True
        with self._closing:
            if self._upkeep is not None and was_writing:
                self._upkeep.end(finish=self.file.certain)
                if self.file.certain:
                    self.file.sync()

    def refresh(self) -> bool:
        """Load the changes of other processes; there are none while this one writes."""
        return not self.writing and super().refresh()

    # Writing

    def commit(self, removed: Int64, batch: Batch | None, *, integers: bool = True, counted: int = 0) -> None:
        """Make a small change; it is on disk when this returns."""
        if batch is None and not len(removed):
            return
        changes = self._by_part(self.view, self.saved.parts, removed, batch)
        state = self.saved.after(len(changes), integers=integers, counted=counted)
        with self.file.writing():
            self.file.store(changes)
            self.file.save(state, description=False)
        self.saved, view = state, self.view
        if batch is not None:
            table = self._tables[state.parts[-1].id]
            table.add(batch)
            view = view.with_parts([*view.parts[:-1], table.upto(len(table))], integers=integers)
        self.view = view.without(removed)
        self.records += 1
        self._log_bytes += sum(len(change.content) for change in changes)
        self.file.applied()
        sizes = self._log_bytes, self.records, len(view.parts[-1])
        if any(size >= limit for size, limit in zip(sizes, self._log_limits)):
            self._seal()

    def _by_part(
        self, view: View, names: Sequence[PartName], removed: Int64, batch: Batch | None = None
    ) -> list[StoredChange]:
        """What a change does to each part: items are numbered within it, since merging renumbers the others."""
        firsts = np.array([*firsts_of(view.parts), view.total])
        removed = np.sort(removed)
        edges = np.searchsorted(removed, firsts).tolist()
        pieces = [
            (name.id, Change(removed[low:high] - first, batch if name is names[-1] else None))
            for name, first, low, high in zip(names, firsts, edges, edges[1:])
            if high > low or (batch is not None and name is names[-1])
        ]
        return [
            StoredChange(number, id, change.encode()) for number, (id, change) in enumerate(pieces, self.saved.last + 1)
        ]

    def _seal(self) -> None:
        """Let a new part of the log take the next changes, so that this one can become a segment.

        All changes are safe: if that is impossible, it is tried again later.
        """
        if not len(self.view.parts[-1]):
            return
        try:
            self._save_parts([*self.saved.parts, self._new_log()])
        except LookalikeError:
            self._log_limits = (2 * self._log_limits[0], 2 * self._log_limits[1], 2 * self._log_limits[2])
            return
        assert self._upkeep is not None
        self._upkeep.wake()

    def _new_log(self) -> PartName:
        return PartName(self._next_id(), None)

    def _next_id(self) -> int:
        self.saved = replace(self.saved, following=self.saved.following + 1)
        return self.saved.following - 1

    def _save_parts(self, names: Sequence[PartName], **others: Any) -> None:
        """Store that the index has other parts, of which the last is a new, empty one."""
        state = self.saved.after(parts=tuple(names), **others)
        with self.file.writing():
            self.file.save(state, description=True)
        self.saved = state
        self._start_log()
        self.file.applied()

    def _start_log(self) -> None:
        """Begin the table of a new part of the log."""
        table = self._tables[self.saved.parts[-1].id] = self._new_table()
        self._log_bytes = self.records = 0
        self.view = self.view.with_parts([*self.view.parts, table.upto(0)])

    def publish(
        self,
        segments: Sequence[Segment],
        removed: Int64,
        *,
        integers: bool = True,
        counted: int = 0,
        run: str | None = None,
    ) -> None:
        """Make new segments part of the index, without some items (numbered as if the segments followed the others)."""
        names, view = self.saved.parts, self.view
        added = [PartName(self._next_id(), segment.name) for segment in segments]
        if segments and not len(view.parts[-1]):  # an empty part of the log goes on at the end
            names = (*names[:-1], *added, names[-1])
            view = view.with_parts([*view.parts[:-1], *segments, view.parts[-1]])
        elif segments:
            names = (*names, *added, self._new_log())
            view = view.with_parts([*view.parts, *segments])
        changes = self._by_part(view, names, removed)
        runs = (*self.saved.runs, *([run] if run else []))[-RUNS:]
        state = self.saved.after(len(changes), integers=integers, counted=counted, parts=names, runs=runs)
        with disk_errors(self.path), self.file.writing():
            self.file.store(changes)
            self.file.save(state, description=True)
        self.saved, self.view = state, replace(view, integers=state.integers).without(removed)
        self._segments |= {segment.name: segment for segment in segments}
        if len(names) > len(view.parts):
            self._start_log()
        self.file.applied()
        assert self._upkeep is not None
        self._upkeep.wake()

    def sync(self) -> None:
        """Wait until everything is on disk."""
        with self._changing:
            self.file.sync()

    def decide(self, kind: Kind) -> None:
        """Fix the kind of items that the index stores, before the first is added."""
        with self._changing:
            state = self.saved.after(kind=kind.to_dict())
            with self.file.writing():
                self.file.save(state, description=True)
            self._open(state)
            self.file.applied()

    def new_segment(self, check: Callable[[], None] = lambda: None) -> SegmentWriter:
        """Start a segment; it becomes part of the index when it is published."""
        with self._changing:
            path = self.path / f"segment-{self._next_id():08}.bin"
        return SegmentWriter(path, self.kind.dtype, Refining.of(self.kind), check=check)

    @contextmanager
    def changing(self) -> Iterator[FolderChanges]:
        """Start a transaction; unless it is finished, nothing of it remains."""
        if self._upkeep is not None:
            self._upkeep.wait_while(lambda: len(self.view.parts) > MOST_PARTS)
        with self._changing:
            self.file.check_usable()
            changes = FolderChanges(self)
            try:
                yield changes
            finally:
                if not changes.finished and self.file.certain:
                    changes.discard()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process can write to a folder that is open for writing."""
        yield

    # Merging

    def _merge_next(self, check: Callable[[], None], *, only_tables: bool) -> bool:
        """Write the log, and small segments, as larger segments; return whether there was something to do."""
        with self._changing:
            merge = plan_merge(self.view, only_tables=only_tables)
        if merge is None:
            return False
        self._merge(merge, check)
        return True

    def _merge(self, merge: Merge, check: Callable[[], None]) -> None:
        """Write a segment without keeping anybody waiting, then publish it."""
        with disk_errors(self.path):
            segment = merge.write(lambda: self.new_segment(check), self.pages)
        try:
            with self._changing:
                self._replace(merge, segment)
        except BaseException:
            if segment is not None and self.file.certain:
                remove_file(segment.file.path)
            raise
        for part in merge.parts:
            if isinstance(part, Segment):
                remove_file(part.file.path)

    def _replace(self, merge: Merge, segment: Segment | None) -> None:
        """Replace merged parts by their segment, without the items that were removed in the meantime."""
        count, names = len(merge.parts), self.saved.parts
        merged = names[merge.place : merge.place + count]
        dead = np.concatenate([no_items(), *self._removed_since(merge)])
        added = [] if segment is None else [PartName(self._next_id(), segment.name)]
        changes = [StoredChange(self.saved.last + 1, added[0].id, Change(dead, None).encode())] if len(dead) else []
        with self.file.writing():
            dropped = self.file.drop(part.id for part in merged)
            parts = (*names[: merge.place], *added, *names[merge.place + count :])
            state = self.saved.after(len(changes), dropped=dropped, parts=parts)
            self.file.store(changes)
            self.file.save(state, description=True)
        gone = np.zeros(0 if segment is None else len(segment), np.bool_)
        gone[dead] = True
        self.view = self.view.replaced(merge.place, count, [] if segment is None else [segment], [gone])
        self.saved = state
        for part in merged:
            self._tables.pop(part.id, None)
            self._segments.pop(part.segment or "", None)
        if segment is not None:
            self._segments[segment.name] = segment
        self._log_limits = (LOG_BYTES, LOG_RECORDS, LOG_ITEMS)
        self._charge(self.view)
        self.file.applied()
        self.file.sync()  # before the files of the old segments are removed

    def _removed_since(self, merge: Merge) -> Iterator[Int64]:
        """The items of a merged segment that were removed while it was written."""
        firsts, start = firsts_of(self.view.parts), 0
        for place, alive in enumerate(merge.alive, merge.place):
            yield np.flatnonzero(self.view.are_gone(firsts[place] + alive)) + start
            start += len(alive)

    def settle(self) -> None:
        """Write the log as a segment and merge what is worth it; return when that is done."""
        assert self._upkeep is not None
        with self._changing:
            self._seal()
        self._upkeep.wait_while(lambda: plan_merge(self.view, only_tables=False) is not None)

    def compact(self) -> None:
        """Merge all segments into one, without removed items."""
        assert self._upkeep is not None
        budget, items = self.kind.settings.execution.budget, len(self.view)
        budget.check_items(items, item_bytes(self.kind), "leave the segments as they are")
        with self._upkeep.paused():
            with self._changing:
                self.file.check_usable()
                if len(self.view.parts[-1]):
                    self._save_parts([*self.saved.parts, self._new_log()])
                merge = merge_all(self.view)
            if merge is not None:
                self._merge(merge, lambda: None)

    def __enter__(self) -> Folder:
        return self

    def _remove_unused(self) -> None:
        """Remove the files of a writer that was killed."""
        for pattern in ("segment-*.bin", f"{INDEX_FILE}.partial*"):
            for path in self.path.glob(pattern):
                if path.name not in self._segments:
                    remove_file(path)


def create_folder(path: Path, kind: Kind) -> None:
    """Write the files of an empty index into an empty folder."""
    create_state(path, State(kind.to_dict(), (PartName(1, None),), following=2))
