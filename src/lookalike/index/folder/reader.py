"""The folder of an index, open for reading: a consistent state, which `refresh` replaces by the latest."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lookalike.index.batch import Change, no_items
from lookalike.index.contract import BucketSizes
from lookalike.index.folder.earlier import check_earlier
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.figures import bucket_sizes, describe
from lookalike.index.folder.pages import Pages
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.state import PartName, State
from lookalike.index.folder.state_file import StateFile
from lookalike.index.kind import Kind
from lookalike.index.part import Part
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import INDEX_FILE

RETRIES = 20
"""How often opening is tried again while another process replaces the segments."""


class FolderReader:
    """A folder and the state of it that was read last.

    Parameters
    ----------
    path
        The folder.
    writing, grouped
        As in `StateFile`.
    execution
        `threads` and `memory`.
    """

    def __init__(self, path: Path, *, writing: bool = False, grouped: bool = False, **execution: Any) -> None:
        self.path, self._execution = path, execution
        self.name = str(path)
        self._closing = ExitStack()
        self._segments: dict[str, Segment] = {}
        self._tables: dict[int, Table] = {}
        self._log_bytes = self.records = 0
        """The transactions in the part of the log that still grows, and their size."""
        self.pages = Pages(0)
        with ExitStack() as stack:
            check_earlier(path, writing=writing)
            self.file = StateFile(path, writing=writing, grouped=grouped)
            stack.callback(self.file.close)
            self._load()
            self._closing = stack.pop_all()

    @property
    def writing(self) -> bool:
        """Whether this process may change the index."""
        return False

    @property
    def integers(self) -> bool:
        """Whether all ids were integers."""
        return self.view.integers

    @property
    def lookup(self) -> View:
        """The items."""
        return self.view

    @property
    def added(self) -> int:
        """How many items were ever added."""
        return self.saved.added

    @property
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return self.saved.generation, self.saved.last

    @property
    def problem(self) -> str | None:
        """What keeps segments from being merged."""
        return None

    @property
    def ended(self) -> str | None:
        """Why it accepts no more changes."""
        return None

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""
        return run in self.saved.runs

    def close(self) -> None:
        """Close the files."""
        self._closing.close()

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""
        if not self.file.changed():
            return False
        before = self.state
        with self.file.reading():
            state = self.file.read()
            if state.generation == self.saved.generation:
                self._apply(state, self.view, after=self.saved.last)
        if state.generation != self.saved.generation:
            self._load()
        return self.state != before

    def _load(self) -> None:
        """Read the state, open its segments, and apply its changes."""
        for attempt in range(RETRIES):
            generation = None
            try:
                with self.file.reading():
                    state = self.file.read()
                    generation = state.generation
                    self._open(state)
                return
            except DamagedError:
                # a writer may have replaced segments meanwhile
                with self.file.reading():
                    same = self.file.read().generation == generation
                if same or attempt == RETRIES - 1:
                    raise

    def _open(self, state: State) -> None:
        """Open the segments of a state and apply all its changes."""
        kind = Kind.of(state.kind, str(self.path / INDEX_FILE), **self._execution)
        self.pages.limit = kind.settings.execution.budget.sets_bytes
        names = [part.segment for part in state.parts if part.segment is not None]
        self._segments = {name: self._segments.get(name) or Segment(self.path / name, self.pages) for name in names}
        self.kind = kind
        self._tables = {part.id: self._new_table() for part in state.parts if part.segment is None}
        self._log_bytes = self.records = 0
        self._apply(state, View(kind, integers=state.integers), after=0)

    def _new_table(self) -> Table:
        return Table(self.kind.plan.bands if self.kind.decided else 0, self.kind.dtype)

    def _apply(self, state: State, view: View, after: int) -> None:
        """Apply the changes of a state that follow a number. The view is set last: other threads see it complete."""
        changes = [  # all are read before one is applied: an error leaves everything as it was
            (id, Change.decode(content, self.kind.dtype), len(content))
            for _, id, content in self.file.changes(state, after)
        ]
        for id, change, size in changes:
            if change.batch is not None:
                self._tables[id].add(change.batch)
            if id == state.parts[-1].id:
                self._log_bytes += size
                self.records += 1
        parts = [self._part(part) for part in state.parts]
        firsts = dict(zip((part.id for part in state.parts), firsts_of(parts)))
        view = view.with_parts(parts, integers=state.integers)
        view = view.without(np.concatenate([no_items(), *(firsts[id] + change.removed for id, change, _ in changes)]))
        self._charge(view)
        self.saved, self.view = state, view

    def _part(self, name: PartName) -> Part:
        if name.segment is not None:
            return self._segments[name.segment]
        table = self._tables[name.id]
        return table.upto(len(table))

    def _charge(self, view: View) -> None:
        """Leave less memory to mapped pages if the list of removed items takes some."""
        sets_bytes = self.kind.settings.execution.budget.sets_bytes
        self.pages.limit = max(sets_bytes // 2, sets_bytes - view.gone.nbytes)

    # Figures

    def outline(self) -> dict[str, int]:
        """How many segments there are, and the size of the log."""
        return {"segments": len(self._segments), "log_bytes": self._log_bytes}

    def bucket_sizes(self) -> BucketSizes:
        """The number of buckets by size class, each segment counted separately; the log is not included."""
        return BucketSizes(bucket_sizes(self.view))

    def describe(self, *, buckets: bool = True) -> dict[str, Any]:  # noqa: ARG002 (for databases)
        """Items, bytes, segments, log and the largest buckets, which are counted once per segment."""
        return describe(self)

    def __enter__(self) -> FolderReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def firsts_of(parts: Iterable[Part]) -> list[int]:
    """The number of the first item of each part.

    Examples
    --------
    >>> firsts_of([])
    []
    """
    firsts, first = [], 0
    for part in parts:
        firsts.append(first)
        first += len(part)
    return firsts
