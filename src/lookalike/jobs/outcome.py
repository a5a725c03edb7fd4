"""From decisions about distinct sets to decisions about all items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.cluster.components import Components
from lookalike.cluster.keepers import Decisions
from lookalike.jobs.similar import Candidates, Comparable
from lookalike.kernels import join
from lookalike.types import Float64, Int32, Int64
from lookalike.verify.sets import Measure


@dataclass(frozen=True, slots=True)
class Links:
    """For each place in the order of priority another place, or -1, and the similarity of the two."""

    to: Int64
    similarity: Float64


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of each item, by item number."""

    keeper: Int64
    """The item that this one was removed for; -1: it stays."""
    similarity: Float64
    """With the keeper, exact."""
    partner: Int64
    """The item of the pair that joined it to its cluster; the keeper itself with the direct policy."""
    partner_similarity: Float64
    identical: int
    """Items that went because an earlier one has an equal set."""


class Settling:
    """Collects the decisions of batch after batch and carries them over to all items."""

    def __init__(self, candidates: Candidates, measure: Measure, connected: bool) -> None:
        self._candidates = candidates
        self._measure = measure
        places = len(candidates.order)
        self._keeper = _no_links(places)
        self._partner = _no_links(places) if connected else None
        self._own = np.ones(places) if measure.name == "overlap" else None  # otherwise 1 everywhere
        self.compared = self.pairs = 0

    def add(self, found: Comparable, direct: Decisions, components: Components | None) -> None:
        """Take in what became of a batch."""
        self.compared += direct.candidates + (components.candidates if components else 0)
        self.pairs += direct.pairs + (components.pairs if components else 0)
        if self._own is not None:
            self._own[found.places] = own_similarity(found, self._measure)
        if components is None or self._partner is None:
            gone = np.flatnonzero(direct.keeper >= 0)
            self._link(self._keeper, found, gone, direct.keeper[gone], direct.overlaps[gone])
            return
        gone = np.flatnonzero(components.partner >= 0)
        overlaps = np.empty(len(gone), np.int32)
        join.overlaps_of(gone, components.root[gone], *found.sets, overlaps)
        self._link(self._keeper, found, gone, components.root[gone], overlaps)
        self._link(self._partner, found, gone, components.partner[gone], components.overlaps[gone], either=True)

    def _link(
        self, links: Links, found: Comparable, gone: Int64, to: Int32, overlaps: Int32, either: bool = False
    ) -> None:
        """Links between distinct sets, at their places; `either`: containment counts in its larger direction."""
        shared = overlaps.astype(np.int64)
        links.to[found.places[gone]] = found.places[to]
        similarity = self._measure.of_overlaps(shared, found.sizes[gone], found.sizes[to])
        if either:
            similarity = np.maximum(similarity, self._measure.of_overlaps(shared, found.sizes[to], found.sizes[gone]))
        links.similarity[found.places[gone]] = similarity

    def finish(self, items: int, references: int) -> Outcome:
        """Every item's keeper. The first `references` items stay whatever they resemble."""
        order, first = self._candidates.order, self._candidates.first
        copies = np.flatnonzero((first != np.arange(len(first))) & (order >= references))
        own = np.ones(len(copies)) if self._own is None else self._own[first[copies]]
        copies, own = copies[own >= float(self._measure.threshold)], own[own >= float(self._measure.threshold)]
        _follow(self._keeper, first, own, copies, onward=True)
        keeper = _to_items(self._keeper, order, items, references)
        if self._partner is None:
            return Outcome(*keeper, *keeper, len(copies))
        _follow(self._partner, first, own, copies, onward=False)
        return Outcome(*keeper, *_to_items(self._partner, order, items, references), len(copies))


def _no_links(places: int) -> Links:
    return Links(np.full(places, -1, np.int64), np.zeros(places))


def own_similarity(found: Comparable, measure: Measure) -> Float64:
    """The similarity of each set with an equal one: 1, but for overlap its size."""
    return found.sizes.astype(np.float64) if measure.name == "overlap" else np.ones(len(found))


def _follow(links: Links, first: Int64, own: Float64, copies: Int64, onward: bool) -> None:
    """Copies point at the first item with an equal set; `onward`, at what that one points at, if anything."""
    firsts = first[copies]
    beyond = onward & (links.to[firsts] >= 0)
    links.to[copies] = np.where(beyond, links.to[firsts], firsts)
    links.similarity[copies] = np.where(beyond, links.similarity[firsts], own)


def _to_items(links: Links, order: Int64, items: int, references: int) -> tuple[Int64, Float64]:
    keeper, similarity = np.full(items, -1, np.int64), np.zeros(items)
    gone = (links.to >= 0) & (order >= references)
    keeper[order[gone]] = order[links.to[gone]]
    similarity[order[gone]] = links.similarity[gone]
    return keeper, similarity
