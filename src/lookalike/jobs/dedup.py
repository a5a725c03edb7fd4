"""Remove near-duplicates: every removed item names a kept one that it resembles, with their exact similarity."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.cluster.priority import order_by_column, order_by_rule, split_references
from lookalike.engine.corpus import Corpus, ReadSettings
from lookalike.engine.destination import Destination
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, report_reused
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import add_publishing, describe_run
from lookalike.engine.settings import DEDUP_METHODS, POLICIES, Settings, one_of, parse_keep, whole_number
from lookalike.errors import UsageError
from lookalike.jobs.dedup_into import adding_kept, finish_committed
from lookalike.jobs.dedup_plan import DedupPlan, plan_files, plan_sources
from lookalike.jobs.dedup_result import Deduplicated, beside, kept_table, write_result
from lookalike.matching.batches import FindOptions
from lookalike.matching.near_misses import NEAR_FROM, relax
from lookalike.matching.pair_graph import PAIRS_PER_SET, PairGraph, write_graph
from lookalike.matching.stages import LOCAL, Stages
from lookalike.read import LINE_FILES, identity_of, line_files
from lookalike.types import RUN_FILE, Int32, ReadLimits, Source, Wanted, to_arrow, total_bytes
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.types.parquet import read_table
from lookalike.write import count_kept, write_json

if TYPE_CHECKING:
    from lookalike.jobs.run_inputs import RunInputs


@frozen
class DedupOptions:
    """Which items are kept, and whether the recall is measured. `DedupOptions.parse` checks the user's options."""

    keep: str = "first"
    policy: str = "direct"
    audit_items: int = 0
    """The size of the sample on which the recall is measured; 0 measures nothing."""
    pairs_per_set: int = PAIRS_PER_SET
    """Larger parts of the pair graph are saved as buckets."""

    @classmethod
    def parse(cls, method: str, keep: str = "first", policy: str = "direct", audit: int = 0) -> DedupOptions:
        """Check the options of dedup that other jobs do not have.

        Examples
        --------
        >>> DedupOptions.parse("auto", "max:score").rank
        ('max', 'score')
        """
        one_of("method", method, DEDUP_METHODS)
        parse_keep(keep)
        one_of("policy", policy, POLICIES)
        audit = whole_number("audit", audit)
        if audit < 0:
            raise UsageError(f"--audit must be 0 or more, not {audit}")
        return cls(keep, policy, audit)

    @property
    def rank(self) -> tuple[str, str | None]:
        """The keep rule, and its column."""
        return parse_keep(self.keep)


@frozen
class DedupResult:
    """The result of `dedup`."""

    kept: pa.Table | None
    """Surviving rows with all their columns, in input order; None where they were written to a folder."""
    removed: pa.Table
    """id, file, row, kept_id, kept_file, kept_row, similarity of every removed item."""
    clusters: pa.Table
    """id, cluster, size, kept of the items of clusters with two or more members."""
    run: dict[str, Any]
    """As run.json: options, plan, counts, seconds by stage."""
    origin: Path | RunInputs | None = field(default=None, repr=False, compare=False)
    """The output folder, or the data of a run in memory: what the report shows texts from."""

    def report(self, page: str | Path | None = None, by: str | None = None) -> Path:
        """Write a page that shows what was removed and why, how certain that is, and what to check.

        Parameters
        ----------
        page : str or Path, optional
            The file to write. By default report.html, in the output folder if there is one.
        by : str, optional
            A column by which kept and removed items are counted, instead of by file.

        Returns
        -------
        Path
            The page: a self-contained HTML file.

        Examples
        --------
        >>> import lookalike as la, tempfile
        >>> result = la.dedup(["the cat sat on the mat", "The cat sat on the mat!"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     "1 removed" in result.report(f"{folder}/cats.html").read_text().replace("</b> <span>", " ")
        True
        """
        from lookalike.jobs.reports.dedup_report import report_folder, report_tables

        if isinstance(self.origin, Path):
            return report_folder(self.origin, page, by)
        return report_tables(self.run, self.removed, self.clusters, self.origin, page or "report.html", by)

    def __repr__(self) -> str:
        counts = self.run["counts"]
        return f"DedupResult({counts['items']} items: {counts['kept']} kept, {counts['removed']} removed)"

    def _repr_html_(self) -> str:
        from lookalike.report.notebook import dedup_html

        return dedup_html(self.run["counts"], self.removed)


