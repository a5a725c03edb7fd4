"""One call of `add`: which items of each block are added, and the result for each of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets, keyed_text
from lookalike.errors import BadDataError
from lookalike.index.adding import NewItems, best_known, find_new
from lookalike.index.batch import Batch, last_of_each, no_items
from lookalike.index.contract import Changes, Lookup, Store
from lookalike.index.matches import Matches
from lookalike.index.naming import typed_ids
from lookalike.index.reading import ReadItems, stored_batch
from lookalike.types import Bool, Float64, Int64, strings_to_arrow, to_arrow
from lookalike.types import compute as pc

ITEM_BYTES = 64
"""Memory per item of a call: its id in the result, where ids are compared, and where it is written."""
ADVICE = "add some of them at a time"
"""Instead of more memory."""


class Additions:
    """Adds the items of one call to a transaction, which `finish` commits."""

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
        self._counted(len(items))
        batch = items.batch(names, self._store.kind.store)
        if self._if_new:
            self._add_new(batch, items.found)
        else:
            self._add_all(batch)

    def add_alone(self, id: str | int, text: str) -> None:
        """Add the only item of the call."""
        self._integers = isinstance(id, int)
        self._counted(1)
        kind, names = self._store.kind, strings_to_arrow([str(id)])
        found = keyed_text(text, kind.digesting)
        features = strings_to_arrow([text]) if kind.store == "text" else names
        batch = stored_batch(names, features, found, kind.store, "")
        if self._if_new:
            self._add_stretch(batch, found, self._changes.put)
        else:
            self._add_all(batch)

    def add_batch(self, batch: Batch, *, integers: bool) -> None:
        """Add items in stored form, without checking whether they are new."""
        self._integers &= integers
        self._counted(len(batch))
        self._add_all(batch)

    def _counted(self, items: int) -> None:
        """Count items, and refuse more than fit in memory."""
        self._count += items
        self.expect(self._count, exact=True)

    def expect(self, items: int, exact: bool) -> None:
        """Refuse more items than fit in memory, if their number is known."""
        if exact:
            self._store.kind.settings.execution.budget.check_items(items, ITEM_BYTES, ADVICE)

    def next_numbers(self, count: int) -> pa.Array:
        """Ids for items without one: consecutive numbers, continuing after all items ever added."""
        start = self._start + self._count
        return pc.cast(to_arrow(np.arange(start, start + count)), pa.large_string())

    # Unconditional additions

    def _add_all(self, batch: Batch) -> None:
        rows, numbers = self._changes.lookup.find_ids(batch.ids)
        known = np.zeros(len(batch), np.bool_)
        known[rows] = True
        self._refuse(batch.ids, known)
        if self._on_conflict == "replace":
            self._changes.remove(numbers)
            known[:] = False
        self._ids.append(batch.ids)
        self._added.append(~known)
        self._changes.put(batch.take(np.flatnonzero(~known)))

    def _repeated(self) -> Int64:
        """The rows added in this call whose id occurs again later (with "skip", earlier)."""
        added = np.concatenate(self._added)
        ids = pa.concat_arrays(self._ids)
        if not added.all():
            ids = ids.filter(to_arrow(added))
        single = last_of_each(ids, first=self._on_conflict == "skip")
        self._refuse(ids, ~single)
        return np.flatnonzero(~single)

    def _refuse(self, ids: pa.Array, known: Bool) -> None:
        if self._on_conflict == "error" and known.any():
            raise BadDataError(
                f"id {ids[int(np.argmax(known))].as_py()!r} already exists; nothing was added. Use --on-conflict "
                "replace or skip"
            )

    # Additions with if_new

    def _add_new(self, batch: Batch, found: KeyedSets) -> None:
        """Decide a block; an item whose id exists is decided separately: it may replace what others resemble.

        If all of these resemble items of the index, they replace nothing, and the block is decided at once.
        """
        rows, _ = self._changes.lookup.find_ids(batch.ids)
        known = ~last_of_each(batch.ids, first=True)
        known[rows] = True
        edges = np.flatnonzero(known)
        best = best_known(self._changes.lookup, found) if self._on_conflict == "replace" else None
        if not len(edges) or (best is not None and np.isin(edges, best.left).all()):
            self._add_stretch(batch, found, self._changes.hold, best)
            return
        before = len(self._ids)
        cuts = np.unique(np.concatenate([[0, len(batch)], edges, edges + 1])).tolist()
        for low, high in pairwise(cuts):
            self._add_stretch(batch.take(np.arange(low, high)), found.slice(low, high), self._changes.hold)
        self._join_told(before)

    def _add_stretch(
        self, batch: Batch, found: KeyedSets, add: Callable[[Batch], None], best: Matches | None = None
    ) -> None:
        """Decide and add items with distinct ids, of which the index has none, or one item alone.

        There may be others if the index has something similar to each of them.
        """
        lookup = self._changes.lookup
        rows, numbers = lookup.find_ids(batch.ids)
        if len(rows) and self._on_conflict != "replace":
            known = np.zeros(len(batch), np.bool_)
            known[rows] = True
            self._refuse(batch.ids, known)
            self._tell(batch.ids, ~known, batch.ids, np.full(len(batch), np.nan))
            return
        new = find_new(lookup, found, best)
        self._tell(batch.ids, new.added, _matches(lookup, batch.ids, new), new.similarity)
        if new.added[rows].any():
            self._changes.remove(numbers)
        add(batch.take(np.flatnonzero(new.added)))

    # Commit

    def _tell(self, ids: pa.Array, added: Bool, matches: pa.Array, similarity: Float64) -> None:
        self._ids.append(ids)
        self._added.append(added)
        self._matches.append(matches)
        self._similarity.append(similarity)

    def _join_told(self, before: int) -> None:
        """Join the results of stretches: an array takes more memory than the item that it may be about."""
        self._ids[before:] = [pa.concat_arrays(self._ids[before:])]
        self._matches[before:] = [pa.concat_arrays(self._matches[before:])]
        self._added[before:] = [np.concatenate(self._added[before:])]
        self._similarity[before:] = [np.concatenate(self._similarity[before:])]

    def finish(self, run: str | None = None) -> None:
        """Make all changes visible and durable."""
        again = no_items() if self._if_new or self._count < 2 else self._repeated()
        if self._on_conflict == "skip" and len(again):
            added = np.concatenate(self._added)
            added[np.flatnonzero(added)[again]] = False
            self._added = [added]
        self._changes.finish(repeated=again, integers=self._integers, counted=self._count, run=run)

    def table(self) -> pa.Table:
        """id, added, match, similarity of each item, after `finish`."""
        added = np.concatenate([np.empty(0, np.bool_), *self._added])
        none: list[Any] = [pa.nulls(0, pa.large_string())]
        shown = pa.nulls(len(added), pa.float64())
        matches = none if self._if_new else [pa.nulls(len(added), pa.large_string())]
        if self._if_new and len(added):
            similarity = np.concatenate(self._similarity)
            shown = pc.if_else(to_arrow(~np.isnan(similarity)), to_arrow(similarity), shown)
        return pa.table(
            {
                "id": typed_ids(pa.concat_arrays(none + self._ids), self._integers),
                "added": to_arrow(added),
                "match": typed_ids(
                    pa.concat_arrays(matches + self._matches), self._integers and self._changes.lookup.integers
                ),
                self._store.kind.measure.column: shown,
            }
        )


def _matches(lookup: Lookup, ids: pa.Array, new: NewItems) -> pa.Array:
    """The ids of the matches of the items of a block; null for new items."""
    if new.added.all():
        return pa.nulls(len(ids), ids.type)
    inside = ids.take(to_arrow(np.maximum(new.row, 0)))
    known = new.number >= 0
    stored = pa.nulls(len(ids), pa.large_string())
    if known.any():
        stored = lookup.ids(np.where(known, new.number, new.number[known][0]))
    matches = pc.if_else(to_arrow(known), stored, inside)
    return pc.if_else(to_arrow(new.added), pa.nulls(len(ids), ids.type), matches)
