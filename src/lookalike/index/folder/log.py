"""The log: small changes, appended in order, each with a checksum.

The first page says how many bytes are known to be on disk. Everything before that position must be intact. What follows
may be the remains of a killed writer; it counts if it is complete.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from lookalike.errors import ResourceError
from lookalike.index.folder.errors import DamagedError
from lookalike.write import disk_errors

MAGIC = b"lookalog"
VERSION = 1
FIRST = 4096
"""Where the first record starts: the page before it is rewritten often."""
_HEAD = struct.Struct("<8sII")  # magic, version, checksum
_KNOWN = struct.Struct("<QI")  # bytes known to be on disk, checksum
_RECORD = struct.Struct("<4sIQI")  # mark, checksum of the content, its length, checksum of this head
_MARK = b"item"


def create_log(path: Path) -> None:
    """An empty log, on disk when this returns."""
    head = _HEAD.pack(MAGIC, VERSION, zlib.crc32(MAGIC))
    with disk_errors(path), path.open("wb") as file:
        file.write((head + _known(FIRST)).ljust(FIRST, b"\0"))
        file.flush()
        os.fsync(file.fileno())


def _known(nbytes: int) -> bytes:
    packed = struct.pack("<Q", nbytes)
    return packed + struct.pack("<I", zlib.crc32(packed))


def _read_known(handle: int, path: Path) -> int:
    found = os.pread(handle, FIRST, 0)
    if len(found) < FIRST:
        raise DamagedError(path, "the log is cut off")
    magic, version, check = _HEAD.unpack_from(found)
    known, known_check = _KNOWN.unpack_from(found, _HEAD.size)
    rest = found[_HEAD.size + _KNOWN.size :]
    good = magic == MAGIC and check == zlib.crc32(MAGIC) and known_check == zlib.crc32(struct.pack("<Q", known))
    if not good or rest.strip(b"\0"):
        raise DamagedError(path, "the head of the log is damaged")
    if version != VERSION:
        raise DamagedError(path, f"the log has format {version}, and this version of lookalike reads {VERSION}")
    return int(known)


def read_log(path: Path, start: int = FIRST, *, all_of_it: bool = False) -> Iterator[tuple[bytes, int]]:
    """The records from `start` on, each with the place where it ends.

    Parameters
    ----------
    all_of_it
        Also read complete records beyond the part that is known to be on disk. For the writer, when no other process is
        writing.

    Raises
    ------
    DamagedError
        If a record that was acknowledged is not intact.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise DamagedError(path, "the file is missing") from None
    try:
        known = _read_known(handle, path)
        if os.fstat(handle).st_size < known:
            raise DamagedError(path, "the log is cut off: additions that were acknowledged are lost")
        at = start
        while at < known or all_of_it:
            content = _read_record(handle, at)
            if content is None:
                if at < known:
                    raise DamagedError(path, f"the record at byte {at:,} is damaged")
                return
            at += _RECORD.size + len(content)
            yield content, at
    finally:
        os.close(handle)


def _read_record(handle: int, at: int) -> bytes | None:
    head = os.pread(handle, _RECORD.size, at)
    if len(head) < _RECORD.size:
        return None
    mark, check, length, head_check = _RECORD.unpack(head)
    if mark != _MARK or zlib.crc32(head[:-4]) != head_check:
        return None
    content = os.pread(handle, length, at + _RECORD.size)
    return content if len(content) == length and zlib.crc32(content) == check else None


class LogWriter:
    """Appends to a log; a record is on disk when `append` returns or, with `grouped`, after `sync`."""

    def __init__(self, path: Path, end: int, *, grouped: bool = False) -> None:
        self.path, self.end, self._grouped = path, end, grouped
        self._handle = os.open(path, os.O_RDWR)
        self._synced = end
        os.ftruncate(self._handle, end)  # the remains of a killed writer
        os.fsync(self._handle)
        os.pwrite(self._handle, _known(end), _HEAD.size)

    def append(self, content: bytes) -> None:
        """Add a record; if that fails, the log is unchanged."""
        head = _RECORD.pack(_MARK, zlib.crc32(content), len(content), 0)[:-4]
        record = head + struct.pack("<I", zlib.crc32(head)) + content
        try:
            with disk_errors(self.path):
                _write_all(self._handle, record, self.end)
                if not self._grouped:
                    os.fsync(self._handle)
            self._check_there()
        except BaseException:
            os.ftruncate(self._handle, self.end)
            raise
        self.end += len(record)
        if not self._grouped:
            self._acknowledge()

    def sync(self) -> None:
        """Wait until all records are on disk."""
        if self._synced < self.end:
            os.fsync(self._handle)
            self._acknowledge()

    def _check_there(self) -> None:
        """Refuse to add to a log that somebody has removed: what is written to it would be lost."""
        if os.fstat(self._handle).st_nlink == 0:
            raise ResourceError(f"{self.path}: was removed while it was open; nothing was changed")

    def _acknowledge(self) -> None:
        self._synced = self.end
        os.pwrite(self._handle, _known(self.end), _HEAD.size)

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        os.close(self._handle)


def _write_all(handle: int, data: bytes, at: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(handle, left, at)
        left, at = left[written:], at + written
