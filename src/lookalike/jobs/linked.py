"""What a linking run leaves: links with their reasons, clusters, the record of the run, and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookalike.cluster.assignment import cluster_pairs
from lookalike.jobs.corpus import fill_ids
from lookalike.jobs.forecast import count_items
from lookalike.jobs.link import Linked, link_tables
from lookalike.jobs.link_facts import MODEL_ALONE, LinkReport
from lookalike.jobs.link_memory import check_records
from lookalike.jobs.link_settings import LinkSettings
from lookalike.jobs.link_story import story_of
from lookalike.jobs.progress import Progress
from lookalike.jobs.resuming import open_output, open_work, tell_reused
from lookalike.jobs.usage import peak_memory_bytes
from lookalike.read import join_column, open_data, open_inputs
from lookalike.read.columns import one_array
from lookalike.read.records import read_records
from lookalike.tuning.weights import Weights
from lookalike.types import Int64, Source, strings_to_arrow, to_arrow
from lookalike.version import __version__
from lookalike.write import write_json, write_tables

DEFAULT_ID = "id"
TABLE_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """One of the tables: its name, the columns that are needed, and its ids."""

    name: str
    table: pa.Table
    ids: pa.Array

    @classmethod
    def read(cls, sources: Sequence[Source], settings: LinkSettings, side: str) -> Side:
        """The table in files."""
        own = settings.id_of(side) or DEFAULT_ID
        perhaps = [own] if settings.id is None else []
        records = 0

        def seen(more: int) -> None:
            nonlocal records
            records += more
            check_records(records, len(settings.fields), settings.memory_bytes)

        tables = [read_records(source, settings.names(side), perhaps, seen) for source in sources]
        table = pa.table(
            {one: join_column([c for t in tables for c in t[one].chunks]) for one in tables[0].column_names}
        )
        name = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
        ids = one_array(table.column(own))
        if ids.null_count or not len(ids):
            places = [source.locate(row) for source, rows in zip(sources, map(len, tables)) for row in range(rows)]
            ids = fill_ids(ids, [f"{file}:{row}" for file, row in places])
        return cls(name, table, ids)

    @classmethod
    def of(cls, data: Any, settings: LinkSettings, side: str) -> Side:
        """A table in memory; records without an id are called by their numbers."""
        names, own = settings.names(side), settings.id_of(side) or DEFAULT_ID
        if isinstance(data, list | tuple) and not data:  # no records have no columns
            data = pa.table({name: pa.nulls(0) for name in names})
        source = open_data(data, names[0])
        source.name = side
        table = read_records(source, names, [own] if settings.id is None else [])
        ids, numbers = one_array(table.column(own)), to_arrow(np.arange(len(table)))
        if ids.null_count == len(ids):
            ids = numbers
        elif ids.null_count:
            ids = fill_ids(ids, [str(number) for number in range(len(ids))])
        return cls(side, table, ids)

    def repeated_ids(self) -> int:
        """How many records have an id that an earlier one has."""
        kind, last = self.ids.type, max(0, len(self.ids) - 1)
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            ascending = pc.less(self.ids.slice(0, last), self.ids.slice(1))
            if pc.all(ascending, min_count=0).as_py():  # as ids often are
                return 0
        return len(self.ids) - len(pc.unique(self.ids))


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


def links_of(found: Linked, left: Side, right: Side | None) -> Iterator[pa.Table]:
    """The links in input order, some at a time."""
    places = np.flatnonzero(found.chosen)
    ids = _joined_ids(left, right)
    for first in range(0, max(1, len(places)), TABLE_ROWS):
        yield _links(found, places[first : first + TABLE_ROWS], ids)


def _joined_ids(left: Side, right: Side | None) -> pa.Array:
    if right is None:
        return left.ids
    return one_array(join_column([left.ids, right.ids]))


def _links(found: Linked, places: Int64, ids: pa.Array) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "left": ids.take(to_arrow(found.blocked.left[places])),
        "right": ids.take(to_arrow(found.blocked.right[places])),
        "score": to_arrow(found.score[places]),
    }
    if found.probability is not None:
        columns["probability"] = to_arrow(found.probability[places])
    else:
        columns["probability"] = pa.nulls(len(places), pa.float64())
    _, weights = found.parts_of(places)
    for number, column in enumerate(found.columns):
        level = found.agreements(places, number)
        name = column.name
        while name in columns:  # a field may be called "score"
            name += "_"
        columns[name] = pa.StructArray.from_arrays(
            [level, to_arrow(np.ascontiguousarray(weights[:, number]))], ["agreement", "weight"]
        )
    return pa.table(columns)


def clusters_of(found: Linked, left: Side, right: Side | None) -> pa.Table:
    """The records that links hold together, by cluster, in input order."""
    places = np.flatnonzero(found.chosen)
    ends = found.blocked.left[places], found.blocked.right[places]
    first = cluster_pairs(*ends, found.records)
    members = np.unique(np.concatenate(ends)).astype(np.int64)
    _, cluster, sizes = np.unique(first[members], return_inverse=True, return_counts=True)
    order = np.lexsort((members, cluster))
    members, cluster = members[order], cluster[order]
    return pa.table(
        {
            "id": _joined_ids(left, right).take(to_arrow(members)),
            "table": strings_to_arrow(["left", "right"]).take(to_arrow((members >= found.split).astype(np.int64))),
            "cluster": to_arrow(cluster.astype(np.int64)),
            "size": to_arrow(sizes[cluster].astype(np.int64)),
        }
    )


def record_of(found: Linked, clusters: pa.Table, progress: Progress) -> dict[str, Any]:
    """What run.json holds."""
    validation = found.validation
    scoring = found.scoring
    return {
        "version": __version__,
        "options": found.settings.to_dict(),
        "counts": {
            "left": found.split,
            "right": found.records - found.split if found.two_tables else None,
            "candidates": len(found.blocked),
            "links": int(found.chosen.sum()),
            "refused": found.refused,
            "clusters": len(pc.unique(clusters.column("cluster"))),
        },
        "cut": {"score": found.cut if np.isfinite(found.cut) else None, "why": found.cut_reason},
        "precision": _precision(found),
        "candidate_recall": None if found.recall is None else dict(zip(("estimate", "low", "high"), found.recall)),
        "hashes": [asdict(one) for one in found.blocked.report],
        "prior": found.prior,
        "weights": _weights(found),
        "converged": scoring.converged if isinstance(scoring, Weights) else None,
        "iterations": scoring.iterations if isinstance(scoring, Weights) else None,
        "validation": None if validation is None else [row._asdict() for row in validation.table()],
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "peak_memory_bytes": peak_memory_bytes(),
        "notes": found.notes,
    }


def _weights(found: Linked) -> list[dict[str, Any]]:
    if not isinstance(found.scoring, Weights):
        return []
    rows = []
    for row in found.scoring.table():
        facts = {"field": found.columns[row.field].name, "level": found.level_names[row.field][row.level - 1]}
        rows.append({**facts, "matches": row.matches, "others": row.others, "weight": row.weight})
    return rows


def _precision(found: Linked) -> dict[str, Any] | None:
    """How many links are valid, and how that is known."""
    if (known := found.precision) is None:
        return None
    facts = dict(zip(("estimate", "low", "high"), known))
    how = MODEL_ALONE if found.validation is None else f"validated by {found.settings.validate}"
    return {**{name: value for name, value in facts.items() if value is not None}, "how": how}


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
) -> dict[str, Any]:
    """Link tables in files into an output folder; returns what run.json holds. `page` makes its report.

    With `resume`, a run that was killed goes on after the last piece of work that it finished.
    """
    inputs = {"left": [str(path) for path in left], "right": [str(path) for path in right]}
    output = open_output(out, inputs["left"] + inputs["right"], overwrite, resume, work_folder)
    with output as folder:
        opened = partial(open_inputs, encoding=settings.encoding, spool=output.spool)
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
    return story_of(found, names, values, _joined_ids(left, right), count, dict(progress.seconds))


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
