"""From candidates to the list of similar pairs of items, copies included, as they are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.engine.stores.pairs import PAIR, PairStore, Rows
from lookalike.engine.workers import Workers
from lookalike.errors import ResourceError
from lookalike.kernels import pairs as kernels
from lookalike.matching.batches import Candidates
from lookalike.matching.comparable import Comparable
from lookalike.matching.decisions import own_similarity
from lookalike.matching.join import JoinOptions, join_sets
from lookalike.types import Float64, Int32, Int64

EXPANDED = 1 << 20
"""Pairs of items that are made at a time."""
MOST_PAIRS = 1 << 32
"""Beyond this a list of pairs (16 bytes each on disk) helps nobody; dedup does."""


@dataclass(slots=True)
class Listing:
    """How the pairs were found."""

    second: int
    """The number of the first item of the other collection; 0 where there is none."""
    options: JoinOptions
    compared: int = 0
    """How many pairs of items were looked at."""
    alarms: list[dict[str, Any]] = field(default_factory=list)


class Similar(NamedTuple):
    """Similar pairs of distinct sets, by place."""

    left: Int64
    right: Int64
    similarity: Float64


class Groups(NamedTuple):
    """The items of each distinct set: items[starts[place]:starts[place + 1]], ascending."""

    starts: Int64
    items: Int32


def list_similar(
    candidates: Candidates, store: PairStore, options: JoinOptions, workers: Workers, progress: Progress
) -> Listing:
    """Compare all candidates and put the similar pairs of items into the store.

    Of two collections only pairs of an item of the first, on the left, with one of the second.
    """
    listing = Listing(candidates.second, options)
    own = np.full(len(candidates.order), candidates.corpus.settings.matching.measure.of_equal)
    groups = _groups(candidates)
    batches = list(range(len(candidates.packing.batches)))
    if batches:
        candidates.fetch(batches, workers, progress)
    for batch in batches:
        for found in candidates.compare(batch, progress):
            with progress.stage("verifying"):
                progress.compiling(kernels.expand_pairs, "lists of pairs")
                if candidates.equal:
                    candidates.follow(candidates.equal)
                    candidates.equal, groups = [], _groups(candidates)
                own[found.places] = own_similarity(found, candidates.corpus.settings.matching.measure)
                _list_sets(found, candidates, groups, store, listing, workers, progress)
        candidates.drop(batch)
    if not listing.second:
        _list_copies(candidates, groups, own, store)
    store.settle()
    # Sets were compared once for all their copies; what is reported counts items.
    listing.compared += 0 if candidates.by_band else len(store)
    listing.alarms = candidates.refined.alarms()
    return listing


def _groups(candidates: Candidates) -> Groups:
    first, order = candidates.first, candidates.order
    by_set = np.lexsort((order, first))  # copies of a set next to each other, by item
    return Groups(np.searchsorted(first[by_set], np.arange(len(order) + 1)), order[by_set])


def _list_sets(
    found: Comparable,
    candidates: Candidates,
    groups: Groups,
    store: PairStore,
    listing: Listing,
    workers: Workers,
    progress: Progress,
) -> None:
    """The similar pairs of some distinct sets."""
    settings = candidates.corpus.settings
    apart = candidates.order[found.places] >= listing.second if listing.second else None
    for part in join_sets(found, apart, settings, listing.options, candidates.refined, workers, progress):
        listing.compared += part.compared - (0 if candidates.by_band else len(part.left))
        similarity = found.values(settings.matching.measure, part.left, part.right, part.overlaps)
        similar = Similar(found.places[part.left], found.places[part.right], similarity)
        _store(_across(similar, candidates) if listing.second else similar, candidates, groups, store)


def _across(found: Similar, candidates: Candidates) -> Similar:
    """The pairs that have an item of each collection; for containment, one of the first on the left."""
    left, right = (candidates.order[places] >= candidates.second for places in found[:2])
    directed = candidates.corpus.settings.matching.measure.name == "containment"
    kept = np.flatnonzero(~left & right if directed else left != right)
    return Similar(found.left[kept], found.right[kept], found.similarity[kept])


def _list_copies(candidates: Candidates, groups: Groups, own: Float64, store: PairStore) -> None:
    """The pairs of items with equal sets."""
    enough = candidates.corpus.settings.matching.measure.reached_by(own)
    copied = np.flatnonzero((np.diff(groups.starts) > 1) & enough)
    _store(Similar(copied, copied, own[copied]), candidates, groups, store)


def _store(found: Similar, candidates: Candidates, groups: Groups, store: PairStore) -> None:
    """From pairs of distinct sets to pairs of items: every copy of the one with every copy of the other."""
    directed = candidates.corpus.settings.matching.measure.name == "containment"
    total = len(store) + kernels.count_expanded(found.left, found.right, groups.starts, directed)
    if total > MOST_PAIRS:
        raise ResourceError(
            f"{total:,.0f} pairs and more would be listed, most of them among copies; use lookalike dedup, raise "
            "--threshold, or remove identical items first"
        )
    for rows in _expand(found, groups, directed):
        store.add(rows)


def _expand(found: Similar, groups: Groups, directed: bool) -> Iterator[Rows]:
    state = np.zeros(3, np.int64)
    left, right, similarity = np.empty(EXPANDED, np.int32), np.empty(EXPANDED, np.int32), np.empty(EXPANDED)
    while state[0] < len(found.left):
        count = kernels.expand_pairs(*found, *groups, directed, state, left, right, similarity)
        rows = np.empty(count, PAIR)
        rows["left"], rows["right"], rows["similarity"] = left[:count], right[:count], similarity[:count]
        yield rows
