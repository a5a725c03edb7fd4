"""Buffer responses for a client that sends its whole body before it reads: in memory at first, then in a file."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator

IN_MEMORY_BYTES = 1 << 20
WAITING_BYTES = 4 << 30
"""The size of the buffer; when it is full, the body is not read until the client reads."""
PIECE_BYTES = 1 << 16


class Spool:
    """A byte queue from one task to another."""

    def __init__(self, most: int = WAITING_BYTES) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._read = self._written = 0
        self._most = most
        self._ended = False
        self._changed = asyncio.Condition()

    async def write(self, piece: bytes) -> None:
        """Add bytes; wait if the buffer is full."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._written - self._read < self._most)
            self._file.seek(self._written)
            self._file.write(piece)
            self._written += len(piece)
            self._changed.notify_all()

    async def end(self) -> None:
        """Signal that no more bytes will follow."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The bytes, as they are written."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._ended or self._read < self._written)
                if self._read == self._written:
                    return
                self._file.seek(self._read)
                piece = self._file.read(PIECE_BYTES)
                self._read += len(piece)
                if self._read == self._written:  # start over, so that the file does not grow for ever
                    self._file.seek(0)
                    self._file.truncate()
                    self._read = self._written = 0
                self._changed.notify_all()
            yield piece

    def close(self) -> None:
        """Free the buffer."""
        self._file.close()
