"""Combine concurrent requests: those that arrive during a call are answered together by the next call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")


class _Group(NamedTuple):
    """Jobs of one request, answered together."""

    jobs: Sequence[Any]
    future: asyncio.Future[list[Any]]


class Batcher(Generic[Job, Answer]):
    """Collects jobs and calls `work` with many of them at once, on threads.

    Parameters
    ----------
    work
        Maps jobs to their answers, in order.
    executor
        The threads on which it is called.
    most
        The most jobs per call; a request with more is not split. With 1, every request is a call of its own.
    calls
        Calls that run at the same time.
    seen
        Called with the number of jobs of each call.
    """

    def __init__(
        self,
        work: Callable[[list[Job]], list[Answer]],
        executor: Executor,
        *,
        most: int,
        calls: int = 1,
        seen: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._work, self._executor, self._most, self._calls, self._seen = work, executor, most, calls, seen
        self._waiting: deque[_Group] = deque()
        self._running = 0
        self._scheduled = False

    async def submit(self, job: Job) -> Answer:
        """The answer to one job."""
        return (await self.submit_all([job]))[0]

    async def submit_all(self, jobs: Sequence[Job]) -> list[Answer]:
        """The answers to some jobs."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Answer]] = loop.create_future()
        self._waiting.append(_Group(jobs, future))
        if not self._scheduled and self._running < self._calls:
            # not immediately: other connections may submit jobs in the same turn of the event loop
            self._scheduled = True
            loop.call_soon(self._start)
        return await future

    def _start(self) -> None:
        self._scheduled = False
        while self._waiting and self._running < self._calls:
            groups = [self._waiting.popleft()]
            count = len(groups[0].jobs)
            while self._waiting and count + len(self._waiting[0].jobs) <= self._most:
                groups.append(self._waiting.popleft())
                count += len(groups[-1].jobs)
            self._running += 1
            self._seen(count)
            jobs = [job for group in groups for job in group.jobs]
            done = asyncio.get_running_loop().run_in_executor(self._executor, self._work, jobs)
            done.add_done_callback(partial(self._finish, groups))

    def _finish(self, groups: list[_Group], done: asyncio.Future[list[Answer]]) -> None:
        self._running -= 1
        error = done.exception()
        answers = [] if error else done.result()
        at = 0
        for group in groups:
            if group.future.cancelled():  # the client has disconnected
                pass
            elif error:
                group.future.set_exception(error)
            else:
                group.future.set_result(answers[at : at + len(group.jobs)])
            at += len(group.jobs)
        self._start()
