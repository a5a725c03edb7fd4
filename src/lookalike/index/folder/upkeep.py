"""Merging in the background, by a thread that exists while there is work. Does not know what a segment is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import Protocol

from lookalike.errors import LookalikeError
from lookalike.index.folder.errors import DamagedError


class CancelledError(LookalikeError):
    """Merging was cancelled; it starts again later."""


class Step(Protocol):
    """Does one merge; returns False if there was nothing to do."""

    def __call__(self, check: Callable[[], None], *, only_tables: bool) -> bool:
        """Call `check` now and then. `only_tables`: a segment is damaged, so leave segments as they are."""


class Upkeep:
    """Runs steps in a thread until there is nothing left to do.

    Examples
    --------
    >>> left = [1, 2, 3]
    >>> upkeep = Upkeep(lambda check, only_tables: bool(left and left.pop()))
    >>> upkeep.wake()
    >>> upkeep.end(finish=True)
    >>> left
    []
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._news = Condition()
        """Notified whenever a step or the thread has ended."""
        self._thread: Thread | None = None
        self._wanted = self._cancelled = self._only_tables = False
        self._working = Lock()
        """Held during a step."""
        self.problem: str | None = None
        """Why the last step failed."""

    def wake(self) -> None:
        """Look for something to do."""
        with self._news:
            self._wanted = True
            if self._thread is None and not self._cancelled:
                self._thread = Thread(target=self._run, name="lookalike-merge")
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._news:
                if not self._wanted or self._cancelled:
                    self._thread = None
                    self._news.notify_all()
                    return
                self._wanted = False
            self._work()

    def _work(self) -> None:
        """Do steps until none is left, or one fails."""
        more = True
        while more:
            try:
                with self._working:
                    self._check()
                    more = self._step(self._check, only_tables=self._only_tables)
                if not self._only_tables:
                    self.problem = None
            except CancelledError:
                more = False
            except DamagedError as error:
                more, self._only_tables, self.problem = not self._only_tables, True, str(error)
            except Exception as error:  # whatever it is, additions go on, and `problem` says so
                more, self.problem = False, str(error) or repr(error)
            with self._news:
                self._news.notify_all()

    def _check(self) -> None:
        if self._cancelled:
            raise CancelledError

    def wait_while(self, condition: Callable[[], bool]) -> None:
        """Wait while a condition holds and the thread can still change that."""
        if not condition():
            return
        self.wake()
        with self._news:
            self._news.wait_for(lambda: self._thread is None or not condition())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No step is under way during the block; one that was is cancelled."""
        self._cancelled = True
        try:
            with self._working:
                yield
        finally:
            self._cancelled = False
            self.wake()

    def end(self, *, finish: bool) -> None:
        """Stop, at once or when there is nothing left to do."""
        thread = self._thread
        if not finish:
            self._cancelled = True
        if thread is None:
            return
        try:
            thread.join()
        except BaseException:  # interrupted: what is not merged now is merged later
            self._cancelled = True
            thread.join()
            raise
