"""Measure the recall: compare the exact answer for a sample of items with what the bands found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.engine.corpus import Corpus, ReadSettings, read_corpus
from lookalike.engine.digest import item_sets, keys_of_sets
from lookalike.engine.method import choose
from lookalike.engine.progress import Progress
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import read_run
from lookalike.engine.settings import Settings, settings_of_run
from lookalike.engine.workers import Workers
from lookalike.errors import UsageError
from lookalike.kernels import audit as kernels
from lookalike.kernels.unionfind import flatten, unite
from lookalike.matching.vectors import near_pairs, values_of_pairs
from lookalike.read import open_inputs
from lookalike.tuning.intervals import grouped_interval
from lookalike.types import Block, Bool, Float64, Int64, Sets, Wanted, to_numpy

Pairs = tuple[Int64, Int64, Float64]
"""Number in the sample, item, similarity or distance."""
Value = Callable[[Int64, Int64, Int64], Float64]
"""From the number of shared elements and the sizes of both sets."""


def audit(run: Run[Settings], corpus: Corpus, sample_size: int) -> dict[str, Any]:
    """Measure the recall, with its 95% interval, on a random sample of items.

    The sets of all items are streamed past an index of the sample's sets, which gives every similar pair of a
    sampled item exactly. A pair counts once, even if both of its items are sampled, and as found if the two share a
    bucket key in some band. Pairs that `--length-ratio` rules out do not count.

    Returns
    -------
    The entry "audit" of run.json: sample, pairs, found, recall, interval, predicted (for pairs of these similarities)
    and wanted.
    """
    matching = run.settings.matching
    filled = np.flatnonzero(corpus.counts)
    draw = np.random.default_rng(matching.seed)
    sample = np.sort(draw.choice(filled, min(sample_size, len(filled)), replace=False))
    sets = corpus.fetch_all_sets(run, sample)
    owners, others, similarity = similar_to_sample(run, corpus, sets, _jaccard)
    left, right, similarity = _distinct(sample[owners], others, similarity)
    found = _share_a_key(run, corpus, left, right)
    predicted = float(np.mean(matching.plan.curve(similarity))) if matching.plan and len(left) else 1.0
    return {
        "sample": len(sample),
        "pairs": len(left),
        "found": int(found.sum()),
        "recall": float(found.mean()) if len(left) else None,
        "interval": [*_interval(left, right, found, certain=matching.plan is None)],
        "predicted": predicted,
        "wanted": matching.recall,
    }


def audit_folder(out: str | Path, sample_size: int, progress: Progress) -> dict[str, Any]:
    """Measure the recall of a finished run, by reading its input again."""
    options = read_run(out)["options"]
    if "-" in options["inputs"]:
        raise UsageError(f"{out}: its input came on standard input and cannot be read again")
    settings = settings_of_run(options)
    sources = open_inputs(
        [*options["reference"], *options["inputs"]],
        encoding=settings.items.encoding,
        outputs=[Path(out)],
        limits=settings.execution.limits,
        skip_errors=settings.items.skip_errors,
        note=progress.note,
    )
    settings, _ = choose(sources, settings)  # the plan for vectors depends on their kind
    with open_run(settings, progress) as run:
        with progress.stage("reading", sum(source.nbytes for source in sources), "B"):
            corpus = read_corpus(run, sources, ReadSettings(settings.items, settings.digesting))
        with progress.stage("auditing", 2 * corpus.nbytes, "B"):
            return audit(run, corpus, sample_size)


def similar_to_sample(run: Run[Settings], corpus: Corpus, sets: Sets, value: Value) -> Pairs:
    """Every similar pair of a sampled set or vector and any item (including itself); for sets, with a value."""
    return _near_to(run, corpus, sets) if corpus.settings.vectors else _similar_to(run, corpus, sets, value)


def _jaccard(shared: Int64, left_sizes: Int64, right_sizes: Int64) -> Float64:
    """The similarity that the prediction of the plan uses."""
    return shared / (left_sizes + right_sizes - shared)


def _similar_to(run: Run[Settings], corpus: Corpus, sets: Sets, value: Value) -> Pairs:
    index = kernels.index_sample(sets.indptr, sets.elements)
    matching = run.settings.matching

    def compare(batch: Sets) -> Pairs:
        samples, rows, shared = kernels.find_similar(
            *index, sets.sizes, batch.indptr, batch.elements, *matching.measure.arguments
        )
        samples = samples.astype(np.int64)
        kept = matching.alike_in_length(sets.sizes[samples], batch.sizes[rows])
        samples, rows, shared = samples[kept], rows[kept], shared[kept]
        return samples, rows, value(shared, sets.sizes[samples], batch.sizes[rows])

    return _by_blocks(run, corpus, compare)


def _near_to(run: Run[Settings], corpus: Corpus, sets: Sets) -> Pairs:
    """Every similar pair of a sampled vector, with cosine or distance."""
    kind, measure = corpus.settings.vectors, run.settings.matching.measure
    assert kind

    def compare(batch: Sets) -> Pairs:
        there = np.flatnonzero(batch.sizes)
        both = Sets.joined([sets, batch])
        begins = np.concatenate([both.indptr[: len(sets)], both.indptr[len(sets) + there]])
        rows = kind.as_rows(begins, begins + kind.words, both.elements)
        found = [*near_pairs(kind, measure, rows, len(sets), Workers(1))]
        left, right = (np.concatenate([np.empty(0, np.int64), *(one[k] for one in found)]) for k in (0, 1))
        return left, there[right - len(sets)], values_of_pairs(kind, measure, rows, left, right)

    return _by_blocks(run, corpus, compare)


def _by_blocks(run: Run[Settings], corpus: Corpus, compare: Callable[[Sets], Pairs]) -> Pairs:
    """Compare the sets of all items with the sample, block by block: number in the sample, item, similarity."""
    wanted = Wanted(corpus.settings.column, (), corpus.settings.skip_errors)

    def one(job: tuple[int, int, Block]) -> tuple[Int64, Int64, Float64, int]:
        first, last, block = job
        batch = item_sets(block.items(wanted).features, corpus.digesting)
        empty = corpus.counts[first:last] == 0  # including vectors without a direction
        if corpus.settings.vectors and empty.any():
            kept = ~empty & (batch.sizes > 0)
            inside = np.repeat(kept, batch.sizes)
            batch = Sets(np.concatenate([[0], np.cumsum(batch.sizes * kept)]), batch.elements[inside])
        samples, rows, similarity = compare(batch)
        return samples, rows + first, similarity, block.nbytes

    def jobs() -> Iterator[tuple[int, int, Block]]:
        for source in range(len(corpus.sources)):
            yield from corpus.blocks(source)

    parts = []
    for *part, nbytes in run.workers.map(one, jobs(), corpus.blocks_ahead(run)):
        parts.append(part)
        run.progress.advance(nbytes)
    none = np.empty(0, np.int64)
    samples, items = (np.concatenate([none, *(part[k] for part in parts)]) for k in (0, 1))
    return samples, items, np.concatenate([np.empty(0), *(part[2] for part in parts)])


def _distinct(left: Int64, right: Int64, similarity: Float64) -> Pairs:
    """Each pair once, without pairs of an item with itself: two sampled items find each other twice."""
    apart = left != right
    low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
    _, first = np.unique(low * (high.max(initial=0) + 1) + high, return_index=True)
    return low[first], high[first], similarity[apart][first]


def _interval(left: Int64, right: Int64, found: Bool, certain: bool) -> tuple[float, float]:
    """The 95% interval of the recall; a method without bands finds every pair, in the sample and outside of it."""
    if certain and len(left):
        return 1.0, 1.0
    groups = _groups(left, right)
    return grouped_interval(np.bincount(groups, found).astype(np.int64), np.bincount(groups))


def _groups(left: Int64, right: Int64) -> Int64:
    """Group pairs that are connected through common items: they tend to be found or missed together."""
    items, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    ends = places.astype(np.int32).reshape(2, -1)
    parent = np.arange(len(items), dtype=np.int32)
    unite(parent, ends[0], ends[1], np.empty(len(left), np.bool_))
    flatten(parent)
    return np.asarray(parent[ends[0]], np.int64)


def _share_a_key(run: Run[Settings], corpus: Corpus, left: Int64, right: Int64) -> Bool:
    """Which pairs share a bucket; without bands, all pairs are compared. Keys that were not stored are recomputed."""
    found = np.full(len(left), corpus.digesting.plan is None)
    if not len(found):  # without any item, the keys have no type
        return found
    both = np.concatenate([left, right])
    if corpus.digesting.plan is not None and not corpus.digests.bands:
        items, numbers = np.unique(both, return_inverse=True)
        made, _ = keys_of_sets(corpus.fetch_all_sets(run, items), corpus.digesting)
        return np.asarray((made[:, numbers[: len(left)]] == made[:, numbers[len(left) :]]).any(axis=0))
    for band in range(corpus.digests.bands):
        keys = to_numpy(corpus.digests.pick(f"key {band}", both))
        found |= keys[: len(left)] == keys[len(left) :]
    return found
