"""The stored content of single items, for inspection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lookalike.engine.digest import KeyedSets, item_sets, keys_of_sets
from lookalike.index.batch import Content
from lookalike.index.contract import Lookup
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.index.naming import given_ids
from lookalike.types import Int64, Sets, strings_to_arrow


class StoredItem(NamedTuple):
    """One item of an index."""

    number: int
    id: str | int
    added_at: int
    """Microseconds since 1970."""
    size: int
    """Distinct shingles or tokens; for a vector, its numbers or bits."""
    text: str | None
    """None if the index stores sets or vectors."""
    vector: list[float] | None
    bits: str | None
    """The bits of a bit string, the first one first: "0110"."""


def find_items(lookup: Lookup, ids: Sequence[str]) -> list[int | None]:
    """The number of each of these items; None if the index does not have it."""
    found: list[int | None] = [None] * len(ids)
    if ids and lookup.total:
        for row, number in zip(*(part.tolist() for part in lookup.find_ids(strings_to_arrow(list(ids))))):
            found[row] = number
    return found


def read_items(lookup: Lookup, numbers: Sequence[int]) -> list[StoredItem]:
    """Everything that is stored about some items."""
    distinct, places = np.unique(np.array(numbers, np.int64), return_inverse=True)
    if not len(distinct):
        return []
    content = lookup.content(distinct)
    ids = given_ids(lookup, distinct).to_pylist()
    times = lookup.times(distinct).tolist()
    sizes = _sets(content, lookup.kind).sizes.tolist()
    made = []
    for at, number in enumerate(distinct.tolist()):
        row = content.data[content.offsets[at] : content.offsets[at + 1]]
        size, values = _values(row, sizes[at], lookup.kind)
        made.append(StoredItem(number, ids[at], times[at], size, *values))
    return [made[place] for place in places.tolist()]


def read_texts(lookup: Lookup, numbers: Int64) -> list[str | None]:
    """The texts of items; None for each if the index does not store texts."""
    if lookup.kind.store != "text" or not len(numbers):
        return [None] * len(numbers)
    distinct, places = np.unique(numbers, return_inverse=True)
    texts = lookup.content(distinct).as_texts().to_pylist()
    return [texts[place] for place in places.tolist()]


def neighbors_of(lookup: Lookup, number: int, k: int) -> Matches:
    """The items that are similar to one item, most similar first, without the item itself."""
    kind = lookup.kind
    sets = _sets(lookup.content(np.array([number], np.int64)), kind)
    found, _ = lookup.search(KeyedSets(sets, *keys_of_sets(sets, kind.digesting)), kind.measure).best_first(
        kind.measure, k + 1
    )
    return found.take(np.flatnonzero(found.right != number)[:k])


def stored_set(lookup: Lookup, number: int) -> Sets:
    """The set of an item, recomputed if its text is stored."""
    return _sets(lookup.content(np.array([number], np.int64)), lookup.kind)


def _sets(content: Content, kind: Kind) -> Sets:
    return (
        item_sets(content.as_texts(), kind.digesting) if kind.store == "text" else Sets(content.offsets, content.data)
    )


def _values(row: Any, size: int, kind: Kind) -> tuple[int, tuple[str | None, list[float] | None, str | None]]:
    vectors = kind.settings.items.vectors
    if kind.store == "text":
        return size, (row.tobytes().decode(), None, None)
    if vectors is None:
        return size, (None, None, None)
    if not len(row):  # a null
        return 0, (None, None, None)
    if vectors.scalar == "bits":
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: vectors.dimension]
        return vectors.dimension, (None, None, "".join(map(str, bits.tolist())))
    return vectors.dimension, (None, row.view(vectors.scalar)[: vectors.dimension].tolist(), None)
