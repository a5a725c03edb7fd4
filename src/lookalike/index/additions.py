"""One call of `add`: which items of each block are added, and what callers are told about each of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets
from lookalike.errors import BadDataError
from lookalike.index.adding import find_new
from lookalike.index.batch import Batch, last_of_each, no_items
from lookalike.index.contract import Changes, Store
from lookalike.index.naming import typed_ids
from lookalike.index.reading import ReadItems
from lookalike.types import Bool, Float64, Int64, Sets, to_arrow
from lookalike.types import compute as pc


class Additions:
    """Adds the items of one call to a transaction, which `finish` ends."""

    def __init__(self, store: Store, changes: Changes, on_conflict: str, *, if_new: bool, numbered: bool) -> None:
        self._store, self._changes = store, changes
        self._on_conflict, self._if_new, self._numbered = on_conflict, if_new, numbered
        self._start = store.added
        self._ids: list[pa.Array] = []
        self._added: list[Bool] = []
        self._matches: list[pa.Array] = []
        self._similarity: list[Float64] = []
        self._integers, self._count = True, 0

    def add(self, items: ReadItems) -> None:
        """Add the items of a block."""
        if not len(items):
            return
        names = items.names()
        if self._numbered and items.unnamed:
            names = self.next_numbers(len(items))
        elif not items.integers:
            self._integers = False
        self._count += len(items)
        batch = items.batch(names, self._store.kind.store)
        if self._if_new:
            self._add_new(batch, items.found)
        else:
            self._add_all(batch)

    def add_batch(self, batch: Batch, *, integers: bool) -> None:
        """Add items that are as the index stores them, without asking whether they are new."""
        self._integers &= integers
        self._count += len(batch)
        self._add_all(batch)

    def next_numbers(self, count: int) -> pa.Array:
        """Ids for items that have none: the numbers that follow those of all items that were ever added."""
        start = self._start + self._count
        return pc.cast(to_arrow(np.arange(start, start + count)), pa.large_string())

    # Without a question

    def _add_all(self, batch: Batch) -> None:
        rows, numbers = self._changes.lookup.find_ids(batch.ids)
        known = np.zeros(len(batch), np.bool_)
        known[rows] = True
        self._refuse(batch.ids, known)
        if self._on_conflict == "replace":
            self._changes.remove(numbers)
            known[:] = False
        self._tell(batch.ids, ~known, pa.nulls(len(batch), pa.large_string()), np.full(len(batch), np.nan))
        self._changes.put(batch.take(np.flatnonzero(~known)))

    def _repeated(self) -> Int64:
        """Of the rows added in this call, those whose id occurs again later (or, to be skipped, before)."""
        ids = pa.concat_arrays(self._ids).filter(to_arrow(np.concatenate(self._added)))
        single = last_of_each(ids, first=self._on_conflict == "skip")
        self._refuse(ids, ~single)
        return np.flatnonzero(~single)

    def _refuse(self, ids: pa.Array, known: Bool) -> None:
        if self._on_conflict == "error" and known.any():
            raise BadDataError(
                f"id {ids[int(np.argmax(known))].as_py()!r} occurs already; nothing was added. Use --on-conflict "
                "replace or skip"
            )

    # Only what is new

    def _add_new(self, batch: Batch, found: KeyedSets) -> None:
        """Decide a block; an item whose id exists is decided by itself, since it may replace what others resemble."""
        rows, _ = self._changes.lookup.find_ids(batch.ids)
        known = ~last_of_each(batch.ids, first=True)
        known[rows] = True
        edges = np.flatnonzero(known)
        cuts = np.unique(np.concatenate([[0, len(batch)], edges, edges + 1])).tolist()
        if len(cuts) == 2:
            self._add_stretch(batch, found)
            return
        for low, high in pairwise(cuts):
            some = np.arange(low, high)
            sets = _slice(found.sets, low, high)
            part = KeyedSets(sets, np.ascontiguousarray(found.keys[:, low:high]), found.there[low:high])
            self._add_stretch(batch.take(some), part)

    def _add_stretch(self, batch: Batch, found: KeyedSets) -> None:
        """Items of which none has the id of another, and only a single one may have that of an item of the index."""
        lookup = self._changes.lookup
        rows, numbers = lookup.find_ids(batch.ids)
        if len(rows) and self._on_conflict != "replace":
            known = np.zeros(len(batch), np.bool_)
            known[rows] = True
            self._refuse(batch.ids, known)
            self._tell(batch.ids, ~known, batch.ids, np.full(len(batch), np.nan))
            return
        new = find_new(lookup, found)
        ids = batch.ids
        inside = ids.take(to_arrow(np.maximum(new.row, 0)))
        known = new.number >= 0
        stored = pa.nulls(len(batch), pa.large_string())
        if known.any():
            stored = lookup.ids(np.where(known, new.number, new.number[known][0]))
        matches = pc.if_else(to_arrow(known), stored, inside)
        self._tell(
            ids, new.added, pc.if_else(to_arrow(new.added), pa.nulls(len(ids), ids.type), matches), new.similarity
        )
        if new.added[rows].any():
            self._changes.remove(numbers)
        self._changes.hold(batch.take(np.flatnonzero(new.added)))

    # The end

    def _tell(self, ids: pa.Array, added: Bool, matches: pa.Array, similarity: Float64) -> None:
        self._ids.append(ids)
        self._added.append(added)
        self._matches.append(matches)
        self._similarity.append(similarity)

    def finish(self, run: str | None = None) -> pa.Table:
        """Make all of it visible, and durable; returns id, added, match, similarity."""
        again = no_items() if self._if_new or self._count < 2 else self._repeated()
        if self._on_conflict == "skip" and len(again):
            added = np.concatenate(self._added)
            added[np.flatnonzero(added)[again]] = False
            self._added = [added]
        self._changes.finish(repeated=again, integers=self._integers, counted=self._count, run=run)
        return self._table()

    def _table(self) -> pa.Table:
        similarity = np.concatenate([np.empty(0), *self._similarity])
        added = np.concatenate([np.empty(0, np.bool_), *self._added])
        none: list[Any] = [pa.array([], pa.large_string())]
        shown = pa.nulls(len(similarity), pa.float64())
        if self._if_new and len(similarity):
            shown = pc.if_else(to_arrow(~np.isnan(similarity)), to_arrow(similarity), shown)
        return pa.table(
            {
                "id": typed_ids(pa.concat_arrays(none + self._ids), self._integers),
                "added": to_arrow(added),
                "match": typed_ids(
                    pa.concat_arrays(none + self._matches), self._integers and self._changes.lookup.integers
                ),
                self._store.kind.measure.column: shown,
            }
        )


def _slice(sets: Sets, low: int, high: int) -> Sets:
    indptr = sets.indptr[low : high + 1]
    return Sets(indptr - indptr[0], sets.elements[indptr[0] : indptr[-1]])
