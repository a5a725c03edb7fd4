"""The table in memory: the items of the log, with a hash table over the keys of all bands."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets
from lookalike.index.batch import Array, Batch, Content, id_keys, pieces_of, texts_of
from lookalike.index.part import Found, StoredSets, joined_pairs, stretches
from lookalike.index.question import Question
from lookalike.kernels import index as kernels
from lookalike.kernels.questions import DONE
from lookalike.kernels.single import ask_table
from lookalike.types import Bool, Int64, UInt64, text_arrays, to_arrow
from lookalike.verify.measures import Measure

_NO_FILE = np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.bool_)


def _nothing_wrong(block: int) -> None:
    """Nothing in memory is damaged."""


class Growing:
    """An array to which rows are added; the memory doubles when it is full."""

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._rows = np.zeros((8, *shape), dtype)
        self.count = 0

    def extend(self, rows: Array) -> None:
        """Add rows."""
        count = self.count + len(rows)
        if count > len(self._rows):
            grown = np.zeros((max(count, 2 * len(self._rows)), *self._rows.shape[1:]), self._rows.dtype)
            grown[: self.count] = self._rows[: self.count]
            self._rows = grown
        self._rows[self.count : count] = rows
        self.count = count

    @property
    def rows(self) -> Array:
        """What was added."""
        return self._rows[: self.count]


class Table:
    """Items in memory. Added items never change; other threads read them (through `upto`) while more are added.

    Examples
    --------
    >>> table = Table(2, np.uint64)
    >>> len(table)
    0
    """

    def __init__(self, bands: int, dtype: Any) -> None:
        self._bands = bands
        self._keys, self._there = Growing(np.uint64, bands + 1), Growing(np.bool_, bands + 1)
        self._offsets, self._data = Growing(np.int64), Growing(dtype)
        self._id_offsets, self._letters = Growing(np.int64), Growing(np.uint8)
        self._times = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))
        self._id_offsets.extend(np.zeros(1, np.int64))
        self._heads = np.full(64, -1, np.int32)
        self._nexts = Growing(np.int32)
        self._lock = Lock()
        """Held while the hash table grows, and while keys are looked up in it."""
        self.nbytes = 0

    def __len__(self) -> int:
        return self._times.count

    @property
    def times(self) -> Int64:
        """When each item was added."""
        return self._times.rows

    def add(self, batch: Batch) -> None:
        """Add items."""
        content, count = batch.content, len(batch)
        letters, places = text_arrays(batch.ids)
        keys = np.empty((count, self._bands + 1), np.uint64)
        keys[:, :-1], keys[:, -1] = batch.keys.T, id_keys(batch.ids)
        there = np.ones((count, self._bands + 1), np.bool_)
        there[:, :-1] = batch.there[:, None]
        self._data.extend(content.data[content.offsets[0] : content.offsets[-1]])
        self._offsets.extend(content.offsets[1:] - content.offsets[0] + self._offsets.rows[-1])
        self._letters.extend(letters[places[0] : places[-1]])
        self._id_offsets.extend(places[1:] - places[0] + self._id_offsets.rows[-1])
        with self._lock:
            self._keys.extend(keys)
            self._there.extend(there)
            self._insert(len(self), len(self) + count)
        self._times.extend(batch.times)
        self.nbytes += batch.nbytes

    def _insert(self, first: int, last: int) -> None:
        entries = last * (self._bands + 1)
        self._nexts.extend(np.full(entries - self._nexts.count, -1, np.int32))
        if 2 * entries > len(self._heads):
            self._heads = np.full(1 << (4 * entries - 1).bit_length(), -1, np.int32)
            first = 0
        kernels.insert_keys(self._keys.rows, self._there.rows, first, last, self._heads, self._nexts.rows)

    def upto(self, count: int) -> FirstItems:
        """The first items, as a fixed part."""
        return FirstItems(self, count)

    def find(self, asked: KeyedSets, measure: Measure) -> Iterator[Found]:  # noqa: ARG002 (as parts are asked)
        """Pairs that share a bucket."""
        yield from self._find(asked.keys, asked.there, 0)

    def ask(
        self, question: Question, arguments: tuple[int, int, int], gone: Bool, first: int, count: int | None = None
    ) -> int | None:
        """Find the items, among the first `count`, that are similar to a text; None if a bucket is large."""
        with self._lock:
            kept, why = ask_table(
                self._keys.rows, self._heads, self._nexts.rows, self._offsets.rows, self._data.rows, _NO_FILE,
                len(self) if count is None else count, *arguments, gone, first, *question.of_table,
            )  # fmt: skip
        return int(kept) if why == DONE else None

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""
        return joined_pairs(self._find(keys[None, :], np.ones(len(keys), np.bool_), self._bands))

    def _find(self, keys: UInt64, there: Bool, first_band: int) -> Iterator[Found]:
        if not len(self):
            return
        asked = np.ascontiguousarray(keys)

        def collect(first: int, left: Int64, right: Int64) -> tuple[int, int]:
            with self._lock:
                found: tuple[int, int] = kernels.collect_entries(
                    asked, there, first_band, first, self._keys.rows, self._heads, self._nexts.rows, left, right
                )
            return found

        yield from stretches(collect, asked.shape[1])

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items."""
        return texts_of(self._id_offsets.rows, self._letters.rows).take(to_arrow(numbers))

    def id(self, number: int) -> bytes:
        """The id of one item, in UTF-8."""
        start, end = self._id_offsets.rows[number : number + 2].tolist()
        return self._letters.rows[start:end].tobytes()

    def contents(self, numbers: Int64) -> tuple[Content, Int64]:
        """The whole content."""
        return Content(self._offsets.rows, self._data.rows), numbers

    def stored_sets(self, reads: int) -> StoredSets:  # noqa: ARG002 (as parts are asked)
        """The sets of all items."""
        return StoredSets(self._offsets.rows, self._data.rows, _NO_FILE, (0, 0), _nothing_wrong)

    def sizes(self, numbers: Int64) -> Int64:
        """How long the content of items is."""
        offsets: Int64 = self._offsets.rows
        return offsets[numbers + 1] - offsets[numbers]

    def content_bytes(self) -> int:
        """How many bytes the content of all items has."""
        return int(self._data.rows.nbytes)

    def batches(self, numbers: Int64) -> Iterator[Batch]:
        """All data of some items, piece by piece."""
        for piece in pieces_of(self.sizes(numbers)):
            yield self.batch(numbers[piece])

    def batch(self, numbers: Int64) -> Batch:
        """All data of some items."""
        keys = np.ascontiguousarray(self._keys.rows[numbers, :-1].T)
        content = Content(self._offsets.rows, self._data.rows).take(numbers)
        return Batch(self.ids(numbers), self.times[numbers], content, keys, self._there.rows[numbers, 0])


class FirstItems:
    """A snapshot of a table. See `part.Part`."""

    def __init__(self, table: Table, count: int) -> None:
        self.table, self._count = table, count
        self.ids, self.id, self.contents, self.sizes = table.ids, table.id, table.contents, table.sizes
        self.content_bytes, self.batches, self.stored_sets = table.content_bytes, table.batches, table.stored_sets

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> Int64:
        """When each item was added."""
        return self.table.times[: self._count]

    def find(self, asked: KeyedSets, measure: Measure) -> Iterator[Found]:
        """Pairs that share a bucket."""
        for found in self.table.find(asked, measure):
            yield self._old(found)

    def ask(self, question: Question, arguments: tuple[int, int, int], gone: Bool, first: int) -> int | None:
        """Find the items that are similar to a text; None if a bucket is large."""
        return self.table.ask(question, arguments, gone, first, self._count)

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""
        return self._old(self.table.find_ids(keys))

    def _old(self, found: Found) -> Found:
        """Drop the items that were added since."""
        left, right = found
        old = right < self._count
        return found if old.all() else (left[old], right[old])
