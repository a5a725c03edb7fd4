"""Progress on stderr while a command works: a moving line on terminals, plain lines elsewhere."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time

from lookalike.cli.terminal import say, status
from lookalike.engine.progress import Progress
from lookalike.engine.usage import resident_bytes
from lookalike.kernels.pack import announce_with
from lookalike.types.frozen import mutable

PLAIN_SECONDS = 10.0
"""Seconds between progress lines if stderr is not a terminal."""
MOVING_SECONDS = 0.1
"""Seconds between changes of the moving line."""


def open_progress(quiet: bool) -> Progress:
    """Choose the progress for stderr: none, a moving line, or lines. It also reports when kernels must be compiled."""
    progress = _progress(quiet)
    announce_with(progress.say)
    return progress


def _progress(quiet: bool) -> Progress:
    if quiet or sys.stderr is None:  # None: the parent process closed it
        return Progress()
    moving = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"  # such a terminal cannot replace a line
    return MovingProgress(MOVING_SECONDS) if moving else PlainProgress(PLAIN_SECONDS)


@mutable
class Stage:
    """The current stage."""

    name: str
    total: int | None
    unit: str
    """`B` for bytes, otherwise what is counted."""
    started: float
    done: int = 0

    def describe(self, now: float, memory_bytes: int) -> str:
        """Share done, rate, time left, and memory in use.

        Examples
        --------
        >>> Stage("reading", 4_000_000_000, "B", started=0, done=1_000_000_000).describe(10, 500_000_000)
        '25% of 4.0 GB, 100 MB/s, 30 s left, using 500 MB'
        >>> Stage("joining bands", 26, "bands", started=0, done=13).describe(3600, 1_200_000_000)
        '50% of 26 bands, 13 bands/h, 60 min left, using 1.2 GB'
        >>> Stage("verifying", None, "", started=0).describe(200, 500_000_000)
        '3 min so far, using 500 MB'
        """
        spent, using = max(now - self.started, 1e-9), f"using {_bytes(memory_bytes)}"
        if not self.total:
            return f"{_seconds(spent)} so far, {using}"
        share = min(1.0, self.done / self.total)
        parts = [f"{share:.0%} of {_amount(self.total, self.unit)}".rstrip()]
        if self.done:
            parts += [_rate(self.done / spent, self.unit), f"{_seconds(spent * (1 - share) / share)} left"]
        return ", ".join([*filter(None, parts), using])


def _amount(number: int, unit: str) -> str:
    return _bytes(number) if unit == "B" else f"{number:,} {unit}"


def _rate(per_second: float, unit: str) -> str:
    if unit == "B" or not unit:
        return f"{_bytes(per_second)}/s" if unit else ""
    times = ((1, "s"), (60, "min"), (3600, "h"))
    factor, name = next((one for one in times if per_second * one[0] >= 1), times[-1])
    return f"{per_second * factor:,.0f} {unit}/{name}"


def _bytes(number: float) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.0f} MB"


def _seconds(number: float) -> str:
    if number < 100:
        return f"{number:.0f} s"
    return f"{number / 60:.0f} min" if number < 6000 else f"{number / 3600:.1f} h"


class VisibleProgress(Progress):
    """Progress that watches the current stage, and reports at the end how long each stage took in total."""

    def __init__(self, every_seconds: float) -> None:
        super().__init__()
        self._every_seconds = every_seconds
        self._reported = time.perf_counter()
        self._stage: Stage | None = None
        self._over = threading.Event()
        self._reporting = threading.Lock()

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage, and watch it."""
        status.hidden = status.over = False
        self._stage = Stage(name, total, unit, time.perf_counter())
        self._over = threading.Event()
        # in a thread: a stage may spend a long time in one kernel
        threading.Thread(target=self._watch, args=(self._stage, self._over), daemon=True).start()

    def _watch(self, stage: Stage, over: threading.Event) -> None:
        # measured from the last report, not from the start of the stage: many short stages are reported too
        while not over.wait(max(0.0, self._reported + self._every_seconds - time.perf_counter())):
            with self._reporting:
                if over.is_set():  # the stage may have ended while this thread waited for the lock
                    return
                self._reported = time.perf_counter()
                self.report(stage.name, stage.describe(self._reported, resident_bytes()))

    def report(self, name: str, state: str) -> None:
        """Show how far a stage is."""

    def advance(self, amount: int) -> None:
        """Count more work as done."""
        if self._stage:
            self._stage.done += amount

    def stop(self) -> None:
        """End the stage, or interrupt it."""
        self._stage = None
        with self._reporting:  # nothing is shown about a stage that is over
            self._over.set()

    def say(self, text: str) -> None:
        """Write a line to stderr; names in it cannot affect the terminal."""
        say(text)

    def finish(self) -> None:
        """Report how long each stage took, the longest in any case; the others of no time had nothing to do."""
        longest = max(self.seconds.values(), default=0.0)
        for name, seconds in self.seconds.items():
            if (shown := f"{seconds:7.2f}") != "   0.00" or seconds == longest:
                self.say(f"  {name:<18} {shown} s")


class PlainProgress(VisibleProgress):
    """A line at regular intervals."""

    def report(self, name: str, state: str) -> None:
        """Write a line, unless the command has ended: an interrupt can leave a thread that watches its last stage."""
        with status.writing:
            if not status.over:
                self.say(f"  {name}: {state}")


class MovingProgress(VisibleProgress):
    """The last line of a terminal."""

    def __init__(self, every_seconds: float) -> None:
        super().__init__(every_seconds)
        self._turn = itertools.cycle("|/-\\")

    def report(self, name: str, state: str) -> None:
        """Replace the line; a wheel turns while this process lives, since long stages seldom have something new."""
        status.show(f"{next(self._turn)} {name}: {state}")
