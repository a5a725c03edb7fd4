"""All similar pairs, each with its exact similarity: within one collection, or between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.alarms import Alarm, about_components, about_rejected
from lookalike.engine.corpus import Corpus, ReadSettings
from lookalike.engine.method import Choice, choose, report_plan
from lookalike.engine.progress import Progress
from lookalike.engine.run import open_run
from lookalike.engine.run_record import describe_run
from lookalike.engine.settings import Settings
from lookalike.engine.sources import open_files
from lookalike.engine.stores.pairs import PAIR, Connected, PairStore
from lookalike.jobs.dedup_result import TABLE_ROWS
from lookalike.kernels.pack import expect
from lookalike.matching.batches import FindOptions
from lookalike.matching.join import JoinOptions
from lookalike.matching.list_pairs import Listing, ListLimits
from lookalike.matching.stages import LOCAL, Stages
from lookalike.types import Int32, Source, to_arrow, total_bytes
from lookalike.types.frozen import frozen


@frozen
class FoundPairs:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    settings: Settings
    """With the method that was chosen."""
    pairs: PairStore
    """By item number."""
    listing: Listing
    second: int | None
    """The number of the first item of the other collection, if there is one."""
    choice: Choice | None = None
    """Why the method was chosen, if it was not given."""

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of items and pairs."""
        return {
            "items": len(self.corpus),
            "empty": int(np.count_nonzero(self.corpus.counts == 0)),
            "candidates": self.listing.compared,
            "pairs": len(self.pairs),
            "rejected": len(self.corpus.rejected),
        }

    @property
    def alarms(self) -> list[Alarm]:
        """What a user should check."""
        components = about_components(*self.pairs.connected.largest()) if self.pairs.connected else []
        return components + about_rejected(len(self.corpus.rejected), len(self.corpus)) + self.listing.alarms

    @property
    def several_tables(self) -> bool:
        """Whether `tables` gives more than one table."""
        return len(self.pairs) > TABLE_ROWS

    def tables(self, ids: bool = True) -> Iterator[pa.Table]:
        """left, right, similarity in order of left, then right; by id (texts as a dictionary), or by row number."""
        empty = True
        for rows in self.pairs.sorted():
            for first in range(0, len(rows), TABLE_ROWS):
                empty = False
                yield self._table(rows[first : first + TABLE_ROWS], ids)
        if empty:
            yield self._table(np.empty(0, PAIR), ids)

    def _table(self, rows: Any, ids: bool) -> pa.Table:
        left, right = rows["left"].astype(np.int64), rows["right"].astype(np.int64)
        if not ids and self.second is not None:
            right = right - self.second  # rows of the other collection are numbered separately
        return pa.table(
            {
                "left": self.corpus.names(left) if ids else to_arrow(left),
                "right": self.corpus.names(right) if ids else to_arrow(right),
                self.settings.matching.measure.column: to_arrow(np.ascontiguousarray(rows["similarity"])),
            }
        )


def find_similar_pairs(
    sources: list[Source],
    settings: Settings,
    progress: Progress,
    against: Sequence[Source] = (),
    options: JoinOptions | None = None,
    limits: ListLimits | None = None,
    stages: Stages = LOCAL,
) -> FoundPairs:
    """The recipe: read and sketch, find the candidates, fetch the sets, verify."""
    everything = [*sources, *against]
    expect("sample", "pairs lsh")
    with progress.stage("planning"):
        settings, choice = choose(everything, settings)
    expect(f"pairs {settings.matching.method}")
    report_plan(settings, choice, progress)
    options = options or JoinOptions()
    nbytes = total_bytes(everything)
    with open_run(settings, progress, spool=options.folder, nbytes=nbytes) as run:
        with progress.stage("reading", nbytes, "B"):
            corpus = stages.read(run, everything, ReadSettings(settings.items, settings.digesting))
        second = int(corpus.starts[len(sources)]) if against else None
        by_band = settings.items.vectors is not None and settings.matching.method == "lsh"
        order = _order(corpus, settings.matching.method)
        candidates = stages.find(run, corpus, order, FindOptions(second=second, by_band=by_band))
        connected = Connected(len(corpus))
        store = PairStore(len(corpus), settings.execution.budget.sets_bytes, options.folder, by_band, connected)
        listing = stages.list_pairs(run, candidates, store, options, limits or ListLimits())
    return FoundPairs(corpus, settings, store, listing, second, choice)


def _order(corpus: Corpus, method: str) -> Int32:
    """The input order; for exact joins, the order of size, so that blocks too different in size are not compared."""
    items = np.flatnonzero(corpus.counts).astype(np.int32)
    if method == "lsh":
        return items
    return items[np.argsort(corpus.counts[items], kind="stable")]


def pairs_of_files(
    inputs: Sequence[str | Path],
    settings: Settings,
    spool: Path,
    progress: Progress,
    against: Sequence[str | Path] = (),
    join: JoinOptions | None = None,
    transposed: bool = False,
    stages: Stages = LOCAL,
) -> tuple[FoundPairs, dict[str, Any]]:
    """The similar pairs in files, and the record of the run; with `transposed`, pairs of elements of their sets."""
    sources, others = open_files(inputs, against, settings, spool, progress, transposed)
    join = join or JoinOptions()
    join.folder = spool
    found = find_similar_pairs(sources, settings, progress, others, join, stages=stages)
    options: dict[str, Any] = {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against]}
    options |= {
        "transpose": transposed,
        "index": join.index,
        "common": None if join.common is None else str(join.common),
    }
    record = record_pairs(found, options, progress)
    if described := stages.describe():
        record["engine"] = described
    return found, record


def record_pairs(found: FoundPairs, options: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The record of a run: its settings and other options, results and resources."""
    chosen = found.settings
    record = describe_run({**chosen.to_dict(), **options}, chosen.matching.plan, found.counts, found.alarms, progress)
    record["choice"] = found.choice.to_dict() if found.choice else None
    return record
