"""What a job hands down to its stages: its settings, workers, progress and work folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lookalike.engine.execution import Execution
from lookalike.engine.progress import Progress
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers


class HasExecution(Protocol):
    """Settings of any job: they say how it is executed."""

    @property
    def execution(self) -> Execution:
        """Threads and memory."""
        ...


AnySettings = TypeVar("AnySettings", bound=HasExecution)


@dataclass(frozen=True, slots=True)
class Run(Generic[AnySettings]):
    """One run of a job. Made by `open_run`, and handed to every stage instead of its parts."""

    settings: AnySettings
    workers: Workers
    progress: Progress
    work: WorkFolder | None = None
    """Where pieces of work are kept so that a killed run can be resumed; None for a run in memory."""


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
        yield Run(settings, workers, progress or Progress(), work)
