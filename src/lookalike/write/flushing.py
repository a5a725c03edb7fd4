"""Make sure that files are on disk, not only in memory. Knows nothing about what is written and why."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

MANY_FILES = 200
"""With more files than this, their whole file system is flushed instead of one file after the other."""
FLUSHED_AT_ONCE = 8
"""Files that are flushed at the same time: the disk then commits them together."""
_WINDOWS = os.name == "nt"


def flush_tree(folder: Path, many_files: int = MANY_FILES, leave_out: Iterable[Path] = ()) -> None:
    """Make sure that everything in a folder is on disk, apart from what is about to be removed."""
    removed = {str(one) for one in leave_out}
    walk = ((parent, files) for parent, _, files in os.walk(folder, topdown=False) if parent not in removed)
    inside = (os.path.join(parent, name) for parent, files in walk for name in (*files, "."))  # noqa: PTH118
    left = (path for path in inside if path not in removed)
    found = list(islice(left, many_files + 1))
    if len(found) > many_files and flush_file_system(folder):
        return
    found += left
    with ThreadPoolExecutor(min(FLUSHED_AT_ONCE, len(found))) as pool:
        for _ in pool.map(flush, map(Path, found)):
            pass  # an error is raised here


def flush(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk."""
    if _WINDOWS and path.is_dir():
        return  # folders cannot be flushed there
    handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
    try:
        flush_handle(handle)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(handle)


def flush_handle(handle: int) -> None:
    """Make sure that an open file is on disk. On macOS `fsync` only hands it to the drive, which may still lose it."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):  # file systems that do not know it
                raise
    os.fsync(handle)


def flush_file_system(folder: Path) -> bool:
    """Flush all files of the file system of a folder to disk; return False if the system does not support this.

    For many small files this takes a third of the time of flushing each. Unlike `os.sync`, it does not wait for other
    disks, and reports errors.
    """
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError, TypeError):  # only Linux has it
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(handle):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(handle)
    return True
