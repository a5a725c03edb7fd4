"""All similar pairs, each with its exact similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import ResourceError
from lookalike.jobs.corpus import Corpus, read_corpus
from lookalike.jobs.outcome import self_similarity
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.jobs.run import describe_run
from lookalike.jobs.settings import Settings
from lookalike.jobs.similar import Comparable, find_comparable
from lookalike.kernels import pairs as kernels
from lookalike.read import open_inputs
from lookalike.types import Pairs, Rejected, Source, to_arrow
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
        found = find_comparable(corpus, np.flatnonzero(corpus.counts), workers, progress)
        with progress.stage("verifying"):
            progress.compiling(kernels.expand_pairs, "lists of pairs")
            listed = list_pairs(found.buckets, found.sets, settings.measure.arguments, workers.map)
            pairs = _expand(found, settings.measure, listed.left, listed.right, listed.overlaps)
    # Sets were compared once for all their copies; what is reported counts items.
    candidates = listed.candidates - len(listed.left) + len(pairs)
    return FoundPairs(corpus, pairs, candidates, found.alarms)


def _expand(found: Comparable, measure: Measure, left: Any, right: Any, overlaps: Any) -> Pairs:
    """From pairs of distinct sets to pairs of items: every copy of the one with every copy of the other."""
    similarity = measure.of_overlaps(overlaps.astype(np.int64), found.sizes[left], found.sizes[right])
    by_set = np.argsort(found.first, kind="stable")  # places, copies of a set next to each other
    starts = np.searchsorted(found.first[by_set], np.arange(len(found.order) + 1))
    own = self_similarity(found, measure)
    firsts = np.flatnonzero((np.diff(starts) > 1) & (own >= float(measure.threshold)))
    both = measure.name == "containment"
    total = kernels.count_expanded(found.places[left], found.places[right], firsts, starts, both)
    if total > MOST_PAIRS:
        raise ResourceError(
            f"{total:,} pairs would be listed, most of them among copies; use lookalike dedup, raise --threshold, "
            "or remove identical items first"
        )
    pairs = kernels.expand_pairs(
        found.places[left], found.places[right], similarity, firsts, own[firsts], starts, by_set, both, total
    )
    a, b, values = found.order[pairs[0]], found.order[pairs[1]], pairs[2]
    order = np.lexsort((b, a))
    return Pairs(a[order], b[order], values[order])


def pairs_of_files(
    inputs: Sequence[str | Path], settings: Settings, spool: Path, progress: Progress
) -> tuple[pa.Table, list[Rejected], dict[str, Any]]:
    """The similar pairs in files as a table, the bad lines that were skipped, and the record of the run."""
    sources = open_inputs(inputs, encoding=settings.encoding, spool=spool)
    found = find_similar_pairs(sources, settings, progress)
    options = {"inputs": [str(path) for path in inputs]}
    return found.table(), found.corpus.rejected, describe_run(settings, options, found.counts, found.alarms, progress)
