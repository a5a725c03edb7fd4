"""The most similar other items of each item, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.neighbors import NearestSets, about_bytes, nearest
from lookalike.candidates.numbering import number_elements
from lookalike.engine.alarms import about_rejected
from lookalike.engine.columns import check_columns
from lookalike.engine.corpus import Corpus, ReadSettings, read_corpus
from lookalike.engine.execution import Execution
from lookalike.engine.forecast import count_items
from lookalike.engine.memory import BASE_BYTES
from lookalike.engine.method import first_features
from lookalike.engine.progress import Progress
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import describe_run
from lookalike.engine.settings import ItemSettings
from lookalike.engine.sources import open_files
from lookalike.engine.vectors import vectors_of
from lookalike.errors import ResourceError, UsageError
from lookalike.features.shingles import sets_of
from lookalike.kernels.pack import expect
from lookalike.matching.nearest import about_bytes as about_bytes_noted
from lookalike.matching.nearest import nearest_vectors
from lookalike.types import Float64, Int64, Rejected, Source, VectorKind, to_arrow, total_bytes
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.types.wording import count
from lookalike.verify.measures import Measure

SURELY = 2
"""A run is refused before it reads if the estimate from the first items exceeds the memory by this factor."""


@frozen
class NeighborSettings:
    """How many neighbours are wanted, and how similar they must be."""

    k: int
    items: ItemSettings
    measure: Measure
    bounded: bool
    """Whether a threshold was given; without one, the threshold of `measure` does not count."""
    execution: Execution

    @classmethod
    def parse(
        cls,
        k: int = 10,
        *,
        threshold: float | str | Fraction | None = None,
        measure: str = "jaccard",
        column: str = "text",
        id: str | None = None,
        shingle: str = "word:5",
        bag: bool = False,
        language: str = "en",
        threads: int | None = None,
        on_error: str = "stop",
        encoding: str = "utf-8",
        memory: str | int | None = None,
    ) -> NeighborSettings:
        """Check every option.

        Examples
        --------
        >>> NeighborSettings.parse(3, measure="overlap").to_dict()["threshold"] is None
        True
        """
        if k < 1:
            raise UsageError(f"-k must be at least 1, not {k}")
        items = ItemSettings.parse(
            column=column, id=id, shingle=shingle, bag=bag, language=language, on_error=on_error, encoding=encoding
        )
        wanted = Measure.parse(measure, 1 if threshold is None else threshold)
        return cls(k, items, wanted, threshold is not None, Execution.parse(threads, memory))

    @property
    def threshold(self) -> tuple[int, int] | None:
        """Numerator and denominator, for the kernels."""
        return self.measure.arguments[1:] if self.bounded else None

    def describe(self) -> str:
        """The plan in a sentence.

        Examples
        --------
        >>> NeighborSettings.parse(3, threshold=0.5).describe()
        'Plan: exact search. Up to 3 neighbours per item with jaccard 0.5 or more; none is missed.'
        """
        limit = f" by {self.measure.name}"
        if self.bounded:
            limit = f" with {self.measure.name} {self.measure.written} or "
            limit += "less" if self.measure.column == "distance" else "more"
        return f"Plan: exact search. Up to {count(self.k, 'neighbour')} per item{limit}; none is missed."

    def for_vectors(self, kind: VectorKind) -> NeighborSettings:
        """The same settings for items that are vectors."""
        return replace(self, items=replace(self.items, vectors=kind), measure=replace(self.measure, of_vectors=True))

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows them."""
        matching = {
            "k": self.k,
            "measure": self.measure.name,
            "threshold": self.measure.written if self.bounded else None,
            "method": "exact",
        }
        return {**self.items.to_dict(), **matching, **self.execution.to_dict()}


