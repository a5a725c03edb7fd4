"""The most similar other items of each item, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.neighbors import NearestSets, about_bytes, nearest
from lookalike.candidates.numbering import number_elements
from lookalike.engine.corpus import Corpus, read_corpus
from lookalike.engine.memory import BASE_BYTES
from lookalike.engine.progress import Progress
from lookalike.engine.run_record import describe_run
from lookalike.engine.settings import Settings
from lookalike.engine.vectors import for_vectors, vectors_of
from lookalike.engine.workers import Workers
from lookalike.errors import ResourceError, UsageError
from lookalike.kernels import neighbors as kernels
from lookalike.kernels.vectors import push_nearest
from lookalike.matching.vectors import nearest_vectors
from lookalike.read import open_inverted, open_sides
from lookalike.types import Float64, Int64, Rejected, Source, VectorKind, to_arrow

METHODS = ("auto", "exact", "brute")
"""All the same here: neighbours are always exact."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """What is asked: how many neighbours, and how similar they are at least."""

    k: int
    settings: Settings
    """Its threshold counts only if `bounded`."""
    bounded: bool

    @classmethod
    def parse(
        cls,
        k: int = 10,
        *,
        threshold: float | str | Fraction | None = None,
        measure: str = "jaccard",
        method: str = "exact",
        **options: Any,
    ) -> Nearby:
        """Check every option.

        Examples
        --------
        >>> Nearby.parse(3, measure="overlap").options["threshold"] is None
        True
        """
        if k < 1:
            raise UsageError(f"-k must be at least 1, not {k}")
        if method not in METHODS:
            raise UsageError(f"--method {method}: neighbours are always found exactly; leave it out")
        if options.get("length_ratio") is not None:
            raise UsageError("--length-ratio goes with pairs and dedup, not with neighbors")
        # of a measure without a threshold only the name counts
        settings = Settings.parse(threshold=threshold or 1, measure=measure, method="brute", **options)
        return cls(k, settings.with_matching(method="exact"), threshold is not None)

    @property
    def threshold(self) -> tuple[int, int] | None:
        """Numerator and denominator, as kernels take it."""
        return self.settings.matching.measure.arguments[1:] if self.bounded else None

    @property
    def options(self) -> dict[str, Any]:
        """Those of a run that differ from the settings'."""
        return {"k": self.k} if self.bounded else {"k": self.k, "threshold": None}


@dataclass(frozen=True, slots=True)
class FoundNeighbors:
    """The outcome of a run, before anything is written. Rows come in input order of left, then by rank."""

    corpus: Corpus
    first_other: int
    """Items from here on are those of OTHER; the number of items where there is no OTHER."""
    left: Int64
    right: Int64
    similarity: Float64
    ranks: Int64

    @property
    def counts(self) -> dict[str, int]:
        """What was found."""
        return {
            "items": self.first_other,
            "empty": int(np.count_nonzero(self.corpus.counts[: self.first_other] == 0)),
            "against": len(self.corpus) - self.first_other,
            "with_neighbors": int(np.count_nonzero(self.ranks == 1)),
            "neighbors": len(self.left),
            "rejected": len(self.corpus.rejected),
        }

    def table(self, ids: bool = True) -> pa.Table:
        """left, right, similarity, rank; by id, or by row number (of OTHER its own)."""
        first = self.first_other if self.first_other < len(self.corpus) else 0
        return pa.table(
            {
                "left": self._ids(self.left) if ids else to_arrow(self.left),
                "right": self._ids(self.right) if ids else to_arrow(self.right - first),
                self.corpus.settings.matching.measure.column: to_arrow(self.similarity),
                "rank": to_arrow(self.ranks),
            }
        )

    def _ids(self, items: Int64) -> pa.Array:
        """The ids of items that come up again and again: each is made once."""
        used = np.zeros(len(self.corpus), np.bool_)
        used[items] = True
        return self.corpus.ids(np.flatnonzero(used)).take(to_arrow((np.cumsum(used) - 1)[items]))


def find_neighbors(sources: list[Source], others: list[Source], wanted: Nearby, progress: Progress) -> FoundNeighbors:
    """The recipe: read, fetch the sets, number their elements by frequency, search.

    With `others`, neighbours are sought among their items instead.
    """
    everything = sources + others
    if kind := vectors_of(everything, wanted.settings):
        return find_nearest_vectors(sources, others, wanted, kind, progress)
    settings = wanted.settings
    with Workers(settings.execution.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in everything), "B"):
            corpus = read_corpus(everything, settings, workers, progress)
        first_other = int(corpus.starts[len(sources)])
        check_memory(corpus)
        items = np.flatnonzero(corpus.counts)
        with progress.stage("fetching sets", sum(source.nbytes for source in everything), "B"):
            sets = corpus.fetch_all_sets(items, workers, progress)
        with progress.stage("numbering"):
            numbered, rows = number_elements(sets, threads=workers.threads, each=workers.map)
            del sets
        with progress.stage("searching", len(items), "items"):
            progress.compiling(kernels.find_nearest, "neighbours")
            found = nearest(
                numbered,
                rows,
                settings.matching.measure.arguments[0],
                wanted.k,
                threshold=wanted.threshold,
                sides=items[rows] >= first_other if others else None,
                threads=workers.threads,
                each=_telling(workers, progress),
            )
    return FoundNeighbors(corpus, first_other, *_by_input(found, numbered.sizes, items, rows, settings))


def find_nearest_vectors(
    sources: list[Source], others: list[Source], wanted: Nearby, kind: VectorKind, progress: Progress
) -> FoundNeighbors:
    """The same for vectors: read, fetch their numbers, compare all with all in matrix products."""
    settings = for_vectors(wanted.settings, kind)
    everything = sources + others
    with Workers(settings.execution.threads) as workers:
        with progress.stage("reading", sum(source.nbytes for source in everything), "B"):
            corpus = read_corpus(everything, settings, workers, progress)
        first_other = int(corpus.starts[len(sources)])
        items = np.flatnonzero(corpus.counts)
        needed = BASE_BYTES + 8 * int(corpus.counts.sum(dtype=np.int64)) * 2 + items.nbytes * 4
        _check_memory(needed, len(corpus), settings)
        with progress.stage("fetching vectors", sum(source.nbytes for source in everything), "B"):
            sets = corpus.fetch_all_sets(items, workers, progress)
        split = int(np.searchsorted(items, first_other)) if others else len(items)
        among = (split, len(items)) if others else (0, len(items))
        rows = kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)
        with progress.stage("searching", split, "items"):
            progress.compiling(push_nearest, "vectors")
            found = nearest_vectors(
                kind, settings.matching.measure, rows, (0, split), among, wanted.k, wanted.bounded, workers, progress
            )
    left = np.repeat(np.arange(split), found.counts)
    ranks = np.arange(1, len(left) + 1) - np.repeat(np.cumsum(found.counts) - found.counts, found.counts)
    return FoundNeighbors(corpus, first_other, items[left], items[found.neighbors], found.values, ranks)


def check_memory(corpus: Corpus) -> None:
    """Refuse what cannot fit, once the number of shingles is known: all sets are in memory together."""
    needed = BASE_BYTES + about_bytes(
        int(corpus.counts.sum(dtype=np.int64)), len(corpus), corpus.settings.execution.threads
    )
    _check_memory(needed, len(corpus), corpus.settings)


def _check_memory(needed: int, items: int, settings: Settings) -> None:
    total = settings.execution.budget.total_bytes
    if needed > total:
        raise ResourceError(
            f"the sets or vectors of {items:,} items need about {needed / 2**30:.1f} GiB together; --memory is "
            f"{total / 2**30:.1f} GiB. Give more, or look for neighbours of a part at a time: INPUT the part, "
            "--against parts of the whole"
        )


def _telling(workers: Workers, progress: Progress) -> Callable[..., Iterator[Any]]:
    """The workers' map, which tells how many sets are done."""

    def each(search: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterator[Any]:
        for done in workers.map(search, pieces):
            progress.advance(len(done[0]))
            yield done

    return each


def _by_input(
    found: NearestSets, sizes: Int64, items: Int64, rows: Int64, settings: Settings
) -> tuple[Int64, Int64, Float64, Int64]:
    """left, right, similarity and rank, by item, from neighbours by number of the set."""
    order = np.argsort(rows)
    counts = np.diff(found.starts)[order]
    ends = np.cumsum(counts)
    ranks = np.arange(1, len(found.neighbours) + 1) - np.repeat(ends - counts, counts)
    at = np.repeat(found.starts[order], counts) + ranks - 1
    left, right = np.repeat(order, counts), found.neighbours[at].astype(np.int64)
    overlaps = found.overlaps[at].astype(np.int64)
    similarity = settings.matching.measure.of_overlaps(overlaps, sizes[left], sizes[right])
    return items[rows[left]], items[rows[right]], similarity, ranks


def neighbors_of_files(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    wanted: Nearby,
    spool: Path,
    progress: Progress,
    transposed: bool = False,
) -> tuple[pa.Table, list[Rejected], dict[str, Any]]:
    """The neighbours as a table, the bad lines that were skipped, and the record of the run.

    `transposed`: the items are the elements of the sets that the files hold.
    """
    sources, others = open_sides(inputs, against, wanted.settings.items.encoding, spool)
    if transposed:
        sources = open_inverted(sources, wanted.settings.items.column, wanted.settings.execution.budget.sets_bytes)
    found = find_neighbors(sources, others, wanted, progress)
    options: dict[str, Any] = {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against]}
    options["transpose"] = transposed
    run = describe_run(wanted.settings, {**options, **wanted.options}, found.counts, [], progress)
    return found.table(), found.corpus.rejected, run
