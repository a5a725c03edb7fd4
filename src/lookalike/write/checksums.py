"""Checksums of files, by which one that was damaged later is noticed before anything is computed from it."""

from __future__ import annotations

import zlib
from pathlib import Path

CHECKED_BYTES = 8 << 20
"""Bytes read at a time."""


def checksum(path: Path) -> int:
    """The CRC-32 of a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(b"123456789")
    ...     hex(checksum(Path(folder, "a")))
    '0xcbf43926'
    """
    value = 0
    with path.open("rb") as file:
        while piece := file.read(CHECKED_BYTES):
            value = zlib.crc32(piece, value)
    return value
