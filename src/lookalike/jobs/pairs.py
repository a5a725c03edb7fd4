"""All similar pairs, each with its exact similarity: within one collection, or between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import Corpus, read_corpus
from lookalike.engine.method import Choice, choose, tell_plan
from lookalike.engine.progress import Progress
from lookalike.engine.run_record import describe_run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pairs import PairStore
from lookalike.engine.workers import Workers
from lookalike.jobs.dedup_result import TABLE_ROWS
from lookalike.matching.find import find_candidates
from lookalike.matching.join import JoinOptions
from lookalike.matching.list_pairs import Listing, list_similar
from lookalike.read import open_inverted, open_sides
from lookalike.types import Int32, Source, to_arrow


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    pairs: PairStore
    """By item number."""
    listing: Listing
    choice: Choice | None = None
    """Why the method was taken, if it was not given."""

    @property
    def counts(self) -> dict[str, int]:
        """What was found."""
        return {
            "items": len(self.corpus),
            "empty": int(np.count_nonzero(self.corpus.counts == 0)),
            "candidates": self.listing.compared,
            "pairs": len(self.pairs),
            "rejected": len(self.corpus.rejected),
        }

    def tables(self, ids: bool = True) -> Iterator[pa.Table]:
        """left, right, similarity in order of left, then right; by id, or by row number."""
        empty = True
        for rows in self.pairs.sorted():
            for first in range(0, len(rows), TABLE_ROWS):
                empty = False
                yield self._table(rows[first : first + TABLE_ROWS], ids)
        if empty:
            yield self._table(np.empty(0, [("left", "<i4"), ("right", "<i4"), ("similarity", "<f8")]), ids)

    def _table(self, rows: Any, ids: bool) -> pa.Table:
        left, right = rows["left"].astype(np.int64), rows["right"].astype(np.int64)
        if not ids:
            right = right - self.listing.second  # rows of the other collection are numbered by themselves
        return pa.table(
            {
                "left": self.corpus.ids(left) if ids else to_arrow(left),
                "right": self.corpus.ids(right) if ids else to_arrow(right),
                self.corpus.settings.matching.measure.column: to_arrow(np.ascontiguousarray(rows["similarity"])),
            }
        )


def find_similar_pairs(
    sources: list[Source],
    settings: Settings,
    progress: Progress,
    against: Sequence[Source] = (),
    options: JoinOptions | None = None,
) -> FoundPairs:
    """The recipe: read and sketch, find the candidates, fetch the sets, verify."""
    everything = [*sources, *against]
    settings, choice = choose(everything, settings)
    tell_plan(settings, choice, progress)
    with Workers(settings.execution.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in everything), "B"):
            corpus = read_corpus(everything, settings, workers, progress)
        # 0 means one collection: where the first is empty, no item belongs to the second either
        second = (int(corpus.starts[len(sources)]) or len(corpus)) if against else 0
        by_band = settings.items.vectors is not None and settings.matching.method == "lsh"
        candidates = find_candidates(corpus, _order(corpus), workers, progress, second=second, by_band=by_band)
        options = options or JoinOptions()
        store = PairStore(len(corpus), settings.execution.budget.sets_bytes, options.folder, repeated=by_band)
        listing = list_similar(candidates, store, options, workers, progress)
    return FoundPairs(corpus, store, listing, choice)


def _order(corpus: Corpus) -> Int32:
    """By size where sets are joined exactly, so that blocks too different in size need not meet; else as they came."""
    items = np.flatnonzero(corpus.counts).astype(np.int32)
    if corpus.settings.matching.method == "lsh":
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
) -> tuple[FoundPairs, dict[str, Any]]:
    """The similar pairs in files, and the record of the run; `transposed`: of the elements of their sets."""
    sources, others = open_sides(inputs, against, settings.items.encoding, spool, settings.execution.limits)
    if transposed:
        sources = open_inverted(sources, settings.items.column, settings.execution.budget.sets_bytes)
    join = join or JoinOptions()
    join.folder = spool
    found = find_similar_pairs(sources, settings, progress, others, join)
    options: dict[str, Any] = {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against]}
    options |= {
        "transpose": transposed,
        "index": join.index,
        "common": None if join.common is None else str(join.common),
    }
    run = describe_run(found.corpus.settings, options, found.counts, found.listing.alarms, progress)
    run["choice"] = found.choice.to_dict() if found.choice else None
    return found, run
