"""The lock of the only process that writes to an index."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from lookalike.errors import UsageError
from lookalike.write import disk_errors
from lookalike.write.locks import FileLock, LockedError

LOCK = "writer.lock"


def take_lock(path: Path) -> FileLock:
    """Become the only writer of an index.

    Raises
    ------
    UsageError
        If another process is; the message says which.
    """
    lock = FileLock(path / LOCK)
    try:
        with disk_errors(path):
            lock.acquire()
    except LockedError as error:
        raise UsageError(f"{path}: another process is writing to it{_holder(path / LOCK)}; {error}") from None
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    with suppress(OSError):  # on a full disk, others are not told who holds the lock
        lock.describe(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode())
    return lock


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_bytes())
        return f" (process {holder['pid']} on {holder['host']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
