"""Lines of surviving rows, plain or compressed like the input; the same rows give the same bytes.

Plain files and gzip can be continued where they were saved. A zstd file cannot: it would have to consist of several
frames, and some readers see only the first.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pyarrow as pa

from lookalike.types import Layout
from lookalike.write.kept_file import KeptFile, Saved

STRETCH_BYTES = 8 << 20
"""The number of bytes that are compressed on their own: a file can be continued after any such stretch."""
GZIP_LEVEL = 6
# no name or time in the header: they would differ between runs
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def open_lines(path: Path, layout: Layout, saved: Saved | None) -> KeptFile:
    """The writer for lines, compressed as the layout says."""
    if layout.compression == "zstd":
        return ZstdWriter(path, layout)
    return (GzipWriter if layout.compression == "gzip" else LineWriter)(path, layout, saved)


class LineWriter(KeptFile):
    """Rows as bytes."""

    def __init__(self, path: Path, layout: Layout, saved: Saved | None = None) -> None:
        self._blocks = saved.blocks if saved else 0
        self._out = path.open("r+b" if saved else "wb")
        self._out.seek(saved.nbytes if saved else 0)
        self._out.truncate()
        if saved is None:
            self._begin(layout.prefix)

    def _begin(self, prefix: bytes) -> None:
        self._out.write(prefix)

    def write(self, stored: bytes) -> None:
        """Add the lines of the next block."""
        self._out.write(stored)
        self._blocks += 1

    def save(self) -> Saved | None:
        """Pass everything to the operating system; the file can be continued after any block."""
        self._out.flush()
        return Saved(self._out.tell(), self._blocks)

    def close(self) -> None:
        """Complete the file."""
        self._out.close()


class GzipWriter(LineWriter):
    """Compresses stretches that depend neither on each other nor on the blocks in which rows arrive."""

    def __init__(
        self, path: Path, layout: Layout, saved: Saved | None = None, stretch_bytes: int = STRETCH_BYTES
    ) -> None:
        self._stretch_bytes = stretch_bytes
        self._waiting = bytearray()
        self._saved = saved or Saved(0, 0)
        self._skip = self._saved.skip
        super().__init__(path, layout, saved)

    def _begin(self, prefix: bytes) -> None:
        self._out.write(_HEADER)
        self._waiting += prefix

    def write(self, stored: bytes) -> None:
        """Add the lines of the next block, except those that were already written before the run was killed."""
        at, self._skip = self._skip, 0
        lines = memoryview(stored)
        while len(self._waiting) + len(lines) - at >= self._stretch_bytes:
            missing = max(0, self._stretch_bytes - len(self._waiting))
            self._waiting += lines[at : at + missing]
            at += missing
            self._compress()
            self._saved = self._saved._replace(nbytes=self._out.tell(), blocks=self._blocks, skip=at)
        self._waiting += lines[at:]
        self._blocks += 1

    def _compress(self) -> None:
        """Write a stretch so that the next one does not depend on it."""
        stretch, before = bytes(self._waiting), self._saved
        self._waiting = bytearray()
        deflate = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._out.write(deflate.compress(stretch) + deflate.flush(zlib.Z_FULL_FLUSH))
        crc32 = zlib.crc32(stretch, before.crc32)
        self._saved = before._replace(lines_bytes=before.lines_bytes + len(stretch), crc32=crc32)

    def save(self) -> Saved | None:
        """Pass everything to the operating system; the file can be continued after the last stretch."""
        self._out.flush()
        return self._saved if self._saved.lines_bytes else None

    def close(self) -> None:
        """Compress the rest and write the trailer: checksum and length."""
        if self._waiting:
            self._compress()
        self._out.write(zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS).flush())
        self._out.write(self._saved.crc32.to_bytes(4, "little"))
        self._out.write((self._saved.lines_bytes & 0xFFFFFFFF).to_bytes(4, "little"))
        self._out.close()


class ZstdWriter(KeptFile):
    """Compresses everything as one stream."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._raw = pa.OSFile(os.fsencode(path), "wb")
        self._out = pa.CompressedOutputStream(self._raw, "zstd")
        self._out.write(layout.prefix)

    def write(self, stored: bytes) -> None:
        """Add lines."""
        self._out.write(stored)

    def close(self) -> None:
        """Complete the file."""
        self._out.close()
        self._raw.close()
