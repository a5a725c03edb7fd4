"""A lock that ends with its process, which distinguishes a live run from a killed one.

Uses `fcntl` or `msvcrt`. On a system with neither, the existence of the file is the lock. A file left by a killed run
must then be removed by hand, as the error message says.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import ModuleType

from lookalike.errors import UsageError


def _import(name: str) -> ModuleType | None:
    try:
        return __import__(name)
    except ImportError:
        return None


_fcntl = _import("fcntl")
_msvcrt = _import("msvcrt")


class LockedError(Exception):
    """Another process holds the lock; the message says what to do if none does."""


class FileLock:
    """An exclusive lock on a file, which is created and contains `text`; held from `acquire` to `release`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock, other = FileLock(Path(folder, "lock")), FileLock(Path(folder, "lock"))
    ...     lock.acquire()
    ...     try:
    ...         other.acquire()
    ...     except LockedError:
    ...         print("locked")
    ...     lock.release()
    ...     other.acquire()
    ...     other.release()
    locked
    """

    def __init__(self, path: Path, text: bytes = b"") -> None:
        self.path = path
        self._text = text
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises
        ------
        LockedError
            If another process holds it.
        """
        by_existence = _fcntl is None and _msvcrt is None
        flags = os.O_RDWR | os.O_CREAT | (os.O_EXCL if by_existence else 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._handle = os.open(self.path, flags, 0o666)
        except FileExistsError as error:
            raise LockedError(f"if none is running, remove {self.path}") from error
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise UsageError(f"{self.path}: is a symbolic link, but is needed as a lock file; remove it") from error
        try:
            if _fcntl is not None:
                _fcntl.flock(self._handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            elif _msvcrt is not None:
                _msvcrt.locking(self._handle, _msvcrt.LK_NBLCK, 1)
        except OSError as error:
            os.close(self._handle)
            self._handle = None
            if not isinstance(error, BlockingIOError | PermissionError):
                raise
            raise LockedError("wait until it ends") from error
        if self._text and not os.fstat(self._handle).st_size:
            os.write(self._handle, self._text)

    def describe(self, text: bytes) -> None:
        """Replace the text of the file while the lock is held, for example to say who holds it."""
        assert self._handle is not None
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, text)

    def release(self) -> None:
        """Release the lock; does nothing if it is not held."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        os.close(handle)
        if _fcntl is None and _msvcrt is None:
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file. Where open files can be removed, the lock is still held until `release`."""
        if _fcntl is None:
            self.release()
        self.path.unlink(missing_ok=True)
