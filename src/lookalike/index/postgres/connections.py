"""Connections to the database of an index: one for changes, and others for concurrent queries.

A connection that was lost, for example because the server was restarted, is replaced, unless this happens in the middle
of a transaction. What was locked on it is no longer locked then: the store locks it again, or refuses to go on.
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
_SESSION = """
SELECT set_config(name, wanted, false) FROM (VALUES
    ('default_transaction_isolation', 'read committed'),
    ('gin_fuzzy_search_limit', '0'),
    ('array_nulls', 'on'),
    ('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on')),
    ('idle_session_timeout', '0'),
    ('idle_in_transaction_session_timeout', '0'),
    ('transaction_timeout', '0'),
    ('enable_seqscan', 'off'),
    ('jit', 'off')
) AS settings (name, wanted) WHERE current_setting(name, true) IS NOT NULL
"""
"""What the server, the database or the user may have set to something else, with which an index would not work.

A writer that has waited for another must see what that one has written; a search must return everything that it finds;
arrays are passed with nulls; what is committed must be on disk; and a session holds its locks while nothing happens in
it. The last two settings are for speed: here, an index is always better than reading all items, regardless of the
statistics. Earlier servers lack some of them. Limits on single statements and on writing stay as they are; `_ADVICE` is
for them.
"""
_ADVICE = {
    "57014": "raise statement_timeout for this user, or in the URL: ?options=-c%20statement_timeout%3D0",
    "55P03": "another client is changing the index; try again later, or raise lock_timeout",
    "25006": "the user, the database or the server (a standby?) allows reading only",
}
"""What to do, by the code of the error."""
_ENDED = ("57P", "25P03")
"""The codes of errors with which the server ends a session, before the connection is closed."""


@contextmanager
def reporting(place: Place) -> Iterator[None]:
    """Turn errors of the database into one line without a password."""
    try:
        yield
    except psycopg.Error as error:
        raise ResourceError(f"{place.name}: the database reports: {_in_one_line(place, error)}") from None


def _in_one_line(place: Place, error: psycopg.Error) -> str:
    text = place.without_secrets(str(error).strip().partition("\n")[0] or type(error).__name__)
    advice = _ADVICE.get(error.sqlstate or "")
    return f"{text}; {advice}" if advice else text


def _is_lost(connection: Connection, error: psycopg.Error) -> bool:
    return connection.closed or (error.sqlstate or "").startswith(_ENDED)


def connect(place: Place) -> Connection:
    """Connect to the database.

    Raises
    ------
    UsageError
        If that is not possible.
    """
    try:
        connection = psycopg.connect(place.url, autocommit=True, application_name="lookalike", client_encoding="utf8")
    except psycopg.Error as error:
        text = _in_one_line(place, error)
        raise UsageError(f"{place.name}: {text}; check the URL, and whether the server is running") from None
    with reporting(place):
        connection.execute(_SESSION)
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
            except psycopg.OperationalError as error:
                if not _is_lost(connection, error):
                    raise
                connection.close()
                connection = connect(self._place)
                return _rows(connection, statement, values)
            finally:
                self._idle.append(connection) if not (connection.closed or self.closed) else connection.close()

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
        except psycopg.OperationalError as error:
            if self._inside or self.closed or not _is_lost(self._first, error):
                raise
            self._renew()
            return action()

    def _renew(self) -> None:
        self._first.close()
        self._first = connect(self._place)
        try:
            self._prepare(self._first)
        except BaseException:
            self._first.close()  # a connection that is not prepared must not be used
            raise

    @contextmanager
    def transaction(self, begin: Callable[[], None]) -> Iterator[None]:
        """A transaction of this thread, which starts with `begin`; a lost connection is replaced first."""
        with self._mine, ExitStack() as stack:
            outer = self._inside
            try:
                stack.enter_context(self._transaction())
                begin()
            except psycopg.OperationalError as error:
                if outer or self.closed or not _is_lost(self._first, error):
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
