"""Output files that appear complete or not at all, and the errors of a disk that cannot be written to.

A file is written under a hidden name next to the final one, and renamed when it is complete.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeGuard

from lookalike.errors import ResourceError, UsageError, is_device_failure
from lookalike.write.flushing import flush

TABLE_SUFFIXES = (".parquet", ".csv", ".jsonl", ".tsv")
"""The suffixes that a table can be written to."""
FREE_OR_MOVE = "free some space or choose another location"
"""What to do about a full disk, if the run cannot be resumed."""
unpublished: set[Path] = set()
"""Folders that are being filled: files in them are flushed together before the folder is renamed."""
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden name to write a file to; the file is renamed when the block ends without an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with whole_file(Path(parent, "a.txt")) as partial:
    ...         _ = partial.write_text("all of it")
    ...     Path(parent, "a.txt").read_text()
    'all of it'
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial-{os.urandom(4).hex()}")
        try:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield partial
            if unpublished.isdisjoint(path.parents):
                flush(partial)
            partial.replace(path)
            if unpublished.isdisjoint(path.parents):
                flush(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def output_file(path: str | Path, suffixes: tuple[str, ...] = TABLE_SUFFIXES, overwrite: bool = False) -> Path:
    """Check that a file may be written, before any work.

    Examples
    --------
    >>> output_file("pairs.csv").name
    'pairs.csv'
    """
    found = Path(path)
    if not os.fspath(path):
        raise UsageError("-o is the empty string; name a file")
    if found.suffix.lower() not in suffixes:
        raise UsageError(f"{found}: the file name must end in {', '.join(suffixes)}")
    if found.is_dir():
        raise UsageError(f"{found}: is a folder; choose a file name")
    if found.exists() and not found.is_file():
        raise UsageError(f"{found}: is not a file; choose another name")
    if os.path.lexists(found) and not overwrite:
        raise UsageError(f"{found}: already exists; choose another name or use --overwrite")
    return found


@contextmanager
def disk_errors(path: Path, advice: str = FREE_OR_MOVE) -> Iterator[None]:
    """Replace system errors by messages that say which disk is full or fails, how much is free and what to do."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise ResourceError(
                f"{path}: no space left on the disk ({free_bytes(path) / 1e6:,.0f} MB free); {advice}"
            ) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}:
            raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
        if is_device_failure(error):
            raise ResourceError(f"{path}: {describe_failure(error)}") from error
        raise


def describe_failure(error: OSError) -> str:
    """What a failing disk reported, and what to do.

    Examples
    --------
    >>> describe_failure(OSError(errno.EIO, "Input/output error", "out/a.jsonl"))
    'the disk failed (out/a.jsonl: Input/output error); check the disk, or choose another location'
    """
    file = f"{error.filename}: " if error.filename else ""
    return (
        f"the disk failed ({file}{os.strerror(error.errno or errno.EIO)}); check the disk, or choose another location"
    )


def is_full(error: BaseException | None) -> TypeGuard[OSError]:
    """Whether an error says that a disk, or what a user may write to it, is full."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def free_bytes(path: Path) -> int:
    """Free space on the disk of a path, which need not exist yet."""
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    return shutil.disk_usage(there).free
