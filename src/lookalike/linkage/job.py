"""The command `link`: from files or data in memory to links, clusters, the run record and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import field as made_by
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, open_work, report_reused
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import add_publishing
from lookalike.errors import UsageError
from lookalike.kernels.pack import expect
from lookalike.linkage.changes import count_changes
from lookalike.linkage.fields.match_columns import match_columns
from lookalike.linkage.finished import Finished
from lookalike.linkage.link import link_tables
from lookalike.linkage.linked import Linked
from lookalike.linkage.memory import check_records
from lookalike.linkage.output import clusters_of, joined_ids, links_of, number_records, record_of
from lookalike.linkage.read_labels import read_labels
from lookalike.linkage.report_facts import facts_of
from lookalike.linkage.report_page import report_links, write_link_report
from lookalike.linkage.review import review_pairs
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.read import join_column, open_inputs, refuse_input_as_output
from lookalike.report.linkage.facts import LinkReport
from lookalike.report.linkage.page import links_page
from lookalike.report.notebook import links_html
from lookalike.report.page_file import check_page, write_page
from lookalike.types import Int64, to_arrow
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.types.parquet import read_table
from lookalike.write import output_file, write_json, write_tables


@frozen
class LinkResult:
    """The result of `link`."""

    links: pa.Table
    """left, right, score, probability, and for each field its level of agreement and its weight."""
    clusters: pa.Table
    """id, table, cluster, size: records connected by links."""
    run: dict[str, Any]
    """As in run.json."""
    changes: pa.Table | None = None
    """With `against`: id, table, change, cluster, before, partner, probability, reason of each record that changed."""
    review: pa.Table | None = None
    """With `review`: pairs to label."""
    finished: Finished | Path | None = made_by(default=None, repr=False, compare=False)
    """The data that a later run with `against` needs, or the folder that contains it."""
    facts: Callable[[], LinkReport] | None = made_by(default=None, repr=False, compare=False)
    """The facts for the report of a run in memory."""

    def report(self, page: str | Path | None = None) -> Path:
        """Write a page that shows what was linked, how reliable the links are, and why.

        Parameters
        ----------
        page : str or Path, optional
            The file to write. By default report.html, in the output folder if there is one.

        Returns
        -------
        Path
            The page: a self-contained HTML file.

        Examples
        --------
        >>> import lookalike as la, tempfile
        >>> one, other = [{"name": "John Smith", "zip": "02134"}], [{"name": "Jon Smith", "zip": "02134"}]
        >>> result = la.link(one, other, fields="name,zip", scoring="points")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     "1 link was found" in result.report(f"{folder}/links.html").read_text()
        True
        """
        if self.facts is not None:
            target = Path("report.html" if page is None else page)
            check_page(target)
            return write_page(target, links_page(self.facts()))
        if not isinstance(self.finished, Path):
            raise UsageError("this result was not made by link, so there is nothing to report")
        return report_links(self.finished, page)

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
    labels: str | Path | None = None,
) -> dict[str, Any]:
    """Link tables in files, and write the results to an output folder; return the contents of run.json.

    With `resume`, a run that was killed continues after the last piece of work that it finished. `labels` is a file of
    labelled pairs.
    """
    expect("link")
    inputs = {"left": [str(path) for path in left], "right": [str(path) for path in right]}
    nicknames = [settings.nicknames.source] if settings.nicknames else []
    if labels is not None:
        inputs["labels"] = [str(labels)]
    read = [path for paths in inputs.values() for path in paths]
    output = open_output(out, [*read, *nicknames], overwrite, resume, work_folder)
    with output as folder:
        opened = partial(
            open_inputs, encoding=settings.encoding, spool=output.spool, outputs=output.places,
            limits=settings.execution.limits, note=progress.note,
        )  # fmt: skip
        with progress.stage("planning"):
            lefts, rights = opened(left), opened(right) if right else []
            records, exact = count_items(lefts + rights)
        if exact:
            check_records(records, len(settings.fields), settings.execution)
        seconds = settings.execution.save_seconds
        work = open_work(output, folder, settings.identity(), inputs, lefts + rights, seconds)
        report_reused(work, progress)
        with progress.stage("reading"):
            one = RecordTable.read(lefts, settings, "left")
            other = RecordTable.read(rights, settings, "right") if right else None
        with open_run(settings, progress, work) as run:
            found = link_records(one, other, run, labels=labels)
        record = write_results(folder, found, one, other, number_records(found), progress, inputs, work.reused)
    return add_publishing(record, output.publishing_seconds)


def write_results(
    folder: Path,
    found: Linked,
    left: RecordTable,
    right: RecordTable | None,
    numbers: Int64,
    progress: Progress,
    inputs: dict[str, Any],
    reused: list[str],
    *,
    used: int | None = None,
    changes: pa.Table | None = None,
) -> dict[str, Any]:
    """Write links, clusters, the report, the model for later runs, and run.json; return the contents of run.json.

    `numbers` are the clusters of the records, and `used` is the smallest number that no cluster has had.
    """
    with progress.stage("writing"):
        clusters = clusters_of(numbers, left, right)
        write_tables(folder / "links.parquet", links_of(found, left, right))
        write_tables(folder / "clusters.parquet", iter([clusters]))
        if changes is not None:
            write_tables(folder / "changes.parquet", iter([changes]))
        finish(found, left, right, numbers, used).save(folder)
        write_link_report(folder, _report(found, left, right, clusters), folder / "model")
    record = record_of(found, clusters, progress)
    record["options"] |= inputs
    record["reused"] = reused
    if changes is not None:
        record["changes"] = count_changes(changes)
    write_json(folder / "run.json", record)
    return record


def finish(
    found: Linked, left: RecordTable, right: RecordTable | None, numbers: Int64, used: int | None = None
) -> Finished:
    """The data that a later run needs."""
    used = int(numbers.max(initial=-1)) + 1 if used is None else used
    return Finished(found.settings, found.model(), left, right, numbers, used)


def link_in_memory(
    left: RecordTable,
    right: RecordTable | None,
    settings: LinkSettings,
    labels: Any = None,
    review: int | None = None,
    progress: Progress | None = None,
) -> LinkResult:
    """Link tables without writing anything to disk.

    `labels` are a file or a table of labelled pairs; `review` is the number of pairs to propose for labelling.
    """
    expect("link")
    if review is not None and review < 1:
        raise UsageError(f"--review must be 1 or more, not {review}")
    with open_run(settings, progress) as run:
        found = link_records(left, right, run, labels=labels)
    result = result_of(found, left, right, number_records(found), run.progress)
    return result if review is None else replace(result, review=review_pairs(found, left, right, review))


def review_files(
    left: Sequence[str | Path],
    right: Sequence[str | Path],
    out: str | Path,
    settings: LinkSettings,
    progress: Progress,
    count: int,
    *,
    overwrite: bool = False,
    labels: str | Path | None = None,
) -> int:
    """Write pairs to be labelled to a file (.csv, .tsv, .jsonl or .parquet); return their number."""
    path = output_file(out, overwrite=overwrite)
    refuse_input_as_output(path, [str(one) for one in [*left, *right, *([] if labels is None else [labels])]])
    opened = partial(
        open_inputs, encoding=settings.encoding, limits=settings.execution.limits, note=progress.note
    )  # fmt: skip
    with progress.stage("reading"):
        one = RecordTable.read(opened(left), settings, "left")
        other = RecordTable.read(opened(right), settings, "right") if right else None
    found = link_in_memory(one, other, settings, labels, count, progress).review
    assert found is not None
    write_tables(path, iter([found]))
    return len(found)


def result_of(
    found: Linked,
    left: RecordTable,
    right: RecordTable | None,
    numbers: Int64,
    progress: Progress,
    *,
    used: int | None = None,
    changes: pa.Table | None = None,
) -> LinkResult:
    """The result of a run in memory; see `write_results`."""
    clusters, links = clusters_of(numbers, left, right), pa.concat_tables(links_of(found, left, right))
    record = record_of(found, clusters, progress)
    if changes is not None:
        record["changes"] = count_changes(changes)
    facts = partial(_report, found, left, right, clusters)
    done = finish(found, left, right, numbers, used)
    return LinkResult(links, clusters, record, changes, finished=done, facts=facts)


def read_links(folder: Path) -> LinkResult:
    """The result of an earlier run, from its output folder."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    links, clusters = (read_table(folder / f"{name}.parquet") for name in ("links", "clusters"))
    changes = folder / "changes.parquet"
    return LinkResult(links, clusters, run, read_table(changes) if changes.is_file() else None, None, folder)


