"""One stored file, local or behind a URL: how it is opened, and whether it has stayed the same.

Knows nothing of formats: it hands out bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError, UsageError

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Suffixes of compressed text, and what Arrow calls the compression."""


@dataclass(frozen=True)
class File:
    """A file that exists.

    Examples
    --------
    >>> File("docs/a.JSONL.gz", "a.JSONL.gz", "docs/a.JSONL.gz").suffix
    '.jsonl'
    """

    name: str
    """As the user calls it."""
    kept_path: str
    """Where its survivors go, below `kept/`."""
    path: str
    """Where it is opened: a local path, or a path within `system`."""
    nbytes: int = 0
    stamp: tuple[int, int] | None = None
    """Size and time of change of a local file when it was found."""
    system: Any = None
    """The fsspec file system of a URL; None for local files."""
    held: Any = None
    """Something that has to live as long as the file is of use (a temporary folder)."""

    @property
    def compression(self) -> str | None:
        """`"gzip"`, `"zstd"` or None, by the last suffix."""
        return COMPRESSIONS.get(Path(self.path).suffix.lower())

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, without that of the compression."""
        path = Path(self.path)
        return (Path(path.stem) if self.compression else path).suffix.lower()

    def open(self) -> pa.NativeFile:
        """The stored bytes, from the start. Errors of this file are raised as what they mean to the user."""
        try:
            if self.system is None:
                return pa.OSFile(os.fsencode(self.path), "rb")
            return pa.PythonFile(self.system.open(self.path, "rb"), mode="r")
        except FileNotFoundError as error:
            raise BadDataError(f"{self.name}: changed while it was read: it is gone") from error
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be opened: {error}") from error

    def open_decompressed(self) -> pa.NativeFile:
        """The bytes from the start, decompressed as they are read."""
        stored = self.open()
        return pa.CompressedInputStream(stored, self.compression) if self.compression else stored

    def check_unchanged(self) -> None:
        """Refuse a local file that is no longer the one that was found."""
        if self.stamp is None:
            return
        try:
            same = stamp(Path(self.path)) == self.stamp
        except OSError:
            same = False
        if not same:
            raise BadDataError(f"{self.name}: changed while it was read")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what goes wrong inside into an error that names this file."""
        try:
            yield
        except LookalikeError:
            raise
        except (OSError, EOFError, pa.ArrowException) as error:
            self.check_unchanged()
            raise BadDataError(f"{self.name}: cannot be read: {first_line(error)}") from error


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of change of a local file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def first_line(error: BaseException) -> str:
    """The part of an exception's message that is worth showing."""
    return str(error).strip().split("\n")[0] or type(error).__name__
