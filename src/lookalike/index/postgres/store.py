"""The store of an index in a PostgreSQL database.

Writers wait for each other: each transaction holds an advisory lock of the index and increases its version. A reader
holds a shared lock for the version that it sees, so that `compact` keeps the items of that version.

Locks end with their connection. A reader whose connection is replaced takes its lock again; if its items are gone by
then, its lookups raise an error and `refresh` moves it to the latest version. A job that keeps other writers out fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
from psycopg.types.json import Jsonb

from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError
from lookalike.index.contract import BucketSizes
from lookalike.index.kind import Kind
from lookalike.index.postgres.changes import DatabaseChanges
from lookalike.index.postgres.connections import Connection, Connections, connect, reporting
from lookalike.index.postgres.crowds import NO_CROWD, Crowd, refine
from lookalike.index.postgres.figures import bucket_sizes, describe
from lookalike.index.postgres.lookup import LATEST, DatabaseLookup, Snapshot
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
    table: int
    """The number of the table that has this row."""

    @property
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return self.version, self.lock


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
        self._held: tuple[int, int] | None = None
        """The lock of the version that is read."""
        self._kept: tuple[int, int] | None = None
        """The state in which nobody else may change the index; None unless this is `alone`."""
        self._unsynced = self._doubtful = False
        if grouped:
            self._connections.change(_NO_WAITING)
        self.row = self.read_row()
        self.kind = Kind.of(self.row.described, self.name, **execution)
        if not writing:
            self._stay()

    def _prepare(self, connection: Connection) -> None:
        """Lock on a new connection what was locked on the one that was lost."""
        if self._kept is not None:
            raise self._not_alone("the connection to the database was lost, so other clients could change the index")
        if self._grouped:
            connection.execute(_NO_WAITING)
            self._doubtful = self._unsynced
        if self._held is not None:
            connection.execute("SELECT pg_advisory_lock_shared(%s::integer, %s::integer)", self._held)

    def _not_alone(self, why: str) -> ResourceError:
        return ResourceError(f"{self.name}: {why} during the job; nothing was added. Run the job again")

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

    def read_row(self) -> Row:
        """The row of the table `index` now."""
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
        return self.lookup_at(None)

    def lookup_at(self, version: int | None) -> DatabaseLookup:
        """The items of a version; without one, what `lookup` says."""
        row = self.row
        items = None if self.writing else row.items
        if version is None:
            version = LATEST if self.writing else row.version

        def count() -> int:
            return self.read_row().items if items is None else items

        snapshot = Snapshot(self.name, row.table, version, items)
        return DatabaseLookup(self.execute, self.kind, snapshot, count, row.integers, self.crowd)

    def crowd(self, generation: int | None = None) -> Crowd:
        """The refined buckets, cached; read again if the generation has changed."""
        if generation is None:
            generation = self._crowd.generation or self.row.refined
        if self._crowd.generation != generation:
            self._crowd = Crowd.decode(self.execute("get_crowd"), self.name)
        return self._crowd

    @property
    def added(self) -> int:
        """How many items were ever added."""
        return self.row.added

    @property
    def state(self) -> tuple[int, int]:
        """Numbers that change whenever the items change."""
        return (self.read_row() if self.writing else self.row).state

    @property
    def problem(self) -> str | None:
        """Nothing has to be merged."""
        return None

    @property
    def ended(self) -> str | None:
        """A lost connection is made again."""
        return None

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""
        return run in self.read_row().runs

    def _take(self, row: Row) -> None:
        """Switch to another state."""
        if row.described != self.row.described:
            self.kind = Kind.of(row.described, self.name, **self._execution)
        if row.table != self.row.table:
            self._crowd = NO_CROWD
        self.row = row

    def _stay(self) -> None:
        """Switch to the latest version and take its lock, making sure that no `compact` has removed its items."""
        before = self._held
        while True:
            row = self.read_row()
            lock = _signed(row.lock), row.version + 1
            self._lock("pg_advisory_lock_shared", lock)
            self._held = lock
            self._take(row)
            if before is not None:
                self._lock("pg_advisory_unlock_shared", before)
            now = self.read_row()
            if now.lock == row.lock and now.compacted <= row.version:
                return
            before = lock

    def _lock(self, function: str, lock: tuple[int, int]) -> None:
        with reporting(self._place):
            self._connections.change(f"SELECT {function}(%s::integer, %s::integer)", lock)

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""
        before, row = self.row.state, self.read_row()
        if self.writing:
            self._take(row)
        elif row.state != before:
            self._stay()
        return self.row.state != before

    # Writing

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """An exclusive transaction on the latest state."""
        with reporting(self._place), self._connections.transaction(self._begin):
            yield

    def _begin(self) -> None:
        while True:
            lock = self._writers
            self._lock("pg_advisory_xact_lock", lock)
            self._take(self.read_row())
            if lock == self._writers:  # otherwise, the index was created again
                break
        if self._kept not in (None, self.row.state):
            raise self._not_alone("another client has changed the index")

    @property
    def _writers(self) -> tuple[int, int]:
        """The lock that writers hold."""
        return _signed(self.row.lock), WRITER

    def _changed(self) -> None:
        """Switch to the state that a transaction of this store has made."""
        self._unsynced = self._grouped
        self._take(self.read_row())
        if self._kept is not None:
            self._kept = self.row.state

    @contextmanager
    def changing(self) -> Iterator[DatabaseChanges]:
        """Start a transaction; unless it is finished, it is rolled back."""
        with self._transaction():
            changes = DatabaseChanges(self)
            yield changes
            if not changes.finished:
                raise psycopg.Rollback
        self._changed()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make other writers wait during the block; if that cannot be relied on, the next transaction fails."""
        self._kept = self.row.state  # from here on, the connection must not be replaced
        try:
            self._lock("pg_advisory_lock", self._writers)
            self._take(self.read_row())
            self._kept = self.row.state
            yield
        finally:
            self._kept = None
            if not self._connections.closed:
                with suppress(LookalikeError):  # a lost connection holds no lock
                    self._lock("pg_advisory_unlock", self._writers)

    def decide(self, kind: Kind) -> None:
        """Fix the kind of items that the index stores, unless another writer has done so."""
        with self._transaction():
            if not self.kind.decided:
                self.change("decide", described=Jsonb(kind.to_dict()))
        self._changed()

    def sync(self) -> None:
        """Wait until everything is on disk: a synchronous commit flushes all earlier ones."""
        if self._grouped:
            with reporting(self._place), self._connections.transaction(lambda: None):
                self._connections.change("SET LOCAL synchronous_commit = on")
                self._connections.change("SELECT pg_current_xact_id()")
            doubtful, self._unsynced, self._doubtful = self._doubtful, False, False
            if doubtful:
                raise ResourceError(
                    f"{self.name}: the connection to the database was lost before everything was on disk, so the last "
                    "changes may be lost, too; make them again"
                )

    def compact(self) -> None:
        """Delete removed items, except those that a reader still sees."""
        with self._transaction():
            oldest = self.execute("readers", lock=self.row.lock)[0][0]
            version = self.row.version if oldest is None else min(self.row.version, oldest - 1)
            for name in ("drop_items", "drop_removed", "compacted"):
                self.change(name, version=version)
            refine(self)
        self.change("vacuum")
        self._take(self.read_row())

    def outline(self) -> dict[str, int]:
        """A database has no segments and no log of its own."""
        return {}

    def bucket_sizes(self) -> BucketSizes:
        """The number of buckets by size class, including removed items; estimated if there are many."""
        return bucket_sizes(self)

    def describe(self, *, buckets: bool = True) -> dict[str, Any]:
        """Items, bytes and, with `buckets`, the largest buckets, for which all keys are counted."""
        return describe(self, buckets=buckets)

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
