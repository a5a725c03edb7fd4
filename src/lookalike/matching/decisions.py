"""From decisions about distinct sets to decisions about all items."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.cluster.components import Components
from lookalike.cluster.keepers import Decisions
from lookalike.engine.stores.work import WorkFolder
from lookalike.kernels import join
from lookalike.matching.batches import Candidates
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import Refined, merge_refined
from lookalike.types import Bool, Float64, Int32, Int64, to_arrow, to_numpy
from lookalike.verify.measures import Measure


class Links(NamedTuple):
    """Places, to each another place, and the similarity of the two."""

    places: Int64
    to: Int64
    similarity: Float64


NO_LINKS = Links(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who was removed, by item number, ascending; whoever is not named stays."""

    removed: Int64
    keeper: Int64
    """The item that each was removed for."""
    similarity: Float64
    """With the keeper, exact."""
    partner: Int64
    """The item of the pair that joined it to its cluster; the keeper itself with the direct policy."""
    partner_similarity: Float64
    identical: int
    """Items that went because an earlier one has an equal set."""

    def stays(self, items: int) -> Bool:
        """By item: is it kept?"""
        kept = np.ones(items, np.bool_)
        kept[self.removed] = False
        return kept


@dataclass(slots=True)
class Settled:
    """What became of one batch."""

    keeper: list[Links] = field(default_factory=list)
    partner: list[Links] = field(default_factory=list)
    equal: list[tuple[Int64, Int64]] = field(default_factory=list)
    """Places with the first place that has an equal set."""
    compared: int = 0
    pairs: int = 0
    refined: Refined = field(default_factory=Refined)

    def to_table(self) -> pa.Table:
        """All of it as a piece of work."""
        equal = [Links(places, to, np.ones(len(to))) for places, to in self.equal]
        kinds = [_joined([links]) for links in (self.keeper, self.partner, equal)]
        columns = [to_arrow(np.concatenate(column)) for column in zip(*kinds)]
        kind = to_arrow(np.repeat(np.arange(3, dtype=np.uint8), [len(links.places) for links in kinds]))
        counted = {"compared": self.compared, "pairs": self.pairs, "refined": astuple(self.refined)}
        table = pa.table([kind, *columns], ["kind", *Links._fields])
        return table.replace_schema_metadata({"counted": json.dumps(counted)})

    @classmethod
    def from_table(cls, table: pa.Table) -> Settled:
        """A piece of work as it was."""
        counted = json.loads(table.schema.metadata[b"counted"])
        kind, *columns = (to_numpy(column) for column in table.columns)
        keeper, partner, equal = (Links(*(column[kind == number] for column in columns)) for number in range(3))
        refined = Refined(*counted["refined"])
        return cls([keeper], [partner], [(equal.places, equal.to)], counted["compared"], counted["pairs"], refined)


