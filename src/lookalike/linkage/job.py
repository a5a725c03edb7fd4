"""The command `link`: from files or tables in memory to links, clusters, the run record and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, open_work, tell_reused
from lookalike.linkage.link import Linked, link_tables
from lookalike.linkage.memory import check_records
from lookalike.linkage.output import clusters_of, joined_ids, links_of, record_of
from lookalike.linkage.report_facts import story_of
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import Side
from lookalike.read import join_column, open_inputs
from lookalike.report.linkage.facts import LinkReport
from lookalike.report.notebook import links_html
from lookalike.types import READ_LIMITS, ReadLimits
from lookalike.write import write_json, write_tables


@dataclass(frozen=True, slots=True)
class LinkResult:
    """What `link` gives back."""

    links: pa.Table
    """left, right, score, probability, and for each field how well the two agree and what that weighs."""
    clusters: pa.Table
    """id, table, cluster, size: records that links hold together."""
    run: dict[str, Any]
    """As run.json."""

    def __repr__(self) -> str:
        counts = self.run["counts"]
        other = "" if counts["right"] is None else f" and {counts['right']}"
        return f"LinkResult({counts['links']} links among {counts['left']}{other} records)"

    def _repr_html_(self) -> str:
        return links_html(self.run["counts"], self.links)


Page = Callable[[LinkReport], str]
"""Makes a report of the facts; a job may not know how."""


def link_files(
    left: Sequence[str | Path],
    right: Sequence[str | Path],
    out: str | Path,
    settings: LinkSettings,
    progress: Progress,
    overwrite: bool = False,
    page: Page | None = None,
    *,
    resume: bool = False,
    work_folder: str | Path | None = None,
    limits: ReadLimits = READ_LIMITS,
) -> dict[str, Any]:
    """Link tables in files into an output folder; returns what run.json holds. `page` makes its report.

    With `resume`, a run that was killed goes on after the last piece of work that it finished.
    """
    inputs = {"left": [str(path) for path in left], "right": [str(path) for path in right]}
    output = open_output(out, inputs["left"] + inputs["right"], overwrite, resume, work_folder)
    with output as folder:
        opened = partial(open_inputs, encoding=settings.encoding, spool=output.spool, limits=limits)
        lefts, rights = opened(left), opened(right) if right else []
        records, exact = count_items(lefts + rights)
        if exact:
            check_records(records, len(settings.fields), settings.memory_bytes)
        asked = settings.to_dict()
        if settings.nicknames is not None:  # by what they are, for a file may have changed
            asked["nicknames"] = settings.nicknames.groups
        work = open_work(output, folder, asked, inputs, lefts + rights)
        tell_reused(work, progress)
        with progress.stage("reading"):
            one = Side.read(lefts, settings, "left")
            other = Side.read(rights, settings, "right") if right else None
        found = link_tables(one.table, other.table if other else None, settings, progress, work)
        _note_ids(found, one, other, progress)
        with progress.stage("writing"):
            clusters = clusters_of(found, one, other)
            write_tables(folder / "links.parquet", links_of(found, one, other))
            write_tables(folder / "clusters.parquet", iter([clusters]))
            if page is not None:
                (folder / "report.html").write_text(page(_story(found, one, other, clusters, progress)), "utf-8")
        run = record_of(found, clusters, progress)
        run["options"] |= inputs
        run["reused"] = work.reused
        write_json(folder / "run.json", run)
    return run


def _story(found: Linked, left: Side, right: Side | None, clusters: pa.Table, progress: Progress) -> LinkReport:
    kept = {column.name for column in found.columns}
    values = []
    for one in found.settings.fields:
        if one.name in kept:
            sides = [left.table.column(one.left)] + ([right.table.column(one.right)] if right else [])
            values.append(join_column([chunk for side in sides for chunk in side.chunks]))
    names = [left.name] + ([right.name] if right else [])
    count = len(pc.unique(clusters.column("cluster")))
    return story_of(found, names, values, joined_ids(left, right), count, dict(progress.seconds))


def _note_ids(found: Linked, left: Side, right: Side | None, progress: Progress) -> None:
    for side in (left, right):
        if side is not None and (repeated := side.repeated_ids()):
            sentence = f"{side.name}: {repeated:,} records have an id that an earlier one has"
            found.notes.append(sentence)
            progress.say(f"Note: {sentence}.")


def link_in_memory(left: Side, right: Side | None, settings: LinkSettings) -> LinkResult:
    """Link tables, and leave nothing on disk."""
    progress = Progress()
    found = link_tables(left.table, right.table if right else None, settings, progress)
    _note_ids(found, left, right, progress)
    clusters = clusters_of(found, left, right)
    links = pa.concat_tables(links_of(found, left, right))
    return LinkResult(links, clusters, record_of(found, clusters, progress))


def read_links(folder: Path) -> LinkResult:
    """What an earlier run left in its folder."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    return LinkResult(pq.read_table(folder / "links.parquet"), pq.read_table(folder / "clusters.parquet"), run)
