"""Work on threads, with results in order. Kernels release the GIL, so threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from lookalike.errors import UsageError

Given = TypeVar("Given")
Made = TypeVar("Made")

MOST_THREADS = 64
"""More threads are used only on machines with many processors."""
MOST_PER_PROCESSOR = 4


def count_threads(threads: int | None) -> int:
    """The number of threads to use: as given, or one per processor available to this process.

    A number too large to be useful is reduced, since each thread takes memory. Results do not depend on it.

    Examples
    --------
    >>> count_threads(3)
    3
    >>> count_threads(10**9) < 10**6
    True
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads is None:
        return processors
    if threads < 1:
        raise UsageError(f"--threads must be at least 1, not {threads}")
    return min(threads, max(MOST_THREADS, MOST_PER_PROCESSOR * processors))


def is_alone(given: object) -> bool:
    """Whether a job is so large that no other may run at the same time."""
    return isinstance(given, tuple) and any(getattr(part, "exclusive", False) for part in given)


class Workers:
    """A thread pool whose `map` keeps the order and runs only slightly ahead, so that memory stays bounded.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, -2]))
    [1, 2]
    """

    def __init__(self, threads: int, *, beside: bool = False) -> None:
        """Start the threads. With `beside`, the calling thread works as well and counts as one of `threads`."""
        self.threads = max(1, threads - 1) if beside and threads > 1 else threads
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="lookalike") if threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., Made], *given: Any) -> Future[Made]:
        """Start a call, which needs more than one thread: the caller goes on meanwhile."""
        assert self._pool is not None
        return self._pool.submit(function, *given)

    def begin(self, function: Callable[[], Made]) -> Callable[[], Made]:
        """Start a call on another thread, if there are several; the returned function waits for its result.

        Examples
        --------
        >>> with Workers(2) as workers:
        ...     wait = workers.begin(lambda: 1 + 1)
        ...     wait()
        2
        """
        return function if self._pool is None else self._pool.submit(function).result

    def map(self, function: Callable[[Given], Made], given: Iterable[Given], most: int | None = None) -> Iterator[Made]:
        """Like the built-in `map`, in the same order, with at most `most` jobs in progress or waiting.

        A job that is a tuple with an element whose `exclusive` is true runs alone.
        """
        if self._pool is None:
            yield from map(function, given)
            return
        most = self.threads + 2 if most is None else most
        waiting: deque[Future[Made]] = deque()
        for one in given:
            if is_alone(one):
                while waiting:
                    yield waiting.popleft().result()
                yield self._pool.submit(function, one).result()
                continue
            waiting.append(self._pool.submit(function, one))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
