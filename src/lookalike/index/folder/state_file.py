"""The state of an index in one SQLite file.

Every row has a checksum, which SQLite itself does not keep, and the counts say which rows there must be.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.index.folder.acknowledged import ACKNOWLEDGED, Acknowledged
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.state import PartName, State, StoredChange
from lookalike.types import INDEX_APPLICATION, INDEX_FILE
from lookalike.version import __version__
from lookalike.write import free_bytes

FORMAT = 2
"""Format 1 was a manifest, a log and a list of removed items; see `earlier.py`."""
WAIT_SECONDS = 30.0
"""How long to wait for another process that recovers or copies the file."""
_TABLES = """
CREATE TABLE state (name TEXT PRIMARY KEY, content BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (number INTEGER PRIMARY KEY, part INTEGER NOT NULL, content BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE INDEX changes_by_part ON changes (part);
"""  # noqa: E501
_DAMAGED = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_TOOBIG"}
_FORBIDDEN = {"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"}
_FLUSHED = ("synchronous = FULL", "fullfsync = 1", "checkpoint_fullfsync = 1")
_AGAIN = "nothing more is accepted until the index is opened again"
_DESCRIPTION = ("kind", "parts", "runs", "following", "generation")
_COUNTS = ("commits", "last", "rows", "added", "integers")


class StateFile:
    """The file, open for one process.

    Parameters
    ----------
    folder
        The index.
    writing
        Whether this process is the writer; the caller holds the lock.
    grouped
        Transactions are on disk, and visible to others, after `sync`, not when they end.
    """

    def __init__(self, folder: Path, *, writing: bool, grouped: bool = False) -> None:
        self.path, self._grouped, self._writing = folder / INDEX_FILE, grouped, writing
        self.failed: str | None = None
        """Why nothing more can be written."""
        self._unsettled = False
        """Whether a transaction has started that the caller has not applied."""
        check_format(folder)
        self._connection = self._connect()
        try:
            self._acknowledged = Acknowledged(folder, writing=writing)
        except BaseException:
            self._connection.close()
            raise
        self._identity = _identity(self.path)
        self._close = finalize(self, _close, self._connection, self._acknowledged)
        self._version: int | None = None
        self._commits = self._known = 0

    def _connect(self) -> sqlite3.Connection:
        """Open the file. Readers, too, open it for writing if they can: then the last one removes the log of SQLite."""
        with self._errors():
            try:
                return _prepared(_open(self.path, "rw"), writing=self._writing)
            except sqlite3.OperationalError:
                if self._writing or os.access(self.path.parent, os.W_OK):
                    raise
            try:
                return _prepared(_open(self.path, "ro"), writing=False)
            except sqlite3.OperationalError:
                if self.path.with_name(f"{INDEX_FILE}-wal").exists():
                    raise
                # on a medium that nobody can write to
                return _prepared(_open(self.path, "ro&immutable=1"), writing=False)

    # Reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read in the block is of one state, even while another process writes."""
        with self._errors():
            self._known = self._acknowledged.read()  # before the state is fixed, which can only be later
            self._connection.execute("BEGIN")
            try:
                self._version = self._data_version()
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    def changed(self) -> bool:
        """Whether another process has written since `reading` was last called."""
        with self._errors():
            return self._data_version() != self._version

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def read(self) -> State:
        """The state.

        Raises
        ------
        DamagedError
            If the file is damaged, or acknowledged changes are missing.
        """
        rows = self._connection.execute("SELECT name, content, checksum FROM state").fetchall()
        found: dict[str, Any] = {}
        for _, content, checksum in rows:
            if not isinstance(content, bytes) or _checksum(0, 0, content) != checksum:
                raise DamagedError(self.path, "the file is damaged")
            found |= json.loads(content)
        if {*found} < {*_DESCRIPTION, *_COUNTS}:
            raise DamagedError(self.path, "the file is damaged")
        found["parts"] = tuple(PartName(*part) for part in found["parts"])
        found["runs"] = tuple(found["runs"])
        state = State(**{name: found[name] for name in (*_DESCRIPTION, *_COUNTS)})
        if state.commits < self._known:
            raise DamagedError(
                self.path,
                f"the last {self._known - state.commits:,} changes are lost: {INDEX_FILE}-wal beside it is damaged or "
                f"missing (to go on without them, remove {ACKNOWLEDGED})",
            )
        self._commits = state.commits
        return state

    def changes(self, state: State, after: int = 0) -> Iterator[StoredChange]:
        """The changes of a state that follow a number; in one block of `reading` with the state."""
        numbers = 0
        listed = "SELECT number, part, content, checksum FROM changes WHERE number > ? ORDER BY number"
        for number, part, content, checksum in self._connection.execute(listed, (after,)):
            if not isinstance(content, bytes) or _checksum(number, part, content) != checksum:
                raise DamagedError(self.path, f"change {number:,} is damaged")
            numbers += 1
            yield StoredChange(number, part, content)
        if not after and numbers != state.rows:
            raise DamagedError(self.path, f"it has {numbers:,} changes instead of {state.rows:,}")

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction. When the block ends it is on disk, or nothing of it is, and the error says so.

        Then the caller changes what it has in memory and calls `applied`. If it is interrupted before, nothing more
        can be written: the next change would refer to items that it does not know.
        """
        self.check_usable()
        with self._errors():
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("SAVEPOINT change")
            self._unsettled = True
            try:
                yield
                self._connection.execute("RELEASE change")
                if not self._grouped:
                    self._commit()
            except BaseException as error:
                self._undo(error)
                raise

    def applied(self) -> None:
        """The caller has applied the last transaction."""
        self._unsettled = False

    @property
    def certain(self) -> bool:
        """Whether it is known what is on disk, so that files of an abandoned change may be removed."""
        return self.unusable is None

    def _undo(self, error: BaseException) -> None:
        """Go back to the start of the transaction, if it is still under way."""
        if self._connection.in_transaction:
            steps = ("ROLLBACK TO change", "RELEASE change") if self._grouped else ("ROLLBACK",)
            for step in steps:
                self._connection.execute(step)
            self._unsettled = False
        elif isinstance(error, sqlite3.Error):
            self._unsettled = False
            self._note_lost()

    def _note_lost(self) -> None:
        """SQLite has gone back by itself: in grouped transactions to the last sync."""
        if self._grouped and not self._connection.in_transaction:
            self.failed = f"{self.path}: changes since the last sync could not be written; {_AGAIN}"

    def _commit(self) -> None:
        if self._identity != _identity(self.path):
            raise ResourceError(f"{self.path}: was removed while it was open; nothing was changed")
        self._connection.execute("COMMIT")
        self._acknowledged.write(self._commits)

    def save(self, state: State, *, description: bool) -> None:
        """Store a state; `description` if more than the counts has changed. In a block of `writing`."""
        for name, fields in (("counts", _COUNTS), *([("index", _DESCRIPTION)] if description else [])):
            self._connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", _row(name, fields, state))
        self._commits = state.commits

    def store(self, changes: Iterable[StoredChange]) -> None:
        """Add changes. In a block of `writing`."""
        _insert(self._connection, changes)

    def drop(self, parts: Iterable[int]) -> int:
        """Remove the changes of some parts; return how many there were. In a block of `writing`."""
        dropped = 0
        for part in parts:
            dropped += self._connection.execute("DELETE FROM changes WHERE part = ?", (part,)).rowcount
        return dropped

    def sync(self) -> None:
        """Wait until everything is on disk."""
        self.check_usable()
        with self._errors():
            if self._connection.in_transaction:
                try:
                    self._commit()
                except sqlite3.Error:
                    self._note_lost()
                    raise

    def check_usable(self) -> None:
        """Refuse to write after a failure that leaves it unknown what is on disk."""
        if (reason := self.unusable) is not None:
            raise ResourceError(reason)

    @property
    def unusable(self) -> str | None:
        """Why nothing more can be written; while a change is under way, it counts as interrupted."""
        if self.failed is None and self._unsettled:
            return f"{self.path}: the last change was interrupted and may have been stored; {_AGAIN}"
        return self.failed

    def copy_to(self, path: Path) -> None:
        """Copy the state that `reading` sees to a new file."""
        copied = sqlite3.connect(path)
        try:
            self._connection.backup(copied)
        finally:
            copied.close()

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the structure of the file; in a block of `reading`."""
        rows = self._connection.execute("PRAGMA integrity_check(3)").fetchall()
        return [f"{self.path}: {text}" for (text,) in rows if text != "ok"]

    def close(self) -> None:
        """Close the file, without what was not synced."""
        self._close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Replace errors of SQLite by messages that say what happened and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
            family = "_".join(name.split("_")[:2])
            free = f"{free_bytes(self.path) / 1e6:,.0f} MB free"
            if family == "SQLITE_FULL" or name == "SQLITE_IOERR_WRITE":
                raise ResourceError(
                    f"{self.path}: no space left on the disk ({free}), or it cannot be written; nothing was changed. "
                    "Free some space"
                ) from error
            if family in {"SQLITE_IOERR", "SQLITE_INTERNAL", "SQLITE_NOMEM", "SQLITE_BUSY"}:
                message = f"{self.path}: {error} ({name})"
                if self._writing and family == "SQLITE_IOERR":
                    self.failed = message = f"{message}; {_AGAIN}"
                raise ResourceError(message) from error
            if family in _FORBIDDEN:
                raise UsageError(f"{self.path}: cannot be opened or written: {error}") from error
            if family in _DAMAGED:
                raise DamagedError(self.path, f"the file is damaged ({error})") from error
            raise


def create_state(folder: Path, state: State, changes: Iterable[StoredChange] = ()) -> None:
    """The file of a new index; it appears whole, and is on disk when this returns."""
    partial = folder / f"{INDEX_FILE}.partial"
    partial.unlink(missing_ok=True)
    connection = sqlite3.connect(partial, isolation_level=None)
    try:
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute(f"PRAGMA application_id = {INDEX_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.executescript(f"BEGIN;{_TABLES}")
        for name, fields in (("counts", _COUNTS), ("index", _DESCRIPTION)):
            connection.execute("INSERT INTO state VALUES (?, ?, ?)", _row(name, fields, state))
        _insert(connection, changes)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    partial.replace(folder / INDEX_FILE)


def check_format(folder: Path) -> None:
    """Refuse a folder that is not an index, or one of a format that this version cannot read.

    Raises
    ------
    UsageError
        If the folder is not an index.
    BadDataError
        If it is damaged, or has another format.
    """
    path = folder / INDEX_FILE
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_dir() and any(folder.glob("segment-*.bin")):
            raise DamagedError(path, "the file is missing") from None
        raise UsageError(f"{folder}: is not an index; create one with `lookalike index create`") from None
    except IsADirectoryError:
        raise UsageError(f"{folder}: is not an index; create one with `lookalike index create`") from None
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise DamagedError(path, "the file is damaged")
    if int.from_bytes(head[68:72], "big") != INDEX_APPLICATION:
        raise DamagedError(path, "the file is damaged, or of another program")
    found = int.from_bytes(head[60:64], "big")
    if found != FORMAT:
        raise BadDataError(
            f"{path}: the index has format {found}, and lookalike {__version__} reads format {FORMAT}; use the "
            "version that wrote it, or create the index again"
        )


def _close(connection: sqlite3.Connection, acknowledged: Acknowledged) -> None:
    acknowledged.close()
    with suppress(sqlite3.Error):  # all that was acknowledged is on disk
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    with suppress(sqlite3.Error):
        connection.close()


def _open(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True)


def _prepared(connection: sqlite3.Connection, *, writing: bool) -> sqlite3.Connection:
    """The connection with its settings, after a first look at the file; closed if that fails."""
    try:
        for pragma in _FLUSHED:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA query_only = {not writing:d}")
        connection.execute("SELECT count(*) FROM state").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _row(name: str, fields: Iterable[str], state: State) -> tuple[str, bytes, int]:
    content = json.dumps({field: getattr(state, field) for field in fields}).encode()
    return name, content, _checksum(0, 0, content)


def _insert(connection: sqlite3.Connection, changes: Iterable[StoredChange]) -> None:
    rows = ((number, part, content, _checksum(number, part, content)) for number, part, content in changes)
    connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?)", rows)


def _checksum(number: int, part: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(b"%d %d" % (number, part)))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino
