"""The report of a finished run: its command, its facts, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.engine.run_record import damage_reported, read_run
from lookalike.errors import UsageError
from lookalike.jobs.reports.closest_kept import find_closest
from lookalike.jobs.reports.dedup_facts import (
    SHOWN,
    Batches,
    batches_of,
    bin_values,
    count_files,
    count_sizes,
    find_doubtful,
    find_members,
)  # fmt: skip
from lookalike.jobs.reports.dedup_sources import count_by_column, count_by_file, title_of
from lookalike.jobs.run_inputs import Place, RunInputs, open_inputs_of
from lookalike.report.command import command_of
from lookalike.report.dedup.facts import DedupReport, ShownCluster
from lookalike.report.dedup.page import dedup_page
from lookalike.report.page_file import PAGE, check_page, write_page
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.types import Wanted


def report_folder(out: str | Path, page: str | Path | None = None, by: str | None = None) -> Path:
    """Write the report of a finished dedup run; return the path of the page.

    Parameters
    ----------
    page
        Where to write it; by default, report.html in the output folder.
    by
        A column by which kept and removed items are counted, instead of by file.
    """
    folder = Path(out)
    target = folder / PAGE if page is None else Path(page)
    check_page(target)
    run = read_run(folder)
    with damage_reported(out, "dedup"):
        page_text = dedup_page(facts_of_folder(folder, run, open_inputs_of(folder, run), by, str(out)))
    return write_page(target, page_text)


def write_run_report(folder: Path, run: Mapping[str, Any], inputs: RunInputs, out: str) -> None:
    """Write the page of a run that is about to end to its folder; `out` is the final name of the folder."""
    write_page(folder / PAGE, dedup_page(facts_of_folder(folder, run, inputs, None, out)))


def report_tables(
    run: Mapping[str, Any],
    removed: pa.Table,
    clusters: pa.Table,
    inputs: RunInputs | None,
    page: str | Path,
    by: str | None = None,
) -> Path:
    """Write the page of a run in memory."""
    target = Path(page)
    check_page(target)
    inputs = inputs or RunInputs(
        [], Wanted(run["options"]["column"]), problems=["The data of the run is not available."]
    )
    return write_page(target, dedup_page(facts_of_tables(run, removed, clusters, inputs, by)))


def facts_of_folder(
    folder: Path, run: Mapping[str, Any], inputs: RunInputs, by: str | None = None, out: str | None = None
) -> DedupReport:
    """The facts about the run in an output folder; `out` is its name in the command that repeats the run."""
    for name in ("removed.parquet", "clusters.parquet"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder}: {name} is missing, so it is not a finished output of lookalike dedup")
    tables = batches_of(folder / "removed.parquet"), batches_of(folder / "clusters.parquet")
    facts = facts_of(run, *tables, inputs, by, command_of("dedup", run, out or str(folder), exists=True))
    closest, words = find_closest(folder, run, tables[0], inputs, SHOWN)
    return fill_in(replace(facts, closest=closest, about_closest=words), inputs)


def facts_of_tables(
    run: Mapping[str, Any], removed: pa.Table, clusters: pa.Table, inputs: RunInputs, by: str | None = None
) -> DedupReport:
    """The facts about a run in memory."""
    gone = batches_of(removed)
    facts = facts_of(run, gone, batches_of(clusters), inputs, by, command_of("dedup", run, "OUT"))
    closest, words = find_closest(None, run, gone, inputs, SHOWN)
    return fill_in(replace(facts, closest=closest, about_closest=words), inputs)


def facts_of(
    run: Mapping[str, Any], removed: Batches, clusters: Batches, inputs: RunInputs, by: str | None, command: str
) -> DedupReport:
    """The facts in the tables of a run; items have no content yet. `command` repeats the run."""
    name = "distance" if run["options"]["measure"] in ("euclidean", "hamming") else "similarity"
    facts = DedupReport(run, title_of(run), command)
    if by is None:
        kind, sources = count_by_file(run, inputs, count_files(removed))
    else:
        kind, sources = by, count_by_column(run, inputs, removed, by)
    sizes, largest_size, largest = count_sizes(clusters)
    return replace(
        facts,
        by=kind,
        sources=sources,
        bins=bin_values(removed, name, facts.threshold),
        sizes=sizes,
        largest_size=largest_size,
        clusters=sum(one.clusters for one in sizes),
        largest=find_members(removed, name, largest),
        doubtful=find_doubtful(removed, name),
        notes=list(inputs.problems),
    )


def fill_in(facts: DedupReport, inputs: RunInputs) -> DedupReport:
    """Add the contents of the items that are shown."""
    pairs = [*facts.doubtful, *facts.closest, *(pair for one in facts.largest for pair in one.members)]
    places = dict.fromkeys((item.file, item.row) for pair in pairs for item in (pair.left, pair.right))
    contents, problem = inputs.fetch(places)
    missing = len(places) - sum(contents.get(place) is not None for place in places)
    notes = [*facts.notes, *([problem] if problem else [])]
    if missing:
        notes.append(f"{missing:,} of the {len(places):,} items in the examples are shown without their text.")
    return replace(
        facts,
        doubtful=_filled(facts.doubtful, contents),
        closest=_filled(facts.closest, contents),
        largest=[_filled_cluster(one, contents) for one in facts.largest],
        notes=notes,
    )


def _filled_cluster(one: ShownCluster, contents: Mapping[Place, Any]) -> ShownCluster:
    return replace(one, keeper=_item(one.keeper, contents), members=_filled(one.members, contents))


def _filled(pairs: Iterable[ShownPair], contents: Mapping[Place, Any]) -> Sequence[ShownPair]:
    return [replace(one, left=_item(one.left, contents), right=_item(one.right, contents)) for one in pairs]


def _item(one: ShownItem, contents: Mapping[Place, Any]) -> ShownItem:
    return replace(one, content=contents.get((one.file, one.row)))
