"""Work on threads with results in order: kernels release the GIL, so threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lookalike.errors import UsageError

Given = TypeVar("Given")
Made = TypeVar("Made")


def count_threads(threads: int | None) -> int:
    """How many threads to use: what was asked for, or one per processor that this process may use.

    Examples
    --------
    >>> count_threads(3)
    3
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise UsageError(f"--threads must be at least 1, not {threads}")
    return threads


def _is_alone(given: object) -> bool:
    """Is it about something so large that two of its kind may not fit in memory?"""
    return isinstance(given, tuple) and any(getattr(part, "exclusive", False) for part in given)


class Workers:
    """A pool whose `map` keeps the order and looks only a little ahead, so that memory stays bounded.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, -2]))
    [1, 2]
    """

    def __init__(self, threads: int, *, beside: bool = False) -> None:
        """With `beside`, the caller's own thread is busy too and counts as one of `threads`."""
        self.threads = max(1, threads - 1) if beside and threads > 1 else threads
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="lookalike") if threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
        """Like the built-in map; results come in the order of what was given.

        What is given may be a tuple with a part that says `exclusive`: then nothing is worked on beside it.
        """
        if self._pool is None:
            yield from map(function, given)
            return
        waiting: deque[Future[Made]] = deque()
        for one in given:
            if _is_alone(one):
                while waiting:
                    yield waiting.popleft().result()
                yield self._pool.submit(function, one).result()
                continue
            waiting.append(self._pool.submit(function, one))
            if len(waiting) > self.threads + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
