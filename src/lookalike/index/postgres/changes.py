"""One transaction on an index in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookalike.index.batch import Batch
from lookalike.index.postgres.crowds import entries_of
from lookalike.index.postgres.rows import COPY_END, COPY_HEAD, encode_rows
from lookalike.types import Int64

if TYPE_CHECKING:
    from lookalike.index.postgres.lookup import DatabaseLookup
    from lookalike.index.postgres.store import Database

PIECE = 4096
"""Items that become rows at a time."""


class DatabaseChanges:
    """Writes items to the tables immediately; others see them when the transaction ends. See `contract.Changes`."""

    def __init__(self, store: Database) -> None:
        self._store = store
        state = store.row
        self._version, self._first = state.version + 1, state.next_number
        self._put = self._gone = 0
        self._lookup = store.lookup_at(self._version)
        self.finished = False

    @property
    def lookup(self) -> DatabaseLookup:
        """The items, as this transaction has changed them."""
        return self._lookup

    def put(self, batch: Batch) -> None:
        """Add items."""
        if not len(batch):
            return
        pieces, start = [COPY_HEAD], self._first + self._put
        for first in range(0, len(batch), PIECE):
            some = batch.slice(first, min(first + PIECE, len(batch)))
            pieces.append(encode_rows(some, start + first, self._version))
        self._store.copy("copy", [*pieces, COPY_END])
        if entries := entries_of(self._store, batch, start):
            self._store.copy("copy_rare", [COPY_HEAD, entries, COPY_END])
        self._put += len(batch)

    def hold(self, batch: Batch) -> None:
        """Add items; the lookup finds them, since it is part of the transaction."""
        self.put(batch)

    def remove(self, numbers: Int64) -> None:
        """Remove items."""
        if len(numbers):
            self._gone += self._store.change("remove", numbers=numbers.tolist(), version=self._version)

    def finish(
        self, *, repeated: Int64 | None = None, integers: bool = True, counted: int = 0, run: str | None = None
    ) -> None:
        """Make this version the current one when the transaction ends."""
        if repeated is not None:
            self.remove(self._first + repeated)
        self._lookup.integers &= integers or not counted
        if self._put or self._gone or run:
            self._store.change(
                "finish",
                version=self._version,
                items=self._put - self._gone,
                next_number=self._first + self._put,
                counted=counted,
                integers=integers or not self._put,
                runs=[run] if run else [],
            )
        self.finished = True
