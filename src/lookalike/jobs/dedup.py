"""Remove near-duplicates: every removed item names a kept one that it resembles, with their exact similarity."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.cluster.components import connect
from lookalike.cluster.keepers import decide
from lookalike.errors import UsageError
from lookalike.jobs.alarms import find_alarms
from lookalike.jobs.audit import audit
from lookalike.jobs.corpus import Corpus, read_corpus
from lookalike.jobs.kept import kept_table
from lookalike.jobs.outcome import Outcome, Settling
from lookalike.jobs.parallel import Workers
from lookalike.jobs.priority import order_items
from lookalike.jobs.progress import Progress
from lookalike.jobs.run import describe_run
from lookalike.jobs.settings import Settings, check_policy, parse_keep
from lookalike.jobs.similar import Candidates, find_candidates
from lookalike.kernels.audit import find_similar
from lookalike.kernels.join import connect_buckets
from lookalike.read import identity_of, open_inputs
from lookalike.types import Block, Int64, Items, Source, to_arrow
from lookalike.version import __version__
from lookalike.write import WORK, OutputFolder, WorkFolder, open_kept, write_json, write_rejected, write_table


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


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    outcome: Outcome
    references: int
    """How many of the items, at the front, are reference items."""
    reference_sources: int
    candidates: int
    pairs: int
    alarms: list[dict[str, Any]]
    audit: dict[str, Any] | None
    connected: bool

    @property
    def removed_items(self) -> Int64:
        """The items that go, in input order."""
        return np.flatnonzero(self.outcome.keeper >= 0)

    @property
    def counts(self) -> dict[str, int]:
        """What happened to how many."""
        items, removed = len(self.corpus) - self.references, len(self.removed_items)
        return {
            "items": items,
            "empty": int(np.count_nonzero(self.corpus.counts[self.references :] == 0)),
            "kept": items - removed,
            "removed": removed,
            "candidates": self.candidates + self.outcome.identical,
            "pairs": self.pairs + self.outcome.identical,
            "rejected": len(self.corpus.rejected),
            "identical": self.outcome.identical,
            "reference": self.references,
        }

    def removed(self) -> pa.Table:
        """Every removal with its reason, in input order."""
        gone = self.removed_items
        keeper = self.outcome.keeper[gone]
        files, rows = self.corpus.locate(gone)
        kept_files, kept_rows = self.corpus.locate(keeper)
        columns = {
            "id": self.corpus.ids(gone),
            "file": files,
            "row": to_arrow(rows),
            "kept_id": self.corpus.ids(keeper),
            "kept_file": kept_files,
            "kept_row": to_arrow(kept_rows),
            "similarity": to_arrow(self.outcome.similarity[gone]),
        }
        if self.connected:
            columns["pair_id"] = self.corpus.ids(self.outcome.partner[gone])
            columns["pair_similarity"] = to_arrow(self.outcome.partner_similarity[gone])
        return pa.table(columns)

    def clusters(self) -> pa.Table:
        """The items of clusters with two or more members; a cluster is a kept item with those removed for it."""
        gone = self.removed_items
        keepers, sizes = np.unique(self.outcome.keeper[gone], return_counts=True)
        members = np.union1d(gone, keepers)
        head = np.where(self.outcome.keeper[members] >= 0, self.outcome.keeper[members], members)
        cluster = np.searchsorted(keepers, head)
        by_cluster = np.argsort(cluster, kind="stable")
        members, cluster = members[by_cluster], cluster[by_cluster]
        return pa.table(
            {
                "id": self.corpus.ids(members),
                "cluster": to_arrow(cluster),
                "size": to_arrow(sizes[cluster] + 1),
                "kept": to_arrow(self.outcome.keeper[members] < 0),
            }
        )


def find_duplicates(
    sources: list[Source],
    references: list[Source],
    settings: Settings,
    keep: str,
    policy: str,
    progress: Progress,
    work: WorkFolder | None = None,
    audit_items: int = 0,
) -> Deduplicated:
    """The recipe: read and sketch, join the bands, fetch the sets, verify and decide; audit if asked to."""
    rule, column = parse_keep(keep)
    check_policy(policy)
    everything = references + sources
    with Workers(settings.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in everything), "B"):
            by_length = rule in ("longest", "shortest")
            corpus = read_corpus(everything, settings, workers, progress, column, by_length, len(references), work)
        fixed = int(corpus.starts[len(references)])
        order = order_items(corpus, rule, column, fixed)
        order = order[corpus.counts[order] > 0]
        candidates = find_candidates(corpus, order, workers, progress)
        settling = _verify(candidates, fixed, policy, workers, progress)
        outcome = settling.finish(len(corpus), fixed)
        measured = None
        if audit_items:
            with progress.stage("auditing", 2 * sum(source.nbytes for source in everything), "B"):
                progress.compiling(find_similar, "audits")
                measured = audit(corpus, audit_items, workers, progress)
    files = [(source.name, *corpus.starts[n : n + 2].tolist()) for n, source in enumerate(everything)]
    alarms = find_alarms(outcome.keeper, corpus.counts, fixed, files[len(references) :], measured)
    return Deduplicated(
        corpus,
        outcome,
        fixed,
        len(references),
        settling.compared,
        settling.pairs,
        candidates.alarms + alarms,
        measured,
        policy == "connected",
    )


def _verify(candidates: Candidates, fixed: int, policy: str, workers: Workers, progress: Progress) -> Settling:
    """Compare and decide, batch by batch; the first `fixed` items are reference items."""
    wanted = candidates.corpus.settings.measure
    measure = wanted.arguments
    settling = Settling(candidates, wanted, policy == "connected")
    for found in candidates.batches(workers, progress):
        with progress.stage("verifying"):
            fixed_sets = int(np.count_nonzero(candidates.order[found.places] < fixed))
            asked = candidates.has_copies(found, candidates.order >= fixed) | (np.arange(len(found)) >= fixed_sets)
            direct = decide(found.buckets, found.sets, measure, fixed_sets, asked, workers.threads, workers.map)
            components = None
            if policy == "connected":
                progress.compiling(connect_buckets, "connected clusters")
                components = connect(found.buckets, found.sets, measure, direct)
            settling.add(found, direct, components)
    return settling


def _write_kept(found: Deduplicated, folder: Path, threads: int, progress: Progress) -> None:
    """Every source's surviving rows, in its own format: rows are picked on threads, written in order."""
    keep = found.outcome.keeper < 0

    def pick(job: tuple[int, int, Block, Items | None]) -> tuple[Any, int]:
        first, last, block, held = job
        return block.stored(keep[first:last], held.decoded if held else None), block.nbytes

    def jobs(number: int) -> Iterator[tuple[int, int, Block, Items | None]]:
        for index, (first, last, block) in enumerate(found.corpus.blocks(number)):
            yield first, last, block, found.corpus.held.pop((number, index), None)

    with Workers(threads, beside=True) as workers:
        for number in range(found.reference_sources, len(found.corpus.sources)):
            with open_kept(folder, found.corpus.sources[number]) as writer:
                for stored, nbytes in workers.map(pick, jobs(number)):
                    writer.write(stored)
                    stored = None  # what is large goes before the next is read
                    progress.advance(nbytes)


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
    if audit_items < 0:
        raise UsageError(f"--audit must be 0 or more, not {audit_items}")
    if resume and "-" in options["inputs"]:
        raise UsageError("--resume: standard input cannot be read again; save it to a file first")
    with OutputFolder(out, overwrite, resume) as folder:
        spool = folder / "spool"
        sources = open_inputs(inputs, encoding=settings.encoding, spool=spool, output=Path(out))
        references = (
            open_inputs(reference, encoding=settings.encoding, spool=spool, output=Path(out)) if reference else []
        )
        work = _open_work(folder, settings, options, references + sources, resume)
        if work.reused:
            progress.say(f"Resuming: {len(work.reused)} finished pieces of work are used again.")
        found = find_duplicates(sources, references, settings, keep, policy, progress, work, audit_items)
        with progress.stage("writing", sum(source.nbytes for source in sources), "B"):
            _write_kept(found, folder, settings.threads, progress)
            write_table(folder / "removed.parquet", found.removed())
            write_table(folder / "clusters.parquet", found.clusters())
            if settings.skip_errors:
                write_rejected(folder / "rejected.jsonl", found.corpus.rejected)
        shutil.rmtree(spool, ignore_errors=True)
        shutil.rmtree(work.folder, ignore_errors=True)
        run = describe_run(settings, options, found.counts, found.alarms, progress, found.audit)
        run["reused"] = work.reused
        write_json(folder / "run.json", run)
    return run


def _open_work(
    folder: Path, settings: Settings, options: dict[str, Any], sources: list[Source], resume: bool
) -> WorkFolder:
    """The work folder of this run: its pieces fit only the same options, inputs and version."""
    same = {name: value for name, value in settings.to_dict().items() if name not in ("threads", "memory_bytes")}
    identity = {"version": __version__, **same, **options, "files": identity_of(sources)}
    return WorkFolder(folder / WORK, identity, resume)


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
    found = find_duplicates(sources, references, settings, keep, policy, progress, None, audit_items)
    with progress.stage("writing"):
        kept = kept_table(found.corpus, found.outcome.keeper < 0, found.reference_sources)
        removed, clusters = found.removed(), found.clusters()
    options = {"inputs": [source.name for source in sources], "keep": keep, "policy": policy}
    run = describe_run(settings, options, found.counts, found.alarms, progress, found.audit)
    return DedupResult(kept, removed, clusters, run)
