"""Bytes that all requests together may hold: bodies in memory, or answers on disk that wait for their clients."""

from __future__ import annotations

import asyncio
from types import TracebackType

from lookalike.server.problems import Problem


class Space:
    """A number of bytes to share. Used by the event loop only.

    Examples
    --------
    >>> space = Space(10)
    >>> space.take(8), space.take(8), space.free
    (True, False, 2)
    """

    def __init__(self, most: int) -> None:
        self.most = self.free = most
        self._waiting: list[asyncio.Future[None]] = []

    def take(self, count: int) -> bool:
        """Take bytes if there are as many."""
        if count > self.free:
            return False
        self.free -= count
        return True

    def give(self, count: int) -> None:
        """Give bytes back."""
        self.free += count
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def take_later(self, count: int, seconds: float) -> bool:
        """Take bytes, waiting until others give some back; return whether that happened in time."""
        try:
            async with asyncio.timeout(seconds):
                while not self.take(count):
                    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting.append(future)
                    await future
        except TimeoutError:
            return False
        return True


class Holding:
    """The part of a space that one request holds; it is given back at the end of a `with` block.

    Examples
    --------
    >>> space = Space(10)
    >>> with Holding(space) as held:
    ...     held.take(4)
    ...     space.free
    6
    >>> space.free
    10
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._bytes = 0

    def take(self, count: int) -> None:
        """Hold more bytes, or refuse the request."""
        if self._bytes + count > self._space.most:
            raise Problem(413, f"the request takes more than {self._space.most:,} bytes of memory; send less at a time")
        if not self._space.take(count):
            raise Problem(503, "the server holds too many large requests; try again shortly", {"Retry-After": "1"})
        self._bytes += count

    def release(self) -> None:
        """Give everything back."""
        self._space.give(self._bytes)
        self._bytes = 0

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.release()
