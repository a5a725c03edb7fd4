"""The folder of an index: one process writes, and any number of readers each see a consistent state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import ResourceError, UsageError
from lookalike.index.batch import Change, no_items
from lookalike.index.folder.changes import FolderChanges
from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.log import FIRST, LogWriter, create_log, read_log
from lookalike.index.folder.manifest import Manifest
from lookalike.index.folder.merging import item_bytes, merge_parts
from lookalike.index.folder.pages import Pages
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.writer_lock import LOCK, take_lock
from lookalike.index.kind import Kind
from lookalike.index.places import MANIFEST
from lookalike.index.refining import Refining
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import Int64
from lookalike.write import disk_errors
from lookalike.write.flushing import flush
from lookalike.write.locks import FileLock

LOG_BYTES, LOG_RECORDS, LOG_ITEMS = 8 << 20, 2048, 4096
"""From this size on, the log becomes a segment: it is read whenever the index is opened, and its buckets are not
refined, so a query may have to be compared with all its items."""
RUNS = 100
"""Batch jobs that are remembered."""
RETRIES = 20
"""How often opening is tried again while another process replaces the manifest."""


class _State(NamedTuple):
    """The state read from the files: the manifest, and the log so far."""

    manifest: Manifest
    view: View
    table: Table
    added: int
    log_end: int
    records: int
    removed_bytes: int


class Folder:
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
        self.path, self._grouped, self._execution = path, grouped, execution
        self.name = str(path)
        self._lock: FileLock | None = None
        self._log: LogWriter | None = None
        self._segments: dict[str, Segment] = {}
        self.pages = Pages(0)
        self._log_limits: tuple[int, ...] = (LOG_BYTES, LOG_RECORDS, LOG_ITEMS)
        Manifest.load(path)  # is it an index at all?
        if writing:
            self._lock = take_lock(path)
        try:
            self.load()
            if writing:
                self._log = LogWriter(path / self.manifest.log, self._log_end, grouped=grouped)
                self._tidy()
        except BaseException:
            self.close()
            raise

    @property
    def writing(self) -> bool:
        """Whether this process may change the index."""
        return self._lock is not None

    @property
    def integers(self) -> bool:
        """Whether all ids were integers."""
        return self.view.integers

    @property
    def lookup(self) -> View:
        """The items."""
        return self.view

    @property
    def _state(self) -> _State:
        return _State(
            self.manifest, self.view, self.table, self.added, self._log_end, self.records, self._removed_bytes
        )

    @property
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return self.manifest.generation, self._log_end

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""
        return run in self.manifest.runs

    def close(self) -> None:
        """Flush everything to disk and release the lock."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # Reading

    def load(self) -> None:
        """Read the manifest, open its files, and replay the log."""
        for attempt in range(RETRIES):
            manifest = Manifest.load(self.path)
            try:
                self._open(manifest)
                return
            except DamagedError:
                # a writer may have replaced the manifest and removed the files that the old one named
                if Manifest.load(self.path).generation == manifest.generation or attempt == RETRIES - 1:
                    raise

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""
        if self.writing:
            return False
        manifest = Manifest.load(self.path)
        before = self.manifest.generation, self._log_end
        try:
            if manifest.generation == self.manifest.generation:
                self._take(self._replay(self._state))
            else:
                self.load()
        except DamagedError:
            self.load()  # the writer may have replaced the files meanwhile; otherwise this raises the error again
        return (self.manifest.generation, self._log_end) != before

    def _open(self, manifest: Manifest) -> None:
        """Open a new state. The view is set last, so that other threads see the state only when it is complete."""
        kind = Kind.of(asdict(manifest), str(self.path / MANIFEST), **self._execution)
        self.pages.limit = kind.settings.execution.budget.sets_bytes
        segments = {
            name: self._segments.get(name) or Segment(self.path / name, self.pages) for name in manifest.segments
        }
        removed = CheckedFile(self.path / manifest.removed) if manifest.removed else None
        view = View(kind, integers=manifest.integers).with_parts([segments[name] for name in manifest.segments])
        if removed is not None:
            view = view.without(removed.load("numbers"))
        table = Table(kind.plan.bands if kind.decided else 0, kind.dtype)
        view = view.with_parts([*view.parts, table.upto(0)])
        state = _State(manifest, view, table, manifest.added, FIRST, 0, removed.nbytes if removed else 0)
        state = self._replay(state)
        self._segments, self.kind = segments, kind
        self._take(state)

    def _take(self, state: _State) -> None:
        """Switch to another state."""
        self.manifest, self.table, self.added = state.manifest, state.table, state.added
        self._log_end, self.records, self._removed_bytes = state.log_end, state.records, state.removed_bytes
        self.view = state.view

    def _replay(self, state: _State) -> _State:
        """Apply the part of the log that follows a state."""
        removed, integers = [no_items()], True
        _, view, table, added, log_end, records, _ = state
        log = self.path / state.manifest.log
        for content, log_end in read_log(log, state.log_end, all_of_it=self.writing):  # noqa: B007
            change = Change.decode(content, view.kind.dtype)
            removed.append(change.removed)
            records += 1
            if change.batch is not None:
                table.add(change.batch)
                added += change.counted
                integers &= change.integers
        view = view.with_parts([*view.parts[:-1], table.upto(len(table))], integers=integers)
        view = view.without(np.concatenate(removed))
        return state._replace(view=view, added=added, log_end=log_end, records=records)

    # Writing

    def commit(self, change: Change) -> None:
        """Make a small change; it is in the log when this returns."""
        assert self._log is not None
        self._log.append(change.encode())
        self._log_end = self._log.end
        view, self.records = self.view, self.records + 1
        if change.batch is not None:
            self.table.add(change.batch)
            self.added += change.counted
            view = view.with_parts([*view.parts[:-1], self.table.upto(len(self.table))], integers=change.integers)
        self.view = view.without(change.removed)
        size = self._log_end, self.records, len(self.table)
        if any(found >= limit for found, limit in zip(size, self._log_limits)):
            self._end_log()

    def _end_log(self) -> None:
        """Turn the log into a segment. The change is already safe: if there is no space, this is tried again later."""
        try:
            self.publish(self.view)
        except ResourceError:
            self._log_limits = tuple(2 * limit for limit in self._log_limits)
            self.reopen()

    def sync(self) -> None:
        """Wait until everything is on disk."""
        if self._log is not None:
            self._log.sync()

    def decide(self, kind: Kind) -> None:
        """Fix the kind of items that the index stores, before the first is added."""
        found = replace(self.manifest, generation=self.manifest.generation + 1, **kind.to_dict())
        found.save(self.path)
        self.kind = kind
        table = Table(kind.plan.bands, kind.dtype)
        view = View(kind).with_parts([table.upto(0)])
        self._take(_State(found, view, table, self.added, self._log_end, self.records, 0))

    def new_segment(self) -> SegmentWriter:
        """Start a segment; it becomes part of the index when it is published."""
        number = len(list(self.path.glob(f"segment-{self.manifest.generation + 1:06}-*.bin")))
        path = self.path / f"segment-{self.manifest.generation + 1:06}-{number:03}.bin"
        return SegmentWriter(path, self.kind.dtype, Refining.of(self.kind))

    def publish(
        self, view: View, *, everything: bool = False, integers: bool = True, added: int = 0, run: str | None = None
    ) -> None:
        """Publish the content of a view as a new state: tables become segments, and small segments are merged.

        Parameters
        ----------
        everything
            Merge all segments into one without removed items.
        integers, added
            About the items of the view that were not committed before: whether all have integers as ids, and their
            number.
        run
            The batch job that added them.
        """
        with disk_errors(self.path):
            kept = merge_parts(view, self.new_segment, self.pages, everything=everything)
            numbers = [no_items()]
            first = 0
            for segment, gone in kept:
                numbers.append(gone + first)
                first += len(segment)
            generation = self.manifest.generation + 1
            removed = self._write_removed(np.concatenate(numbers), generation)
            log = f"log-{generation:06}.bin"
            create_log(self.path / log)
            flush(self.path)
            manifest = replace(
                self.manifest,
                generation=generation,
                log=log,
                segments=[segment.name for segment, _ in kept],
                removed=removed,
                added=self.added + added,
                integers=self.integers and integers,
                runs=[*self.manifest.runs, *([run] if run else [])][-RUNS:],
            )
            manifest.save(self.path)
        self._segments = {segment.name: segment for segment, _ in kept}
        self._log_limits = LOG_BYTES, LOG_RECORDS, LOG_ITEMS
        self.reopen()

    def reopen(self) -> None:
        """Go back to the state on disk, as its writer."""
        if self._log is not None:
            self._log.close()
            self._log = None
        try:
            self.load()
        except UsageError as error:  # it was an index when it was opened
            raise ResourceError(f"{self.path}: was removed while it was open; nothing was changed") from error
        self._log = LogWriter(self.path / self.manifest.log, self._log_end, grouped=self._grouped)
        self._tidy()

    def _write_removed(self, numbers: Int64, generation: int) -> str | None:
        if not len(numbers):
            return None
        name = f"removed-{generation:06}.bin"
        with CheckedWriter(self.path / name) as writer:
            writer.write("numbers", numbers)
            writer.finish({})
        return name

    def _tidy(self) -> None:
        """Remove the files of earlier states, and of a writer that was killed."""
        valid = {*self.manifest.files, MANIFEST, LOCK}
        for pattern in ("segment-*.bin", "log-*.bin", "removed-*.bin", f".{MANIFEST}.partial-*"):
            for found in self.path.glob(pattern):
                if found.name not in valid:
                    found.unlink(missing_ok=True)

    @contextmanager
    def changing(self) -> Iterator[FolderChanges]:
        """Start a transaction; unless it is finished, go back to the state on disk."""
        changes = FolderChanges(self)
        try:
            yield changes
        finally:
            if not changes.finished:
                self.reopen()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process can write to a folder that is open for writing."""
        yield

    def compact(self) -> None:
        """Merge all segments into one, without removed items."""
        budget, items = self.kind.settings.execution.budget, len(self.view)
        budget.check_items(items, item_bytes(self.kind), "leave the segments as they are")
        try:
            self.publish(self.view, everything=True)
        except BaseException:
            self.reopen()
            raise

    def outline(self) -> dict[str, int]:
        """How many segments there are, and the size of the log."""
        return {"segments": len(self.manifest.segments), "log_bytes": self._log_end - FIRST}

    def bucket_sizes(self) -> dict[int, int]:
        """The number of buckets by size class, each segment counted separately; the log is not included."""
        classes = np.zeros(64, np.int64)
        for part in self.view.parts:
            if isinstance(part, Segment):
                classes += part.bucket_sizes[0]
        return {1 << power: int(classes[power]) for power in range(int(np.flatnonzero(classes).max(initial=-1)) + 1)}

    def describe(self) -> dict[str, Any]:
        """Items, bytes, segments, log and the largest buckets."""
        view, manifest = self.view, self.manifest
        files = {MANIFEST: (self.path / MANIFEST).stat().st_size}
        segments = [part for part in view.parts if isinstance(part, Segment)]
        files |= {part.name: part.file.nbytes for part in segments}  # a writer may have removed the file
        files[manifest.log] = self._log_end
        if manifest.removed:
            files[manifest.removed] = self._removed_bytes
        total = sum(files.values())
        return {
            "items": len(view),
            "removed": view.total - len(view),
            "bytes": total,
            "bytes_per_item": round(total / len(view), 1) if len(view) else None,
            "segments": len(manifest.segments),
            "log": {"items": len(view.parts[-1]), "bytes": files[manifest.log] - FIRST, "records": self.records},
            "largest_bucket": max((part.bucket_sizes[1] for part in segments), default=0),
            "oversize_buckets": sum(part.bucket_sizes[2] for part in segments),
            "refined_items": sum(len(part.crowd or ()) for part in segments),
            "options": {**manifest.options, "store": manifest.store},
            "plan": manifest.plan,
            "files": files,
        }

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def create_folder(path: Path, kind: Kind) -> None:
    """Write the files of an empty index into an empty folder."""
    manifest = Manifest(**kind.to_dict())
    create_log(path / manifest.log)
    manifest.save(path)
