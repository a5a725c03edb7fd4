"""Progress on stderr: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from lookalike.jobs.progress import Progress

PLAIN_SECONDS = 10.0
"""How often a long stage says where it is when stderr is no terminal."""


def open_progress(quiet: bool) -> Progress:
    """The progress that fits: silent, a bar, or plain lines."""
    if quiet:
        return Progress()
    return BarProgress() if sys.stderr.isatty() else PlainProgress()


class BarProgress(Progress):
    """A line that moves."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True)
        self._bars: Bars | None = None
        self._task: TaskID | None = None

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Show the stage's bar."""
        columns = [SpinnerColumn(), TextColumn("{task.description:<14}")]
        if total and unit == "B":
            columns += [BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()]
        self._bars = Bars(*columns, TimeElapsedColumn(), console=self._console, transient=True)
        self._task = self._bars.add_task(name, total=total)
        self._bars.start()

    def advance(self, amount: int) -> None:
        """Move the bar."""
        if self._bars and self._task is not None:
            self._bars.advance(self._task, amount)

    def stop(self) -> None:
        """Take the bar away and leave a line."""
        if self._bars:
            self._bars.stop()
            name, seconds = list(self.seconds.items())[-1]
            self._console.print(f"  {name:<15} {seconds:7.2f} s", style="dim")
        self._bars = None

    def say(self, text: str) -> None:
        """Print above the bar."""
        self._console.print(text, highlight=False)


class PlainProgress(Progress):
    """A line when a stage ends, and now and then while it lasts."""

    def __init__(self) -> None:
        super().__init__()
        self._name, self._total, self._done = "", 0, 0
        self._started = self._said = 0.0

    def start(self, name: str, total: int | None, unit: str) -> None:  # noqa: ARG002
        """Note the time."""
        self._name, self._total, self._done = name, total or 0, 0
        self._started = self._said = time.perf_counter()

    def advance(self, amount: int) -> None:
        """Say how far it is, not too often."""
        self._done += amount
        now = time.perf_counter()
        if self._total and now - self._said > PLAIN_SECONDS:
            self._said = now
            share = min(1.0, self._done / self._total)
            left = (now - self._started) * (1 - share) / max(share, 1e-9)
            rate = self._done / 1e6 / (now - self._started)
            self.say(f"  {self._name}: {share:.0%}, {rate:.0f} MB/s, {left:.0f} s left")

    def stop(self) -> None:
        """Say how long it took."""
        self.say(f"  {self._name:<15} {time.perf_counter() - self._started:7.2f} s")

    def say(self, text: str) -> None:
        """A line on stderr."""
        print(text, file=sys.stderr, flush=True)
