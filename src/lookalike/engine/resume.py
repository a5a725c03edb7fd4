"""Resuming a killed run: its output folder, and the finished pieces of work that it reuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.engine.progress import Progress
from lookalike.engine.stores.work import SAVE_SECONDS, WorkFolder
from lookalike.errors import UsageError
from lookalike.read import identity_of, refuse_inputs_in
from lookalike.types import Source
from lookalike.version import __version__
from lookalike.write import OutputFolder

CHANGEABLE = ("threads", "memory_bytes")
"""Settings that no result depends on: they may change when a run is resumed."""


def open_output(
    out: str | Path, inputs: Sequence[str | Path], overwrite: bool, resume: bool, work: str | Path | None
) -> OutputFolder:
    """Open the output folder of a run, which must not contain an input. Standard input rules out resuming."""
    piped = "-" in map(str, inputs)
    if resume and piped:
        raise UsageError("--resume: standard input cannot be read again; save it to a file first")
    output = OutputFolder(out, overwrite, resume, work, resumable=not piped)
    refuse_inputs_in(output.places, inputs)
    return output


def open_work(
    output: OutputFolder,
    folder: Path,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    sources: list[Source],
    save_seconds: float = SAVE_SECONDS,
) -> WorkFolder:
    """Open the work folder of a run. Its pieces are valid only for the same settings, options, inputs and version."""
    same = {name: value for name, value in settings.items() if name not in CHANGEABLE}
    identity = {"version": __version__, **same, **options, "files": identity_of(sources)}
    return WorkFolder(output.work, identity, output.resume, folder, save_seconds)


def report_reused(work: WorkFolder, progress: Progress) -> None:
    """Report how much of a killed run is reused."""
    if work.reused:
        progress.say(f"Resuming: {len(work.reused)} finished pieces of work are reused.")
