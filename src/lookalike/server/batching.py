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
    weight: int
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
        The most jobs per call, by weight; a request with more is not split. With 1, every request is a call of its own.
    calls
        Calls that run at the same time.
    seen
        Called with the number of jobs of each call.
    weigh
        How many jobs of ordinary size a job is worth.
    """

    def __init__(
        self,
        work: Callable[[list[Job]], list[Answer]],
        executor: Executor,
        *,
        most: int,
        calls: int = 1,
        seen: Callable[[int], None] = lambda _: None,
        weigh: Callable[[Job], int] = lambda _: 1,
    ) -> None:
        self._weigh = weigh
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
        self._waiting.append(_Group(jobs, sum(map(self._weigh, jobs)), future))
        if not self._scheduled and self._running < self._calls:
            # not immediately: other connections may submit jobs in the same turn of the event loop
            self._scheduled = True
            loop.call_soon(self._start)
        return await future

    def _start(self) -> None:
        self._scheduled = False
        while self._waiting and self._running < self._calls:
            groups = self._next_groups()
            jobs = [job for group in groups for job in group.jobs]
            if not jobs:
                continue
            self._running += 1
            self._seen(len(jobs))
            done = asyncio.get_running_loop().run_in_executor(self._executor, self._work, jobs)
            done.add_done_callback(partial(self._finish, groups))

    def _next_groups(self) -> list[_Group]:
        """Those that wait, up to the most of a call, without those whose clients have left."""
        groups: list[_Group] = []
        weight = 0
        while self._waiting and (not groups or weight + self._waiting[0].weight <= self._most):
            group = self._waiting.popleft()
            if not group.future.cancelled():
                groups.append(group)
                weight += group.weight
        return groups

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
