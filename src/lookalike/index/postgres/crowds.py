"""Large buckets of an index in a database: their items are found by rare elements, as `refining` describes.

The row of the table `index` has the keys of the buckets that were large at the last `create` or `compact`, and the
frequency of their elements. Every item with such a key, even one added later, has its rare elements in the table
`rare`. Queries must use the same frequencies, so these have a generation number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lookalike.candidates.prefix import OVERSIZE
from lookalike.index.batch import Array, Batch, Content, pieces_of
from lookalike.index.folder.errors import DamagedError
from lookalike.index.part import fetch_sets
from lookalike.index.postgres.rows import COPY_END, COPY_HEAD, content_of, mixed_keys
from lookalike.index.refining import Refining, rare_elements
from lookalike.types import Bool, Int64, Sets
from lookalike.verify.measures import Measure

if TYPE_CHECKING:
    from lookalike.index.postgres.store import Database

_COLUMNS = {"element": 8, "number": 8, "size": 4, "rest": 4}
"""The columns of the table `rare`, and their bytes."""
_FIELDS = [((f"{name}_bytes", ">i4"), (name, f">i{size}")) for name, size in _COLUMNS.items()]
_ENTRY = np.dtype([("fields", ">i2"), *(field for both in _FIELDS for field in both)])


class Crowd(NamedTuple):
    """The buckets that are refined, and the order of the elements."""

    generation: int
    keys: Int64
    """As stored in the table, with the band mixed in."""
    counters: Array
    """uint32: how often elements occur; see `Refining.count`."""

    @classmethod
    def decode(cls, rows: list[tuple[Any, ...]], place: str) -> Crowd:
        """From what is stored in the table `index` at this place."""
        refined, keys, counters = rows[0] if rows else (0, [], b"")
        if not refined:
            return NO_CROWD
        if len(counters).bit_count() != 1 or len(counters) < 4:
            raise DamagedError(place, "what it knows about large buckets is damaged", "it")
        return cls(refined, np.array(keys, np.int64), np.frombuffer(counters, np.uint32))

    def has(self, keys: Int64) -> Bool:
        """Which keys are those of refined buckets."""
        return np.isin(keys, self.keys)

    def wanted(self, sets: Sets, rows: Int64, measure: Measure) -> dict[str, Any]:
        """The rare elements of some sets, each with the sizes of similar items whose first common element it can be.

        If the first common element of two sets of sizes n and m is at position p of the first set, they share at most n
        - p
        elements; at similarity f, they share at least (n + m) f / (1 + f).
        """
        found, floor = rare_elements(sets, rows, self.counters, measure), measure.jaccard_floor
        assert floor is not None
        num, den = floor.as_integer_ratio()
        sizes = np.repeat(sets.sizes[rows], np.diff(found.starts))
        most = (sizes - found.places) * (num + den) // num - sizes
        least = -(-sizes * num // den)
        arrays = {"elements": found.keys.view(np.int64), "sizes": sizes, "least": least, "most": most}
        possible = least <= most
        return {name: values[possible].tolist() for name, values in arrays.items()} | {"num": num, "terms": num + den}

    def encode(self, sets: Sets, rows: Int64, numbers: Int64, measure: Measure) -> bytes:
        """The rows of the table `rare` for some sets and the numbers of their items, for COPY."""
        found = rare_elements(sets, rows, self.counters, measure)
        entries, counts = np.zeros(len(found.keys), _ENTRY), np.diff(found.starts)
        entries["fields"] = len(_COLUMNS)
        for name, size in _COLUMNS.items():
            entries[f"{name}_bytes"] = size
        entries["element"] = found.keys.view(np.int64)
        entries["number"] = np.repeat(numbers, counts)
        entries["size"] = np.repeat(sets.sizes[rows], counts)
        entries["rest"] = entries["size"] - found.places
        return entries.tobytes()


NO_CROWD = Crowd(0, np.empty(0, np.int64), np.zeros(1024, np.uint32))


class _Items:
    """The content of some items of the table, by their places in a list of numbers. See `part.Contents`."""

    def __init__(self, store: Database, numbers: Int64) -> None:
        self._store, self.numbers = store, numbers

    def contents(self, rows: Int64) -> tuple[Content, Int64]:
        """The content of these items."""
        numbers = self.numbers[rows].tolist()
        values = dict(self._store.execute("contents", numbers=numbers))
        try:
            content = content_of([values[number] for number in numbers], self._store.kind.dtype)
        except ValueError as error:
            raise DamagedError(self._store.name, f"an item of it is damaged ({error})", "it") from error
        return content, np.arange(len(rows))

    def sizes(self, rows: Int64) -> Int64:
        """How many values each has."""
        found = dict(self._store.execute("content_sizes", numbers=self.numbers[rows].tolist()))
        size = self._store.kind.dtype.itemsize
        return np.array([found[number] // size for number in self.numbers[rows].tolist()], np.int64)


def refine(store: Database) -> None:
    """Determine again which buckets are large, and list the rare elements of their items; within a transaction."""
    refining = Refining.of(store.kind) if store.kind.decided else None
    keys = [key for (key,) in store.execute("crowded", large=OVERSIZE)] if refining is not None else []
    if refining is None or not (keys or store.row.refined):
        return
    store.change("forget_rare")
    items = _Items(store, np.array([number for (number,) in store.execute("crowd", keys=keys)], np.int64))
    everyone = np.arange(len(items.numbers))
    counters = refining.count(items, everyone, np.zeros(len(everyone), np.int32))
    crowd = Crowd(store.row.refined + 1, np.sort(np.array(keys, np.int64)), counters)
    for piece in pieces_of(items.sizes(everyone)):
        rows = everyone[piece]
        sets, places = fetch_sets(items, rows, refining.digesting, refining.text)
        entries = crowd.encode(sets, places, items.numbers[rows], refining.measure)
        store.copy("copy_rare", [COPY_HEAD, entries, COPY_END])
    values = {"keys": crowd.keys.tolist(), "counters": crowd.counters.tobytes()}
    store.change("refined", generation=crowd.generation, **values)


def entries_of(store: Database, batch: Batch, first: int) -> bytes:
    """The rows of the table `rare` for new items in refined buckets; items are numbered from `first` on."""
    refining, crowd = Refining.of(store.kind), store.crowd(store.row.refined)
    if refining is None or not len(crowd.keys):
        return b""
    rows = np.flatnonzero(batch.there & crowd.has(mixed_keys(batch.keys)).any(axis=1))
    if not len(rows):
        return b""
    sets, places = fetch_sets(_Given(batch.content), rows, refining.digesting, refining.text)
    return crowd.encode(sets, places, first + rows, refining.measure)


def decode_entries(entries: bytes) -> list[tuple[int, ...]]:
    """Number, element, size and rest of rows of the table `rare`."""
    found = np.frombuffer(entries, _ENTRY)
    return list(zip(*(found[name].tolist() for name in ("number", "element", "size", "rest"))))


class _Given(NamedTuple):
    """Content in memory. See `part.Contents`."""

    content: Content

    def contents(self, rows: Int64) -> tuple[Content, Int64]:
        """The whole content."""
        return self.content, rows

    def sizes(self, rows: Int64) -> Int64:
        """How many values each item has."""
        return self.content.offsets[rows + 1] - self.content.offsets[rows]
