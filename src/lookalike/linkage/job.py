"""The command `link`: from files or data in memory to links, clusters, the run record and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, open_work, tell_reused
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import add_publishing
from lookalike.kernels.pack import expect
from lookalike.linkage.link import link_tables
from lookalike.linkage.linked import Linked
from lookalike.linkage.memory import check_records
from lookalike.linkage.output import clusters_of, joined_ids, links_of, record_of
from lookalike.linkage.report_facts import facts_of
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.read import join_column, open_inputs
from lookalike.report.linkage.facts import LinkReport
from lookalike.report.linkage.page import links_page
from lookalike.report.notebook import links_html
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.write import write_json, write_tables


@frozen
class LinkResult:
    """The result of `link`."""

    links: pa.Table
    """left, right, score, probability, and for each field its level of agreement and its weight."""
    clusters: pa.Table
    """id, table, cluster, size: records connected by links."""
    run: dict[str, Any]
    """As in run.json."""

    def __repr__(self) -> str:
        counts = self.run["counts"]
        other = "" if counts["right"] is None else f" and {counts['right']}"
        return f"LinkResult({counts['links']} links among {counts['left']}{other} records)"

    def _repr_html_(self) -> str:
        return links_html(self.run["counts"], self.links)


def link_files(
    left: Sequence[str | Path],
    right: Sequence[str | Path],
    out: str | Path,
    settings: LinkSettings,
    progress: Progress,
    overwrite: bool = False,
    *,
    resume: bool = False,
    work_folder: str | Path | None = None,
) -> dict[str, Any]:
    """Link tables in files, with results in an output folder; returns the contents of run.json.

    With `resume`, a run that was killed continues after the last piece of work that it finished.
    """
    expect("link")
    inputs = {"left": [str(path) for path in left], "right": [str(path) for path in right]}
    nicknames = [settings.nicknames.source] if settings.nicknames else []
    output = open_output(out, [*inputs["left"], *inputs["right"], *nicknames], overwrite, resume, work_folder)
    with output as folder:
        opened = partial(
            open_inputs, encoding=settings.encoding, spool=output.spool, outputs=output.places,
            limits=settings.execution.limits, note=progress.say,
        )  # fmt: skip
        with progress.stage("planning"):
            lefts, rights = opened(left), opened(right) if right else []
            records, exact = count_items(lefts + rights)
        if exact:
            check_records(records, len(settings.fields), settings.execution)
        seconds = settings.execution.save_seconds
        work = open_work(output, folder, settings.identity(), inputs, lefts + rights, seconds)
        tell_reused(work, progress)
        with progress.stage("reading"):
            one = RecordTable.read(lefts, settings, "left")
            other = RecordTable.read(rights, settings, "right") if right else None
        with open_run(settings, progress, work) as run:
            found = _link(one, other, run)
        with progress.stage("writing"):
            clusters = clusters_of(found, one, other)
            write_tables(folder / "links.parquet", links_of(found, one, other))
            write_tables(folder / "clusters.parquet", iter([clusters]))
            report = _report(found, one, other, clusters)
            (folder / "report.html").write_text(links_page(report), "utf-8")
        record = record_of(found, clusters, progress)
        record["options"] |= inputs
        record["reused"] = work.reused
        write_json(folder / "run.json", record)
    return add_publishing(record, output.publishing_seconds)


def link_in_memory(left: RecordTable, right: RecordTable | None, settings: LinkSettings) -> LinkResult:
    """Link tables without writing anything to disk."""
    expect("link")
    with open_run(settings) as run:
        found = _link(left, right, run)
    clusters = clusters_of(found, left, right)
    links = pa.concat_tables(links_of(found, left, right))
    return LinkResult(links, clusters, record_of(found, clusters, run.progress))


def read_links(folder: Path) -> LinkResult:
    """The result of an earlier run, from its output folder."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    return LinkResult(pq.read_table(folder / "links.parquet"), pq.read_table(folder / "clusters.parquet"), run)


def _link(left: RecordTable, right: RecordTable | None, run: Run[LinkSettings]) -> Linked:
    found = link_tables(left.table, right.table if right else None, run)
    for table in (left, right):
        if table is not None and (repeated := table.repeated_ids()):
            found.notes.add(f"{table.name}: ids are not unique (repeated: {repeated:,})")
    return found


def _report(found: Linked, left: RecordTable, right: RecordTable | None, clusters: pa.Table) -> LinkReport:
    kept = {column.name for column in found.columns}
    values = []
    for one in found.settings.fields:
        if one.name in kept:
            sides = [left.table.column(one.left)] + ([right.table.column(one.right)] if right else [])
            values.append(join_column([chunk for side in sides for chunk in side.chunks]))
    names = [left.name] + ([right.name] if right else [])
    count = len(pc.unique(clusters.column("cluster")))
    return facts_of(found, names, values, joined_ids(left, right), count)
