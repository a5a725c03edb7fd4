"""How commands talk while they work: a line that moves on terminals (cli/bar.py), plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from dataclasses import dataclass

from lookalike.engine.progress import Progress
from lookalike.engine.usage import resident_bytes

PLAIN_SECONDS = 10.0
"""How often a long job says where it is when stderr is no terminal."""


def open_progress(quiet: bool) -> Progress:
    """The progress that fits: silent, a bar, or plain lines."""
    if quiet or sys.stderr is None:  # None: it was closed by whoever started us
        return Progress()
    if not sys.stderr.isatty():
        return PlainProgress()
    from lookalike.cli.bar import BarProgress  # rich takes a while to import

    return BarProgress()


@dataclass(slots=True)
class Stage:
    """A stage that is going on."""

    name: str
    total: int | None
    unit: str
    """"B" for bytes, otherwise what is counted."""
    started: float
    done: int = 0

    def describe(self, now: float, memory_bytes: int) -> str:
        """How far it is, how fast, how long it will take, and the memory.

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


class TalkingProgress(Progress):
    """Knows the stage that is going on, and says at the end what each took: once, however often it was entered."""

    def __init__(self) -> None:
        super().__init__()
        self._stage: Stage | None = None

    def start(self, name: str, total: int | None, unit: str) -> None:
        """A stage begins."""
        self._stage = Stage(name, total, unit, time.perf_counter())

    def advance(self, amount: int) -> None:
        """So much more of it is done."""
        if self._stage:
            self._stage.done += amount

    def stop(self) -> None:
        """The stage is over, for now."""
        self._stage = None

    def finish(self) -> None:
        """Say how long each stage took."""
        for name, seconds in self.seconds.items():
            self.say(f"  {name:<15} {seconds:7.2f} s")


class PlainProgress(TalkingProgress):
    """A line now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._said = time.perf_counter()
        self._over = threading.Event()
        self._saying = threading.Lock()

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Watch the stage."""
        super().start(name, total, unit)
        self._over = threading.Event()
        # from a thread: a stage may be at work in a kernel for long without a word
        threading.Thread(target=self._watch, args=(self._stage, self._over), daemon=True).start()

    def _watch(self, stage: Stage, over: threading.Event) -> None:
        # counted from the last line, not from the stage's start: many short stages are worth a line, too
        while not over.wait(max(0.0, self._said + PLAIN_SECONDS - time.perf_counter())):
            with self._saying:
                if over.is_set():  # while it waited for its turn
                    return
                self._said = time.perf_counter()
                self.say(f"  {stage.name}: {stage.describe(self._said, resident_bytes())}")

    def stop(self) -> None:
        """The stage is over, for now."""
        super().stop()
        with self._saying:  # a stage that is over says no more
            self._over.set()

    def say(self, text: str) -> None:
        """A line on stderr; that nobody listens any more is no reason to stop the work."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text + "\n")  # in one piece, whatever the watching thread says
            sys.stderr.flush()
