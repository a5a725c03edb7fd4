"""What a job passes to its stages: its settings, workers, progress and work folder."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from lookalike.engine.allocators import thrifty_memory
from lookalike.engine.execution import Execution
from lookalike.engine.progress import Progress
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers
from lookalike.types import TEMPORARY
from lookalike.types.frozen import mutable

SMALL_BYTES = 1 << 16
"""Smaller input is processed in less time than threads take to start."""


class HasExecution(Protocol):
    """The settings of any job: they say how it is executed."""

    @property
    def execution(self) -> Execution:
        """Threads and memory."""
        ...


AnySettings = TypeVar("AnySettings", bound=HasExecution)


@mutable
class Run(Generic[AnySettings]):
    """One run of a job. Created by `open_run` and passed to every stage."""

    settings: AnySettings
    workers: Workers
    progress: Progress
    work: WorkFolder | None = None
    """Where finished pieces of work are kept so that a killed run can be resumed; None for a run in memory."""
    resumable: bool = True
    """Whether what is in the work folder outlives a killed run."""
    _temporary: WorkFolder | None = field(default=None, init=False)

    @property
    def piece_bytes(self) -> int:
        """The size of digests at which they are written to the work folder."""
        budget = self.settings.execution.budget
        return budget.piece_bytes if self.resumable else budget.unsaved_bytes

    def scratch(self) -> WorkFolder:
        """The work folder, or a temporary one, removed with the run, if the run has none."""
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
    settings: AnySettings,
    progress: Progress | None = None,
    work: WorkFolder | None = None,
    spool: Path | None = None,
    nbytes: int | None = None,
) -> Iterator[Run[AnySettings]]:
    """Start the workers of a run, and stop them when it ends.

    A run without a work folder can be given a temporary folder, `spool`, for what does not fit in memory. The caller
    removes it when it no longer needs the results. If the input has few bytes (`nbytes`), no threads are started.

    Examples
    --------
    >>> from lookalike.engine.settings import Settings
    >>> with open_run(Settings.parse(threads=2)) as run:
    ...     list(run.workers.map(abs, [-1, -2]))
    [1, 2]
    """
    execution = settings.execution
    threads = 1 if nbytes is not None and nbytes < SMALL_BYTES else execution.threads
    with thrifty_memory(execution.budget.total_bytes), Workers(threads) as workers:
        resumable = work is not None
        if work is None and spool is not None:
            work = WorkFolder(spool / "work", {}, resume=False)
        run = Run(settings, workers, progress or Progress(), work, resumable)
        try:
            yield run
        finally:
            run.close()