def link_records(
    left: RecordTable,
    right: RecordTable | None,
    run: Run[LinkSettings],
    known: Model | None = None,
    labels: Any = None,
) -> Linked:
    """Link the records of one table or two, with the model of a finished run if it is given, or with labelled pairs."""
    pairs, said = None, list[str]()
    if not run.settings.fields:
        run = replace(run, settings=_choose_fields(left, right, run.settings, said.append))
    if labels is not None:
        pairs = read_labels(labels, left, right, said.append, run.settings.encoding)
    found = link_tables(left.table, right.table if right else None, run, known=known, labels=pairs)
    for sentence in said:
        found.notes.add(sentence)
    for table in (left, right):
        if table is not None and (repeated := table.repeated_ids()):
            found.notes.add(f"{table.name}: ids are not unique (repeated: {repeated:,})")
    return found


def _choose_fields(
    left: RecordTable, right: RecordTable | None, settings: LinkSettings, note: Callable[[str], None]
) -> LinkSettings:
    """The settings with the fields that both tables have, if all columns are to be compared."""
    leave_out = settings.others("left") | (settings.others("right") if right is not None else set())
    other = None if right is None else right.table
    return replace(settings, fields=tuple(match_columns(left.table, other, leave_out, note)))


def _report(found: Linked, left: RecordTable, right: RecordTable | None, clusters: pa.Table) -> LinkReport:
    fields, values = {one.name: one for one in found.settings.fields}, []
    for column in found.columns:
        one = fields.get(column.name)
        if one is None:  # a part of a text
            values.append(pc.take(column.values, to_arrow(column.codes, column.codes >= 0)))
        else:
            sides = [left.table.column(one.left)] + ([right.table.column(one.right)] if right else [])
            values.append(join_column([chunk for side in sides for chunk in side.chunks]))
    names = [left.name] + ([right.name] if right else [])
    count = len(pc.unique(clusters.column("cluster")))
    return facts_of(found, names, values, joined_ids(left, right), count)
