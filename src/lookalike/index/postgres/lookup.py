"""Find similar items in a database: all keys in one statement; the items found are compared as in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets, keyed_text
from lookalike.index.batch import Content, id_keys
from lookalike.index.kind import Kind
from lookalike.index.matches import NO_MATCHES, Matches
from lookalike.index.postgres.crowds import Crowd
from lookalike.index.postgres.rows import content_of, decode_rows, ids_of, mixed_keys
from lookalike.index.table import Table
from lookalike.index.view import View
from lookalike.types import Int64
from lookalike.verify.measures import Measure

LATEST = (1 << 62) - 1
"""The version for readers that see all current items."""
ASKED = 256
"""Items that are queried in one statement."""
Rows = list[tuple[Any, ...]]
Execute = Callable[..., Rows]
"""Runs a statement, by name, with its values."""


class DatabaseLookup:
    """The items of one version. See `contract.Lookup`."""

    def __init__(
        self,
        execute: Execute,
        kind: Kind,
        version: int,
        count: Callable[[], int],
        integers: bool,
        crowd: Callable[..., Crowd],
    ) -> None:
        self._execute, self.kind, self._version, self._count = execute, kind, version, count
        self.integers, self._crowd = integers, crowd
        self._known: dict[int, bytes] = {}
        """Ids that earlier answers contained."""

    def __len__(self) -> int:
        return self._count()

    def _ask(self, statement: str, **values: Any) -> Rows:
        return self._execute(statement, version=self._version, **values)

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
        self.integers &= bool(rows[0][4])
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
            rows = self._ask("search_rare", keys=others, **crowd.wanted(asked.sets, crowded, measure), **values)
            if rows[0][5] == crowd.generation:
                return [row for row in rows if row[0] is not None]
            crowd = self._crowd(rows[0][5])
        listed = keys.ravel().tolist()
        rows = self._ask("search", keys=listed) if count == 1 else self._ask("search_many", keys=listed, **values)
        if rows:
            self._crowd(rows[0][5])  # from the next query on, buckets that have become large are refined
        return rows

    def find_ids(self, ids: pa.Array) -> tuple[Int64, Int64]:
        """The rows whose id the index has, and the numbers of those items."""
        keys = id_keys(ids).view(np.int64)
        rows = self._ask("find_ids", keys=keys.tolist())
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        places: dict[bytes, list[int]] = {}
        for place, one in enumerate(ids.to_pylist()):
            places.setdefault(one.encode(), []).append(place)
        pairs = [(place, number) for number, id in rows for place in places.get(id, ())]
        found = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items, as text."""
        return ids_of(self.few_ids(numbers.tolist()))

    def few_ids(self, numbers: Sequence[int]) -> list[bytes]:
        """The ids of items, in UTF-8."""
        if missing := {number for number in numbers if number not in self._known}:
            self._known.update(self._execute("ids", numbers=list(missing)))
        return [self._known[number] for number in numbers]

    def numbers(self) -> Int64:
        """The numbers of all items, ascending."""
        return np.array([number for (number,) in self._ask("numbers")], np.int64)

    def content(self, numbers: Int64) -> Content:
        """The stored content of items."""
        found: dict[int, bytes] = dict(self._execute("contents", numbers=numbers.tolist()))
        return content_of([found[number] for number in numbers.tolist()], self.kind.dtype)

    def times(self, numbers: Int64) -> Int64:
        """When items were added."""
        found: dict[int, int] = dict(self._execute("times", numbers=numbers.tolist()))
        return np.array([found[number] for number in numbers.tolist()], np.int64)

    def content_bytes(self) -> int:
        """The size in bytes of the content of all items, including removed ones."""
        return int(self._execute("content_bytes")[0][0])

    @property
    def total(self) -> int:
        """One more than the largest number."""
        return int(self._execute("total")[0][0])

    def next_from(self, number: int) -> int | None:
        """The smallest number of an item that is not below this one."""
        found = self._ask("next", number=number)
        return int(found[0][0]) if found else None

    def older_than(self, limit: int) -> Int64:
        """The numbers of items that were added before a time."""
        return np.array([number for (number,) in self._ask("older", limit=limit)], np.int64)
