"""The closest pairs of kept items, found from a sample, for runs that saved no such pairs.

A sample of kept items is compared with all others, exactly, as for an audit: the inputs are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import Corpus, ReadSettings, read_corpus
from lookalike.engine.method import choose
from lookalike.engine.run import open_run
from lookalike.engine.settings import Settings, settings_of_run
from lookalike.errors import LookalikeError
from lookalike.jobs.audit import similar_to_sample
from lookalike.jobs.reports.dedup_facts import Batches
from lookalike.jobs.run_inputs import Place, RunInputs
from lookalike.matching.near_misses import relax
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.types import Bool, Float64, Int64, total_bytes
from lookalike.types import compute as pc
from lookalike.types.wording import count

SAMPLE = 300
"""Kept items that are compared with all others."""
LARGEST_BYTES = 512 << 20
"""Inputs up to this size are read again for a page."""
Closest = tuple[list[ShownPair], str]
"""The pairs with a sentence about them; or none, and why."""


def sample_closest(run: Mapping[str, Any], removed: Batches, inputs: RunInputs, shown: int) -> Closest:
    """The closest pairs between a sample of the kept items and all of them."""
    sources = list(inputs.sources[inputs.references :])
    if inputs.problems or not sources:
        return [], f"Not available: this needs the inputs of the run. {' '.join(inputs.problems)}".strip()
    nbytes = total_bytes(sources)
    if nbytes > LARGEST_BYTES:
        size = f"{nbytes / 1e9:.1f} GB"
        return [], f"Not available: the run did not save them, and the inputs ({size}) are too large to search again."
    try:
        settings, _ = choose(sources, _relaxed(run["options"]))
        with open_run(settings) as job:
            corpus = read_corpus(job, sources, ReadSettings(settings.items, settings.digesting))
            draw = np.random.default_rng(settings.matching.seed).permutation(np.flatnonzero(corpus.counts))
            some = draw[: 4 * SAMPLE]
            sample = np.sort(some[_kept(corpus, inputs, some, removed)][:SAMPLE])
            sets = corpus.fetch_all_sets(job, sample)
            owners, others, values = similar_to_sample(job, corpus, sets, settings.matching.measure.of_overlaps)
            left, right, values = _distinct(sample[owners], others, values, settings)
            stay = _kept(corpus, inputs, np.concatenate([left, right]), removed)
            best = np.flatnonzero(stay[: len(left)] & stay[len(left) :])[:shown]
            pairs = _pairs(corpus, inputs, left[best], right[best], values[best])
    except LookalikeError as error:
        return [], f"Not available: the inputs could not be read again ({error})."
    return pairs, _words(settings, len(sample), len(pairs))


def _relaxed(options: Mapping[str, Any]) -> Settings:
    """The settings of the run without bands, with a lower threshold that close pairs reach."""
    measure = settings_of_run(dict(options)).matching.measure
    return settings_of_run(dict(options), method="brute", threshold=relax(measure).threshold)


def _words(settings: Settings, sampled: int, found: int) -> str:
    measure = settings.matching.measure
    some = f"{count(sampled, 'kept item')}{', a sample,' if sampled == SAMPLE else ''}"
    if not found:
        bound = f"{float(measure.threshold):.3g} or {'less' if measure.is_distance else 'more'}"
        return f"Of {some}, none has a {measure.column} of {bound} to another kept item."
    shown = "is the closest pair" if found == 1 else f"are the closest {found} pairs"
    return (
        f"{some} {'was' if sampled == 1 else 'were'} compared with all others. Here {shown} of kept items. If they are "
        "duplicates too, the threshold is too strict."
    )


def _distinct(left: Int64, right: Int64, values: Float64, settings: Settings) -> tuple[Int64, Int64, Float64]:
    """Distinct pairs, without pairs of an item with itself, closest first."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((high, low, values if settings.matching.measure.is_distance else -values))
    order = order[left[order] != right[order]]
    _, first = np.unique(np.stack([low[order], high[order]]), axis=1, return_index=True)
    order = order[np.sort(first)]
    if settings.matching.measure.name != "containment":  # other measures are symmetric: use input order
        left, right = low, high
    return left[order], right[order], values[order]


def _places(corpus: Corpus, inputs: RunInputs, items: Int64) -> list[Place]:
    files, rows = corpus.locate(items)
    return [(inputs.shown(file), row) for file, row in zip(files.to_pylist(), rows.tolist())]


def _kept(corpus: Corpus, inputs: RunInputs, items: Int64, removed: Batches) -> Bool:
    """Which items the run kept."""
    places = _places(corpus, inputs, items)
    rows = pa.array(sorted({row for _, row in places}), pa.int64())
    gone: set[Place] = set()
    for batch in removed(["file", "row"]):
        some = pc.filter(batch, pc.is_in(pc.cast(batch.column("row"), pa.int64()), value_set=rows))
        gone.update(zip(some.column("file").to_pylist(), some.column("row").to_pylist()))
    return np.array([place not in gone for place in places], np.bool_)


def _pairs(corpus: Corpus, inputs: RunInputs, left: Int64, right: Int64, values: Float64) -> list[ShownPair]:
    sides = []
    for items in (left, right):
        names = corpus.ids(items).to_pylist() if len(items) else []
        sides.append([ShownItem(name, *place) for name, place in zip(names, _places(corpus, inputs, items))])
    return [ShownPair(one, other, value) for one, other, value in zip(*sides, values.tolist())]
