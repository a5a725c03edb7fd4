"""`Index`: a collection stored in a folder, and queried item by item."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from weakref import finalize

import pyarrow as pa

from lookalike.api.inputs import Data, Measure, Number, OnError, open_sources
from lookalike.engine.columns import check_columns
from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.index.ages import parse_age
from lookalike.index.contract import Store
from lookalike.index.index import StoredIndex
from lookalike.index.kind import settings_for_index
from lookalike.index.places import is_database
from lookalike.index.stores import check_store, snapshot_store
from lookalike.index.together import JointAdditions
from lookalike.index.waiting import WaitingItems, added_row, id_name, single_row, single_text
from lookalike.read import looks_like_paths
from lookalike.types import Source

OnConflict = Literal["replace", "skip", "error"]
Durability = Literal["each", "batch"]


class Index:
    """A persistent index: "have I seen this before?", answered with verified similarities.

    Create one with `Index.create`, open one with `Index.open`. It is a folder, to which one process writes while any
    number of others read, or tables in a PostgreSQL database, to which several write. Use it in a `with` block, or
    `close` it.

    Threads may share an index: changes wait for each other, and every query is answered from the complete state at its
    start, even while others change the index. Single items that several threads add at the same time are written to
    disk together. `close` it when no thread uses it any more.

    Examples
    --------
    >>> import tempfile
    >>> with Index.create(Path(tempfile.mkdtemp(), "seen"), threshold=0.6) as index:
    ...     _ = index.add([{"id": "a", "text": "one two three four five six"}])
    ...     index.query(["one two three four five six seven"]).to_pylist()
    [{'left': 0, 'right': 'a', 'similarity': 0.6666666666666666, 'rank': 1}]
    """

    def __init__(self, opened: StoredIndex, place: str | Path, waiting: WaitingItems | None = None) -> None:
        """Use `Index.create` or `Index.open`."""
        self._opened, self._place, self._waiting, self._closed = opened, place, waiting, False
        self._together = JointAdditions(opened)
        if waiting is not None:
            self._at_exit = finalize(self, waiting.finish)

    @property
    def _index(self) -> StoredIndex:
        """The index with all items that were added."""
        if self._closed:
            raise UsageError(f"{self._place}: the index was closed; open it again with lookalike.Index.open")
        if self._waiting is not None:
            self._waiting.flush()
        return self._opened

    @classmethod
    def create(
        cls,
        path: str | Path,
        data: Data | None = None,
        column: str = "text",
        *,
        threshold: Number = 0.8,
        recall: float = 0.99,
        measure: Measure = "jaccard",
        shingle: str = "word:5",
        bag: bool = False,
        language: str = "en",
        hashes: int = 256,
        seed: int = 1,
        id: str | None = None,
        store: Literal["sets", "text"] = "sets",
        on_conflict: OnConflict = "replace",
        on_error: OnError = "stop",
        encoding: str = "utf-8",
        threads: int | None = None,
        memory: str | int | None = None,
    ) -> Index:
        """Create an index in a new folder, and open it for writing.

        Parameters
        ----------
        path : str or Path
            The folder, or `postgresql://user@host/database?table=prefix`; it must not exist.
        data : Data, optional
            The first items. The folder appears with all of them, or not at all.
        store : {"sets", "text"}, default "sets"
            What the index stores for each item: its set, or its text.
        on_conflict : {"replace", "skip", "error"}, default "replace"
            What to do if an id already exists.
        column, threshold, recall, measure, shingle, bag, language, hashes, seed, id, on_error, encoding, threads, \
        memory
            As in `pairs`. The index stores them, except for threads and memory.

        Examples
        --------
        >>> import tempfile
        >>> with Index.create(Path(tempfile.mkdtemp(), "seen"), ["a b c d e", "f g h i j"]) as index:
        ...     len(index)
        2
        """
        settings = settings_for_index(
            column=column,
            id=id,
            threshold=threshold,
            recall=recall,
            hashes=hashes,
            shingle=shingle,
            bag=bag,
            language=language,
            measure=measure,
            seed=seed,
            threads=threads,
            on_error=on_error,
            encoding=encoding,
            memory=memory,
        )
        sources: list[Source] = [] if data is None else open_sources(data, column, encoding)
        check_columns(sources, settings.items)
        numbered = data is not None and not looks_like_paths(data)
        made = StoredIndex.create(path, settings, sources, store=store, numbered=numbered, on_conflict=on_conflict)
        return cls(made, path)

    @classmethod
    def open(
        cls,
        path: str | Path,
        read_only: bool = False,
        *,
        durability: Durability = "each",
        threads: int | None = None,
        memory: str | int | None = None,
    ) -> Index:
        """Open an index.

        Parameters
        ----------
        read_only : bool, default False
            Only read. Otherwise this process becomes the only writer; if there already is one, an error names it.
        durability : {"each", "batch"}, default "each"
            When `add` and `remove` return, the change is on disk; with "batch", after `sync` or `close`. Single items
            then wait for others, to be added together; every other call, such as `query`, adds them first.
        """
        found = StoredIndex.open(path, read_only=read_only, durability=durability, threads=threads, memory=memory)
        grouped = durability == "batch" and not read_only and not is_database(path)
        return cls(found, path, WaitingItems(found) if grouped else None)

    @property
    def store(self) -> Store:
        """Where the items are; for batch jobs."""
        return self._index.store

    def _sources(self, data: Data) -> tuple[list[Source], bool]:
        items = self._opened.kind.settings.items
        return open_sources(data, items.column, items.encoding), not looks_like_paths(data)

    def add(self, data: Data, if_new: bool = False, *, on_conflict: OnConflict = "replace") -> pa.Table:
        """Add items, all of them or, after an error, none.

        Parameters
        ----------
        data : Data
            As in `pairs`. Ids are in the id column; data in memory without one is numbered.
        if_new : bool, default False
            Add an item only if nothing in the index, and nothing added before it, is similar.
        on_conflict : {"replace", "skip", "error"}, default "replace"
            What to do if an id already exists.

        Returns
        -------
        pyarrow.Table
            id, added, match, similarity (or distance). With `if_new`, match is the most similar item at that moment.
        """
        if on_conflict == "replace" and (told := self._add_single(data, if_new)) is not None:
            return told
        sources, numbered = self._sources(data)
        return self._index.add(sources, if_new=if_new, on_conflict=on_conflict, numbered=numbered)

    def _add_single(self, data: Data, if_new: bool) -> pa.Table | None:
        """Add one item, without a question together with others; None if it must be added by itself."""
        if self._waiting is not None and not if_new:
            return self._waiting.accept(data)
        index = self._index
        row = single_row(index, data) if index.store.writing else None
        if row is None:
            return None
        if if_new:
            items = index.kind.settings.items
            return index.add_alone(row[id_name(index)], row[items.column])
        return None if not self._together.add(row) else added_row(index, row)

    def query(self, data: Data, k: int | None = 10, threshold: Number | None = None) -> pa.Table:
        """Find the most similar items of the index for each item of `data`.

        Parameters
        ----------
        k : int, default 10
            Maximum number of matches per item; None lists all.
        threshold : float, str or Fraction, optional
            The threshold of the index, or a stricter one.

        Returns
        -------
        pyarrow.Table
            left, right, similarity (or distance), rank; for each left the most similar first, ties in input order.
        """
        index = self._index
        if (text := single_text(index, data)) is not None:
            return index.ask(text, k, threshold)
        sources, numbered = self._sources(data)
        return index.query(sources, k, threshold, numbered=numbered)

    def get(self, ids: Iterable[str | int]) -> pa.Table:
        """Get the items with these ids, in the order of the ids; missing items are omitted.

        Returns
        -------
        pyarrow.Table
            id, added_at, and the text (of an index with store="text") or the vector.

        Examples
        --------
        >>> import tempfile
        >>> with Index.create(Path(tempfile.mkdtemp(), "seen"), ["a rose", "a rose is a rose"], store="text") as index:
        ...     index.get([1, 7]).select(["id", "text"]).to_pylist()
        [{'id': 1, 'text': 'a rose is a rose'}]
        """
        if isinstance(ids, str):
            raise UsageError("ids is a string; pass a list of ids")
        return self._index.get(list(ids))

    def __contains__(self, id: object) -> bool:
        return len(self._index.get([id])) > 0

    def remove(self, ids: Iterable[str | int] = (), *, older_than: str | float | None = None) -> int:
        """Remove items by id, or those added longer ago than "90d" (s, m, h, d, w) or a number of seconds.

        Returns
        -------
        int
            The number of items removed.
        """
        if isinstance(ids, str):
            raise UsageError("ids is a string; pass a list of ids")
        age = None if older_than is None else parse_age(older_than)
        return self._index.remove(list(ids), older_than=age)

    def compact(self) -> None:
        """Merge everything into one segment, without removed items."""
        self._index.compact()

    def stats(self) -> dict[str, Any]:
        """Items, bytes, segments, log and the largest buckets."""
        return self._index.store.describe()

    def check(self) -> list[str]:
        """Read and verify the whole index; return the problems by file. An empty list means that there are none."""
        return check_store(self._place)

    def snapshot(self, path: str | Path) -> int:
        """Copy the index to a new folder, while others use it; return the size of the copy in bytes.

        Examples
        --------
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with Index.create(folder / "seen", ["a b c d e"]) as index:
        ...     _ = index.snapshot(folder / "copy")
        >>> len(Index.open(folder / "copy", read_only=True))
        1
        """
        index = self._index
        if index.store.writing:
            index.sync()
        return snapshot_store(self._place, path, Progress())

    def refresh(self) -> bool:
        """For a reader: move to the latest state; return whether anything has changed."""
        return self._index.refresh()

    def sync(self) -> None:
        """With durability "batch": wait until everything is on disk."""
        self._index.sync()

    def close(self) -> None:
        """Close the index; other processes may then write."""
        try:
            if self._waiting is not None:
                self._at_exit.detach()
                self._waiting.flush()
        finally:
            self._waiting, self._closed = None, True
            self._opened.close()

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self):,} items"
        return f"Index({self._opened.store.name!r}, {state})"

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()
