"""The files of a job that lists pairs: within one collection, or between two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from lookalike.engine.columns import check_compared
from lookalike.engine.execution import Execution
from lookalike.engine.progress import Progress
from lookalike.engine.settings import ItemSettings
from lookalike.read import open_inverted, open_sides
from lookalike.types import Source


class FileSettings(Protocol):
    """Settings of a job that reads items."""

    @property
    def items(self) -> ItemSettings:
        """What items are."""

    @property
    def execution(self) -> Execution:
        """How the job is executed."""


def open_files(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    settings: FileSettings,
    spool: Path,
    progress: Progress,
    transposed: bool,
) -> tuple[list[Source], list[Source]]:
    """Open both collections. With `transposed`, the items of the first are the elements of the sets in its files."""
    with progress.stage("planning"):
        sources, others = open_sides(
            inputs, against, settings.items.encoding, spool, settings.execution.limits,
            skip_errors=settings.items.skip_errors, note=progress.note,
        )  # fmt: skip
        if transposed:
            check_compared(sources, settings.items.column)
            sources = open_inverted(sources, settings.items.column, settings.execution.budget.sets_bytes)
    return sources, others
