"""Measure the recall: the exact answer for a sample of items, beside what the bands found of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.features.shingles import sets_of
from lookalike.jobs.corpus import Corpus, read_corpus
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.jobs.run import read_run
from lookalike.jobs.settings import settings_of_run
from lookalike.kernels import audit as kernels
from lookalike.kernels.unionfind import flatten, unite
from lookalike.read import open_inputs
from lookalike.tuning.intervals import grouped_interval
from lookalike.types import Block, Bool, Int64, Wanted, to_numpy


def audit(corpus: Corpus, sample_size: int, workers: Workers, progress: Progress) -> dict[str, Any]:
    """Measured recall with its 95% interval, for a random sample of items.

    The sets of all items are streamed past an index of the sample's sets, which gives every similar pair of a
    sampled item exactly. A pair counts as found if the two share a bucket key in some band. Pairs whose lengths
    `--length-ratio` rules out do not count.

    Returns
    -------
    What run.json holds under "audit": sample, pairs, found, recall, interval, predicted (for pairs of just these
    similarities) and wanted.
    """
    settings = corpus.settings
    filled = np.flatnonzero(corpus.counts)
    draw = np.random.default_rng(settings.seed)
    sample = np.sort(draw.choice(filled, min(sample_size, len(filled)), replace=False))
    sets = corpus.fetch_all_sets(sample, workers, progress)
    owners, others, shared, sizes = _similar_to(corpus, sets, workers, progress)
    apart = (sample[owners] != others) & settings.alike_in_length(sets.sizes[owners], sizes)
    owners, others, shared = owners[apart], others[apart], shared[apart]
    found = _share_a_key(corpus, sample[owners], others)
    similarity = shared / (sets.sizes[owners] + sizes[apart] - shared)  # Jaccard, which the bands are about
    predicted = float(np.mean(settings.plan.curve(similarity))) if settings.plan and len(owners) else 1.0
    groups = _groups(sample[owners], others)
    low, high = grouped_interval(np.bincount(groups, found).astype(np.int64), np.bincount(groups))
    return {
        "sample": len(sample),
        "pairs": len(owners),
        "found": int(found.sum()),
        "recall": float(found.mean()) if len(owners) else None,
        "interval": [low, high],
        "predicted": predicted,
        "wanted": settings.recall,
    }


def audit_folder(out: str | Path, sample_size: int, progress: Progress) -> dict[str, Any]:
    """Measure the recall of a finished run, by reading its input again."""
    options = read_run(out)["options"]
    if "-" in options["inputs"]:
        raise UsageError(f"{out}: its input came on standard input and cannot be read again")
    settings = settings_of_run(options)
    sources = open_inputs([*options["reference"], *options["inputs"]], encoding=settings.encoding, output=Path(out))
    total = sum(source.nbytes for source in sources)
    with Workers(settings.threads) as workers:
        with progress.stage("reading", total, "B"):
            corpus = read_corpus(sources, settings, workers, progress)
        with progress.stage("auditing", 2 * total, "B"):
            return audit(corpus, sample_size, workers, progress)


def _similar_to(corpus: Corpus, sets: Any, workers: Workers, progress: Progress) -> tuple[Int64, Int64, Int64, Int64]:
    """Every pair of a sampled set with any item: number in the sample, item, overlap, size of the item's set."""
    index = kernels.index_sample(sets.indptr, sets.elements)
    measure = corpus.settings.measure.arguments
    wanted = Wanted(corpus.settings.column, (), corpus.settings.skip_errors)

    def compare(job: tuple[int, Block]) -> tuple[Int64, Int64, Int64, Int64, int]:
        first, block = job
        batch = sets_of(block.items(wanted).features, corpus.settings.shingling)
        samples, rows, shared = kernels.find_similar(*index, sets.sizes, batch.indptr, batch.elements, *measure)
        return samples.astype(np.int64), rows + first, shared, batch.sizes[rows], block.nbytes

    def jobs() -> Iterator[tuple[int, Block]]:
        for source in range(len(corpus.sources)):
            for first, _, block in corpus.blocks(source):
                yield first, block

    parts = []
    for *part, nbytes in workers.map(compare, jobs()):
        parts.append(part)
        progress.advance(nbytes)
    none = np.empty(0, np.int64)
    joined = [np.concatenate([none, *(part[k] for part in parts)]) for k in range(4)]
    return joined[0], joined[1], joined[2], joined[3]


def _groups(left: Int64, right: Int64) -> Int64:
    """Pairs that hang together: they are found or missed for the same reasons, so they count as one group."""
    items, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    ends = places.astype(np.int32).reshape(2, -1)
    parent = np.arange(len(items), dtype=np.int32)
    unite(parent, ends[0], ends[1], np.empty(len(left), np.bool_))
    flatten(parent)
    return np.asarray(parent[ends[0]], np.int64)


def _share_a_key(corpus: Corpus, left: Int64, right: Int64) -> Bool:
    """Which pairs the bands bring together; brute force brings all together."""
    found = np.zeros(len(left), np.bool_) if corpus.settings.plan else np.ones(len(left), np.bool_)
    both = np.concatenate([left, right])
    for band in range(corpus.digests.bands):
        keys = to_numpy(corpus.digests.pick(f"key {band}", both))
        found |= keys[: len(left)] == keys[len(left) :]
    return found
