"""Whether the server is ready: it asks the store, and knows how old the view of a follower is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lookalike.index.index import StoredIndex
from lookalike.server.options import ServerOptions
from lookalike.server.problems import Problem

STARTING, STOPPING = "the server is starting", "the server is stopping"
ANSWER_SECONDS = 2.0
"""Within this time the store must answer."""
ASK_SECONDS = 0.5
"""Checks within this time share an answer."""
OLD_SECONDS = 10.0
"""A follower is not ready if its view is older, or five times as old as it should be."""
Found = TypeVar("Found")


class Health:
    """The state that health checks see. It has threads of its own, so that it answers while queries wait."""

    def __init__(self, index: StoredIndex, options: ServerOptions) -> None:
        self._index, self._options = index, options
        self.not_ready: str | None = STARTING
        """Why the server does not take requests; None if it does."""
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="health")
        self._following = ThreadPoolExecutor(1, thread_name_prefix="follow")
        self._asked = -ASK_SECONDS
        self._answer: asyncio.Future[Any] | None = None
        self._refreshed = time.monotonic()
        self._failure: str | None = None

    async def check(self) -> dict[str, Any]:
        """What /readyz answers.

        Raises
        ------
        Problem
            If the server is not ready.
        """
        reason = self.not_ready or await self._ask_store() or self._too_old()
        if reason is not None:
            raise Problem(503, reason, {"Retry-After": "1"})
        answer: dict[str, Any] = {"status": "ready"}
        return answer | ({"view_age_seconds": round(self.view_age_seconds, 3)} if self._options.read_only else {})

    async def _ask_store(self) -> str | None:
        """Why the store cannot be used."""
        answer = self._answer
        if answer is None or (answer.done() and time.monotonic() - self._asked >= ASK_SECONDS):
            self._asked = time.monotonic()
            answer = self._answer = asyncio.ensure_future(self.run(_use, self._index))
        try:
            ended: str | None = await asyncio.wait_for(asyncio.shield(answer), ANSWER_SECONDS)
        except TimeoutError:
            return f"the store has not answered for {time.monotonic() - self._asked:.0f} seconds"
        except Exception as error:
            return f"the store cannot be read: {error}"
        return ended

    async def run(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Do something for a health check or for metrics."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    # Followers

    @property
    def view_age_seconds(self) -> float:
        """How long ago the changes of the writer were last read."""
        return time.monotonic() - self._refreshed

    def _too_old(self) -> str | None:
        if not self._options.read_only or self.view_age_seconds <= max(OLD_SECONDS, 5 * self._options.refresh_seconds):
            return None
        why = f": {self._failure}" if self._failure else ""
        return f"the view is {self.view_age_seconds:.0f} seconds old; the changes of the writer cannot be read{why}"

    async def refresh(self) -> str | None:
        """Read the changes of the writer; return the error, unless it is that of the time before."""
        started, before = time.monotonic(), self._failure
        try:
            await asyncio.get_running_loop().run_in_executor(self._following, self._index.refresh)
        except Exception as error:
            self._failure = str(error) or type(error).__name__
            return self._failure if self._failure != before else None
        self._refreshed, self._failure = started, None
        return None

    def close(self) -> None:
        """End the threads; one that waits for a store is left behind."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._following.shutdown(wait=False, cancel_futures=True)


def _use(index: StoredIndex) -> str | None:
    """Ask the store for something that it must know; return why it accepts no more changes, if so."""
    lookup = index.store.lookup
    if lookup.total:
        lookup.next_from(0)
    len(lookup)
    return index.store.ended
