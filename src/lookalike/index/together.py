"""Single items that several threads add at the same time: one of them adds all that wait, with one write to disk."""

from __future__ import annotations

from threading import Lock
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.index.index import StoredIndex
from lookalike.index.waiting import Row, id_name
from lookalike.read import open_data


class _Ticket:
    """An item of a thread that waits."""

    __slots__ = ("added", "ready", "row")

    def __init__(self, row: Row) -> None:
        self.row, self.ready = row, Lock()
        self.added: bool | None = None
        """Whether it is in the index, once somebody has tried to add it."""
        self.ready.acquire()


class JointAdditions:
    """Items that are added together if they come while others are written; a call returns when its own is on disk.

    The first thread that comes leads: it adds what waits, wakes the threads whose items these were, and lets the first
    of those that have come meanwhile lead.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lookalike.engine.settings import Settings
    >>> with StoredIndex.create(Path(tempfile.mkdtemp(), "seen"), Settings.parse(method="lsh")) as index:
    ...     JointAdditions(index).add({"id": "a", "text": "one two three"}), len(index)
    (True, 1)
    """

    def __init__(self, index: StoredIndex) -> None:
        self._index, self._lock = index, Lock()
        self._tickets: list[_Ticket] = []
        self._led = False
        self.groups = 0
        """How often items were added."""

    def add(self, row: Row) -> bool:
        """Add an item, replacing one with the same id; False if that failed, perhaps because of another item."""
        mine = _Ticket(row)
        with self._lock:
            self._tickets.append(mine)
            waits, self._led = self._led, True
        if waits:
            mine.ready.acquire()
            if mine.added is not None:
                return mine.added
        return self._lead(mine)

    def _take(self, mine: _Ticket) -> list[_Ticket]:
        """What waits, as far as ids are of the same type: they become one column."""
        id = id_name(self._index)
        kind = type(mine.row[id])
        with self._lock:
            group = [one for one in self._tickets if type(one.row[id]) is kind]
            self._tickets = [one for one in self._tickets if type(one.row[id]) is not kind]
        return group

    def _lead(self, mine: _Ticket) -> bool:
        group, added = self._take(mine), False
        try:
            rows: list[dict[str, Any]] = [one.row for one in group]
            self._index.add([open_data(rows, self._index.kind.settings.items.column)], numbered=True)
            added, self.groups = True, self.groups + 1
        except LookalikeError:
            pass  # each is added by itself, and told what is wrong with it
        finally:
            for one in group:
                one.added = added
                if one is not mine:
                    one.ready.release()
            with self._lock:
                self._led = bool(self._tickets)
                if self._led:
                    self._tickets[0].ready.release()
        return added
