"""Single items that are collected and added together: one call for a hundred takes as long as three calls for one."""

from __future__ import annotations

from threading import RLock
from typing import Any

import pyarrow as pa

from lookalike.index.index import StoredIndex
from lookalike.read import open_data
from lookalike.types import DEFAULT_ID

ITEMS, LETTERS = 128, 1 << 18
"""The most items, and characters, that are queued."""
_LARGEST = 1 << 63
Row = dict[str, Any]


class WaitingItems:
    """Items that were accepted, with nothing left to decide, but are not yet in the index; see `Index.open`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lookalike.engine.settings import Settings
    >>> with StoredIndex.create(Path(tempfile.mkdtemp(), "seen"), Settings.parse(method="lsh")) as index:
    ...     waiting = WaitingItems(index)
    ...     _ = waiting.accept([{"id": "a", "text": "one two three"}])
    ...     before = len(index)
    ...     waiting.flush()
    ...     before, len(index)
    (0, 1)
    """

    def __init__(self, index: StoredIndex) -> None:
        self._index, self._lock = index, RLock()
        self._rows: list[dict[str, Any]] = []
        self._letters = 0

    def accept(self, data: object) -> pa.Table | None:
        """Queue an item and return the result of `add`; None if it must be added separately."""
        row, id = single_row(self._index, data), id_name(self._index)
        if row is None:
            return None
        with self._lock:
            if self._rows and type(self._rows[0][id]) is not type(row[id]):
                self.flush()
            self._rows.append({**row})
            self._letters += len(row[self._index.kind.settings.items.column])
            if len(self._rows) >= ITEMS or self._letters > LETTERS:
                self.flush()
        return added_row(self._index, row)

    def flush(self) -> None:
        """Add the queued items in order; after an error they stay queued."""
        if not self._rows:
            return
        with self._lock:
            rows = self._rows
            if rows:
                self._index.add([open_data(rows, self._index.kind.settings.items.column)], numbered=True)
            self._rows, self._letters = [], 0

    def finish(self) -> None:
        """Add the queued items and wait until they are on disk, for an index that was not closed."""
        self.flush()
        self._index.sync()


def id_name(index: StoredIndex) -> str:
    """The column of ids."""
    return index.kind.settings.items.id or DEFAULT_ID


def single_row(index: StoredIndex, data: object) -> Row | None:
    """The one item of some data if it has an id and a text, and nothing can be wrong with it."""
    kind = index.kind
    items, id = kind.settings.items, id_name(index)
    if type(data) is not list or len(data) != 1 or type(data[0]) is not dict or not kind.decided or items.vectors:
        return None
    row: Row = data[0]
    if row.keys() != {id, items.column} or not (_is_id(row[id]) and _is_text(row[items.column])):
        return None
    return row


def single_text(index: StoredIndex, data: object) -> str | None:
    """The one text of some data if nothing can be wrong with it."""
    if type(data) is not list or len(data) != 1 or not _is_text(data[0]):
        return None
    items = index.kind.settings.items
    text: str = data[0]
    return None if items.vectors or items.id is not None or not index.kind.decided else text


def added_row(index: StoredIndex, row: Row) -> pa.Table:
    """The result of `add` for an item that was added unconditionally."""
    given = row[id_name(index)]
    named = pa.array([given], pa.large_string() if isinstance(given, str) else pa.int64())
    nothing = pa.array([True]), pa.nulls(1, pa.large_string()), pa.nulls(1, pa.float64())
    return pa.table([named, *nothing], ["id", "added", "match", index.kind.measure.column])


def _is_id(given: object) -> bool:
    if type(given) is int:
        return -_LARGEST <= given < _LARGEST
    return type(given) is str and _encodes(given)


def _is_text(given: object) -> bool:
    return type(given) is str and len(given) < LETTERS // 8 and _encodes(given)


def _encodes(text: str) -> bool:
    """Whether a text can be encoded: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
