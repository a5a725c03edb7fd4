"""From candidates to the list of similar pairs of items, copies included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import ResourceError
from lookalike.jobs.outcome import own_similarity
from lookalike.jobs.pairstore import PAIR, PairStore, Rows
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.jobs.similar import Candidates, Comparable, refine
from lookalike.kernels import pairs as kernels
from lookalike.types import Bool, Float64, Int32, Int64
from lookalike.verify.pairs import list_pairs
from lookalike.verify.sets import Measure

EXPANDED = 1 << 20
"""Pairs of items that are made at a time."""
MOST_PAIRS = 1 << 32
"""Beyond this a list of pairs (16 bytes each on disk) helps nobody; dedup does."""


@dataclass(slots=True)
class Listing:
    """How the pairs were found."""

    second: int
    """The number of the first item of the other collection; 0 where there is none."""
    compared: int = 0
    """How many pairs of items were looked at."""
    alarms: list[dict[str, Any]] = field(default_factory=list)


class Similar(NamedTuple):
    """Similar pairs of distinct sets, by place."""

    left: Int64
    right: Int64
    similarity: Float64
    compared: int


def list_similar(
    candidates: Candidates, store: PairStore, second: int, workers: Workers, progress: Progress
) -> Listing:
    """Compare all candidates and put the similar pairs of items into the store.

    With `second` (the number of the first item of another collection) only pairs of an earlier item, on the left, with
    one from there on.
    """
    settings = candidates.corpus.settings
    listed: list[Similar] = []
    own = np.ones(len(candidates.order))
    batches = list(range(len(candidates.packing.batches)))
    if batches:
        candidates.fetch(batches, workers, progress)
    for batch in batches:
        for found in candidates.compare(batch, progress):
            with progress.stage("verifying"):
                progress.compiling(kernels.expand_pairs, "lists of pairs")
                refine(found, settings, progress, candidates.refined)
                listed.append(_similar(found, candidates, second, settings.measure, workers))
                own[found.places] = own_similarity(found, settings.measure)
        candidates.drop(batch)
    candidates.follow(candidates.equal)
    _expand(candidates, listed, own, second, store)
    # Sets were compared once for all their copies; what is reported counts items.
    compared = sum(part.compared - len(part.left) for part in listed) + len(store)
    return Listing(second, compared, candidates.refined.alarms())


def _similar(found: Comparable, candidates: Candidates, second: int, measure: Measure, workers: Workers) -> Similar:
    arguments = (found.buckets, found.sets, measure.arguments, found.earlier, workers.map)
    left, right, overlaps, compared = list_pairs(*arguments)
    similarity = measure.of_overlaps(overlaps.astype(np.int64), found.sizes[left], found.sizes[right])
    places = Similar(found.places[left], found.places[right], similarity, compared)
    if not second:
        return places
    kept = _across(places, candidates, second, measure.name == "containment")
    return Similar(places.left[kept], places.right[kept], similarity[kept], compared)


def _across(found: Similar, candidates: Candidates, second: int, directed: bool) -> Bool:
    """Which pairs have an item of each collection; if directed, one of the first on the left."""
    left, right = candidates.order[found.left] >= second, candidates.order[found.right] >= second
    return np.asarray(~left & right if directed else left != right)


def _expand(candidates: Candidates, listed: list[Similar], own: Float64, second: int, store: PairStore) -> None:
    """From pairs of distinct sets to pairs of items: every copy of the one with every copy of the other."""
    measure = candidates.corpus.settings.measure
    first, order = candidates.first, candidates.order
    by_set = np.lexsort((order, first))  # copies of a set next to each other, by item
    starts = np.searchsorted(first[by_set], np.arange(len(order) + 1))
    items, directed = order[by_set], measure.name == "containment"
    copied = np.flatnonzero((np.diff(starts) > 1) & (own >= float(measure.threshold)))
    copies = Similar(copied, copied, own[copied], 0) if not second else Similar(copied[:0], copied[:0], own[:0], 0)
    parts = [*listed, copies]
    total = sum(kernels.count_expanded(part.left, part.right, starts, directed) for part in parts)
    if total > MOST_PAIRS:
        raise ResourceError(
            f"{total:,.0f} pairs would be listed, most of them among copies; use lookalike dedup, raise --threshold, "
            "or remove identical items first"
        )
    for part in parts:
        for rows in _pairs_of_items(part, starts, items, directed):
            store.add(rows)


def _pairs_of_items(found: Similar, starts: Int64, items: Int32, directed: bool) -> Iterator[Rows]:
    state = np.zeros(3, np.int64)
    left, right, similarity = np.empty(EXPANDED, np.int32), np.empty(EXPANDED, np.int32), np.empty(EXPANDED)
    while state[0] < len(found.left):
        sets = (found.left, found.right, found.similarity)
        count = kernels.expand_pairs(*sets, starts, items, directed, state, left, right, similarity)
        rows = np.empty(count, PAIR)
        rows["left"], rows["right"], rows["similarity"] = left[:count], right[:count], similarity[:count]
        yield rows