@frozen
class FoundNeighbors:
    """The outcome of a run, before anything is written. Rows are in input order of left, then by rank."""

    corpus: Corpus
    settings: NeighborSettings
    first_other: int
    """Items from here on belong to OTHER; without OTHER, the number of items."""
    left: Int64
    right: Int64
    similarity: Float64
    ranks: Int64

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of items and neighbours."""
        return {
            "items": self.first_other,
            "empty": int(np.count_nonzero(self.corpus.counts[: self.first_other] == 0)),
            "against": len(self.corpus) - self.first_other,
            "with_neighbors": int(np.count_nonzero(self.ranks == 1)),
            "neighbors": len(self.left),
            "rejected": len(self.corpus.rejected),
        }

    def table(self, ids: bool = True) -> pa.Table:
        """left, right, similarity, rank; by id, or by row number (OTHER is numbered separately)."""
        first = self.first_other if self.first_other < len(self.corpus) else 0
        return pa.table(
            {
                "left": self._ids(self.left) if ids else to_arrow(self.left),
                "right": self._ids(self.right) if ids else to_arrow(self.right - first),
                self.settings.measure.column: to_arrow(self.similarity),
                "rank": to_arrow(self.ranks),
            }
        )

    def _ids(self, items: Int64) -> pa.Array:
        """The ids of items, each created once even if it occurs often."""
        used = np.zeros(len(self.corpus), np.bool_)
        used[items] = True
        return pc.take(self.corpus.ids(np.flatnonzero(used)), to_arrow((np.cumsum(used) - 1)[items]))


def find_neighbors(
    sources: list[Source], others: list[Source], settings: NeighborSettings, progress: Progress
) -> FoundNeighbors:
    """The recipe: read, fetch the sets, number their elements by frequency, search.

    With `others`, neighbours are searched for among their items instead.
    """
    expect("neighbors")
    everything = sources + others
    with progress.stage("planning"):
        check_columns(everything, settings.items)
        kind = vectors_of(everything, settings.items.column, settings.measure)
        _check_beforehand(everything, settings, kind)
    progress.say(settings.describe())
    nbytes = total_bytes(everything)
    with open_run(settings.for_vectors(kind) if kind else settings, progress, nbytes=nbytes) as run:
        with progress.stage("reading", nbytes, "B"):
            digesting = run.settings.items.digesting(run.settings.measure)
            corpus = read_corpus(run, everything, ReadSettings(run.settings.items, digesting))
        first_other = int(corpus.starts[len(sources)])
        found = (_nearest_vectors if kind else _nearest_sets)(run, corpus, first_other, bool(others))
    return FoundNeighbors(corpus, run.settings, first_other, *found)


Rows = tuple[Int64, Int64, Float64, Int64]
"""left, right, similarity and rank, by item."""


def _nearest_sets(run: Run[NeighborSettings], corpus: Corpus, first_other: int, against: bool) -> Rows:
    settings, progress, workers = run.settings, run.progress, run.workers
    check_memory(corpus, settings)
    items = np.flatnonzero(corpus.counts)
    with progress.stage("fetching sets", corpus.nbytes, "B"):
        sets = corpus.fetch_all_sets(run, items)
    with progress.stage("numbering"):
        numbered, rows = number_elements(sets, threads=workers.threads, each=workers.map)
        del sets
    with progress.stage("searching", len(items), "items"):
        found = nearest(
            numbered,
            rows,
            settings.measure.arguments[0],
            settings.k,
            threshold=settings.threshold,
            sides=items[rows] >= first_other if against else None,
            threads=workers.threads,
            each=_advancing(run),
        )
    return _by_input(found, numbered.sizes, items, rows, settings.measure)


def _nearest_vectors(run: Run[NeighborSettings], corpus: Corpus, first_other: int, against: bool) -> Rows:
    """The same for vectors: compare all with all in matrix products."""
    settings, kind = run.settings, run.settings.items.vectors
    assert kind is not None
    items = np.flatnonzero(corpus.counts)
    needed = BASE_BYTES + _vector_bytes(int(corpus.counts.sum(dtype=np.int64)), len(items))
    _check_memory(needed, len(corpus), settings)
    noted = about_bytes_noted(len(items), min(settings.k, len(items)))
    with run.progress.stage("fetching vectors", corpus.nbytes, "B"):
        sets = corpus.fetch_all_sets(run, items)
    split = int(np.searchsorted(items, first_other)) if against else len(items)
    among = (split, len(items)) if against else (0, len(items))
    rows = kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)
    with run.progress.stage("searching", split, "items"):
        found = nearest_vectors(
            run, kind, settings.measure, rows, (0, split), among, settings.k, settings.bounded,
            together=needed + noted <= settings.execution.budget.total_bytes,
        )  # fmt: skip
    left = np.repeat(np.arange(split), found.counts)
    ranks = np.arange(1, len(left) + 1) - np.repeat(np.cumsum(found.counts) - found.counts, found.counts)
    return items[left], items[found.neighbors], found.values, ranks


def _check_beforehand(sources: list[Source], settings: NeighborSettings, kind: VectorKind | None) -> None:
    """Refuse input that certainly does not fit, judging by the first items, before all are read."""
    enough = SURELY * settings.execution.budget.total_bytes
    if about_bytes(total_bytes(sources), 0, 1) < enough:
        return  # even if each byte were an element
    items, _ = count_items(sources)
    if kind:
        needed = BASE_BYTES + _vector_bytes(items * kind.dimension, items)
    else:
        settings.execution.budget.limit_items(sources, settings.items.shingling.bag, settings.items.characters)
        features = first_features(sources, settings.items.column)
        sizes = np.concatenate([sets_of(some, settings.items.shingling).sizes for some in features])
        elements = int(sizes.sum() / max(1, len(sizes)) * items)
        needed = BASE_BYTES + about_bytes(elements, items, settings.execution.threads)
    if needed > enough:
        _check_memory(needed, items, settings)


def _vector_bytes(numbers: int, vectors: int) -> int:
    return 16 * numbers + 32 * vectors


def check_memory(corpus: Corpus, settings: NeighborSettings) -> None:
    """Refuse input that does not fit, once the number of shingles is known: all sets must be in memory."""
    threads = settings.execution.threads
    needed = BASE_BYTES + about_bytes(int(corpus.counts.sum(dtype=np.int64)), len(corpus), threads)
    _check_memory(needed, len(corpus), settings)


def _check_memory(needed: int, items: int, settings: NeighborSettings) -> None:
    total = settings.execution.budget.total_bytes
    if needed > total:
        raise ResourceError(
            f"the sets or vectors of {items:,} items need about {needed / 2**30:.1f} GiB together; --memory is "
            f"{total / 2**30:.1f} GiB. Increase it, or search part by part: one part as INPUT, "
            "--against parts of the whole"
        )


def _advancing(run: Run[NeighborSettings]) -> Callable[..., Iterator[Any]]:
    """The `map` of the workers, with progress in sets."""

    def each(search: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterator[Any]:
        for done in run.workers.map(search, pieces):
            run.progress.advance(len(done[0]))
            yield done

    return each


def _by_input(found: NearestSets, sizes: Int64, items: Int64, rows: Int64, measure: Measure) -> Rows:
    """Convert neighbours by set number to neighbours by item, in input order."""
    order = np.argsort(rows)
    counts = np.diff(found.starts)[order]
    ends = np.cumsum(counts)
    ranks = np.arange(1, len(found.neighbours) + 1) - np.repeat(ends - counts, counts)
    at = np.repeat(found.starts[order], counts) + ranks - 1
    left, right = np.repeat(order, counts), found.neighbours[at].astype(np.int64)
    overlaps = found.overlaps[at].astype(np.int64)
    similarity = measure.of_overlaps(overlaps, sizes[left], sizes[right])
    return items[rows[left]], items[rows[right]], similarity, ranks


def neighbors_of_files(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    settings: NeighborSettings,
    spool: Path,
    progress: Progress,
    transposed: bool = False,
) -> tuple[pa.Table, list[Rejected], dict[str, Any]]:
    """The neighbours as a table, the bad lines that were skipped, and the record of the run.

    With `transposed`, the items are the elements of the sets in the files.
    """
    sources, others = open_files(inputs, against, settings, spool, progress, transposed)
    found = find_neighbors(sources, others, settings, progress)
    options: dict[str, Any] = {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against]}
    options["transpose"] = transposed
    alarms = about_rejected(len(found.corpus.rejected), len(found.corpus))
    record = describe_run({**settings.to_dict(), **options}, None, found.counts, alarms, progress)
    return found.table(), found.corpus.rejected, record
