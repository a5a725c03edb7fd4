"""Progress on stderr: a bar in a terminal (cli/bar.py), plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time

from lookalike.jobs.progress import Progress

PLAIN_SECONDS = 10.0
"""How often a long stage says where it is when stderr is no terminal."""


def open_progress(quiet: bool) -> Progress:
    """The progress that fits: silent, a bar, or plain lines."""
    if quiet or sys.stderr is None:  # None: it was closed by whoever started us
        return Progress()
    if not sys.stderr.isatty():
        return PlainProgress()
    from lookalike.cli.bar import BarProgress  # rich takes a while to import

    return BarProgress()


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
        """A line on stderr; that nobody listens any more is no reason to stop the work."""
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)