def find_duplicates(
    run: Run[Settings],
    sources: list[Source],
    references: list[Source],
    options: DedupOptions,
    *,
    save_graph: bool,
    stages: Stages = LOCAL,
) -> Deduplicated:
    """The recipe: read and sketch, join the bands, fetch the sets, verify and decide; audit if requested."""
    settings, progress = run.settings, run.progress
    rule, column = options.rank
    everything = references + sources
    nbytes = total_bytes(everything)
    with progress.stage("reading", nbytes, "B"):
        reading = ReadSettings(settings.items, settings.digesting, column, len(references))
        corpus = stages.read(run, everything, reading)
    reference_items = int(corpus.starts[len(references)])
    order = _order_items(corpus, rule, column, reference_items)
    candidates = stages.find(run, corpus, order, FindOptions(reference_items))
    graph = PairGraph(run, options.pairs_per_set) if save_graph else None
    collected = stages.decide(run, candidates, options.policy, graph)
    outcome = collected.finish(reference_items)
    measured = None
    if options.audit_items:
        from lookalike.jobs.audit import audit

        with progress.stage("auditing", 2 * nbytes, "B"):
            measured = audit(run, corpus, options.audit_items)
    empty = [int(np.sum(corpus.counts[first:last] == 0)) for first, last in pairwise(corpus.starts.tolist())]
    return Deduplicated(
        corpus,
        collected,
        outcome,
        corpus.ids,
        empty,
        references=reference_items,
        reference_sources=len(references),
        value_name=settings.matching.measure.column,
        audit=measured,
        graph=graph,
    )


def _order_items(corpus: Corpus, rule: str, column: str | None, references: int) -> Int32:
    """The items that are not empty, by priority; the first `references` items are reference items and come first."""
    items = np.flatnonzero(corpus.counts).astype(np.int32)
    if column is None:
        return order_by_rule(items, references, rule, lambda some: corpus.digests.numbers("length", np.int64)[some])
    values = pc.take(corpus.digests.column(column), to_arrow(split_references(items, references)[1]))
    return order_by_column(items, references, rule, values, column, corpus.some_columns)


def dedup_to_folder(
    inputs: Sequence[str | Path],
    out: str | Path,
    settings: Settings,
    options: DedupOptions | None = None,
    *,
    reference: Sequence[str | Path | Source] = (),
    into: Destination | None = None,
    overwrite: bool = False,
    resume: bool = False,
    work_folder: str | Path | None = None,
    report: bool = False,
    progress: Progress | None = None,
    stages: Stages = LOCAL,
) -> dict[str, Any]:
    """Deduplicate files into an output folder; return the content of run.json.

    With `resume`, a killed run continues after the last piece of work that it finished. The kept items are added to
    `into`, all of them when the output folder is complete, or none. With `report`, report.html is written to the folder
    as well. `stages` is the engine.
    """
    progress, options = progress or Progress(), options or DedupOptions()
    asked = _describe_request(inputs, reference, options, into)
    paths = [path for path in reference if isinstance(path, str | Path)]
    output = open_output(out, [*inputs, *paths], overwrite, resume, work_folder)
    if into is not None and (record := finish_committed(output, into, asked)):
        return record
    with output as folder, ExitStack() as stack:
        plan = plan_files(inputs, reference, settings, output, progress, options.rank)
        work = plan.open_work(output, folder, asked, stages)
        forecast = plan.check_forecast(output, stages, progress)
        report_reused(work, progress)
        with open_run(plan.settings, progress, work, nbytes=plan.nbytes) as run:
            saving = stages.saves_graph and not plan.settings.items.vectors and len(paths) == len(reference)
            found = find_duplicates(run, plan.sources, plan.references, options, save_graph=saving, stages=stages)
            added = stack.enter_context(adding_kept(run, found, into))
            save_graph = _begin_graph(run, folder, found, plan)
            write_result(run, found, folder, stages)
            saved = save_graph()
        record = _describe_outcome(found, plan, asked, progress)
        record |= {"reused": work.reused, "forecast": forecast.to_dict(), LINE_FILES: line_files(plan.sources)}
        record |= {**saved, **count_kept(folder)}
        if described := stages.describe():
            record["engine"] = described
        if added is not None:
            record["into"] = added.record
        write_json(folder / RUN_FILE, record)
        if report:
            write_report(folder, record, found, str(out), progress)
        if added is not None:
            output.flush()
            output.complete = True
            added.commit()
    return add_publishing(record, output.publishing_seconds)


