"""Extend decisions about distinct sets to decisions about all items."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.matching.batches import Candidates, follow_equal
from lookalike.matching.comparable import Comparable, EqualSets
from lookalike.matching.refine import Refined, merge_refined
from lookalike.types import Bool, Float64, Int32, Int64, to_arrow, to_numpy
from lookalike.types.frozen import frozen, mutable
from lookalike.verify.measures import Measure


class Links(NamedTuple):
    """Links from places to other places, with the similarity of the two."""

    places: Int32 | Int64
    to: Int32 | Int64
    similarity: Float64


class ItemLinks(NamedTuple):
    """Links from items to other items, with the similarity of the two."""

    items: Int64
    to: Int64
    similarity: Float64


NO_LINKS = Links(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class PartDecisions(NamedTuple):
    """The sets of a part that are removed, by number, ascending; all others are kept."""

    removed: Int64
    keeper: Int64
    """The set that each is removed for."""
    similarity: Float64
    """To the keeper, exact."""
    partner: Int64
    """The other set of the pair that joined it to its cluster; the keeper itself with the direct policy."""
    partner_similarity: Float64
    compared: int
    pairs: int


@frozen
class Outcome:
    """The removed items, ascending; all others are kept."""

    removed: Int64
    keeper: Int64
    """The item that each was removed for."""
    similarity: Float64
    """To the keeper, exact."""
    partner: Int64
    """The item of the pair that joined it to its cluster; the keeper itself with the direct policy."""
    partner_similarity: Float64
    identical: int
    """How many were removed because an earlier item has an equal set."""

    def kept(self, items: int) -> Bool:
        """For each item, whether it is kept."""
        kept = np.ones(items, np.bool_)
        kept[self.removed] = False
        return kept


@mutable
class BatchDecisions:
    """The decisions about one batch, by place."""

    keeper: list[Links] = field(default_factory=list)
    partner: list[Links] = field(default_factory=list)
    """With the connected policy: the pair that joined each to its cluster."""
    equal: list[EqualSets] = field(default_factory=list)
    own: list[Links] = field(default_factory=list)
    """The similarity of places to equal sets, if that is not the same for all."""
    compared: int = 0
    pairs: int = 0
    refined: Refined = field(default_factory=Refined)

    def add(
        self, found: Comparable, decided: PartDecisions, refined: Refined, measure: Measure, *, connected: bool
    ) -> None:
        """Add the decisions about some sets."""
        self.compared += decided.compared
        self.pairs += decided.pairs
        self.refined = merge_refined([self.refined, refined])
        if measure.name == "overlap":
            self.own.append(Links(found.places, found.places, found.own_values(measure)))
        places, numbers = found.places[decided.removed].astype(np.int32), found.places.astype(np.int32)
        self.keeper.append(Links(places, numbers[decided.keeper], decided.similarity))
        if connected:
            self.partner.append(Links(places, numbers[decided.partner], decided.partner_similarity))

    def to_table(self) -> pa.Table:
        """As a piece of work."""
        equal = [Links(places, to, np.ones(len(to))) for places, to in self.equal]
        kinds = [_joined([links]) for links in (self.keeper, self.partner, equal, self.own)]
        columns = [to_arrow(np.concatenate(column)) for column in zip(*kinds)]
        kind = to_arrow(np.repeat(np.arange(len(kinds), dtype=np.uint8), [len(links.places) for links in kinds]))
        counted = {"compared": self.compared, "pairs": self.pairs, "refined": astuple(self.refined)}
        table = pa.table([kind, *columns], ["kind", *Links._fields])
        return table.replace_schema_metadata({"counted": json.dumps(counted)})

    @classmethod
    def from_table(cls, table: pa.Table) -> BatchDecisions:
        """From a piece of work."""
        counted = json.loads(table.schema.metadata[b"counted"])
        kind, *columns = (to_numpy(column) for column in table.columns)
        keeper, partner, equal, own = (Links(*(column[kind == number] for column in columns)) for number in range(4))
        refined = Refined(*counted["refined"])
        found = [EqualSets(equal.places.astype(np.int64), equal.to.astype(np.int64))]
        return cls([keeper], [partner], found, [own], counted["compared"], counted["pairs"], refined)


class CollectedDecisions:
    """Collects the decisions batch by batch, and extends them to all items.

    The decisions of a finished batch are saved as a piece: a resumed run does not compare it again.
    """

    def __init__(self, run: Run[Settings], candidates: Candidates, connected: bool) -> None:
        self.candidates = candidates
        self.connected = connected
        self.removed: Bool = np.zeros(len(candidates.order), np.bool_)
        """For each place, whether its keeper is known; only with the direct policy."""
        self.copied = _copied(candidates.first, candidates.references)
        """For each place, whether a later item that is not a reference item has an equal set."""
        self.measure = run.settings.matching.measure
        self._batches: list[BatchDecisions] = []
        self._batch = BatchDecisions()
        self._work = run.work
        self._unsaved: dict[int, BatchDecisions] = {}
        self._name = f"settled-{run.settings.execution.budget.batch_name}"

    def note_equal(self, found: Comparable) -> None:
        """Record the equal sets that were found when these sets were assembled."""
        if found.equal is not None:
            self._batch.equal.append(found.equal)
            mark_copied(self.copied, found.equal, self.candidates.references)

    def add(self, found: Comparable, decided: PartDecisions, refined: Refined) -> None:
        """Add the decisions about some sets."""
        self._batch.add(found, decided, refined, self.measure, connected=self.connected)
        if not self.connected:
            self.removed[found.places[decided.removed]] = True

    def take(self, batch: BatchDecisions) -> None:
        """Add the decisions about a batch that were made elsewhere."""
        self._batches.append(batch)

    def add_links(self, links: Links, compared: int) -> None:
        """Add links that are known without comparing sets."""
        self._batches.append(BatchDecisions([links], compared=compared, pairs=len(links.places)))

    def close(self, batch: int) -> None:
        """Finish a batch, so that it need not be compared again."""
        done, self._batch = self._batch, BatchDecisions()
        self._batches.append(done)
        self._unsaved[batch] = done
        if self._work is None or not self._work.wanted:
            return
        for number, waiting in self._unsaved.items():
            self._work.save(self._piece(number), waiting.to_table())
        self._unsaved = {}

    def reuse(self, batch: int) -> bool:
        """Reuse the decisions of a killed run about a batch, if there are any."""
        if self._work is None or not self._work.has(self._piece(batch)):
            return False
        self._batches.append(BatchDecisions.from_table(self._work.load(self._piece(batch))))
        return True

    def _piece(self, batch: int) -> str:
        return f"{self._name}-{batch:05}.arrow"

    @property
    def first(self) -> Int32:
        """For each place, the first place with an equal set."""
        return follow_equal(self.candidates.first, [pair for one in self._batches for pair in one.equal])

    @property
    def compared(self) -> int:
        """How many pairs of sets were compared."""
        return sum(one.compared for one in self._batches)

    @property
    def pairs(self) -> int:
        """How many of these are similar."""
        return sum(one.pairs for one in self._batches)

    def alarms(self) -> list[dict[str, Any]]:
        """The buckets that were refined."""
        return merge_refined([one.refined for one in self._batches]).alarms()

    def finish(self, references: int) -> Outcome:
        """The keeper of every removed item. The first `references` items are always kept."""
        first = self.first
        copies = np.flatnonzero(first != np.arange(len(first), dtype=np.int32))
        copies = copies[self.candidates.order[copies] >= references]
        own = self._own_values(first[copies])
        enough = self.measure.reached_by(own)
        copied = Links(copies[enough], first[copies[enough]].astype(np.int64), own[enough])
        del copies, own
        keeper = self._to_items(_extend((one.keeper for one in self._batches), copied, len(first), True), references)
        identical = len(copied.places)
        if not self.connected:
            return Outcome(*keeper, keeper.to, keeper.similarity, identical)
        partner = self._to_items(_extend((one.partner for one in self._batches), copied, len(first), False), references)
        return Outcome(*keeper, partner.to, partner.similarity, identical)

    def _own_values(self, places: Int32) -> Float64:
        """The similarity of places to equal sets."""
        usual = 1.0 if self.measure.name == "overlap" else self.measure.of_equal
        listed = [links for one in self._batches for links in one.own]
        if not listed:
            return np.full(len(places), usual)
        values = np.full(len(self.candidates.order), usual)
        for links in listed:
            values[links.places] = links.similarity
        return np.asarray(values[places])

    def _to_items(self, links: _AllLinks, references: int) -> ItemLinks:
        """Convert links between places to links between items, ascending; reference items have none."""
        order = self.candidates.order
        places = np.flatnonzero(links.to >= 0)
        places = places[order[places] >= references]
        places = places[np.argsort(order[places])]
        items, to = order[places].astype(np.int64), order[links.to[places]].astype(np.int64)
        return ItemLinks(items, to, links.similarity[places])


def mark_copied(copied: Bool, equal: EqualSets, references: int) -> None:
    """For each place, whether its set has copies: if an equal set has copies or is not a reference item."""
    places, firsts = equal
    copied[firsts[copied[places] | (places >= references)]] = True


def _copied(first: Int32, references: int) -> Bool:
    """For each place, whether a later item that is not a reference item has an equal set."""
    copies = np.flatnonzero(first != np.arange(len(first)))
    copied = np.zeros(len(first), np.bool_)
    copied[first[copies[copies >= references]]] = True
    return copied


def _joined(groups: Iterable[list[Links]]) -> Links:
    """All links, ordered by place."""
    parts = [links for group in groups for links in group]
    places, to, similarity = (np.concatenate(columns) for columns in zip(NO_LINKS, *parts))
    by_place = np.argsort(places)
    return Links(places[by_place], to[by_place], similarity[by_place])


class _AllLinks(NamedTuple):
    """For each place, the place it is linked to, or -1, and their similarity; takes half the memory of sorted links."""

    to: Int32
    similarity: Float64


def _extend(groups: Iterable[list[Links]], copied: Links, places: int, onward: bool) -> _AllLinks:
    """Links, and those of copies: to the first item with an equal set or, with `onward`, to the item it links to.

    The groups are emptied, since two forms of all links would take twice the memory.
    """
    to, similarity = np.full(places, -1, np.int32), np.empty(places)
    for group in groups:
        for links in group:
            to[links.places], similarity[links.places] = links.to, links.similarity
        group.clear()  # the arrays replace them
    beyond = np.flatnonzero(to[copied.to] >= 0) if onward else np.empty(0, np.int64)
    to[copied.places], similarity[copied.places] = copied.to, copied.similarity
    to[copied.places[beyond]] = to[copied.to[beyond]]
    similarity[copied.places[beyond]] = similarity[copied.to[beyond]]
    return _AllLinks(to, similarity)
