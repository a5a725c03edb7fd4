"""The record of a run: what was asked, planned, counted and timed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.usage import peak_memory_bytes
from lookalike.errors import UsageError
from lookalike.version import __version__


def read_run(out: str | Path) -> dict[str, Any]:
    """The record of a finished run."""
    record = Path(out) / "run.json"
    if not record.is_file():
        raise UsageError(f"{out}: is not an output of lookalike dedup (run.json is missing)")
    found: dict[str, Any] = json.loads(record.read_text("utf-8"))
    return found


def describe_run(
    settings: Settings,
    options: dict[str, Any],
    counts: dict[str, int],
    alarms: list[dict[str, Any]],
    progress: Progress,
    audit: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What run.json holds."""
    plan = settings.matching.plan
    return {
        "version": __version__,
        "options": {**settings.to_dict(), **options},
        "plan": plan.to_dict() if plan else {"bands": 0, "rows": 0, "recall": 1.0},
        "counts": counts,
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "bytes": progress.bytes,
        "peak_memory_bytes": peak_memory_bytes(),
        "alarms": alarms,
        "audit": audit,
    }
