"""Answers that wait for a client that sends all of its body before it reads: in memory at first, then in a file."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator

IN_MEMORY_BYTES = 1 << 20
WAITING_BYTES = 4 << 30
"""Answers that wait at most; then the body is read no further until the client reads."""
PIECE_BYTES = 1 << 16


class Spool:
    """Bytes on their way from one task to another, in order."""

    def __init__(self, most: int = WAITING_BYTES) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._read = self._written = 0
        self._most = most
        self._ended = False
        self._changed = asyncio.Condition()

    async def write(self, piece: bytes) -> None:
        """Add bytes; waits if too many are waiting already."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._written - self._read < self._most)
            self._file.seek(self._written)
            self._file.write(piece)
            self._written += len(piece)
            self._changed.notify_all()

    async def end(self) -> None:
        """No more bytes will come."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def pieces(self) -> AsyncIterator[bytes]:
        """What is written, as it comes."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._ended or self._read < self._written)
                if self._read == self._written:
                    return
                self._file.seek(self._read)
                piece = self._file.read(PIECE_BYTES)
                self._read += len(piece)
                if self._read == self._written:  # start again from the beginning: no file grows for ever
                    self._file.seek(0)
                    self._file.truncate()
                    self._read = self._written = 0
                self._changed.notify_all()
            yield piece

    def close(self) -> None:
        """Free what is left."""
        self._file.close()
