"""Find similar items in a database: all keys in one statement; the items found are compared as in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets, keyed_text
from lookalike.index.batch import Content, id_keys
from lookalike.index.contract import StateLostError
from lookalike.index.folder.errors import DamagedError
from lookalike.index.kind import Kind
from lookalike.index.matches import NO_MATCHES, Matches
from lookalike.index.postgres.crowds import Crowd
from lookalike.index.postgres.rows import content_of, decode_rows, ids_of, mixed_keys
from lookalike.index.postgres.schema import Head
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import Int64
from lookalike.verify.measures import Measure

LATEST = (1 << 62) - 1
"""The version to ask for if any will do: the one that the first answer comes from, which is then kept."""
ASKED = 256
"""Items that are queried in one statement."""
Rows = list[tuple[Any, ...]]
Execute = Callable[..., Rows]
"""Runs a statement, by name, with its values."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which state of which index is read."""

    name: str
    """As messages show it."""
    table: int
    version: int
    items: int | None
    """How many items it has, if that is known."""

    def damaged(self, what: str) -> DamagedError:
        """The error that says what is wrong with the tables."""
        return DamagedError(self.name, what, "it")

    def lost(self) -> StateLostError:
        """The error for a version whose items are gone."""
        return StateLostError(
            f"{self.name}: the index was compacted or created again while this version of it was read; run the command "
            "again"
        )


