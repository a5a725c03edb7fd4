"""Checksums of files, to detect a damaged file before anything is computed from it."""

from __future__ import annotations

import zlib
from pathlib import Path

CHECKED_BYTES = 8 << 20
"""Bytes read at a time."""


def checksum(path: Path, value: int = 0, first: int = 0, last: int | None = None) -> int:
    """The CRC-32 of some bytes of a file, by default all; `value` is the CRC-32 of the preceding bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(b"123456789")
    ...     hex(checksum(Path(folder, "a")))
    '0xcbf43926'
    """
    left = path.stat().st_size - first if last is None else last - first
    with path.open("rb") as file:
        file.seek(first)
        while left > 0 and (piece := file.read(min(CHECKED_BYTES, left))):
            value = zlib.crc32(piece, value)
            left -= len(piece)
    return value
