"""Single items added by several threads at the same time: one thread adds all waiting items with one write to disk."""

from __future__ import annotations

from threading import Lock
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.index.index import StoredIndex
from lookalike.index.waiting import Row, id_name
from lookalike.read import open_data


class _Ticket:
    """The item of a waiting thread."""

    __slots__ = ("added", "ready", "row")

    def __init__(self, row: Row) -> None:
        self.row, self.ready = row, Lock()
        self.added: bool | None = None
        """Whether it is in the index; None until a thread has tried to add it."""
        self.ready.acquire()


class JointAdditions:
    """Adds items together that arrive while others are written; a call returns when its own item is on disk.

    The first thread to arrive is the leader: it adds all waiting items and wakes their threads. The first of the
    threads that have arrived meanwhile becomes the next leader.

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
        """The waiting items, up to the first whose id has another type: ids become one column."""
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
            pass  # each item is then added separately, and gets its own error
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