def _describe_request(
    inputs: Sequence[str | Path],
    reference: Sequence[str | Path | Source],
    options: DedupOptions,
    into: Destination | None,
) -> dict[str, Any]:
    """The options of a run into a folder that are not settings, as run.json shows them."""
    asked: dict[str, Any] = {
        "inputs": [str(path) for path in inputs],
        "keep": options.keep,
        "policy": options.policy,
        "reference": [str(one) if isinstance(one, str | Path) else one.name for one in reference],
    }
    return asked if into is None else {**asked, "into": into.name}


def _describe_outcome(
    found: Deduplicated, plan: DedupPlan, asked: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    """The record of a run: its options, results and resources."""
    settings, choice = plan.settings, plan.choice
    options = {**settings.to_dict(), **asked}
    record = describe_run(options, settings.matching.plan, found.counts, found.alarms, progress, found.audit)
    return {**record, "choice": choice.to_dict() if choice else None}


def _begin_graph(
    run: Run[Settings], folder: Path, found: Deduplicated, plan: DedupPlan
) -> Callable[[], dict[str, Any]]:
    """Begin to write the pair graph, if there is one, for runs with `--from`; the returned function completes it."""
    graph = found.graph
    if graph is None:
        return dict
    known = _known(found, plan.everything, plan.settings.execution.limits)
    write = beside(run, found, lambda: write_graph(folder, graph, found.collected, known))

    def complete() -> dict[str, Any]:
        with run.progress.stage("saving pair graph"):
            return write()

    return complete


def _known(found: Deduplicated, sources: list[Source], limits: ReadLimits) -> dict[str, Any]:
    """The facts about the input that the saved pair graph must contain."""
    files, blocks = identity_of(sources), found.corpus.digests.blocks
    facts: dict[str, Any] = {"references": found.references, "empty": found.empty, "limits": asdict(limits)}
    facts[NEAR_FROM] = float(relax(found.collected.measure).threshold)
    return {"files": files, "blocks": blocks, **facts}


def write_report(folder: Path, record: dict[str, Any], found: Deduplicated, out: str, progress: Progress) -> None:
    """Write report.html into the folder of a run that is about to end."""
    from lookalike.jobs.reports.dedup_report import write_run_report

    with progress.stage("writing report"):
        write_run_report(folder, record, _inputs_of(found), out)


def _inputs_of(found: Deduplicated) -> RunInputs:
    """The inputs of a run, to show some of their items."""
    from lookalike.jobs.run_inputs import sources_of_run

    corpus = found.corpus
    wanted = Wanted(corpus.settings.column, (), corpus.settings.skip_errors)
    return sources_of_run(corpus.sources, found.reference_sources, corpus.digests.blocks, wanted)


def read_result(folder: Path) -> DedupResult:
    """An output folder as a result; the kept rows stay in its files."""
    return DedupResult(
        None,
        read_table(folder / "removed.parquet"),
        read_table(folder / "clusters.parquet"),
        json.loads((folder / RUN_FILE).read_text("utf-8")),
        folder,
    )


def dedup_in_memory(
    sources: list[Source],
    references: list[Source],
    settings: Settings,
    options: DedupOptions | None = None,
    into: Destination | None = None,
) -> DedupResult:
    """Deduplicate and return everything as tables; the kept items are added to `into`."""
    options, progress = options or DedupOptions(), Progress()
    plan = plan_sources(sources, references, settings, progress, options.rank)
    with open_run(plan.settings, progress, nbytes=plan.nbytes) as run:
        found = find_duplicates(run, sources, references, options, save_graph=False)
        with adding_kept(run, found, into, numbered=True) as added:
            if added is not None:
                added.commit()
    with progress.stage("writing"):
        kept = kept_table(found.corpus, found.outcome.kept(len(found.corpus)), found.reference_sources)
        removed, clusters = pa.concat_tables(found.removed()), pa.concat_tables(found.clusters())
    asked = {"inputs": [source.name for source in sources], "keep": options.keep, "policy": options.policy}
    record = _describe_outcome(found, plan, asked, progress)
    if added is not None:
        record["into"] = added.record
    return DedupResult(kept, removed, clusters, record, _inputs_of(found))
