"""What a job tells while it works. The jobs themselves print nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lookalike.kernels.compile import is_compiled


class Progress:
    """Hears how far a job is. This one keeps silent and the time; the command line has one that draws.

    Examples
    --------
    >>> progress = Progress()
    >>> with progress.stage("reading", total=10, unit="B"):
    ...     progress.advance(10)
    >>> list(progress.seconds)
    ['reading']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[None]:
        """A step of the job, with how much there is to do."""
        started = time.perf_counter()
        self.start(name, total, unit)
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
            self.stop()

    def start(self, name: str, total: int | None, unit: str) -> None:
        """A stage begins."""

    def advance(self, amount: int) -> None:
        """So much more of the stage is done."""

    def stop(self) -> None:
        """The stage is over."""

    def say(self, text: str) -> None:
        """Something worth knowing before the work goes on."""

    def compiling(self, kernels: Callable[..., Any], what: str) -> None:
        """Say so, if a step that not every job has must first be compiled: that takes a few seconds, once."""
        if not is_compiled(kernels):
            self.say(f"Compiling kernels for {what}, once after each install ...")
