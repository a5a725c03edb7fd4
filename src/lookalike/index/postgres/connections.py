"""Connections to the database of an index: one for changes, and others for concurrent queries.

A connection that was lost, for example because the server was restarted, is replaced, unless this happens in the middle
of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from threading import BoundedSemaphore, RLock
from typing import Any, TypeVar

import psycopg

from lookalike.errors import ResourceError, UsageError
from lookalike.index.postgres.place import Place

Connection = psycopg.Connection[Any]
Rows = list[tuple[Any, ...]]
Found = TypeVar("Found")
READERS = 8
"""Connections besides the first, at most."""


@contextmanager
def reporting(place: Place) -> Iterator[None]:
    """Turn errors of the database into one line without a password."""
    try:
        yield
    except psycopg.Error as error:
        raise ResourceError(f"{place.name}: the database reports: {_in_one_line(place, error)}") from None


def _in_one_line(place: Place, error: psycopg.Error) -> str:
    return place.without_secrets(str(error).strip().partition("\n")[0] or type(error).__name__)


def connect(place: Place) -> Connection:
    """Connect to the database.

    Raises
    ------
    UsageError
        If that is not possible.
    """
    try:
        connection = psycopg.connect(place.url, autocommit=True, application_name="lookalike")
    except psycopg.Error as error:
        text = _in_one_line(place, error)
        raise UsageError(f"{place.name}: {text}; check the URL, and whether the server is running") from None
    with reporting(place):
        # here, an index is always better than reading all items, regardless of the statistics
        connection.execute("SET enable_seqscan = off; SET jit = off")
    return connection


class Connections:
    """The connections of one index. Any number of threads may use them; a transaction belongs to its thread.

    Parameters
    ----------
    first
        The connection for changes; it is closed with the others.
    prepare
        Called with a connection that replaces the first.
    """

    def __init__(self, place: Place, first: Connection, prepare: Callable[[Connection], None]) -> None:
        self._place, self._first, self._prepare = place, first, prepare
        self._mine = RLock()
        """Held by the thread that uses the first connection."""
        self._idle: list[Connection] = []
        self._room = BoundedSemaphore(READERS)
        self._inside = self.closed = False

    def fetch(self, statement: bytes, values: Mapping[str, Any]) -> Rows:
        """The rows that a statement returns; on the first connection unless another thread is using it."""
        if not self._mine.acquire(blocking=False):
            return self._fetch_aside(statement, values)
        try:
            return self._again(lambda: _rows(self._first, statement, values))
        finally:
            self._mine.release()

    def _fetch_aside(self, statement: bytes, values: Mapping[str, Any]) -> Rows:
        with self._room:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = connect(self._place)
            try:
                return _rows(connection, statement, values)
            except psycopg.OperationalError:
                if not connection.broken:
                    raise
                connection = connect(self._place)
                return _rows(connection, statement, values)
            finally:
                self._idle.append(connection) if not (connection.broken or self.closed) else connection.close()

    def change(self, statement: bytes | str, values: Mapping[str, Any] | Sequence[Any] = ()) -> int:
        """Run a statement on the first connection; return how many rows it has changed."""
        with self._mine:
            return self._again(lambda: self._first.execute(statement, values or None).rowcount)

    def copy(self, statement: bytes, pieces: Sequence[bytes]) -> None:
        """Load rows."""
        with self._mine, self._first.cursor().copy(statement) as copy:
            for piece in pieces:
                copy.write(piece)

    def _again(self, action: Callable[[], Found]) -> Found:
        """Run something on the first connection; retry once if the connection was lost outside a transaction."""
        try:
            return action()
        except psycopg.OperationalError:
            if self._inside or self.closed or not self._first.closed:
                raise
            self._renew()
            return action()

    def _renew(self) -> None:
        self._first.close()
        self._first = connect(self._place)
        self._prepare(self._first)

    @contextmanager
    def transaction(self, begin: Callable[[], None]) -> Iterator[None]:
        """A transaction of this thread, which starts with `begin`; a lost connection is replaced first."""
        with self._mine, ExitStack() as stack:
            try:
                stack.enter_context(self._transaction())
                begin()
            except psycopg.OperationalError:
                if self.closed or not self._first.closed:
                    raise
                with suppress(psycopg.Error):
                    stack.close()
                self._renew()
                stack.enter_context(self._transaction())
                begin()
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        outer, self._inside = self._inside, True
        try:
            with self._first.transaction():
                yield
        finally:
            self._inside = outer

    def close(self) -> None:
        """Close all of them."""
        with self._mine:
            self.closed = True
            for connection in (self._first, *self._idle):
                connection.close()


def _rows(connection: Connection, statement: bytes, values: Mapping[str, Any]) -> Rows:
    return connection.cursor(binary=True).execute(statement, values, prepare=True).fetchall()
