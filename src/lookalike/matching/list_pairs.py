"""List the similar pairs of items among the candidates, including copies, as they are found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pairs import PAIR, PairStore, Rows
from lookalike.errors import ResourceError
from lookalike.kernels import pairs as kernels
from lookalike.matching.batches import Candidates, follow_equal
from lookalike.matching.comparable import Comparable, EqualSets
from lookalike.matching.compare import compare_batch
from lookalike.matching.join import JoinOptions, join_sets
from lookalike.matching.refine import Refined, merge_refined
from lookalike.types import Bool, Float64, Int32, Int64, to_arrow, to_numpy
from lookalike.types.frozen import frozen, mutable

EXPANDED = 1 << 20
"""Pairs of items that are generated at a time."""
MOST_PAIRS = 1 << 32
"""A longer list of pairs (16 bytes each on disk) helps nobody; dedup does."""


@mutable
class Listing:
    """How the pairs were found."""

    compared: int = 0
    """How many pairs of items were compared."""
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


class ListedPart(NamedTuple):
    """The similar pairs of some sets that were compared separately."""

    similar: Similar
    own: Similar
    """Places, and the similarity of each to an equal set."""
    equal: list[EqualSets]
    compared: int
    """Pairs that are not similar, if bands were compared together."""
    refined: Refined

    @classmethod
    def of_nothing(cls, refined: Refined) -> ListedPart:
        """No pairs, only the buckets that were refined before any were listed."""
        none = Similar(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(none, none, [], 0, refined)

    def to_table(self) -> pa.Table:
        """As a piece of work."""
        equal = [Similar(*pair, np.ones(len(pair.places))) for pair in self.equal]
        kinds = [[self.similar], [self.own], equal]
        columns = [np.concatenate([one[k] for kind in kinds for one in kind]) for k in range(3)]
        sizes = [sum(len(one.left) for one in kind) for kind in kinds]
        kind = to_arrow(np.repeat(np.arange(3, dtype=np.uint8), sizes))
        table = pa.table([kind, *map(to_arrow, columns)], ["kind", *Similar._fields])
        counted = json.dumps([self.compared, astuple(self.refined)])
        return table.replace_schema_metadata({"counted": counted})

    @classmethod
    def from_table(cls, table: pa.Table) -> ListedPart:
        """From a piece of work."""
        compared, refined = json.loads(table.schema.metadata[b"counted"])
        kind, *columns = (to_numpy(column) for column in table.columns)
        similar, own, equal = (Similar(*(column[kind == number] for column in columns)) for number in range(3))
        return cls(similar, own, [EqualSets(equal.left, equal.right)], compared, Refined(*refined))


@frozen
class ListLimits:
    """How many pairs are generated at a time, and the maximum number to list."""

    expanded: int = EXPANDED
    most_pairs: int = MOST_PAIRS


def list_similar(
    run: Run[Settings], candidates: Candidates, store: PairStore, options: JoinOptions, limits: ListLimits
) -> Listing:
    """Compare all candidates and put the similar pairs of items into the store.

    With two collections, only pairs of an item of the first (left) and one of the second (right).
    """
    return _Lister(run, candidates, store, options, limits).list_all()


def take_listed(
    run: Run[Settings],
    candidates: Candidates,
    store: PairStore,
    parts: Sequence[Callable[[], ListedPart]],
    limits: ListLimits,
) -> Listing:
    """Like `list_similar`, for parts whose similar sets were listed elsewhere."""
    return _Lister(run, candidates, store, JoinOptions(), limits).take_all(parts)


class _Lister:
    """Lists the pairs batch by batch."""

    def __init__(
        self,
        run: Run[Settings],
        candidates: Candidates,
        store: PairStore,
        options: JoinOptions,
        limits: ListLimits,
    ) -> None:
        self._run, self._candidates, self._store, self._options = run, candidates, store, options
        self._limits = limits
        self._measure = run.settings.matching.measure
        self._first = candidates.first
        self._groups = _group_items(candidates.order, self._first)
        self._own = np.full(len(candidates.order), self._measure.of_equal)
        """For each place, the similarity to an equal set."""
        self._compared, self._refined = 0, Refined()

    def list_all(self) -> Listing:
        """List the pairs of all batches."""
        run, candidates = self._run, self._candidates
        batches = list(range(len(candidates.packing.batches)))
        none_removed = np.zeros(len(candidates.order), np.bool_)
        if batches:
            candidates.fetch(run)
        for batch in batches:
            for found in compare_batch(run, candidates, batch, none_removed):
                with run.progress.stage("verifying"):
                    self._add(found)
        candidates.sets.clear()
        return self._finish()

    def _finish(self) -> Listing:
        if self._candidates.second is None:
            self._add_copies()
        self._store.settle()
        # Sets were compared once for all their copies; the report counts items.
        compared = self._compared + (0 if self._candidates.by_band else len(self._store))
        return Listing(compared, self._refined.alarms())

    def take_all(self, parts: Sequence[Callable[[], ListedPart]]) -> Listing:
        """Take over pairs listed elsewhere. Each part is loaded twice, first for the equal sets that were found."""
        for load in parts:
            listed = load()
            self._first = follow_equal(self._first, listed.equal)
            self._own[listed.own.left] = listed.own.similarity
        self._groups = _group_items(self._candidates.order, self._first)
        for load in parts:
            listed = load()
            self._count(listed.compared, listed.refined)
            self._keep(listed.similar)
        return self._finish()

    def _add(self, found: Comparable) -> None:
        """Add the similar pairs of some distinct sets."""
        candidates = self._candidates
        if found.equal is not None:
            self._first = follow_equal(self._first, [found.equal])
            self._groups = _group_items(candidates.order, self._first)
        self._own[found.places] = found.own_values(self._measure)
        second = candidates.second
        apart = None if second is None else candidates.order[found.places] >= second
        for similar, compared, refined in similar_sets(
            self._run, found, apart, self._options, by_band=candidates.by_band
        ):
            self._count(compared, refined)
            self._keep(similar)

    def _count(self, compared: int, refined: Refined) -> None:
        self._refined = merge_refined([self._refined, refined])
        self._compared += compared

    def _keep(self, similar: Similar) -> None:
        second = self._candidates.second
        self._save(similar if second is None else self._across(similar, second))

    def _across(self, found: Similar, second: int) -> Similar:
        """The pairs between the two collections; for containment, those with an item of the first on the left."""
        left, right = (self._candidates.order[places] >= second for places in found[:2])
        directed = self._measure.name == "containment"
        kept = np.flatnonzero(~left & right if directed else left != right)
        return Similar(found.left[kept], found.right[kept], found.similarity[kept])

    def _add_copies(self) -> None:
        """Add the pairs of items with equal sets."""
        copied = np.flatnonzero((np.diff(self._groups.starts) > 1) & self._measure.reached_by(self._own))
        self._save(Similar(copied, copied, self._own[copied]))

    def _save(self, found: Similar) -> None:
        """Turn pairs of distinct sets into pairs of items: every copy of one with every copy of the other."""
        directed, groups = self._measure.name == "containment", self._groups
        total = len(self._store) + kernels.count_expanded(found.left, found.right, groups.starts, directed)
        if total > self._limits.most_pairs:
            raise ResourceError(
                f"more than {total:,.0f} pairs would be listed, most of them between copies; use lookalike dedup, "
                "raise --threshold, or remove identical items first"
            )
        for rows in _expand(found, groups, directed, self._limits.expanded):
            self._store.add(rows)


def similar_sets(
    run: Run[Settings], found: Comparable, apart: Bool | None, options: JoinOptions, *, by_band: bool
) -> Iterator[tuple[Similar, int, Refined]]:
    """Yield the similar pairs of some distinct sets as they are found, with comparisons and refined buckets."""
    measure = run.settings.matching.measure
    for part, refined in join_sets(run, found, apart, options):
        similarity = found.values(measure, part.left, part.right, part.overlaps)
        compared = part.compared - (0 if by_band else len(part.left))
        yield Similar(found.places[part.left], found.places[part.right], similarity), compared, refined


def _group_items(order: Int32, first: Int32) -> Groups:
    by_set = np.lexsort((order, first))  # copies of a set are adjacent, ordered by item
    return Groups(np.searchsorted(first[by_set], np.arange(len(order) + 1)), order[by_set])


def _expand(found: Similar, groups: Groups, directed: bool, size: int) -> Iterator[Rows]:
    state = np.zeros(3, np.int64)
    while state[0] < len(found.left):
        rows = np.empty(size, PAIR)
        count = kernels.expand_pairs(*found, *groups, directed, state, rows["left"], rows["right"], rows["similarity"])
        yield rows[:count] if 2 * count > size else rows[:count].copy()
