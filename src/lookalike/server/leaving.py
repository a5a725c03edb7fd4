"""Clients that leave: nothing more is done for a request whose connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Leaving:
    """Ends the request in progress on a connection."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._left = False

    @contextmanager
    def ends(self) -> Iterator[None]:
        """While the block runs, its task is cancelled if the client leaves, or left before the task began."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self._left:
            task.cancel()
        try:
            yield
        finally:
            self._tasks.discard(task)

    def end(self) -> None:
        """End the request: the client has left."""
        self._left = True
        for task in self._tasks:
            task.cancel()
