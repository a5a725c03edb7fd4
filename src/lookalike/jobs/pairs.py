"""All similar pairs, each with its exact similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import ResourceError
from lookalike.jobs.corpus import Corpus, read_corpus
from lookalike.jobs.outcome import own_similarity
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.jobs.run import describe_run
from lookalike.jobs.settings import Settings
from lookalike.jobs.similar import Candidates, Comparable, find_candidates
from lookalike.kernels import pairs as kernels
from lookalike.read import open_inputs
from lookalike.types import Float64, Int64, Pairs, Rejected, Source, to_arrow
from lookalike.verify.pairs import list_pairs
from lookalike.verify.sets import Measure

MOST_PAIRS = 1 << 30
"""Beyond this a list of pairs (24 bytes each, and more as a table) helps nobody; dedup does."""


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    pairs: Pairs
    """By item number, in order of left, then right."""
    candidates: int
    alarms: list[dict[str, Any]]

    @property
    def counts(self) -> dict[str, int]:
        """What was found."""
        return {
            "items": len(self.corpus),
            "empty": int(np.count_nonzero(self.corpus.counts == 0)),
            "candidates": self.candidates,
            "pairs": len(self.pairs),
            "rejected": len(self.corpus.rejected),
        }

    def table(self, ids: bool = True) -> pa.Table:
        """left, right, similarity; by id, or by row number."""
        left, right = self.pairs.left, self.pairs.right
        return pa.table(
            {
                "left": self.corpus.ids(left) if ids else to_arrow(left),
                "right": self.corpus.ids(right) if ids else to_arrow(right),
                "similarity": to_arrow(self.pairs.similarity),
            }
        )


def find_similar_pairs(sources: list[Source], settings: Settings, progress: Progress) -> FoundPairs:
    """The recipe: read and sketch, join the bands, fetch the sets, verify."""
    with Workers(settings.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in sources), "B"):
            corpus = read_corpus(sources, settings, workers, progress)
        candidates = find_candidates(corpus, np.flatnonzero(corpus.counts).astype(np.int32), workers, progress)
        listed = []
        own = np.ones(len(candidates.order))
        batches = list(range(len(candidates.packing.batches)))
        if batches:
            candidates.fetch(batches, workers, progress)
        for batch in batches:
            for found in candidates.compare(batch, progress):
                with progress.stage("verifying"):
                    progress.compiling(kernels.expand_pairs, "lists of pairs")
                    listed.append(_list(found, settings.measure, workers))
                    own[found.places] = own_similarity(found, settings.measure)
        candidates.follow(candidates.equal)
        pairs = _expand(candidates, settings.measure, listed, own[candidates.first])
    # Sets were compared once for all their copies; what is reported counts items.
    compared = sum(part.compared - len(part.left) for part in listed) + len(pairs)
    return FoundPairs(corpus, pairs, compared, candidates.refined.alarms())


class _Listed(NamedTuple):
    """Similar pairs of distinct sets, by place."""

    left: Int64
    right: Int64
    similarity: Float64
    compared: int


def _list(found: Comparable, measure: Measure, workers: Workers) -> _Listed:
    arguments = (found.buckets, found.sets, measure.arguments, found.earlier, workers.map)
    left, right, overlaps, compared = list_pairs(*arguments)
    similarity = measure.of_overlaps(overlaps.astype(np.int64), found.sizes[left], found.sizes[right])
    return _Listed(found.places[left], found.places[right], similarity, compared)


def _expand(candidates: Candidates, measure: Measure, listed: list[_Listed], own: Float64) -> Pairs:
    """From pairs of distinct sets to pairs of items: every copy of the one with every copy of the other."""
    left = np.concatenate([np.empty(0, np.int64), *(part.left for part in listed)])
    right = np.concatenate([np.empty(0, np.int64), *(part.right for part in listed)])
    similarity = np.concatenate([np.empty(0), *(part.similarity for part in listed)])
    first, order = candidates.first, candidates.order
    by_set = np.argsort(first, kind="stable")  # places, copies of a set next to each other
    starts = np.searchsorted(first[by_set], np.arange(len(order) + 1))
    copied = np.flatnonzero((np.diff(starts) > 1) & (own >= float(measure.threshold)))
    both = measure.name == "containment"
    total = kernels.count_expanded(left, right, copied, starts, both)
    if total > MOST_PAIRS:
        raise ResourceError(
            f"{total:,} pairs would be listed, most of them among copies; use lookalike dedup, raise --threshold, "
            "or remove identical items first"
        )
    pairs = kernels.expand_pairs(left, right, similarity, copied, own[copied], starts, by_set, both, total)
    a, b, values = order[pairs[0]].astype(np.int64), order[pairs[1]].astype(np.int64), pairs[2]
    by_input = np.lexsort((b, a))
    return Pairs(a[by_input], b[by_input], values[by_input])


def pairs_of_files(
    inputs: Sequence[str | Path], settings: Settings, spool: Path, progress: Progress
) -> tuple[pa.Table, list[Rejected], dict[str, Any]]:
    """The similar pairs in files as a table, the bad lines that were skipped, and the record of the run."""
    sources = open_inputs(inputs, encoding=settings.encoding, spool=spool)
    found = find_similar_pairs(sources, settings, progress)
    options = {"inputs": [str(path) for path in inputs]}
    return found.table(), found.corpus.rejected, describe_run(settings, options, found.counts, found.alarms, progress)
