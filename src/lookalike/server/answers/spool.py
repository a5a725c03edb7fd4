"""Answers that wait for their client: a few in memory, the others in files, within the space of all requests."""

from __future__ import annotations

import asyncio
import errno
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from typing import Any, BinaryIO

from lookalike.server.answers.space import Space
from lookalike.server.problems import Problem

IN_MEMORY_BYTES = 1 << 18
"""What one request may have in memory."""
FILE_BYTES = 8 << 20
"""When a file has this size, another is begun; a file is removed when it has been read."""
PIECE_BYTES = 1 << 18


class _Part:
    """Some of the bytes, in memory or in a file."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.file = file
        self.content = bytearray()
        self.written = self.read = 0

    def write(self, content: bytes) -> None:
        if self.file is None:
            self.content += content
        else:
            self.file.seek(self.written)
            if self.file.write(content) != len(content):
                raise OSError(errno.ENOSPC, "No space left on device")
        self.written += len(content)

    def take(self, most: int) -> bytes:
        if self.file is None:
            piece = bytes(self.content[:most])
            del self.content[:most]
        else:
            self.file.seek(self.read)
            piece = self.file.read(most)
        self.read += len(piece)
        return piece


class Spool:
    """A queue of bytes from one task to another.

    Parameters
    ----------
    space
        The disk space for the answers of all requests.
    threads
        Where files are written and read.
    """

    def __init__(self, space: Space, threads: Executor) -> None:
        self._space, self._threads = space, threads
        self._taken = self._reserved = 0
        self._parts: deque[_Part] = deque()
        self._ended = False
        self._changed = asyncio.Condition()
        self.size = 0
        """How many bytes were written in all."""

    @property
    def pending(self) -> int:
        """How many bytes wait to be read."""
        return sum(part.written - part.read for part in self._parts)

    @property
    def in_memory(self) -> bytes | None:
        """Everything that waits; None if some of it is in a file."""
        if any(part.file is not None for part in self._parts):
            return None
        return b"".join(part.content for part in self._parts)

    def fits_memory(self, count: int) -> bool:
        """Whether so many more bytes stay in memory."""
        return all(part.file is None for part in self._parts) and self.pending + count <= IN_MEMORY_BYTES

    async def reserve(self, count: int, seconds: float) -> bool:
        """Take space for the next bytes to be written, before it is known how many they are."""
        if self._space.take(count) or (seconds > 0 and await self._space.take_later(count, seconds)):
            self._taken += count
            self._reserved += count
            return True
        return False

    async def write(self, content: bytes) -> None:
        """Add bytes.

        Raises
        ------
        Problem
            If they do not stay in memory and there is no space.
        """
        async with self._changed:
            if self.fits_memory(len(content)):
                if not self._parts:
                    self._parts.append(_Part())
                self._parts[-1].write(content)
            else:
                await self._write_file(content)
            self._give(self._reserved)
            self._reserved = 0
            self.size += len(content)
            self._changed.notify_all()

    async def write_last(self, content: bytes) -> None:
        """Add a few bytes at the end, even if there is no space."""
        async with self._changed:
            part = _Part()
            part.write(content)
            self._parts.append(part)
            self._changed.notify_all()

    async def _write_file(self, content: bytes) -> None:
        missing = max(0, len(content) - self._reserved)
        if not self._space.take(missing):
            raise no_space()
        self._taken += missing
        self._reserved = max(0, self._reserved - len(content))
        last = self._parts[-1] if self._parts else None
        try:
            if last is None or last.file is None or last.written >= FILE_BYTES:
                last = _Part(await self._run(_open))
                self._parts.append(last)
            await self._run(last.write, content)
        except OSError as error:
            raise Problem(503, f"an answer cannot be written to disk: {error.strerror}") from None

    def _give(self, count: int) -> None:
        self._taken -= count
        self._space.give(count)

    async def until_read(self) -> None:
        """Wait until little is left."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.pending <= IN_MEMORY_BYTES // 2)

    async def end(self) -> None:
        """Signal that no more bytes will follow."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The bytes, as they are written."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._ended or self._parts)
                if not self._parts:
                    return
                part = self._parts[0]
                piece = part.take(PIECE_BYTES) if part.file is None else await self._run(part.take, PIECE_BYTES)
                if part.read == part.written:
                    self._parts.popleft()
                    if part.file is not None:
                        part.file.close()
                        self._give(part.written)
                self._changed.notify_all()
            yield piece

    def close(self) -> None:
        """Free everything."""
        for part in self._parts:
            if part.file is not None:
                part.file.close()
        self._parts.clear()
        self._give(self._taken)

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """On a thread, to its end even if the request ends meanwhile: its file must not be closed under it."""
        done = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            raise


def _open() -> BinaryIO:
    return tempfile.TemporaryFile(buffering=0)


def no_space() -> Problem:
    """Too many answers wait for their clients."""
    return Problem(503, "too many answers wait for their clients; try again shortly", {"Retry-After": "1"})
