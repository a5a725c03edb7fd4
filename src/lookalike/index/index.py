"""A persistent index: add, query and remove items. Stores know where the items are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.engine.allocators import thrifty_memory
from lookalike.engine.digest import keyed_sets
from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings, one_of
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError, UsageError
from lookalike.index.additions import Additions
from lookalike.index.batch import no_items
from lookalike.index.contract import Lookup, StateLostError, Store
from lookalike.index.kind import Kind
from lookalike.index.matches import NO_MATCHES, Matches
from lookalike.index.naming import NamedMatches, given_ids, table_of_one
from lookalike.index.reading import DigestElsewhere, Reader
from lookalike.index.reference import as_features
from lookalike.index.stores import create_store, open_store
from lookalike.types import Rejected, Source, strings_to_arrow, to_arrow
from lookalike.verify.measures import Measure

ON_CONFLICT = ("replace", "skip", "error")
DURABILITY = ("each", "batch")
Result = TypeVar("Result")
SMALL_BYTES = 1 << 20
"""Data in memory up to this size is read without starting threads."""


class StoredIndex:
    """An index. Made by `create` and `open`; close it, or use it in a `with` block.

    Any number of threads may use it: changes wait for each other, and a query is answered from the state at its start.

    Examples
    --------
    >>> import tempfile
    >>> from lookalike.read import open_data
    >>> folder = Path(tempfile.mkdtemp(), "seen")
    >>> with StoredIndex.create(folder, Settings.parse(threshold=0.6, method="lsh")) as index:
    ...     _ = index.add([open_data(["a b c d e f"], "text")])
    ...     index.query([open_data(["a b c d e f g"], "text")])["similarity"].to_pylist()
    [0.6666666666666666]
    """

    def __init__(self, store: Store, progress: Progress | None = None) -> None:
        self.store = store
        self._changing = RLock()
        """Held by the thread that changes the index or loads another state of it."""
        self._progress = progress or Progress()
        self.rejected: list[Rejected] = []
        """Bad lines that the last call has skipped."""

    @classmethod
    def create(
        cls,
        place: str | Path,
        settings: Settings,
        sources: Sequence[Source] = (),
        *,
        store: str = "sets",
        progress: Progress | None = None,
        numbered: bool = False,
        on_conflict: str = "replace",
        elsewhere: DigestElsewhere | None = None,
    ) -> StoredIndex:
        """Create an index, which appears with all the items of the sources or not at all, and open it.

        Parameters
        ----------
        store
            What to store: "sets" or "text".
        numbered
            Items without an id are numbered; otherwise they are called FILE:ROW.
        elsewhere
            Reads and digests the items in place of this process.
        """
        kind = Kind.create(settings, store)
        told = settings.execution
        execution: dict[str, Any] = {"threads": told.threads, "memory": told.budget.total_bytes}
        with create_store(place, kind, **execution) as made:
            index = cls(made, progress)
            if sources:
                index._add(list(sources), on_conflict, numbered=numbered, elsewhere=elsewhere)
        found = cls.open(place, progress=progress, **execution)
        found.rejected = index.rejected
        return found

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        read_only: bool = False,
        durability: str = "each",
        progress: Progress | None = None,
        **execution: Any,
    ) -> StoredIndex:
        """Open an index that exists.

        Raises
        ------
        UsageError
            If it is not an index, or if another process is writing to it.
        BadDataError
            If it is damaged.
        """
        one_of("durability", durability, DURABILITY)
        store = open_store(place, writing=not read_only, grouped=durability == "batch", **execution)
        return cls(store, progress)

    @property
    def kind(self) -> Kind:
        """What the index stores, and how items are compared."""
        return self.store.kind

    def __len__(self) -> int:
        return len(self.store.lookup)

    def __enter__(self) -> StoredIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Flush everything to disk, and let other processes write."""
        with self._changing:
            self.store.close()
        if (problem := self.store.problem) is not None:
            self._progress.say(f"Segments could not be merged, so queries are slower than they could be: {problem}")

    def sync(self) -> None:
        """Wait until everything is on disk (with durability "batch")."""
        with self._changing:
            self.store.sync()

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""
        with self._changing:
            return self.store.refresh()

    @contextmanager
    def _workers(self, sources: Sequence[Source], stage: str) -> Iterator[Workers | None]:
        """Threads and a progress stage, unless there is so little data that they would take longer than the work."""
        total = sum(source.nbytes for source in sources)
        if total < SMALL_BYTES and all(hasattr(one, "table") for one in sources):
            yield None
            return
        execution = self.kind.settings.execution
        memory = thrifty_memory(execution.budget.total_bytes)
        with self._progress.stage(stage, total, "B"), memory, Workers(execution.threads) as workers:
            yield workers

    def check_writing(self) -> None:
        """Refuse to change an index that is open for reading."""
        if not self.store.writing:
            raise UsageError(f"{self.store.name}: the index was opened for reading only")

    def add(
        self,
        sources: list[Source],
        *,
        if_new: bool = False,
        on_conflict: str = "replace",
        numbered: bool = False,
        elsewhere: DigestElsewhere | None = None,
    ) -> pa.Table:
        """Add items, all or none of them: id, added, match, similarity for each.

        Parameters
        ----------
        if_new
            Add only items that resemble nothing in the index and nothing added before.
        on_conflict
            What happens to an item whose id exists: "replace" the old one, "skip" it, or raise an "error".
        numbered
            Items without an id are numbered; otherwise they are called FILE:ROW.
        elsewhere
            Reads and digests the items in place of this process.
        """
        return self._add(sources, on_conflict, if_new=if_new, numbered=numbered, elsewhere=elsewhere).table()

    def add_alone(self, id: str | int, text: str) -> pa.Table:
        """`add` for one text if it is new: the same steps with fewer objects."""
        self.check_writing()
        with self._changing, self.store.changing() as changes:
            additions = Additions(self.store, changes, "replace", if_new=True, numbered=True)
            additions.add_alone(id, text)
            additions.finish()
        return additions.table()

    def _add(
        self,
        sources: list[Source],
        on_conflict: str,
        *,
        if_new: bool = False,
        numbered: bool,
        elsewhere: DigestElsewhere | None,
    ) -> Additions:
        one_of("on-conflict", on_conflict, ON_CONFLICT)
        self.check_writing()
        with self._changing:
            store = self.store
            if not store.kind.decided:
                store.decide(store.kind.decide_by(sources))
            reader = Reader(self.kind, self._progress)
            with store.changing() as changes:
                additions = Additions(store, changes, on_conflict, if_new=if_new, numbered=numbered)
                with self._workers(sources, "adding") as workers:
                    if workers is not None:
                        additions.expect(*count_items(sources))
                    for items in reader.read(sources, workers, elsewhere):
                        additions.add(items)
                additions.finish()
            self.rejected = reader.rejected
        return additions

    def reading(self, read: Callable[..., Result], *arguments: Any) -> Result:
        """Read from the items; once more if the state that was read is gone, which happens only in a database."""
        try:
            return read(*arguments)
        except StateLostError:
            if not self.store.writing:
                self.refresh()
            return read(*arguments)

    def query(
        self,
        sources: list[Source],
        k: int | None = 10,
        threshold: float | str | Fraction | None = None,
        *,
        numbered: bool = False,
    ) -> pa.Table:
        """The most similar items of each queried item: left, right, similarity (or distance), rank; best first.

        Parameters
        ----------
        k
            The most matches per item; None lists all.
        threshold
            The threshold of the index, or a stricter one.
        numbered
            Queried items without an id are numbered from 0; otherwise they are called FILE:ROW.
        """
        return pa.concat_tables(self.matches(sources, k, threshold, numbered=numbered).tables()).combine_chunks()

    def ask(self, text: str, k: int | None = 10, threshold: float | str | Fraction | None = None) -> pa.Table:
        """`query` for one text without an id: the same steps with fewer objects."""
        return self.reading(self._ask, text, k, threshold)

    def _ask(self, text: str, k: int | None, threshold: float | str | Fraction | None) -> pa.Table:
        lookup, measure = self._asked(k, threshold)
        found = lookup.ask(text, measure)
        if len(found) > 1:
            found.sort(key=lambda one: (-one[0], one[1]))
        return table_of_one(lookup, found if k is None else found[:k])

    def matches(
        self,
        sources: list[Source],
        k: int | None = 10,
        threshold: float | str | Fraction | None = None,
        *,
        numbered: bool = False,
    ) -> NamedMatches:
        """The result of `query`, to be written piece by piece."""
        return self.reading(self._matches, sources, k, threshold, numbered)

    def _matches(
        self, sources: list[Source], k: int | None, threshold: float | str | Fraction | None, numbered: bool
    ) -> NamedMatches:
        lookup, measure = self._asked(k, threshold)
        kind, named = lookup.kind, NamedMatches(lookup, numbered)
        if not kind.decided:  # nothing has been added
            return named
        reader = Reader(kind, self._progress)
        with self._workers(sources, "asking") as workers:
            each = map if workers is None else partial(workers.map, most=max(1, reader.ahead // 2))
            asked = reader.read(sources, workers, asked=True)
            for items, (found, ranks) in each(
                lambda items: (items, lookup.search(items.found, measure, k).best_first(measure, k)), asked
            ):
                named.add(items, found, ranks)
        self.rejected = reader.rejected
        return named

    def search(
        self, features: pa.Array, k: int | None = 10, threshold: float | str | Fraction | None = None
    ) -> tuple[Lookup, Matches]:
        """The matches of a column of items by number, best first, and the lookup that knows their ids."""
        return self.reading(self._search, features, k, threshold)

    def _search(
        self, features: pa.Array, k: int | None, threshold: float | str | Fraction | None
    ) -> tuple[Lookup, Matches]:
        lookup, measure = self._asked(k, threshold)
        kind = lookup.kind
        found = lookup.search(keyed_sets(features, kind.digesting), measure, k) if kind.decided else NO_MATCHES
        return lookup, found.best_first(measure, k)[0]

    def _asked(self, k: int | None, threshold: float | str | Fraction | None) -> tuple[Lookup, Measure]:
        """Check a query and take a lookup; another thread may change the index meanwhile, but not the lookup."""
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise UsageError(f"-k must be a whole number of at least 1, not {k!r}")
        lookup = self.store.lookup
        return lookup, lookup.kind.measure_at(threshold)

    def remove(self, ids: Sequence[Any] = (), *, older_than: float | None = None) -> int:
        """Remove items by id, and those added more than `older_than` seconds ago; return how many were removed."""
        self.check_writing()
        if not self.kind.decided:
            return 0
        with self._changing, self.store.changing() as changes:
            numbers = [no_items()]
            if len(ids):
                numbers.append(changes.lookup.find_ids(strings_to_arrow([_as_text(one) for one in ids]))[1])
            if older_than is not None:
                numbers.append(changes.lookup.older_than(time.time_ns() // 1000 - int(older_than * 1e6)))
            found = np.unique(np.concatenate(numbers))
            changes.remove(found)
            changes.finish()
        return len(found)

    def unknown_ids(self, ids: Sequence[Any]) -> list[str]:
        """Those of the ids that no item has."""
        return self.reading(self._unknown_ids, ids)

    def _unknown_ids(self, ids: Sequence[Any]) -> list[str]:
        texts = [_as_text(one) for one in ids]
        lookup = self.store.lookup
        known = lookup.find_ids(strings_to_arrow(texts))[0].tolist() if texts and lookup.kind.decided else []
        return [texts[row] for row in sorted({*range(len(texts))} - {*known})]

    def compact(self) -> None:
        """Merge all segments into one, without removed items."""
        self.check_writing()
        with self._changing, self._progress.stage("compacting"):
            self.store.compact()

    def get(self, ids: Sequence[Any]) -> pa.Table:
        """The items with these ids that exist: id, added_at, and text or vector if stored."""
        return self.reading(self._get, ids)

    def _get(self, ids: Sequence[Any]) -> pa.Table:
        lookup = self.store.lookup
        rows, numbers = no_items(), no_items()
        if len(ids) and lookup.kind.decided:
            rows, numbers = lookup.find_ids(strings_to_arrow([_as_text(one) for one in ids]))
        distinct, place = np.unique(numbers, return_inverse=True)
        times = to_arrow(lookup.times(distinct)).cast(pa.timestamp("us", "UTC"))
        found = {"id": given_ids(lookup, distinct), "added_at": times}
        if lookup.kind.store == "text":
            found["text"] = lookup.content(distinct).as_texts()
        elif lookup.kind.settings.items.vectors:
            found["vector"] = as_features(lookup.content(distinct), lookup.kind)
        return pa.table(found).take(to_arrow(place[np.argsort(rows, kind="stable")].astype(np.int64)))

    def ids(self) -> pa.Array:
        """The ids of all items, in input order."""
        return self.reading(self._ids)

    def _ids(self) -> pa.Array:
        lookup = self.store.lookup
        return given_ids(lookup, lookup.numbers())


def _as_text(given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | np.integer):
        raise BadDataError(f"an id is a string or an integer, not {given!r}")
    return str(given)
