"""The plan of a dedup run: its inputs, its method, its work folder, and the resources it will need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from lookalike.engine.columns import check_optional
from lookalike.engine.forecast import Forecast, check_forecast, forecast_run
from lookalike.engine.method import Choice, choose, report_plan
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_work
from lookalike.engine.settings import Settings
from lookalike.engine.stores.work import WorkFolder
from lookalike.kernels.pack import expect
from lookalike.matching.stages import LOCAL, Stages
from lookalike.read import open_inputs
from lookalike.types import Source, total_bytes
from lookalike.types.frozen import frozen
from lookalike.write import OutputFolder

FIRST_KERNELS = ("sample", "dedup lsh")
"""What is needed before the method is known, and most likely afterwards."""


@frozen
class DedupPlan:
    """The inputs and settings of a run, after the method has been chosen."""

    sources: list[Source]
    references: list[Source]
    settings: Settings
    choice: Choice | None

    @property
    def everything(self) -> list[Source]:
        """All sources, reference items first."""
        return self.references + self.sources

    @property
    def nbytes(self) -> int:
        """The total size of the input."""
        return total_bytes(self.everything)

    def open_work(self, output: OutputFolder, folder: Path, asked: dict[str, Any], stages: Stages) -> WorkFolder:
        """The folder of finished pieces of work; engines leave different pieces."""
        named = asked if stages is LOCAL else {**asked, "engine": stages.name}
        seconds = self.settings.execution.save_seconds
        return open_work(output, folder, self.settings.to_dict(), named, self.everything, seconds)

    def check_forecast(self, output: OutputFolder, stages: Stages, progress: Progress) -> Forecast:
        """Report what the run will need; refuse it if that does not fit."""
        local = stages is LOCAL
        forecast = forecast_run(self.sources, self.references, self.settings, cluster=not local)
        progress.say(forecast.describe("" if local else " on the driver"))
        if warning := check_forecast(forecast, self.settings, output.work, output.path, stages.item_bytes):
            progress.say(warning)
        return forecast


def plan_files(
    inputs: Sequence[str | Path],
    reference: Sequence[str | Path | Source],
    settings: Settings,
    output: OutputFolder,
    progress: Progress,
    rank: tuple[str, str | None],
) -> DedupPlan:
    """Open the inputs of a run into a folder, choose the method, and report it."""
    opened = partial(
        open_inputs, encoding=settings.items.encoding, spool=output.spool, outputs=output.places,
        limits=settings.execution.limits, skip_errors=settings.items.skip_errors, note=progress.note,
    )  # fmt: skip
    expect(*FIRST_KERNELS)
    with progress.stage("planning"):
        sources, references = opened(inputs), _open_references(reference, opened)
    plan = plan_sources(sources, references, settings, progress, rank)
    report_plan(plan.settings, plan.choice, progress)
    return plan


def plan_sources(
    sources: list[Source],
    references: list[Source],
    settings: Settings,
    progress: Progress,
    rank: tuple[str, str | None],
) -> DedupPlan:
    """Choose the method; `rank` is the keep rule and its column."""
    expect(*FIRST_KERNELS)
    rule, column = rank
    with progress.stage("planning"):
        if column is not None:
            check_optional(sources, column, "keep", rule + ":{}")
        settings, choice = choose(references + sources, settings)
    expect(f"dedup {settings.matching.method}")
    return DedupPlan(sources, references, settings, choice)


def _open_references(
    reference: Sequence[str | Path | Source], opened: Callable[[Sequence[str | Path]], list[Source]]
) -> list[Source]:
    """Open references that are files; sources are left as they are, in order."""
    found: list[Source] = []
    for are_paths, some in groupby(reference, lambda one: isinstance(one, str | Path)):
        given: list[Any] = list(some)
        found += opened(given) if are_paths else given
    return found
