"""Progress as a line that moves, for terminals."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from lookalike.jobs.progress import Progress


class BarProgress(Progress):
    """A line that moves."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True)
        self._bars: Bars | None = None
        self._task: TaskID | None = None

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Show the stage's bar."""
        columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description:<14}")]
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
        # as it is: names may hold [brackets], and a path that is broken into lines cannot be copied
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
