"""How many changes were acknowledged, in a file of its own: SQLite drops the end of a damaged log without a word.

It is written after each change is on disk. Only its creation is flushed: after a power failure it may say less than is
there, but never more.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from lookalike.index.folder.errors import DamagedError
from lookalike.write.flushing import flush_handle

ACKNOWLEDGED = "acknowledged.bin"
ATTEMPTS = 5
"""How often it is read again if it is not valid: another process may just be writing it."""
_FORM = struct.Struct("<QI")  # changes, checksum


class Acknowledged:
    """The file, open for one process; in a folder that nobody can write to, or without it, nothing is known.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counter = Acknowledged(Path(folder), writing=True)
    ...     counter.write(7)
    ...     counter.close()
    ...     Acknowledged(Path(folder), writing=False).read()
    7
    """

    def __init__(self, folder: Path, *, writing: bool) -> None:
        self._path = folder / ACKNOWLEDGED
        self._file = None
        if writing:
            self._path.touch()
            self._file = self._path.open("r+b", buffering=0)
            if not self._path.stat().st_size:
                self.write(0)
                flush_handle(self._file.fileno())

    def read(self) -> int:
        """How many changes were acknowledged, as far as is known."""
        for _ in range(ATTEMPTS):
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                return 0
            if not content:  # its writer was killed when it had just created it
                return 0
            if len(content) == _FORM.size and zlib.crc32(content[:8]) == _FORM.unpack(content)[1]:
                return int(_FORM.unpack(content)[0])
        raise DamagedError(self._path, "the file is damaged")

    def write(self, changes: int) -> None:
        """Note that this many changes are on disk."""
        assert self._file is not None
        packed = struct.pack("<Q", changes)
        self._file.seek(0)
        self._file.write(packed + struct.pack("<I", zlib.crc32(packed)))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
