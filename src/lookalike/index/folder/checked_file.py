"""Files of named arrays that are written once and then mapped into memory, with a checksum for every block.

Layout: the arrays, each aligned to 64 bytes; the checksums of all blocks; a description in JSON (names, types, shapes,
places); and a trailer with the place of the description and its checksum. This module does not know what the arrays
contain.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.pages import release
from lookalike.kernels.checksums import BLOCK_BYTES, BLOCK_WORDS, sum_blocks, unchecked_blocks
from lookalike.types import Bool, Int64, UInt64, words_in
from lookalike.write.flushing import flush, flush_handle

ALIGNED = 64
ROOM = 1 << 16
"""Blocks that are checked at a time."""
MAGIC = b"lookalik"
VERSION = 1
_TRAILER = struct.Struct("<8sIIQII")  # magic, version, checksum of the rest, place and length of the tail, its checksum
Array = npt.NDArray[Any]


class CheckedWriter:
    """Writes arrays in order; the last one may be written piece by piece.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with CheckedWriter(Path(folder, "a")) as writer:
    ...         writer.write("numbers", np.arange(3))
    ...         writer.finish({"kind": "example"})
    ...     CheckedFile(Path(folder, "a")).load("numbers").tolist()
    [0, 1, 2]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._written = 0
        self._rest = b""
        self._sums: list[UInt64] = []
        self._arrays: dict[str, dict[str, Any]] = {}
        self._details: dict[str, Any] = {}
        self._mapped: mmap.mmap | None = None

    def __enter__(self) -> CheckedWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._file.close()
        else:
            self.discard()

    def discard(self) -> None:
        """Remove the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def write(self, name: str, values: Array) -> None:
        """Add a whole array."""
        self.begin(name, values.dtype)
        self.extend(name, values)
        self._arrays[name]["shape"] = list(values.shape)

    def begin(self, name: str, dtype: npt.DTypeLike) -> None:
        """Start an array of one dimension; `extend` adds to it."""
        self._put(b"\0" * (-self._written % ALIGNED))
        self._arrays[name] = {"dtype": np.dtype(dtype).str, "shape": [0], "start": self._written}

    def extend(self, name: str, values: Array) -> None:
        """Add values to the array that was started last."""
        self._put(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
        self._arrays[name]["shape"][0] += values.size

    def reshape(self, name: str, rows: int) -> None:
        """Split the array that was started last, and is complete, into rows of equal length."""
        self._arrays[name]["shape"] = [rows, self._arrays[name]["shape"][0] // max(1, rows)]

    def written(self, name: str) -> Array:
        """A complete array, mapped from the file; `release` frees the pages that were read."""
        self._file.flush()
        about = self._arrays[name]
        count = int(np.prod(about["shape"]))
        if not count:
            return np.empty(about["shape"], about["dtype"])
        with self.path.open("rb") as file:
            self._mapped = mmap.mmap(
                file.fileno(), about["start"] + count * np.dtype(about["dtype"]).itemsize, access=mmap.ACCESS_READ
            )
        return np.frombuffer(self._mapped, about["dtype"], count, about["start"]).reshape(about["shape"])

    def release(self) -> None:
        """Free the pages of `written`; they are read again when needed."""
        if self._mapped is not None:
            release(self._mapped)

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._written += len(data)
        if len(self._rest) + len(data) < BLOCK_BYTES:
            self._rest += bytes(data)
            return
        head = (BLOCK_BYTES - len(self._rest)) % BLOCK_BYTES
        if self._rest:
            self._sums.append(_sums_of(words_in(self._rest + bytes(data[:head]), np.uint64)))
        whole = (len(data) - head) // BLOCK_BYTES * BLOCK_BYTES
        if whole:
            self._sums.append(_sums_of(words_in(data, np.uint64, whole // 8, head)))
        self._rest = bytes(data[head + whole :])

    def describe(self, details: Mapping[str, Any]) -> None:
        """Add to the description."""
        self._details |= details

    def finish(self, details: Mapping[str, Any]) -> None:
        """Write checksums, description and trailer, and wait until all of it is on disk, and the name of the file."""
        self._put(b"\0" * (-self._written % 8))
        if self._rest:
            self._sums.append(_sums_of(np.frombuffer(self._rest, np.uint64)))
            self._rest = b""
        sums = np.concatenate([np.empty(0, np.uint64), *self._sums]).tobytes()
        described = {"arrays": self._arrays, "blocks": len(sums) // 8, **self._details, **details}
        tail = sums + json.dumps(described).encode()
        start = self._written
        self._file.write(tail)
        trailer = _TRAILER.pack(MAGIC, VERSION, 0, start, len(tail), zlib.crc32(tail))
        trailer = trailer[:12] + struct.pack("<I", zlib.crc32(trailer)) + trailer[16:]
        self._file.write(trailer)
        self._file.flush()
        flush_handle(self._file.fileno())
        flush(self.path.parent)


def _sums_of(words: UInt64) -> UInt64:
    blocks = -(-len(words) // BLOCK_WORDS)
    sums = np.empty(blocks, np.uint64)
    sum_blocks(words, np.arange(blocks), sums)
    return sums


class Checks(NamedTuple):
    """The data with which kernels check the blocks that they read."""

    words: UInt64
    sums: UInt64
    good: Bool


class CheckedFile:
    """A file that `CheckedWriter` wrote. Its description is checked at once, its blocks when they are first read.

    An array from `array` must be checked with `check` before its values are used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self.nbytes = os.fstat(file.fileno()).st_size
                if self.nbytes < _TRAILER.size:
                    raise DamagedError(path, "the file is cut off")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise DamagedError(path, "the file is missing") from None
        self.details = self._read_tail()
        self._arrays: dict[str, dict[str, Any]] = self.details["arrays"]
        self._places = {
            name: (int(about["start"]), np.dtype(about["dtype"]).itemsize) for name, about in self._arrays.items()
        }
        """Where each array starts, and the bytes of its values."""
        self._words = np.frombuffer(self._map, np.uint64, self._length // 8)
        self._good: Bool = np.zeros(len(self._sums), np.bool_)
        self._left = len(self._sums)
        self.checks = Checks(self._words, self._sums, self._good)

    def _read_tail(self) -> dict[str, Any]:
        trailer = self._map[-_TRAILER.size :]
        magic, version, check, start, length, tail_check = _TRAILER.unpack(trailer)
        if zlib.crc32(trailer[:12] + bytes(4) + trailer[16:]) != check or magic != MAGIC:
            raise DamagedError(self.path, "its end is damaged or cut off")
        if version != VERSION:
            raise DamagedError(self.path, f"it has format {version}, and this version of lookalike reads {VERSION}")
        if start + length + _TRAILER.size != self.nbytes:
            raise DamagedError(self.path, "it has another length than it should have")
        tail = self._map[start : start + length]
        if zlib.crc32(tail) != tail_check:
            raise DamagedError(self.path, "its description is damaged")
        count = -(-start // BLOCK_BYTES)
        self._sums = np.frombuffer(tail, np.uint64, count)
        self._length = start
        described: dict[str, Any] = json.loads(tail[8 * count :])
        return described

    def array(self, name: str) -> Array:
        """An array, mapped and not checked yet."""
        about = self._arrays[name]
        count = int(np.prod(about["shape"]))
        if not count:
            return np.empty(about["shape"], about["dtype"])
        return np.frombuffer(self._map, about["dtype"], count, about["start"]).reshape(about["shape"])

    def begin(self, name: str) -> int:
        """Where an array starts in the file."""
        return self._places[name][0]

    def load(self, name: str) -> Array:
        """An array, checked as a whole."""
        values = self.array(name)
        self.check(name, np.zeros(1, np.int64), np.array([values.size]))
        return values

    def check_values(self, name: str, start: int, end: int) -> None:
        """`check` for a few values of an array."""
        begin, size = self._places[name]
        for block in range((begin + start * size) // BLOCK_BYTES, (begin + end * size - 1) // BLOCK_BYTES + 1):
            if not self._good[block]:
                self.check_blocks(np.array([block]))

    def check(self, name: str, starts: Int64, ends: Int64) -> None:
        """Check the blocks of some stretches of an array (counted in values) that have not been checked before.

        Raises
        ------
        DamagedError
            If the file is not as it was written.
        """
        if not self._left:
            return
        begin, size = self._places[name]
        room = np.empty(min(ROOM if len(starts) == 1 else 64 * len(starts), ROOM, self._left), np.int64)
        while count := unchecked_blocks(starts, ends, begin, size, self._good, room):
            self.check_blocks(np.unique(room[:count]))

    def stopped_at(self, block: int) -> None:
        """Raise an error about the damaged block at which a kernel has stopped, if there is one."""
        if block >= 0:
            self.check_blocks(np.array([block]))

    def check_blocks(self, blocks: Int64) -> None:
        """Check some blocks."""
        blocks = blocks[~self._good[blocks]]
        if not len(blocks):
            return
        sums = np.empty(len(blocks), np.uint64)
        sum_blocks(self._words, blocks, sums)
        wrong = np.flatnonzero(sums != self._sums[blocks])
        if len(wrong):
            place = int(blocks[wrong[0]]) * BLOCK_BYTES
            raise DamagedError(self.path, f"the bytes from {place:,} on are damaged")
        self._good[blocks] = True
        self._left = len(self._good) - int(np.count_nonzero(self._good))

    def release(self) -> None:
        """Free the pages that were read; they are read again when needed."""
        release(self._map)

    def check_all(self) -> None:
        """Check every block, even those that were intact before."""
        self._good[:] = False
        self.check_blocks(np.arange(len(self._sums)))
