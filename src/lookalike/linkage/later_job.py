"""The command `link --against`: new records are linked to those of a finished run, and to each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isinf
from pathlib import Path
from typing import Any

from lookalike.engine.execution import Execution
from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, open_work, report_reused
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import add_publishing
from lookalike.errors import UsageError
from lookalike.linkage.changes import changes_of, number_clusters
from lookalike.linkage.finished import FOLDER, MODEL_FILE, Finished
from lookalike.linkage.job import LinkResult, link_records, result_of, write_results
from lookalike.linkage.later import SIDES, LaterRecords, NamedId, add_records, names_file, read_without
from lookalike.linkage.linked import Linked, first_records
from lookalike.linkage.memory import check_records
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.read import open_inputs
from lookalike.types import Int64


def link_later_files(
    new: Sequence[Sequence[str | Path]],
    out: str | Path,
    against: str | Path,
    execution: Execution,
    progress: Progress,
    *,
    without: str | Path | Sequence[object] | None = None,
    into: str | None = None,
    encoding: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    work_folder: str | Path | None = None,
) -> dict[str, Any]:
    """Link new files to the records of a finished run in a folder; return the contents of run.json.

    Parameters
    ----------
    new
        The paths of one or two tables; none if records are only removed.
    against
        The output folder of the finished run.
    without
        Ids of records to remove, or a file with one per line.
    into
        The table that the records of one file belong to, if two tables were linked: `left` (default) or `right`.
    """
    gone = [] if without is None else read_without(without)
    named = [str(without)] if names_file(without) else []
    paths = [str(path) for side in new for path in side]
    output = open_output(out, [*paths, str(against), *named], overwrite, resume, work_folder)
    with output as folder:
        old = Finished.load(Path(against), execution)
        settings = old.settings if encoding is None else replace(old.settings, encoding=encoding)
        sides = choose_sides(old, new, into, str(against), progress)
        opened = partial(
            open_inputs, encoding=settings.encoding, spool=output.spool, outputs=output.places,
            limits=execution.limits, note=progress.note,
        )  # fmt: skip
        with progress.stage("planning"):
            sources = [opened(side) if side else [] for side in sides]
            records, exact = count_items([one for side in sources for one in side])
        if exact:
            check_records(records + len(old.clusters), len(settings.fields), execution)
        inputs = _options(sides, against, gone, into)
        identity = settings.identity() | {"model": _fingerprint(Path(against))}
        files = [one for side in sources for one in side]
        work = open_work(output, folder, identity, inputs, files, execution.save_seconds)
        report_reused(work, progress)
        with progress.stage("reading"):
            read = [RecordTable.read(own, settings, side) if own else None for own, side in zip(sources, SIDES)]
            given = add_records(old, read, gone, str(against))
        with open_run(settings, progress, work) as run:
            found, numbers, used = _link(given, old, run)
        record = write_results(
            folder, found, given.left, given.right, numbers, progress, inputs, work.reused,
            used=used, changes=changes_of(found, given, numbers),
        )  # fmt: skip
    return add_publishing(record, output.publishing_seconds)


def link_later_in_memory(
    new: Sequence[RecordTable | None], old: Finished, without: Sequence[NamedId], place: str = "the finished run"
) -> LinkResult:
    """Link new tables to the records of a finished run, without writing anything to disk."""
    given = add_records(old, new, without, place)
    with open_run(old.settings) as run:
        found, numbers, used = _link(given, old, run)
    changes = changes_of(found, given, numbers)
    return result_of(found, given.left, given.right, numbers, run.progress, used=used, changes=changes)


def choose_sides(
    old: Finished, new: Sequence[Any], into: str | None, place: str, progress: Progress | None = None
) -> list[Any]:
    """The new data of the left and of the right table; None or empty for a table without new data."""
    if into is not None and into not in SIDES:
        raise UsageError(f"--into must be left or right, not {into!r}")
    if old.right is None and (len(new) > 1 or into is not None):
        what = "--into" if into is not None else "a second table"
        raise UsageError(f"{place} has linked the records of one table, so {what} has no meaning; give one new table")
    if len(new) > 1 and into is not None:
        raise UsageError("--into is for one new table; of two, the first belongs to the left one")
    given = [*new, *[[]] * (2 - len(new))]
    if old.right is not None and len(new) == 1:
        if into is None and progress is not None:
            progress.say(f"The new records belong to the left table ({old.left.name}); --into right changes that.")
        given = given[::-1] if into == "right" else given
    return given


def _link(given: LaterRecords, old: Finished, run: Run[LinkSettings]) -> tuple[Linked, Int64, int]:
    found = link_records(given.left, given.right, run, old.model)
    for sentence in given.notes:
        found.notes.add(sentence)
    if isinstance(old.model.scoring, Weights) and old.model.scoring.expected < 1:
        found.notes.add(
            "the finished run found no matches to learn weights from, so they are the initial assumptions; link all "
            "records again in full"
        )
    elif isinf(found.cut):
        found.notes.add("the finished run linked nothing, so neither does this one; link all records again in full")
    numbers, used = number_clusters(first_records(found), given.before, old.used)
    return found, numbers, used


def _options(sides: Sequence[Any], against: str | Path, gone: Sequence[NamedId], into: str | None) -> dict[str, Any]:
    """The inputs, as in run.json."""
    left, right = ([str(path) for path in side] for side in sides)
    return {"left": left, "right": right, "against": str(against), "without": [one.id for one in gone], "into": into}


def _fingerprint(folder: Path) -> str:
    """A fingerprint that changes if the finished run changes."""
    return hashlib.sha256((folder / FOLDER / MODEL_FILE).read_bytes()).hexdigest()
