"""The outcome of a dedup run, and how it is told: who went and why, who belongs together, and the rows that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import Corpus
from lookalike.engine.progress import Progress
from lookalike.engine.workers import Workers
from lookalike.jobs.dedup_alarms import InputFile, find_alarms
from lookalike.matching.decisions import Outcome, Settling
from lookalike.types import Block, Int64, Items, to_arrow
from lookalike.write import KEPT, LARGE_BYTES, open_kept, write_rejected, write_tables

TABLE_ROWS = 1 << 20
"""Rows of a result that are put together at a time."""


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    settling: Settling
    outcome: Outcome
    ids: Callable[[Int64], pa.Array]
    """The ids of some items."""
    empty: list[int]
    """How many items of each source are empty."""
    references: int
    """How many of the items, at the front, are reference items."""
    reference_sources: int
    connected: bool
    audit: dict[str, Any] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """What happened to how many."""
        items, removed = len(self.corpus) - self.references, len(self.outcome.removed)
        return {
            "items": items,
            "empty": sum(self.empty[self.reference_sources :]),
            "kept": items - removed,
            "removed": removed,
            "candidates": self.settling.compared + self.outcome.identical,
            "pairs": self.settling.pairs + self.outcome.identical,
            "rejected": len(self.corpus.rejected),
            "identical": self.outcome.identical,
            "reference": self.references,
        }

    @property
    def alarms(self) -> list[dict[str, Any]]:
        """What a user should look at."""
        starts = self.corpus.starts.tolist()
        names = [source.name for source in self.corpus.sources]
        files = [InputFile(*file) for file in zip(names, starts[:-1], starts[1:], self.empty)]
        files = files[self.reference_sources :]
        alarms = find_alarms(self.outcome.removed, self.outcome.keeper, files, self.audit)
        return self.settling.alarms() + alarms

    def removed(self) -> Iterator[pa.Table]:
        """Every removal with its reason, in input order, some at a time."""
        for first in range(0, max(1, len(self.outcome.removed)), TABLE_ROWS):
            yield self._removed(slice(first, first + TABLE_ROWS))

    def _removed(self, some: slice) -> pa.Table:
        gone, keeper = self.outcome.removed[some], self.outcome.keeper[some]
        files, rows = self.corpus.locate(gone)
        kept_files, kept_rows = self.corpus.locate(keeper)
        value = self.corpus.settings.matching.measure.column
        columns = {
            "id": self.ids(gone),
            "file": files,
            "row": to_arrow(rows),
            "kept_id": self.ids(keeper),
            "kept_file": kept_files,
            "kept_row": to_arrow(kept_rows),
            value: to_arrow(self.outcome.similarity[some]),
        }
        if self.connected:
            columns["pair_id"] = self.ids(self.outcome.partner[some])
            columns[f"pair_{value}"] = to_arrow(self.outcome.partner_similarity[some])
        return pa.table(columns)

    def clusters(self) -> Iterator[pa.Table]:
        """The items of clusters with two or more members; a cluster is a kept item with those removed for it."""
        keepers, sizes = np.unique(self.outcome.keeper, return_counts=True)
        members = np.concatenate([keepers, self.outcome.removed])
        cluster = np.concatenate([np.arange(len(keepers)), np.searchsorted(keepers, self.outcome.keeper)])
        by_cluster = np.lexsort((members, cluster))
        for first in range(0, max(1, len(members)), TABLE_ROWS):
            some = by_cluster[first : first + TABLE_ROWS]
            yield pa.table(
                {
                    "id": self.ids(members[some]),
                    "cluster": to_arrow(cluster[some]),
                    "size": to_arrow(sizes[cluster[some]] + 1),
                    "kept": to_arrow(some < len(keepers)),
                }
            )


def _write_kept(found: Deduplicated, folder: Path, threads: int, progress: Progress) -> None:
    """Every source's surviving rows, in its own format: rows are picked on threads, written in order."""
    keep = found.outcome.stays(len(found.corpus))

    def pick(job: tuple[int, int, Block, Items | None]) -> tuple[Any, int]:
        first, last, block, held = job
        return block.kept_rows(keep[first:last], held.decoded if held else None), block.nbytes

    def jobs(number: int) -> Iterator[tuple[int, int, Block, Items | None]]:
        for index, (first, last, block) in enumerate(found.corpus.blocks(number)):
            yield first, last, block, found.corpus.held.pop((number, index), None)

    work = found.corpus.digests.work
    with Workers(threads, beside=True) as workers:
        for number in range(found.reference_sources, len(found.corpus.sources)):
            source = found.corpus.sources[number]
            name = f"{KEPT}/{source.kept_path}"
            if work is not None and work.has(name):
                progress.advance(source.nbytes)
                continue
            with open_kept(folder, source) as writer:
                for stored, nbytes in workers.map(pick, jobs(number)):
                    large = getattr(stored, "nbytes", 0) >= LARGE_BYTES
                    writer.write(stored)
                    stored = None  # what is large goes before the next is read
                    if large:
                        pa.default_memory_pool().release_unused()  # else Arrow keeps its room beside the next one's
                    progress.advance(nbytes)
            if work is not None and (folder / name).is_file():
                work.keep(name)


def write_result(found: Deduplicated, folder: Path, progress: Progress) -> None:
    """kept/, removed.parquet, clusters.parquet, and rejected.jsonl where bad lines are skipped."""
    settings = found.corpus.settings
    sources = found.corpus.sources[found.reference_sources :]
    with progress.stage("writing", sum(source.nbytes for source in sources), "B"):
        _write_kept(found, folder, settings.execution.threads, progress)
        write_tables(folder / "removed.parquet", found.removed())
        write_tables(folder / "clusters.parquet", found.clusters())
        if settings.items.skip_errors:
            write_rejected(folder / "rejected.jsonl", found.corpus.rejected)
