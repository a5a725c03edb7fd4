"""Check whether the tables of an index are consistent."""

from __future__ import annotations

import numpy as np

from lookalike.engine.digest import item_sets, keys_of_sets
from lookalike.errors import BadDataError
from lookalike.index.batch import Batch, id_keys
from lookalike.index.postgres.crowds import decode_entries, entries_of
from lookalike.index.postgres.place import Place
from lookalike.index.postgres.rows import decode_rows
from lookalike.index.postgres.store import Database, open_database
from lookalike.types import Int64, Sets

PIECE = 4096
"""Items whose keys are computed again at a time."""


def check_database(place: Place) -> list[str]:
    """All problems: items that are missing from their buckets or not found by their id, and wrong counts."""
    try:
        store = open_database(place, writing=False)
    except BadDataError as error:
        return [str(error)]
    try:
        numbers = store.lookup.numbers()
        wrong = set()
        for first in range(0, len(numbers), PIECE):
            wrong |= _check_items(store, numbers[first : first + PIECE])
        return [f"{place.name}: {what}; restore it from a backup, or create the index again" for what in sorted(wrong)]
    except BadDataError as error:
        return [str(error)]
    finally:
        store.close()


def _check_items(store: Database, numbers: Int64) -> set[str]:
    kind = store.kind
    rows = store.execute("rows", numbers=numbers.tolist())
    try:
        _, batch = decode_rows(rows, kind.plan.bands, kind.dtype)
    except ValueError as error:
        return {f"an item of it is damaged ({error})"}
    if kind.store == "text":
        sets = item_sets(batch.content.as_texts(), kind.digesting)
    else:
        sets = Sets(batch.content.offsets, batch.content.data)
    keys, there = keys_of_sets(sets, kind.digesting)
    wrong = set()
    if (there != batch.there).any() or (keys[:, there] != batch.keys[:, there]).any():
        wrong.add("an item is not in all its buckets")
    if _rare(store, batch, numbers) != sorted(store.execute("rare_of", numbers=numbers.tolist())):
        wrong.add("an item of a large bucket cannot be found by its rare elements")
    if (id_keys(batch.ids).view(np.int64) != np.array([row[4] for row in rows], np.int64)).any():
        wrong.add("an item cannot be found by its id")
    return wrong


def _rare(store: Database, batch: Batch, numbers: Int64) -> list[tuple[int, ...]]:
    """The rows that the table `rare` should have for some items."""
    found = decode_entries(entries_of(store, batch, 0))
    return sorted((int(numbers[row]), *rest) for row, *rest in found)
