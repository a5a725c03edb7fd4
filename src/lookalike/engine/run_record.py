"""The record of a run: its options, plan, counts and times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.engine.progress import Progress
from lookalike.engine.usage import peak_memory_bytes
from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError, is_device_failure
from lookalike.types import RUN_FILE, parse_record
from lookalike.version import __version__
from lookalike.write.files import describe_failure, disk_errors

if TYPE_CHECKING:
    from lookalike.tuning.plan import Plan

DAMAGE = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What reading a file of a run can raise if others have changed it; RuntimeError is for types and depths of nesting."""


def read_run(out: str | Path) -> dict[str, Any]:
    """The record of a finished dedup run, with its inputs and rules."""
    path = Path(out) / RUN_FILE
    if not Path(out).exists():
        raise UsageError(f"{out}: no such folder")
    if not path.is_file():
        raise UsageError(f"{out}: is not an output of lookalike dedup (run.json is missing)")
    with disk_errors(path):
        found = parse_record(path.read_bytes())
    if found is None:
        raise BadDataError(f"{path}: is damaged or not a record of lookalike; run dedup on the input again")
    options = found["options"]
    if not isinstance(options, dict) or not {"reference", "inputs", "keep", "policy"} <= options.keys():
        raise UsageError(f"{out}: is not an output of lookalike dedup (run.json is of another command)")
    lists = [options["inputs"], options["reference"], [options["keep"], options["policy"]]]
    if not all(isinstance(one, list) and all(isinstance(word, str) for word in one) for one in lists):
        raise BadDataError(f"{path}: is damaged; run dedup on the input again")
    return found


@contextmanager
def damage_reported(out: str | Path, command: str) -> Iterator[None]:
    """Report what goes wrong with the files of a finished run as bad data: others may have cut or edited them.

    Examples
    --------
    >>> with damage_reported("out", "dedup"):
    ...     {}["column"]
    Traceback (most recent call last):
    lookalike.errors.BadDataError: out: damaged or edited (KeyError: 'column'); run dedup again
    """
    try:
        yield
    except LookalikeError:
        raise
    except DAMAGE as error:
        if is_device_failure(error):
            raise ResourceError(f"{out}: {describe_failure(error)}") from error
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a disk, not what is on it; Arrow has no number for files that it cannot decode
        reason = (str(error).splitlines() or [""])[0]
        raise BadDataError(
            f"{out}: damaged or edited ({type(error).__name__}: {reason}); run {command} again"
        ) from error


def used(progress: Progress) -> dict[str, Any]:
    """The time and bytes of each stage so far, and the peak memory."""
    return {
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "bytes": progress.bytes,
        "peak_memory_bytes": peak_memory_bytes(),
    }


def add_publishing(record: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Add to the record the time it took to flush and rename the output, which run.json itself cannot contain.

    Examples
    --------
    >>> add_publishing({"seconds": {"reading": 1.5}}, 0.25)["seconds"]
    {'reading': 1.5, 'publishing': 0.25}
    """
    return {**record, "seconds": {**record["seconds"], "publishing": round(seconds, 3)}}


def describe_run(
    options: dict[str, Any],
    plan: Plan | None,
    counts: dict[str, int],
    alarms: list[dict[str, Any]],
    progress: Progress,
    audit: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of run.json. `options` are the options that repeat the run; exact methods have no plan."""
    return {
        "version": __version__,
        "options": options,
        "plan": plan.to_dict() if plan else {"bands": 0, "rows": 0, "recall": 1.0},
        "counts": counts,
        **used(progress),
        "alarms": alarms,
        "notes": progress.notes,
        "audit": audit,
    }
