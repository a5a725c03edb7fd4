"""Progress as moving lines, for terminals."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from lookalike.cli.progress import VisibleProgress
from lookalike.engine.usage import resident_bytes


class BarProgress(VisibleProgress):
    """A line per stage: the current one moves, the earlier ones show their time."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description:<17}"), BarColumn(10), _StateColumn(self))
        self._bars = Bars(*columns, console=self._console, transient=True)
        self._tasks: dict[str, TaskID] = {}

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Show the bar of the stage; it starts again if the stage was entered before."""
        super().start(name, total, unit)
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        self._bars.reset(self._tasks[name], total=total)
        self._bars.start()

    def advance(self, amount: int) -> None:
        """Move the bar."""
        super().advance(amount)
        if self._stage:
            self._bars.advance(self._tasks[self._stage.name], amount)

    def stop(self) -> None:
        """Remove the bars until the next stage, so that an error in between leaves the terminal restored."""
        if self._stage:
            self._bars.update(self._tasks[self._stage.name], total=1, completed=1)
        super().stop()
        self._bars.stop()

    def describe(self, name: str) -> str:
        """The text of a stage's line."""
        stage = self._stage
        if stage is None or stage.name != name:
            return f"{self.seconds.get(name, 0.0):.2f} s"
        return stage.describe(time.perf_counter(), resident_bytes())

    def show(self, line: str) -> None:
        """Print above the bars."""
        # unchanged: names may contain [brackets], and a path broken into lines cannot be copied
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class _StateColumn(ProgressColumn):
    """The description of a stage."""

    def __init__(self, progress: BarProgress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.describe(task.description), no_wrap=True)
