"""From decisions about distinct sets to decisions about all items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.cluster.components import Components
from lookalike.cluster.keepers import Decisions
from lookalike.jobs.similar import Comparable
from lookalike.kernels import join
from lookalike.types import Float64, Int64
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


def _link_sets(found: Comparable, measure: Measure, gone: Int64, to: Int64, overlaps: Int64) -> Links:
    """Links between distinct sets, at their places."""
    place, similarity = np.full(len(found.order), -1, np.int64), np.zeros(len(found.order))
    place[found.places[gone]] = found.places[to]
    similarity[found.places[gone]] = measure.of_overlaps(overlaps, found.sizes[gone], found.sizes[to])
    return Links(place, similarity)


def self_similarity(found: Comparable, measure: Measure) -> Float64:
    """The similarity of the set at each place with an equal one: 1, but for overlap its size."""
    similarity = np.ones(len(found.order))
    if measure.name == "overlap":
        similarity[found.places] = found.sizes
        similarity = similarity[found.first]
    return similarity


def _follow(links: Links, found: Comparable, own: Float64, copies: Int64, onward: bool) -> Links:
    """Copies point at the first item with an equal set; `onward`, at what that one points at, if anything."""
    to, similarity = links.to.copy(), links.similarity.copy()
    firsts = found.first[copies]
    beyond = onward & (links.to[firsts] >= 0)
    to[copies] = np.where(beyond, links.to[firsts], firsts)
    similarity[copies] = np.where(beyond, links.similarity[firsts], own[copies])
    return Links(to, similarity)


def _to_items(links: Links, order: Int64, items: int, references: int) -> tuple[Int64, Float64]:
    keeper, similarity = np.full(items, -1, np.int64), np.zeros(items)
    gone = (links.to >= 0) & (order >= references)
    keeper[order[gone]] = order[links.to[gone]]
    similarity[order[gone]] = links.similarity[gone]
    return keeper, similarity


def settle(
    found: Comparable,
    measure: Measure,
    direct: Decisions,
    components: Components | None,
    items: int,
    references: int,
) -> Outcome:
    """Every item's keeper. The first `references` items stay whatever they resemble."""
    gone = np.flatnonzero(direct.keeper >= 0) if components is None else np.flatnonzero(components.partner >= 0)
    keeper = (direct.keeper if components is None else components.root)[gone].astype(np.int64)
    overlaps = direct.overlaps[gone].astype(np.int64)
    if components is not None:
        join.overlaps_of(gone, keeper, *found.sets, overlaps)
    to_keeper = _link_sets(found, measure, gone, keeper, overlaps)
    to_partner = to_keeper
    if components is not None:
        partner, shared = components.partner[gone].astype(np.int64), components.overlaps[gone].astype(np.int64)
        to_partner = _link_sets(found, measure, gone, partner, shared)
        # Containment joins in either direction; what joined the two is the larger.
        other_way = measure.of_overlaps(shared, found.sizes[partner], found.sizes[gone])
        to_partner.similarity[found.places[gone]] = np.maximum(to_partner.similarity[found.places[gone]], other_way)
    own = self_similarity(found, measure)
    places = np.arange(len(found.order))
    copies = np.flatnonzero((found.first != places) & (found.order >= references) & (own >= float(measure.threshold)))
    to_keeper = _follow(to_keeper, found, own, copies, onward=True)
    to_partner = _follow(to_partner, found, own, copies, onward=components is None)
    return Outcome(
        *_to_items(to_keeper, found.order, items, references),
        *_to_items(to_partner, found.order, items, references),
        len(copies),
    )
