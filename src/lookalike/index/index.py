"""A persistent index: add items, ask what is similar, remove. The recipes; files are the business of `store`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings, one_of
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError, UsageError
from lookalike.index.additions import Additions
from lookalike.index.batch import Change, no_items
from lookalike.index.kind import Kind
from lookalike.index.naming import NamedMatches, typed_ids
from lookalike.index.reading import Reader
from lookalike.index.store import Folder, create_folder
from lookalike.types import Int64, Rejected, Source, strings_to_arrow
from lookalike.write import OutputFolder

ON_CONFLICT = ("replace", "skip", "error")
DURABILITY = ("each", "batch")
SMALL_BYTES = 1 << 20
"""Data in memory up to this size is read without starting threads."""


class FolderIndex:
    """An index in a folder. Made by `create` and `open`; close it, or use it in a `with` block.

    Examples
    --------
    >>> import tempfile
    >>> from lookalike.read import open_data
    >>> folder = Path(tempfile.mkdtemp(), "seen")
    >>> with FolderIndex.create(folder, Settings.parse(threshold=0.6, method="lsh")) as index:
    ...     _ = index.add([open_data(["a b c d e f"], "text")])
    ...     index.query([open_data(["a b c d e f g"], "text")])["similarity"].to_pylist()
    [0.6666666666666666]
    """

    def __init__(self, folder: Folder, progress: Progress | None = None) -> None:
        self._folder = folder
        self._progress = progress or Progress()
        self.rejected: list[Rejected] = []
        """Bad lines that the last call has skipped."""

    @classmethod
    def create(
        cls,
        path: Path,
        settings: Settings,
        sources: Sequence[Source] = (),
        *,
        store: str = "sets",
        progress: Progress | None = None,
        numbered: bool = False,
        on_conflict: str = "replace",
    ) -> FolderIndex:
        """Create an index, which appears with all the items of the sources or not at all, and open it.

        Parameters
        ----------
        store
            Keep "sets", or "text".
        numbered
            Items without an id are numbered; otherwise they are called FILE:ROW.
        """
        if os.path.lexists(path):
            raise UsageError(f"{path}: already exists; add to it with `lookalike index add`, or choose another name")
        kind = Kind.create(settings, store)
        told = settings.execution
        execution: dict[str, Any] = {"threads": told.threads, "memory": told.budget.total_bytes}
        with OutputFolder(path, resumable=False) as partial:
            create_folder(partial, kind)
            with cls(Folder(partial, writing=True, **execution), progress) as made:
                if sources:
                    made.add(list(sources), numbered=numbered, on_conflict=on_conflict)
                rejected = made.rejected
        found = cls.open(path, progress=progress, **execution)
        found.rejected = rejected
        return found

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        durability: str = "each",
        progress: Progress | None = None,
        **execution: Any,
    ) -> FolderIndex:
        """Open an index that exists.

        Raises
        ------
        UsageError
            If it is not an index, or if another process is writing to it.
        BadDataError
            If it is damaged.
        """
        one_of("durability", durability, DURABILITY)
        return cls(Folder(path, writing=not read_only, grouped=durability == "batch", **execution), progress)

    @property
    def folder(self) -> Folder:
        """Its files."""
        return self._folder

    @property
    def kind(self) -> Kind:
        """What it holds, and how it compares."""
        return self._folder.kind

    def __len__(self) -> int:
        return len(self._folder.view)

    def __enter__(self) -> FolderIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Write what is not on disk yet, and let other processes write."""
        self._folder.close()

    def sync(self) -> None:
        """Wait until everything is on disk (with durability "batch")."""
        self._folder.sync()

    def refresh(self) -> bool:
        """See what another process has changed; returns whether there was anything."""
        return self._folder.refresh()

    @contextmanager
    def _workers(self, sources: Sequence[Source], stage: str) -> Iterator[Workers | None]:
        """Threads, and a stage of the progress; for little data in memory, both would take longer than the work."""
        total = sum(source.nbytes for source in sources)
        if total < SMALL_BYTES and all(hasattr(one, "table") for one in sources):
            yield None
            return
        with self._progress.stage(stage, total, "B"), Workers(self.kind.settings.execution.threads) as workers:
            yield workers

    def _check_writing(self) -> None:
        if not self._folder.writing:
            raise UsageError(f"{self._folder.path}: the index was opened for reading only")

    def add(
        self, sources: list[Source], *, if_new: bool = False, on_conflict: str = "replace", numbered: bool = False
    ) -> pa.Table:
        """Add items, all or none of them: id, added, match, similarity for each.

        Parameters
        ----------
        if_new
            Add only what resembles nothing in the index and nothing added before.
        on_conflict
            What happens to an item whose id exists: "replace" the old one, "skip" it, or raise an "error".
        numbered
            Items without an id are numbered; otherwise they are called FILE:ROW.
        """
        one_of("on-conflict", on_conflict, ON_CONFLICT)
        self._check_writing()
        folder = self._folder
        if not folder.kind.decided:
            folder.decide(folder.kind.decide_by(sources))
        reader = Reader(self.kind, self._progress)
        additions = Additions(folder, on_conflict, if_new=if_new, numbered=numbered)
        with folder.undoing():
            with self._workers(sources, "adding") as workers:
                for items in reader.read(sources, workers):
                    additions.add(items)
            found = additions.finish()
        self.rejected = reader.rejected
        return found

    def query(
        self,
        sources: list[Source],
        k: int | None = 10,
        threshold: float | str | Fraction | None = None,
        *,
        numbered: bool = False,
    ) -> pa.Table:
        """The most similar items of each item asked: left, right, similarity (or distance), rank; best first.

        Parameters
        ----------
        k
            At most this many; None lists all.
        threshold
            That of the index, or a stricter one.
        numbered
            Items asked without an id are numbered from 0; otherwise they are called FILE:ROW.
        """
        if k is not None and k < 1:
            raise UsageError(f"-k must be at least 1, not {k}")
        measure = self.kind.measure_at(threshold)
        if not self.kind.decided:  # nothing has been added
            return NamedMatches(self.kind, numbered).table(self._folder)
        reader = Reader(self.kind, self._progress)
        named = NamedMatches(self.kind, numbered)
        view = self._folder.view
        with self._workers(sources, "asking") as workers:
            each = map if workers is None else workers.map
            asked = reader.read(sources, workers)
            for items, (found, ranks) in each(
                lambda items: (items, view.search(items.found, measure).best_first(measure, k)), asked
            ):
                named.add(items, found, ranks)
        self.rejected = reader.rejected
        return named.table(self._folder)

    def remove(self, ids: Sequence[Any] = (), *, older_than: float | None = None) -> int:
        """Remove items by id, and those added more than `older_than` seconds ago; returns how many were there."""
        self._check_writing()
        view = self._folder.view
        numbers = [no_items()]
        if len(ids):
            _, found = view.find_ids(strings_to_arrow([_as_text(one) for one in ids]))
            numbers.append(found)
        if older_than is not None:
            limit = time.time_ns() // 1000 - int(older_than * 1e6)
            for first, part in view.each():
                alive = view.alive(first, part)
                numbers.append(alive[part.times[alive] < limit] + first)
        return self._remove(np.unique(np.concatenate(numbers)))

    def _remove(self, numbers: Int64) -> int:
        if len(numbers):
            self._folder.commit(Change(numbers, None))
        return len(numbers)

    def compact(self) -> None:
        """Merge all segments into one, without removed items."""
        self._check_writing()
        with self._folder.undoing(), self._progress.stage("compacting"):
            self._folder.publish(everything=True)

    def ids(self) -> pa.Array:
        """The ids of all items, in input order."""
        view = self._folder.view
        numbers = np.flatnonzero(~view.gone.rows)
        return typed_ids(view.ids(numbers), self._folder.integers)


def _as_text(given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | np.integer):
        raise BadDataError(f"an id is a string or an integer, not {given!r}")
    return str(given)
