"""What a job tells while it works. The jobs themselves print nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lookalike.engine.usage import moved_bytes
from lookalike.kernels.compile import is_compiled


class Progress:
    """Hears how far a job is. This one keeps silent, the time and the bytes; the command line has ones that talk.

    A stage may be entered again and again, batch after batch: what it took adds up.

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
        """By stage: read and written. Empty where the system does not count them."""
        self._going: list[tuple[str, int | None, str]] = []
        self._since: tuple[float, dict[str, int] | None] = (0.0, None)

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[None]:
        """A step of the job, with how much there is to do: bytes ("B"), or a number of what `unit` names.

        A stage within another one interrupts it: its time and bytes are its own.
        """
        if self._going:
            self._pause()
        self._going.append((name, total, unit))
        self._go_on()
        try:
            yield
        finally:
            self._pause()
            self._going.pop()
            if self._going:
                self._go_on()

    def _go_on(self) -> None:
        self._since = time.perf_counter(), moved_bytes()
        self.start(*self._going[-1])

    def _pause(self) -> None:
        name, (started, before) = self._going[-1][0], self._since
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
        """A stage begins."""

    def advance(self, amount: int) -> None:
        """So much more of the stage is done."""

    def stop(self) -> None:
        """The stage is over, for now."""

    def finish(self) -> None:
        """All stages are over."""

    def say(self, text: str) -> None:
        """Something worth knowing before the work goes on."""

    def compiling(self, kernels: Callable[..., Any], what: str) -> None:
        """Say so, if a step that not every job has must first be compiled: that takes a few seconds, once."""
        if not is_compiled(kernels):
            self.say(f"Compiling kernels for {what}, once after each install ...")
