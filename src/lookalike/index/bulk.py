"""Add the items that a batch job has kept, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.engine.digest import KeyedSets, keyed_sets
from lookalike.engine.settings import Settings
from lookalike.index.additions import Additions
from lookalike.index.contract import Store
from lookalike.index.kind import Kind
from lookalike.index.places import is_index
from lookalike.index.reading import are_integers, id_texts, stored_batch
from lookalike.index.reference import IndexSource, check_agreement
from lookalike.index.stores import open_store


class IndexAdditions:
    """The items of one job. See `engine.destination.ItemAdditions`."""

    def __init__(self, additions: Additions, kind: Kind, name: str) -> None:
        self._additions, self._kind, self._name = additions, kind, name

    def prepare(self, features: pa.Array) -> tuple[pa.Array, KeyedSets]:
        """Compute sets and bucket keys."""
        return features, keyed_sets(features, self._kind.digesting)

    def add(self, ids: pa.Array | None, prepared: tuple[pa.Array, KeyedSets]) -> None:
        """Add the next items; those without ids are numbered."""
        features, found = prepared
        names = self._additions.next_numbers(len(features)) if ids is None else id_texts(ids)
        batch = stored_batch(names, features, found, self._kind.store, self._name)
        self._additions.add_batch(batch, integers=ids is None or are_integers(ids))

    def commit(self, run: str) -> None:
        """Make all of them visible and durable."""
        self._additions.finish(run)


class IndexDestination:
    """An index to which a job adds items. See `engine.destination.Destination`."""

    def __init__(self, store: Store) -> None:
        self._store, self.name = store, store.name

    def has_run(self, run: str) -> bool:
        """Whether the items of a run were added."""
        return self._store.has_run(run)

    @contextmanager
    def adding(self, settings: Settings) -> Iterator[IndexAdditions]:
        """Begin to add items; an id that exists is replaced."""
        store = self._store
        if not store.kind.decided:
            store.decide(store.kind.decide(settings.items.vectors))
        with store.changing() as changes:
            additions = Additions(store, changes, "replace", if_new=False, numbered=False)
            yield IndexAdditions(additions, store.kind, store.name)


class JobIndexes:
    """The indexes that a batch job reads and adds to, open during the `with` block.

    Examples
    --------
    >>> with JobIndexes(Settings.parse()) as indexes:
    ...     indexes.references(["news.jsonl"])
    ['news.jsonl']
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._stack = settings, ExitStack()

    def __enter__(self) -> JobIndexes:
        return self

    def __exit__(self, *given: Any) -> None:
        self._stack.close()

    def into(self, place: str | Path | Store) -> IndexDestination:
        """An index to add to; no other process can write to it during the job."""
        store = self._open(place, writing=True)
        self._stack.enter_context(store.alone())
        return IndexDestination(store)

    def reference(self, place: str | Path | Store) -> IndexSource:
        """The items of an index."""
        return IndexSource(self._open(place, writing=False))

    def references(self, places: list[Any]) -> list[Any]:
        """Replace names of indexes by sources; leave everything else unchanged."""
        return [self.reference(one) if is_index(one) else one for one in places]

    def _open(self, place: str | Path | Store, *, writing: bool) -> Store:
        store = place
        if isinstance(place, str | Path):
            execution = self._settings.execution
            store = open_store(place, writing=writing, threads=execution.threads, memory=execution.budget.total_bytes)
            self._stack.callback(store.close)
        assert not isinstance(store, str | Path)
        check_agreement(store, self._settings)
        return store