class Settling:
    """Collects the decisions of batch after batch and carries them over to all items.

    What became of a batch is a piece of work: a run that goes on after a kill does not compare it again.
    """

    def __init__(self, candidates: Candidates, measure: Measure, connected: bool) -> None:
        self.candidates = candidates
        self._measure = measure
        self._connected = connected
        self._settled: list[Settled] = []
        self._now = Settled()
        self._own = np.ones(len(candidates.order)) if measure.name == "overlap" else None  # else the same everywhere

    def add(self, found: Comparable, direct: Decisions, components: Components | None) -> None:
        """Take in what became of some sets."""
        self._now.compared += direct.candidates + (components.candidates if components else 0)
        self._now.pairs += direct.pairs + (components.pairs if components else 0)
        if self._own is not None:
            self._own[found.places] = own_similarity(found, self._measure)
        if components is None:
            gone = np.flatnonzero(direct.keeper >= 0)
            self._now.keeper.append(self._links(found, gone, direct.keeper[gone], direct.overlaps[gone]))
            self.candidates.linked[found.places[gone]] = True
            return
        gone = np.flatnonzero(components.partner >= 0)
        overlaps = np.zeros(len(gone), np.int32)
        if not found.kind:
            join.overlaps_of(gone, components.root[gone], *found.sets, overlaps)
        self._now.keeper.append(self._links(found, gone, components.root[gone], overlaps))
        partner, shared = components.partner[gone], components.overlaps[gone]
        self._now.partner.append(self._links(found, gone, partner, shared, either=True))

    def _links(self, found: Comparable, gone: Int64, to: Int32, overlaps: Int32, either: bool = False) -> Links:
        """Links between distinct sets, at their places; `either`: containment counts in its larger direction."""
        shared = overlaps.astype(np.int64)
        similarity = found.values(self._measure, gone, to.astype(np.int64), shared)
        if either and self._measure.name == "containment":
            similarity = np.maximum(similarity, found.values(self._measure, to.astype(np.int64), gone, shared))
        return Links(found.places[gone], found.places[to], similarity)

    def take(self, links: Links, compared: int) -> None:
        """Take in links that are known without comparing sets."""
        self._settled.append(Settled([links], compared=compared, pairs=len(links.places)))

    def close(self, batch: int) -> None:
        """A batch was compared to its end: from now on it need not be compared again."""
        done, self._now = self._now, Settled()
        done.equal, self.candidates.equal = self.candidates.equal, []
        done.refined, self.candidates.refined = self.candidates.refined, Refined()
        self._settled.append(done)
        if (work := self._work()) is not None:
            work.save(self._name(batch), done.to_table())

    def recall(self, batch: int) -> bool:
        """Take over what an earlier run found out about a batch, if it got that far."""
        work = self._work()
        if work is None or not work.has(self._name(batch)):
            return False
        self._settled.append(Settled.from_table(work.load(self._name(batch))))
        return True

    def _work(self) -> WorkFolder | None:
        return self.candidates.corpus.digests.work if self._own is None else None

    def _name(self, batch: int) -> str:
        return f"settled-{self.candidates.corpus.settings.execution.budget.batch_name}-{batch:05}.arrow"

    @property
    def compared(self) -> int:
        """How many pairs of sets were compared."""
        return sum(one.compared for one in self._settled)

    @property
    def pairs(self) -> int:
        """How many of these are similar."""
        return sum(one.pairs for one in self._settled)

    def alarms(self) -> list[dict[str, Any]]:
        """What was refined."""
        return merge_refined([one.refined for one in self._settled]).alarms()

    def finish(self, references: int) -> Outcome:
        """Every item's keeper. The first `references` items stay whatever they resemble."""
        self.candidates.follow([pair for one in self._settled for pair in one.equal])
        order, first = self.candidates.order, self.candidates.first
        copies = np.flatnonzero((first != np.arange(len(first))) & (order >= references))
        same = np.full(len(copies), self._measure.of_equal)
        own = same if self._own is None else self._own[first[copies]]
        enough = self._measure.reached_by(own)
        copied = Links(copies[enough], first[copies[enough]].astype(np.int64), own[enough])
        keeper = self._to_items(_follow(_joined(one.keeper for one in self._settled), copied, onward=True), references)
        identical = len(copied.places)
        if not self._connected:
            return Outcome(*keeper, keeper.to, keeper.similarity, identical)
        partner = self._to_items(
            _follow(_joined(one.partner for one in self._settled), copied, onward=False),
            references,
        )
        return Outcome(*keeper, partner.to, partner.similarity, identical)

    def _to_items(self, links: Links, references: int) -> Links:
        """Links between items instead of places, ascending; reference items have none."""
        order = self.candidates.order
        items = order[links.places].astype(np.int64)
        going = np.flatnonzero(items >= references)
        going = going[np.argsort(items[going])]
        return Links(items[going], order[links.to[going]].astype(np.int64), links.similarity[going])


def own_similarity(found: Comparable, measure: Measure) -> Float64:
    """The similarity of each set with an equal one: 1, but for overlap its size; for distances 0."""
    same = np.full(len(found), measure.of_equal)
    return found.sizes.astype(np.float64) if measure.name == "overlap" else same


def _joined(groups: Iterable[list[Links]]) -> Links:
    """All links in the order of their places."""
    parts = [links for group in groups for links in group]
    places, to, similarity = (np.concatenate(columns) for columns in zip(NO_LINKS, *parts))
    by_place = np.argsort(places)
    return Links(places[by_place], to[by_place], similarity[by_place])


def _follow(links: Links, copied: Links, onward: bool) -> Links:
    """Links and those of copies, which point at the first item with an equal set; `onward`, at what that points at."""
    if onward and len(links.places):
        at = np.minimum(np.searchsorted(links.places, copied.to), len(links.places) - 1)
        beyond = links.places[at] == copied.to
        to = np.where(beyond, links.to[at], copied.to)
        copied = Links(copied.places, to, np.where(beyond, links.similarity[at], copied.similarity))
    places, to, similarity = (np.concatenate(columns) for columns in zip(links, copied))
    return Links(places, to, similarity)
