"""Stored files, local or at a URL: how to open and read them, and whether they have changed.

Knows bytes, not formats.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError, is_device_failure
from lookalike.kernels.small_files import read_files, read_heads
from lookalike.types import Int64, UInt8
from lookalike.types.frozen import frozen
from lookalike.types.once import once
from lookalike.types.paths import kernels_open_files, path_block

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Suffixes of compressed text, and Arrow's name of the compression."""

_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
READ_BYTES = 1 << 20
"""How much is read at a time of a file that is not as long as it was."""


@frozen
class File:
    """A file that exists.

    Examples
    --------
    >>> File("docs/a.JSONL.gz", "a.JSONL.gz", "docs/a.JSONL.gz").suffix
    '.jsonl'
    """

    name: str
    """As the user typed it."""
    kept_path: str
    """Where its surviving rows go, below `kept/`."""
    path: str
    """A local path, or a path in `system`."""
    nbytes: int = 0
    stamp: tuple[int, int] | None = None
    """Size and modification time of a local file when it was found."""
    system: Any = None
    """The fsspec file system of a URL; None for local files."""
    keep_alive: Any = None
    """An object that must live as long as the file is used (a temporary folder)."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Make a relative path absolute for another process, which may have another working folder."""
        path = os.path.join(os.getcwd(), self.path) if self.system is None else self.path
        return File, (self.name, self.kept_path, path, self.nbytes, self.stamp, self.system)

    @once
    def compression(self) -> str | None:
        """`"gzip"`, `"zstd"` or None, by the last suffix."""
        return COMPRESSIONS.get(last_suffix(self.path))

    @once
    def suffix(self) -> str:
        """The suffix of the format, without that of the compression."""
        last = last_suffix(self.path)
        return last_suffix(self.path[: -len(last)]) if last in COMPRESSIONS else last

    def open(self) -> pa.NativeFile:
        """The stored bytes, from the start. Errors are raised as `LookalikeError`."""
        try:
            if self.system is None:
                return pa.OSFile(os.fsencode(self.path), "rb")
            return pa.PythonFile(self.system.open(self.path, "rb"), mode="r")
        except OSError as error:
            raise self._not_opened(error) from error

    def _not_opened(self, error: OSError) -> LookalikeError:
        if isinstance(error, FileNotFoundError):
            return BadDataError(f"{self.name}: was removed while it was read; run again with the file in place")
        if is_device_failure(error):
            return self._not_read(error)
        return UsageError(f"{self.name}: cannot be opened: {error}")

    def read(self) -> bytes:
        """All stored bytes, unchanged since the file was found.

        A small local file is read in half the time that it takes with `open`.
        """
        if self.system is not None:
            with self.reading(), self.open() as opened:
                return bytes(opened.read())
        try:
            handle = os.open(self.path, os.O_RDONLY | _BINARY)
        except OSError as error:
            raise self._not_opened(error) from error
        try:
            found = os.read(handle, self.nbytes + 1)
            while len(found) != self.nbytes and (more := os.read(handle, READ_BYTES)):
                found += more
            self._check_stamp(_stamp_of(os.fstat(handle)))  # half the time of `check_unchanged`
            return found
        except OSError as error:
            raise self._not_read(error) from error
        finally:
            os.close(handle)

    def open_decompressed(self) -> pa.NativeFile:
        """The bytes from the start, decompressed on the fly."""
        stored = self.open()
        return pa.CompressedInputStream(stored, self.compression) if self.compression else stored

    def check_unchanged(self) -> None:
        """Refuse a local file that has changed since it was found."""
        if self.stamp is None:
            return
        try:
            now = stamp(self.path)
        except OSError:
            now = None
        self._check_stamp(now)

    def _check_stamp(self, now: tuple[int, int] | None) -> None:
        if self.stamp is not None and now != self.stamp:
            raise BadDataError(f"{self.name}: changed while it was read; run again once it is complete")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors inside the block into one that names this file."""
        try:
            yield
        except LookalikeError:
            raise
        except (OSError, EOFError, pa.ArrowException) as error:
            raise self._not_read(error) from error

    def _not_read(self, error: Exception) -> LookalikeError:
        """The error to raise; another one if the file has changed."""
        if is_device_failure(error):
            return ResourceError(
                f"{self.name}: cannot be read: {os.strerror(error.errno or errno.EIO)}; check the disk or the network"
            )
        self.check_unchanged()
        return BadDataError(f"{self.name}: cannot be read: {first_line(error)}")


def read_together(files: Sequence[File]) -> tuple[UInt8, Int64] | None:
    """Read files that fit in memory together.

    Returns
    -------
    tuple or None
        The stored bytes of the files, one after the other and followed by a byte without a meaning, and where each
        begins, followed by the end of the last. None if there is anything unusual about one of the files: then they
        must be read one by one.
    """
    if not kernels_open_files() or any(file.system is not None or file.stamp is None for file in files):
        return None
    stamps = np.array([file.stamp for file in files], np.int64).reshape(len(files), 2)
    edges = np.zeros(len(files) + 1, np.int64)
    np.cumsum(stamps[:, 0], out=edges[1:])
    data, modified = np.empty(edges[-1] + 1, np.uint8), np.ascontiguousarray(stamps[:, 1])
    paths = path_block([file.path for file in files])
    return (data, edges) if read_files(paths, _READ, edges, modified, data) == len(files) else None


def heads_of(files: Sequence[File], nbytes: int) -> UInt8:
    """The first bytes of files, decompressed: uint8[files, nbytes], with spaces in place of what cannot be read.

    Examples
    --------
    >>> heads_of([File("none", "none", "none")], 2).tolist()
    [[32, 32]]
    """
    heads = np.full((len(files), nbytes), ord(" "), np.uint8)
    plain = kernels_open_files() and all(file.system is None and file.compression is None for file in files)
    if plain:
        read_heads(path_block([file.path for file in files]), _READ, nbytes, heads.reshape(-1))
        return heads
    for file, head in zip(files, heads):
        with suppress(LookalikeError), file.reading(), file.open_decompressed() as opened:
            start = np.frombuffer(opened.read(nbytes), np.uint8)
            head[: len(start)] = start
    return heads


def last_suffix(path: str) -> str:
    """The last suffix of a path in lower case, as `os.path.splitext` finds it, in a third of the time.

    Examples
    --------
    >>> last_suffix("a.b/C.TXT"), last_suffix("a.b/c"), last_suffix("a/.b")
    ('.txt', '', '')
    """
    stem, _, last = path.rpartition(".")
    if last.isalnum() and stem[-1:].isalnum():
        return f".{last.lower()}"
    return os.path.splitext(path)[1].lower()


def stamp(path: str) -> tuple[int, int]:
    """Size and modification time of a local file."""
    return _stamp_of(os.stat(path))


def _stamp_of(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def first_line(error: BaseException) -> str:
    """The first line of an exception's message."""
    return str(error).strip().split("\n")[0] or type(error).__name__
