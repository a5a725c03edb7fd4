"""Remove near-duplicates: every removed item names a kept one that it resembles, with their exact similarity."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.cluster.priority import order_by_column, order_by_rule, split_references
from lookalike.engine.corpus import Corpus, read_corpus
from lookalike.engine.forecast import check_forecast, foresee
from lookalike.engine.method import choose, tell_plan
from lookalike.engine.progress import Progress
from lookalike.engine.resume import open_output, open_work, tell_reused
from lookalike.engine.run_record import describe_run
from lookalike.engine.settings import Settings, check_dedup_method, check_policy, parse_keep
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers
from lookalike.errors import UsageError
from lookalike.jobs.audit import audit
from lookalike.jobs.dedup_kept import kept_table
from lookalike.jobs.dedup_result import Deduplicated, write_result
from lookalike.kernels.audit import find_similar
from lookalike.matching.decide import verify
from lookalike.matching.find import find_candidates
from lookalike.matching.pair_graph import Graph, write_graph
from lookalike.read import LINE_FILES, identity_of, line_files, open_inputs
from lookalike.types import Int32, Source, to_arrow
from lookalike.write import write_json


def _order_items(corpus: Corpus, rule: str, column: str | None, references: int) -> Int32:
    """The items that are not empty, by priority; the first `references` items are reference items, in front."""
    items = np.flatnonzero(corpus.counts).astype(np.int32)
    if column is None:
        return order_by_rule(items, references, rule, lambda some: corpus.digests.numbers("length", np.int64)[some])
    values = corpus.digests.column(column).take(to_arrow(split_references(items, references)[1]))
    return order_by_column(items, references, rule, values, column)


@dataclass(frozen=True, slots=True)
class DedupResult:
    """What `dedup` gives back."""

    kept: pa.Table | None
    """Surviving rows with all their columns, in input order; None where they were written to a folder."""
    removed: pa.Table
    """id, file, row, kept_id, kept_file, kept_row, similarity of every removed item."""
    clusters: pa.Table
    """id, cluster, size, kept of the items of clusters with two or more members."""
    run: dict[str, Any]
    """As run.json: options, plan, counts, seconds by stage."""

    def __repr__(self) -> str:
        counts = self.run["counts"]
        return f"DedupResult({counts['items']} items: {counts['kept']} kept, {counts['removed']} removed)"


def find_duplicates(
    sources: list[Source],
    references: list[Source],
    settings: Settings,
    keep: str,
    policy: str,
    progress: Progress,
    work: WorkFolder | None = None,
    audit_items: int = 0,
    graph: Graph | None = None,
) -> Deduplicated:
    """The recipe: read and sketch, join the bands, fetch the sets, verify and decide; audit if asked to."""
    rule, column = parse_keep(keep)
    check_policy(policy)
    check_dedup_method(settings.matching.method)
    everything = references + sources
    with Workers(settings.execution.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in everything), "B"):
            corpus = read_corpus(everything, settings, workers, progress, column, len(references), work)
        fixed = int(corpus.starts[len(references)])
        order = _order_items(corpus, rule, column, fixed)
        candidates = find_candidates(corpus, order, workers, progress, fixed)
        if graph is not None:
            graph.keep_in(corpus.digests.work)
        settling = verify(candidates, policy, workers, progress, graph)
        outcome = settling.finish(fixed)
        measured = None
        if audit_items:
            with progress.stage("auditing", 2 * sum(source.nbytes for source in everything), "B"):
                progress.compiling(find_similar, "audits")
                measured = audit(corpus, audit_items, workers, progress)
    empty = [int(np.sum(corpus.counts[first:last] == 0)) for first, last in pairwise(corpus.starts.tolist())]
    connected = policy == "connected"
    return Deduplicated(corpus, settling, outcome, corpus.ids, empty, fixed, len(references), connected, measured)


def dedup_to_folder(
    inputs: Sequence[str | Path],
    out: str | Path,
    settings: Settings,
    *,
    keep: str = "first",
    policy: str = "direct",
    reference: Sequence[str | Path] = (),
    overwrite: bool = False,
    resume: bool = False,
    work_folder: str | Path | None = None,
    audit_items: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Deduplicate files into an output folder; returns what run.json holds.

    With `resume`, a run that was killed goes on after the last piece of work that it finished.
    """
    progress = progress or Progress()
    options = {
        "inputs": [str(path) for path in inputs],
        "keep": keep,
        "policy": policy,
        "reference": [str(path) for path in reference],
    }
    parse_keep(keep)
    check_policy(policy)
    check_dedup_method(settings.matching.method)
    if audit_items < 0:
        raise UsageError(f"--audit must be 0 or more, not {audit_items}")
    output = open_output(out, [str(path) for path in inputs], overwrite, resume, work_folder)
    with output as folder:
        limits = settings.execution.limits
        opened = partial(
            open_inputs, encoding=settings.items.encoding, spool=output.spool, output=Path(out), limits=limits
        )
        sources, references = opened(inputs), opened(reference) if reference else []
        settings, choice = choose(references + sources, settings)
        tell_plan(settings, choice, progress)
        work = open_work(output, folder, settings.to_dict(), options, references + sources)
        forecast = foresee(sources, references, settings)
        progress.say(forecast.describe())
        if warning := check_forecast(forecast, settings, output.work, output.path):
            progress.say(warning)
        tell_reused(work, progress)
        graph = None if settings.items.vectors else Graph(f"graph-{settings.execution.budget.batch_name}")
        found = find_duplicates(sources, references, settings, keep, policy, progress, work, audit_items, graph)
        write_result(found, folder, progress)
        if graph is not None:
            with progress.stage("remembering"):
                known = {"files": identity_of(references + sources), "blocks": found.corpus.digests.blocks}
                known |= {"references": found.references, "empty": found.empty}
                write_graph(folder, graph, found.settling.candidates, known)
        run = describe_run(settings, options, found.counts, found.alarms, progress, found.audit)
        run |= {"reused": work.reused, "forecast": forecast.to_dict(), LINE_FILES: line_files(sources)}
        run["choice"] = choice.to_dict() if choice else None
        write_json(folder / "run.json", run)
    return run


def read_result(folder: Path) -> DedupResult:
    """An output folder as a result; the kept rows stay in its files."""
    return DedupResult(
        None,
        pq.read_table(folder / "removed.parquet"),
        pq.read_table(folder / "clusters.parquet"),
        json.loads((folder / "run.json").read_text("utf-8")),
    )


def dedup_in_memory(
    sources: list[Source], references: list[Source], settings: Settings, keep: str, policy: str, audit_items: int = 0
) -> DedupResult:
    """Deduplicate and hand everything back as tables."""
    progress = Progress()
    settings, choice = choose(references + sources, settings)
    found = find_duplicates(sources, references, settings, keep, policy, progress, None, audit_items)
    with progress.stage("writing"):
        kept = kept_table(found.corpus, found.outcome.stays(len(found.corpus)), found.reference_sources)
        removed, clusters = pa.concat_tables(found.removed()), pa.concat_tables(found.clusters())
    options = {"inputs": [source.name for source in sources], "keep": keep, "policy": policy}
    run = describe_run(settings, options, found.counts, found.alarms, progress, found.audit)
    run["choice"] = choice.to_dict() if choice else None
    return DedupResult(kept, removed, clusters, run)
