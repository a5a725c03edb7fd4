"""The store of an index in a PostgreSQL database.

Writers wait for each other: each transaction holds an advisory lock of the index and increases its version. A reader
holds a shared lock for the version that it sees, so that `compact` keeps the items of that version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import numpy as np
import psycopg
from psycopg.types.json import Jsonb

from lookalike.candidates.prefix import OVERSIZE
from lookalike.errors import BadDataError, UsageError
from lookalike.index.kind import Kind
from lookalike.index.postgres.changes import DatabaseChanges
from lookalike.index.postgres.connections import Connection, Connections, connect, reporting
from lookalike.index.postgres.crowds import NO_CROWD, Crowd, refine
from lookalike.index.postgres.lookup import LATEST, DatabaseLookup
from lookalike.index.postgres.place import Place
from lookalike.index.postgres.schema import FORMAT, Statements
from lookalike.version import __version__

_NO_WAITING = "SET synchronous_commit = off"
WRITER = 0
"""The second number of the lock that writers hold; readers use their version and one."""


class Row(NamedTuple):
    """The row of the table `index`."""

    format: int
    described: dict[str, Any]
    version: int
    items: int
    next_number: int
    added: int
    integers: bool
    compacted: int
    runs: list[str]
    refined: int
    """The generation of `Crowd`."""
    lock: int
    """The first number of the locks: that of the table of items."""


class Database:
    """An index in a database. See `contract.Store`.

    Parameters
    ----------
    connection
        The first connection; it is closed with the store.
    place
        URL and names of tables.
    writing
        If false, it stays at one version until `refresh`.
    grouped
        Transactions are on disk after `sync`, not after each call.
    execution
        `threads` and `memory`.
    """

    def __init__(
        self, connection: Connection, place: Place, *, writing: bool, grouped: bool = False, **execution: Any
    ) -> None:
        self.name, self._writing, self._grouped = place.name, writing, grouped
        self._place, self._execution = place, execution
        self._connections = Connections(place, connection, self._prepare)
        self._say = Statements(place.prefix)
        self._crowd = NO_CROWD
        if grouped:
            self._connections.change(_NO_WAITING)
        self.row = self._read()
        self._described = self.row.described
        self.kind = Kind.of(self.row.described, self.name, **execution)
        if not writing:
            self._stay()

    def _prepare(self, connection: Connection) -> None:
        """Continue with a new connection: a reader keeps its version if none of its items has been deleted."""
        if self._grouped:
            connection.execute(_NO_WAITING)
        if not self._writing:
            locked = [_signed(self.row.lock), self.row.version + 1]
            connection.execute("SELECT pg_advisory_lock_shared(%s::integer, %s::integer)", locked)
            if self._read().compacted > self.row.version:
                self._stay()

    @property
    def writing(self) -> bool:
        """Whether it was opened for writing."""
        return self._writing

    # Statements

    def execute(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run a statement that returns rows."""
        with reporting(self._place):
            return self._connections.fetch(self._say[name], values)

    def change(self, name: str, **values: Any) -> int:
        """Run a statement that changes rows; return how many."""
        with reporting(self._place):
            return self._connections.change(self._say[name], values)

    def copy(self, name: str, pieces: list[bytes]) -> None:
        """Load rows."""
        with reporting(self._place):
            self._connections.copy(self._say[name], pieces)

    def _read(self) -> Row:
        found = self.execute("state")
        row = Row(*found[0]) if found else None
        if row is None or row.format != FORMAT:
            what = "its table is empty" if row is None else f"it has format {row.format}"
            raise BadDataError(
                f"{self.name}: {what}, and lookalike {__version__} reads format {FORMAT}; use the version that wrote "
                "it, or create the index again"
            )
        return row

    # Reading

    @property
    def lookup(self) -> DatabaseLookup:
        """The items: for a writer, the current ones; otherwise those of its version."""
        return self.lookup_at(LATEST if self._writing else self.row.version)

    def lookup_at(self, version: int) -> DatabaseLookup:
        """The items of a version."""

        def count() -> int:
            return (self._read() if self.writing else self.row).items

        return DatabaseLookup(self.execute, self.kind, version, count, self.row.integers, self.crowd)

    def crowd(self, generation: int | None = None) -> Crowd:
        """The refined buckets, cached; read again if the generation has changed."""
        if generation is None:
            generation = self._crowd.generation or self.row.refined
        if self._crowd.generation != generation:
            refined, keys, counters = self.execute("get_crowd")[0]
            self._crowd = Crowd(refined, np.array(keys, np.int64), np.frombuffer(counters, np.uint32))
        return self._crowd

    @property
    def added(self) -> int:
        """How many items were ever added."""
        return self.row.added

    @property
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return (self._read() if self.writing else self.row).version, self.row.lock

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""
        return run in self._read().runs

    def _take(self, row: Row) -> None:
        """Switch to another state."""
        if row.described != self._described:
            self._described, self.kind = row.described, Kind.of(row.described, self.name, **self._execution)
        self.row = row

    def _stay(self) -> None:
        """Take the lock of the version to read, making sure that no `compact` has removed its items."""
        while True:
            row = self._read()
            self._lock("pg_advisory_lock_shared", row.version + 1)
            self._take(row)
            if self._read().compacted <= row.version:
                return
            self._lock("pg_advisory_unlock_shared", row.version + 1)

    def _lock(self, function: str, number: int) -> None:
        with reporting(self._place):
            self._connections.change(f"SELECT {function}(%s::integer, %s::integer)", [_signed(self.row.lock), number])

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""
        before = self.row.version
        if self.writing:
            self._take(self._read())
        elif self._read().version != before:
            self._stay()
            self._lock("pg_advisory_unlock_shared", before + 1)
        return self.row.version != before

    # Writing

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """An exclusive transaction on the latest state."""
        with reporting(self._place), self._connections.transaction(self._begin):
            yield

    def _begin(self) -> None:
        self._connections.change(
            "SELECT pg_advisory_xact_lock(%s::integer, %s::integer)", [_signed(self.row.lock), WRITER]
        )
        self._take(self._read())

    @contextmanager
    def changing(self) -> Iterator[DatabaseChanges]:
        """Start a transaction; unless it is finished, it is rolled back."""
        with self._transaction():
            changes = DatabaseChanges(self)
            yield changes
            if not changes.finished:
                raise psycopg.Rollback
        self._take(self._read())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make other writers wait during the block."""
        self._lock("pg_advisory_lock", WRITER)
        try:
            self._take(self._read())
            yield
        finally:
            if not self._connections.closed:
                self._lock("pg_advisory_unlock", WRITER)

    def decide(self, kind: Kind) -> None:
        """Fix the kind of items that the index stores, unless another writer has done so."""
        with self._transaction():
            if not self.kind.decided:
                self.change("decide", described=Jsonb(kind.to_dict()))
        self._take(self._read())

    def sync(self) -> None:
        """Wait until everything is on disk: a synchronous commit flushes all earlier ones."""
        if self._grouped:
            with reporting(self._place), self._connections.transaction(lambda: None):
                self._connections.change("SET LOCAL synchronous_commit = on")
                self._connections.change("SELECT pg_current_xact_id()")

    def compact(self) -> None:
        """Delete removed items, except those that a reader still sees."""
        with self._transaction():
            oldest = self.execute("readers", lock=self.row.lock)[0][0]
            version = self.row.version if oldest is None else min(self.row.version, oldest - 1)
            for name in ("drop_items", "drop_removed", "compacted"):
                self.change(name, version=version)
            refine(self)
        self.change("vacuum")
        self._take(self._read())

    def outline(self) -> dict[str, int]:
        """A database has no segments and no log of its own."""
        return {}

    def bucket_sizes(self) -> dict[int, int]:
        """The number of buckets by size class, including removed items."""
        found = dict(self.execute("buckets"))
        return {1 << power: int(found.get(power, 0)) for power in range(max(found, default=-1) + 1)}

    def describe(self) -> dict[str, Any]:
        """Items, bytes and the largest bucket."""
        row = self._read()
        total, removed, refined, largest, oversize = self.execute("sizes", large=OVERSIZE)[0]
        return {
            "items": row.items,
            "removed": removed,
            "bytes": total,
            "bytes_per_item": round(total / row.items, 1) if row.items else None,
            "largest_bucket": largest,
            "oversize_buckets": oversize,
            "refined_items": refined,
            "version": row.version,
            "options": {**row.described["options"], "store": row.described["store"]},
            "plan": row.described["plan"],
        }

    def close(self) -> None:
        """Sync, and close the connections."""
        if not self._connections.closed:
            try:
                self.sync()
            finally:
                self._connections.close()


def _signed(number: int) -> int:
    """The same 32 bits as a signed number, as locks require."""
    return number - (1 << 32) if number >= 1 << 31 else number


def _exists(connection: Connection, prefix: str) -> bool:
    found = connection.execute("SELECT to_regclass(%s)", [Statements(prefix).table]).fetchone()
    return found != (None,)


def _upgrade(connection: Connection, place: Place, writing: bool) -> None:
    """Add the tables that an index of format 1 lacks; its existing data does not change."""
    say = Statements(place.prefix)
    if connection.execute(say["format"]).fetchone() != (1,):
        return
    if not writing:
        raise BadDataError(
            f"{place.name}: was written by an earlier version of lookalike; `lookalike index compact` brings it up to "
            "date"
        )
    with connection.transaction():
        connection.execute(say["lock"])
        if connection.execute(say["format"]).fetchone() == (1,):
            connection.execute(say["make_rare"])


def open_database(place: Place, *, writing: bool, grouped: bool = False, **execution: Any) -> Database:
    """Open an existing index; with `grouped`, transactions are on disk after `sync`, not after each call."""
    connection = connect(place)
    try:
        with reporting(place):
            if not _exists(connection, place.prefix):
                raise UsageError(f"{place.name}: is not an index; create one with `lookalike index create`")
            _upgrade(connection, place, writing)
            return Database(connection, place, writing=writing, grouped=grouped, **execution)
    except BaseException:
        connection.close()
        raise


@contextmanager
def create_database(place: Place, kind: Kind, **execution: Any) -> Iterator[Database]:
    """A new index, to be filled in the block; it appears with everything added in the block, or not at all."""
    say = Statements(place.prefix)
    with closing(connect(place)) as connection, reporting(place):
        if _exists(connection, place.prefix):
            raise UsageError(
                f"{place.name}: already exists; add to it with `lookalike index add`, or choose another table="
            )
        with connection.transaction():
            connection.execute(say["make"])
            connection.execute(say["begin"], {"format": FORMAT, "described": Jsonb(kind.to_dict())})
            connection.execute(say["make_rare"])
            made = Database(connection, place, writing=True, **execution)
            yield made
            connection.execute(say["make_keys"])  # created at the end: much faster than key by key
            refine(made)
            connection.execute(say["analyze"])