class DatabaseLookup:
    """The items of one version. See `contract.Lookup`.

    Parameters
    ----------
    count
        How many items there are.
    crowd
        The refined buckets, of a generation.
    """

    def __init__(
        self,
        execute: Execute,
        kind: Kind,
        snapshot: Snapshot,
        count: Callable[[], int],
        integers: bool,
        crowd: Callable[..., Crowd],
    ) -> None:
        self._execute, self.kind, self._snapshot, self._count = execute, kind, snapshot, count
        self.integers, self._crowd = integers, crowd
        self._version = snapshot.version
        self._choosing = Lock()
        self._known: dict[int, bytes] = {}
        """Ids that earlier answers contained."""

    def __len__(self) -> int:
        return self._count()

    def _ask(self, statement: str, **values: Any) -> tuple[Rows, Head]:
        """What a statement has found, all of it in the version of this lookup, and the state that it has seen."""
        while True:
            version = self._version
            rows = self._execute(statement, version=version, **values)
            if not rows:
                raise self._snapshot.damaged("its first table is empty")
            head = Head(*rows[0][-len(Head._fields) :])
            if head.table != self._snapshot.table or head.compacted > version:
                raise self._snapshot.lost()
            if head.emptied:
                raise self._snapshot.damaged("it has no items, and should have some")
            if version != LATEST or self._chosen(head.version):
                self.integers &= head.integers
                return ([] if rows[0][0] is None else rows), head

    def _chosen(self, version: int) -> bool:
        """Whether this is the version to keep: the first answer of several threads decides."""
        with self._choosing:
            if self._version == LATEST:
                self._version = version
        return self._version == version

    def _list(self, statement: str, **values: Any) -> Int64:
        """The numbers that a statement lists, of which there may be many."""
        if self._version == LATEST:
            self._ask("now")
        numbers = np.array(
            [number for (number,) in self._execute(statement, version=self._version, **values)], np.int64
        )
        self._ask("now")  # this version still has all its items, so it had them before
        return numbers

    def _values(self, statement: str, numbers: Sequence[int]) -> list[Any]:
        """A value for each of some items of this version."""
        values: dict[int, Any] = dict(self._execute(statement, numbers=list(numbers)))
        if missing := len({*numbers} - values.keys()):
            self._ask("now")
            raise self._snapshot.damaged(f"{missing:,} of its items are missing")
        return [values[number] for number in numbers]

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise self._snapshot.damaged(f"an item of it is damaged ({error})") from error

    def search(self, asked: KeyedSets, measure: Measure, k: int | None = None) -> Matches:
        """All similar items that share a bucket with the queried items, or at least the best `k` of each."""
        found = []
        for first in range(0, len(asked.sets), ASKED):
            some = self._search(asked.slice(first, min(first + ASKED, len(asked.sets))), measure, k)
            found.append(some._replace(left=some.left + first))
        return Matches.joined(found)

    def ask(self, text: str, measure: Measure) -> list[tuple[float, int]]:
        """`search` for one text: similarities and numbers."""
        _, right, similarity = self.search(keyed_text(text, self.kind.digesting), measure)
        return list(zip(similarity.tolist(), right.tolist()))

    def _search(self, asked: KeyedSets, measure: Measure, k: int | None) -> Matches:
        rows = self._fetch(asked, measure) if asked.there.any() else []
        if not rows:
            return NO_MATCHES
        rows.sort(key=itemgetter(0))
        self._known.update((row[0], row[1]) for row in rows)
        with self._decoding():
            numbers, batch = decode_rows(rows, len(asked.keys), self.kind.dtype)
        table = Table(len(asked.keys), self.kind.dtype)
        table.add(batch)
        found = View(self.kind).with_parts([table]).search(asked, measure, k)
        return found._replace(right=numbers[found.right])

    def _fetch(self, asked: KeyedSets, measure: Measure) -> Rows:
        """The items that share a bucket with the queried items; in large buckets, some dissimilar ones are omitted."""
        keys, crowd = mixed_keys(asked.keys[:, asked.there]), self._crowd()
        count, bands = keys.shape
        values = {"count": count, "bands": bands}
        while len(crowd.keys) and (large := crowd.has(keys)).any():
            crowded = np.flatnonzero(asked.there)[large.any(axis=1)]
            others = np.where(large, None, keys).ravel().tolist()  # type: ignore[call-overload]
            rows, head = self._ask("search_rare", keys=others, **crowd.wanted(asked.sets, crowded, measure), **values)
            if head.refined == crowd.generation:
                return rows
            crowd = self._crowd(head.refined)
        listed = keys.ravel().tolist()
        if count == 1:
            rows, head = self._ask("search", keys=listed)
        else:
            rows, head = self._ask("search_many", keys=listed, **values)
        if rows:
            self._crowd(head.refined)  # from the next query on, buckets that have become large are refined
        return rows

    def find_ids(self, ids: pa.Array) -> tuple[Int64, Int64]:
        """The rows whose id the index has, and the numbers of those items."""
        keys = id_keys(ids).view(np.int64)
        rows, _ = self._ask("find_ids", keys=keys.tolist())
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        places: dict[bytes, list[int]] = {}
        for place, one in enumerate(ids.to_pylist()):
            places.setdefault(one.encode(), []).append(place)
        pairs = [(place, number) for number, id, *_ in rows for place in places.get(id, ())]
        found = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items, as text."""
        ids = self.few_ids(numbers.tolist())
        with self._decoding():
            return ids_of(ids)

    def few_ids(self, numbers: Sequence[int]) -> list[bytes]:
        """The ids of items, in UTF-8."""
        if missing := [*{number for number in numbers if number not in self._known}]:
            self._known.update(zip(missing, self._values("ids", missing)))
        return [self._known[number] for number in numbers]

    def numbers(self) -> Int64:
        """The numbers of all items, ascending."""
        numbers, items = self._list("numbers"), self._snapshot.items
        if items is not None and len(numbers) != items:
            raise self._snapshot.damaged(f"it has {len(numbers):,} items, and should have {items:,}")
        return numbers

    def content(self, numbers: Int64) -> Content:
        """The stored content of items."""
        values = self._values("contents", numbers.tolist())
        with self._decoding():
            return content_of(values, self.kind.dtype)

    def times(self, numbers: Int64) -> Int64:
        """When items were added."""
        return np.array(self._values("times", numbers.tolist()), np.int64)

    def content_bytes(self) -> int:
        """The size in bytes of the content of all items, including removed ones."""
        return int(self._execute("content_bytes")[0][0])

    @property
    def total(self) -> int:
        """One more than the largest number."""
        return int(self._execute("total")[0][0])

    def next_from(self, number: int) -> int | None:
        """The smallest number of an item that is not below this one."""
        rows, _ = self._ask("next", number=number)
        return int(rows[0][0]) if rows else None

    def older_than(self, limit: int) -> Int64:
        """The numbers of items that were added before a time."""
        return self._list("older", limit=limit)
