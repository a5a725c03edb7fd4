"""What a job hands down to its stages: its settings, workers, progress and work folder."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from lookalike.engine.execution import Execution
from lookalike.engine.progress import Progress
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers
from lookalike.types import TEMPORARY


class HasExecution(Protocol):
    """Settings of any job: they say how it is executed."""

    @property
    def execution(self) -> Execution:
        """Threads and memory."""
        ...


AnySettings = TypeVar("AnySettings", bound=HasExecution)


@dataclass(slots=True)
class Run(Generic[AnySettings]):
    """One run of a job. Made by `open_run`, and handed to every stage instead of its parts."""

    settings: AnySettings
    workers: Workers
    progress: Progress
    work: WorkFolder | None = None
    """Where finished pieces of work are kept so that a killed run can be resumed; None for a run in memory."""
    _temporary: WorkFolder | None = field(default=None, init=False)

    def scratch(self) -> WorkFolder:
        """A work folder in any case: a temporary one, removed with the run, if the run has none."""
        if self.work is not None:
            return self.work
        if self._temporary is None:
            self._temporary = WorkFolder(
                Path(tempfile.mkdtemp(prefix=TEMPORARY)), {}, resume=False, save_seconds=math.inf
            )
        return self._temporary

    def close(self) -> None:
        """Remove the temporary work folder, if there is one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary.folder, ignore_errors=True)


@contextmanager
def open_run(
    settings: AnySettings, progress: Progress | None = None, work: WorkFolder | None = None
) -> Iterator[Run[AnySettings]]:
    """Start the workers of a run, and stop them when it ends.

    Examples
    --------
    >>> from lookalike.engine.settings import Settings
    >>> with open_run(Settings.parse(threads=2)) as run:
    ...     list(run.workers.map(abs, [-1, -2]))
    [1, 2]
    """
    with Workers(settings.execution.threads) as workers:
        run = Run(settings, workers, progress or Progress(), work)
        try:
            yield run
        finally:
            run.close()
