"""The folder of an index: one writer changes it, any number of readers see one consistent state of it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.index.batch import Batch, Change, no_items
from lookalike.index.folder.changes import FolderChanges
from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.log import FIRST, LogWriter, create_log, read_log
from lookalike.index.folder.manifest import Manifest
from lookalike.index.folder.segment import Segment, SegmentWriter
from lookalike.index.folder.tiers import merge_groups
from lookalike.index.kind import Kind
from lookalike.index.part import Part
from lookalike.index.places import MANIFEST
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import Int64
from lookalike.write import disk_errors
from lookalike.write.locks import FileLock, LockedError
from lookalike.write.outputs import flush

LOCK = "writer.lock"
LOG_BYTES, LOG_RECORDS = 8 << 20, 2048
"""From this size on, the log becomes a segment: it is read whenever the index is opened."""
RUNS = 100
"""Batch jobs that are remembered."""
RETRIES = 20
"""How often opening is tried again while another process replaces the manifest."""


class Folder:
    """The files of an index.

    Parameters
    ----------
    path
        The folder.
    writing
        Take the lock; otherwise only read.
    grouped
        Additions are on disk after `sync`, not each at once.
    execution
        `threads` and `memory`.
    """

    def __init__(self, path: Path, *, writing: bool, grouped: bool = False, **execution: Any) -> None:
        self.path, self._grouped, self._execution = path, grouped, execution
        self.name = str(path)
        self._lock: FileLock | None = None
        self._log: LogWriter | None = None
        self._segments: dict[str, Segment] = {}
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
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return self.manifest.generation, self._log_end

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""
        return run in self.manifest.runs

    def close(self) -> None:
        """Write what is not on disk yet, and give the lock back."""
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
                # a writer may have replaced the manifest, and removed what the old one named
                if Manifest.load(self.path).generation == manifest.generation or attempt == RETRIES - 1:
                    raise

    def refresh(self) -> bool:
        """Take note of what another process has changed; returns whether there was anything."""
        if self.writing:
            return False
        manifest = Manifest.load(self.path)
        before = self.manifest.generation, self._log_end
        try:
            if manifest.generation == self.manifest.generation:
                self._replay()
            else:
                self.load()
        except DamagedError:
            self.load()  # the writer may have replaced the files meanwhile; otherwise this says what is wrong
        return (self.manifest.generation, self._log_end) != before

    def _open(self, manifest: Manifest) -> None:
        kind = Kind.of(asdict(manifest), str(self.path / MANIFEST), **self._execution)
        segments = {name: self._segments.get(name) or Segment(self.path / name) for name in manifest.segments}
        self.manifest, self.kind, self._segments = manifest, kind, segments
        self.view = View(kind)
        for name in manifest.segments:
            self.view.append(segments[name])
        if manifest.removed:
            self.view.remove(CheckedFile(self.path / manifest.removed).load("numbers"))
        self.view.integers, self.added = manifest.integers, manifest.added
        self.table = Table(kind.plan.bands if kind.decided else 0, kind.dtype)
        self.view.append(self.table)
        self._log_end, self.records = FIRST, 0
        self._replay()

    def _replay(self) -> None:
        for content, end in read_log(self.path / self.manifest.log, self._log_end, all_of_it=self.writing):
            self._apply(Change.decode(content, self.kind.dtype))
            self._log_end = end

    def _apply(self, change: Change) -> None:
        self.view.remove(change.removed)
        if change.batch is not None:
            self.table.add(change.batch)
            self.view.grow()
            self.added += change.counted
            self.view.integers &= change.integers
        self.records += 1

    # Writing

    def commit(self, change: Change) -> None:
        """Make a small change; it is in the log when this returns."""
        assert self._log is not None
        self._log.append(change.encode())
        self._log_end = self._log.end
        self._apply(change)
        if self._log_end > LOG_BYTES or self.records >= LOG_RECORDS:
            self.publish()

    def drop_pending(self, total: int) -> None:
        """Forget the parts of the view that come after so many items."""
        view = self.view
        while view.total > total or view.parts[-1] is not self.table:
            view.parts.pop()
        view.gone.shrink(total)

    def sync(self) -> None:
        """Wait until everything is on disk."""
        if self._log is not None:
            self._log.sync()

    def decide(self, kind: Kind) -> None:
        """Settle what kind of items the index holds, before the first is added."""
        found = replace(self.manifest, generation=self.manifest.generation + 1, **kind.to_dict())
        found.save(self.path)
        self.manifest, self.kind = found, kind
        self.view = View(kind)
        self.table = Table(kind.plan.bands, kind.dtype)
        self.view.append(self.table)

    def new_segment(self) -> SegmentWriter:
        """Begin a segment; it counts once it is published."""
        number = len(list(self.path.glob(f"segment-{self.manifest.generation + 1:06}-*.bin")))
        return SegmentWriter(self.path / f"segment-{self.manifest.generation + 1:06}-{number:03}.bin", self.kind.dtype)

    def write_segment(self, pieces: Iterator[Batch]) -> Segment | None:
        """Write items as a segment; None if there are none."""
        with disk_errors(self.path):
            writer = None
            for piece in pieces:
                if writer is None:
                    writer = self.new_segment()
                writer.add(piece)
            if writer is None:
                return None
            with writer:
                writer.finish()
        return Segment(writer.path)

    def publish(
        self, *, everything: bool = False, integers: bool = True, added: int = 0, run: str | None = None
    ) -> None:
        """Make a new state of what the view has: the table becomes a segment, and small segments are merged.

        Parameters
        ----------
        everything
            Merge all segments into one without removed items.
        integers, added
            About the items that were added to the view since the last change: whether all have integers as ids, and
            their number.
        run
            The batch job that has added them.
        """
        with disk_errors(self.path):
            kept = self._merge(everything)
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
        self.reopen()

    def reopen(self) -> None:
        """Go back to the state on disk, as its writer."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self.load()
        self._log = LogWriter(self.path / self.manifest.log, self._log_end, grouped=self._grouped)
        self._tidy()

    def _merge(self, everything: bool) -> list[tuple[Segment, Int64]]:
        """The segments of the new state, each with the numbers of its removed items."""
        parts = [(part, self.view.alive(first, part)) for first, part in self.view.each()]
        parts = [(part, alive) for part, alive in parts if len(alive)]
        kept = []
        for group in merge_groups([len(alive) for _, alive in parts], everything):
            part, alive = parts[group[0]]
            whole = not everything or len(alive) == len(part)
            if len(group) == 1 and isinstance(part, Segment) and whole:
                gone = np.ones(len(part), np.bool_)
                gone[alive] = False
                kept.append((part, np.flatnonzero(gone)))
                continue
            made = self.write_segment(_pieces([parts[place] for place in group]))
            assert made is not None
            kept.append((made, no_items()))
        return kept

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
        """Begin a transaction; unless it is finished, go back to the state on disk."""
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
        try:
            self.publish(everything=True)
        except BaseException:
            self.reopen()
            raise

    def describe(self) -> dict[str, Any]:
        """Items, bytes, segments, log and the largest buckets."""
        files = {name: (self.path / name).stat().st_size for name in [MANIFEST, *self.manifest.files]}
        buckets = [0]
        for part in self.view.parts:
            if isinstance(part, Segment):
                buckets += part.largest_buckets().tolist()
        total = sum(files.values())
        return {
            "items": len(self.view),
            "removed": self.view.total - len(self.view),
            "bytes": total,
            "bytes_per_item": round(total / len(self.view), 1) if len(self.view) else None,
            "segments": len(self.manifest.segments),
            "log": {"items": len(self.table), "bytes": files[self.manifest.log] - FIRST, "records": self.records},
            "largest_bucket": max(buckets),
            "options": {**self.manifest.options, "store": self.manifest.store},
            "plan": self.manifest.plan,
            "files": files,
        }

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def _pieces(parts: Sequence[tuple[Part, Int64]]) -> Iterator[Batch]:
    for part, alive in parts:
        yield from part.batches(alive)


def create_folder(path: Path, kind: Kind) -> None:
    """Write the files of an empty index into an empty folder."""
    manifest = Manifest(**kind.to_dict())
    create_log(path / manifest.log)
    manifest.save(path)


def take_lock(path: Path) -> FileLock:
    """Become the one writer of an index.

    Raises
    ------
    UsageError
        If another process is; the message says which.
    """
    lock = FileLock(path / LOCK)
    try:
        with disk_errors(path):
            lock.acquire()
    except LockedError as error:
        raise UsageError(f"{path}: another process is writing to it{_holder(path / LOCK)}; {error}") from None
    lock.describe(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
    return lock


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_bytes())
        return f" (process {found['pid']} on {found['host']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
