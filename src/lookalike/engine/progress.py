"""Progress of a job. Jobs print nothing themselves; they report to a `Progress`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike.engine.usage import moved_bytes


class Progress:
    """Receives the progress of a job. This class only records times and bytes; subclasses print.

    A stage may be entered many times, once per batch: its times add up.

    Examples
    --------
    >>> progress = Progress()
    >>> for _ in range(2):
    ...     with progress.stage("reading", total=10, unit="B"):
    ...         progress.advance(10)
    >>> list(progress.seconds)
    ['reading']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.bytes: dict[str, dict[str, int]] = {}
        """Bytes read and written by stage; empty if the system does not count them."""
        self.notes: list[str] = []
        """Remarks for the user that also belong in run.json."""
        self._active: list[tuple[str, int | None, str]] = []
        self._since: tuple[float, dict[str, int] | None] = (0.0, None)

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[None]:
        """Enter a step of the job, with the amount of work: bytes ("B"), or a number of whatever `unit` names.

        A stage inside another interrupts it: its time and bytes count only for itself.
        """
        if self._active:
            self._pause()
        self._active.append((name, total, unit))
        self._resume()
        try:
            yield
        finally:
            self._pause()
            self._active.pop()
            if self._active:
                self._resume()

    def _resume(self) -> None:
        self._since = time.perf_counter(), moved_bytes()
        self.start(*self._active[-1])

    def _pause(self) -> None:
        name, (started, before) = self._active[-1][0], self._since
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
        self._count_bytes(name, before)
        self.stop()

    def _count_bytes(self, name: str, before: dict[str, int] | None) -> None:
        after = moved_bytes()
        if before is None or after is None:
            return
        counted = self.bytes.setdefault(name, dict.fromkeys(after, 0))
        for kind in after:
            counted[kind] += after[kind] - before[kind]

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Called when a stage starts."""

    def advance(self, amount: int) -> None:
        """Called when another `amount` of the stage is done."""

    def stop(self) -> None:
        """Called when the stage ends or is interrupted."""

    def finish(self) -> None:
        """Called after the last stage."""

    def note(self, text: str) -> None:
        """Report a remark, and keep it."""
        self.notes.append(text)
        self.say(text)

    def say(self, text: str) -> None:
        """Report a message."""
