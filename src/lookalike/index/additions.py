"""One call of `add`: block after block becomes a change of the index, small in the log, large in a segment."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets
from lookalike.errors import BadDataError
from lookalike.index.adding import find_new
from lookalike.index.batch import Batch, Change, last_of_each, no_items
from lookalike.index.naming import typed_ids
from lookalike.index.reading import ReadItems
from lookalike.index.segment import Segment, SegmentWriter
from lookalike.index.store import Folder
from lookalike.index.table import Table
from lookalike.types import Bool, Float64, Int64, Sets, to_arrow
from lookalike.types import compute as pc

LOGGED_BYTES = 1 << 20
"""A larger addition is written as a segment, not to the log."""
SEGMENT_ITEMS, SEGMENT_SHARE = 4_000_000, 4
"""A segment is finished at this many items, or when the keys of its items take this share of the memory."""
PENDING_BYTES = 256 << 20
"""New items that are held in memory before they become a segment."""


class Additions:
    """Collects the items of one call; nothing is visible to others before `finish`."""

    def __init__(self, folder: Folder, on_conflict: str, *, if_new: bool, numbered: bool) -> None:
        self._folder, self._on_conflict, self._if_new, self._numbered = folder, on_conflict, if_new, numbered
        self._base = folder.view.total
        self._ids: list[pa.Array] = []
        self._added: list[Bool] = []
        self._matches: list[pa.Array] = []
        self._similarity: list[Float64] = []
        self._integers, self._count = True, 0
        self._small: list[Batch] = []
        self._writer: SegmentWriter | None = None
        self._removed: list[Int64] = [no_items()]
        self._pending: Table | None = None

    def add(self, items: ReadItems) -> None:
        """Add the items of a block."""
        if not len(items):
            return
        names = items.names()
        if self._numbered and items.unnamed:
            start = self._folder.added + self._count
            names = pc.cast(to_arrow(np.arange(start, start + len(items))), pa.large_string())
        elif not items.integers:
            self._integers = False
        self._count += len(items)
        batch = items.batch(names, self._folder.kind.store)
        if self._if_new:
            self._add_new(batch, items.found)
        else:
            self._add_all(batch)

    # Without a question

    def _add_all(self, batch: Batch) -> None:
        rows, numbers = self._folder.view.find_ids(batch.ids)
        known = np.zeros(len(batch), np.bool_)
        known[rows] = True
        self._refuse(batch.ids, known)
        if self._on_conflict == "replace":
            self._removed.append(numbers)
            known[:] = False
        self._tell(batch.ids, ~known, pa.nulls(len(batch), pa.large_string()), np.full(len(batch), np.nan))
        batch = batch.take(np.flatnonzero(~known))
        if self._writer is None and sum(one.nbytes for one in self._small) + batch.nbytes < LOGGED_BYTES:
            self._small.append(batch)
            return
        self._write(batch)

    def _write(self, batch: Batch) -> None:
        """To a segment; a new one is begun when the keys in memory are many."""
        if self._writer is None:
            self._writer = self._folder.new_segment()
        for one in (*self._small, batch):
            self._writer.add(one)
        self._small = []
        memory = self._folder.kind.settings.execution.budget.total_bytes
        full = len(self._writer) * (8 * len(batch.keys) + 32) > memory // SEGMENT_SHARE
        if full or len(self._writer) >= SEGMENT_ITEMS:
            self._end_segment()

    def _end_segment(self) -> None:
        if self._writer is not None:
            with self._writer:
                self._writer.finish()
            self._folder.view.append(Segment(self._writer.path))
            self._writer = None

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
        rows, _ = self._folder.view.find_ids(batch.ids)
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
        view = self._folder.view
        rows, numbers = view.find_ids(batch.ids)
        if len(rows) and self._on_conflict != "replace":
            known = np.zeros(len(batch), np.bool_)
            known[rows] = True
            self._refuse(batch.ids, known)
            self._tell(batch.ids, ~known, batch.ids, np.full(len(batch), np.nan))
            return
        new = find_new(view, found)
        ids = batch.ids
        inside = ids.take(to_arrow(np.maximum(new.row, 0)))
        known = new.number >= 0
        stored = pa.nulls(len(batch), pa.large_string())
        if known.any():
            stored = view.ids(np.where(known, new.number, new.number[known][0]))
        matches = pc.if_else(to_arrow(known), stored, inside)
        self._tell(
            ids, new.added, pc.if_else(to_arrow(new.added), pa.nulls(len(ids), ids.type), matches), new.similarity
        )
        if new.added[rows].any():
            view.remove(numbers)
            self._removed.append(numbers)
        self._hold(batch.take(np.flatnonzero(new.added)))

    def _hold(self, batch: Batch) -> None:
        """Keep new items where the next ones are compared with them."""
        if self._pending is None or self._pending.nbytes > PENDING_BYTES:
            self._pending = Table(len(batch.keys), self._folder.kind.dtype)
            self._folder.view.append(self._pending)
        if len(batch):
            self._pending.add(batch)
            self._folder.view.grow()

    # The end

    def _tell(self, ids: pa.Array, added: Bool, matches: pa.Array, similarity: Float64) -> None:
        self._ids.append(ids)
        self._added.append(added)
        self._matches.append(matches)
        self._similarity.append(similarity)

    def finish(self) -> pa.Table:
        """Make all of it visible, and durable; returns id, added, match, similarity."""
        if self._ids:
            if self._if_new:
                self._finish_new()
            else:
                self._finish_all()
        return self._table()

    def _finish_all(self) -> None:
        folder, again = self._folder, self._repeated()
        removed = np.concatenate(self._removed)
        if self._on_conflict == "skip":
            added = np.concatenate(self._added)
            added[np.flatnonzero(added)[again]] = False
            self._added = [added]
        if self._writer is None and folder.view.total == self._base:
            batch = Batch.joined(self._small)
            kept = np.ones(len(batch), np.bool_)
            kept[again] = False
            if kept.any():
                folder.commit(Change(removed, batch.take(np.flatnonzero(kept)), self._integers, self._count))
            return
        self._end_segment()
        folder.view.remove(removed)
        folder.view.remove(self._base + again)
        folder.publish(integers=self._integers, added=self._count)

    def _finish_new(self) -> None:
        folder, view = self._folder, self._folder.view
        if self._pending is not None and len(view.parts) and self._pending.nbytes < LOGGED_BYTES and self._is_single():
            alive = np.flatnonzero(~view.gone.rows[self._base :])
            removed = np.concatenate(self._removed)
            batch = next(iter(self._pending.batches(alive)))
            folder.drop_pending(self._base)
            if len(batch):
                folder.commit(Change(removed[removed < self._base], batch, self._integers, self._count))
            return
        folder.publish(integers=self._integers, added=self._count)

    def _is_single(self) -> bool:
        return self._folder.view.parts[-2] is self._folder.table

    def _table(self) -> pa.Table:
        similarity = np.concatenate([np.empty(0), *self._similarity])
        added = np.concatenate([np.empty(0, np.bool_), *self._added])
        none: list[Any] = [pa.array([], pa.large_string())]
        shown = pa.array([], pa.float64()) if not len(similarity) else pc.if_else(
            to_arrow(~np.isnan(similarity)), to_arrow(similarity), pa.nulls(len(similarity), pa.float64())
        )  # fmt: skip
        return pa.table(
            {
                "id": typed_ids(pa.concat_arrays(none + self._ids), self._integers),
                "added": to_arrow(added),
                "match": typed_ids(pa.concat_arrays(none + self._matches), self._folder.integers),
                self._folder.kind.measure.column: shown,
            }
        )


def _slice(sets: Sets, low: int, high: int) -> Sets:
    indptr = sets.indptr[low : high + 1]
    return Sets(indptr - indptr[0], sets.elements[indptr[0] : indptr[-1]])
