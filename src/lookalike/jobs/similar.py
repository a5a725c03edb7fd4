"""The lecture's recipe up to the pairs: collapse identical sets, join the bands, fetch the sets, refine.

Items are taken in an order of priority; a *place* is a position in that order. Sets that can be similar are connected
by buckets, so the connected parts are independent of each other: they are compared one batch after the other, each
batch as large as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.candidates.bands import join_bands, members_of
from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_prints, renumber, select
from lookalike.candidates.parts import split_parts
from lookalike.candidates.prefix import join_prefixes, oversize
from lookalike.jobs.corpus import Corpus
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.kernels.prefix import list_prefixes
from lookalike.kernels.sets import fingerprint_sets
from lookalike.types import Bool, Buckets, Int64, Sets, UInt64
from lookalike.verify.sets import Measure


@dataclass(slots=True)
class Comparable:
    """A batch of distinct sets, numbered 0, 1, ... by priority, with the buckets in which they meet."""

    places: Int64
    """The place of each set."""
    buckets: Buckets
    """Members are numbers of sets."""
    begins: Int64
    ends: Int64
    elements: UInt64

    def __len__(self) -> int:
        return len(self.places)

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return self.ends - self.begins

    @property
    def sets(self) -> tuple[Int64, Int64, UInt64]:
        """The sets as kernels take them."""
        return self.begins, self.ends, self.elements


@dataclass(slots=True)
class Candidates:
    """Items that may be similar to others."""

    corpus: Corpus
    order: Int64
    """Item number at each place; empty items have none."""
    first: Int64
    """For each place the place of the first item with an equal set, as far as is known."""
    distinct: Int64
    """The places that are the first of theirs."""
    members: Int64
    """Which of the distinct ones are in some bucket, as positions in `distinct`."""
    buckets: Buckets
    """Members are positions in `distinct`."""
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def has_copies(self, found: Comparable, among: Bool) -> Bool:
        """Which sets of a batch are equal to that of some later place among these."""
        copied = np.zeros(len(self.order), np.bool_)
        copied[self.first[among & (self.first != np.arange(len(self.first)))]] = True
        return copied[found.places]

    def batches(self, workers: Workers, progress: Progress) -> Iterator[Comparable]:
        """What must be compared, batch by batch. Equal sets are collapsed on the way, in `first`."""
        items = self.order[self.distinct[self.members]]
        by_item = np.argsort(items)
        total = sum(source.nbytes for source in self.corpus.sources)
        limit = self.corpus.settings.budget.sets_bytes
        with progress.stage("fetching sets", total, "B"):
            store = self.corpus.fetch_sets(items[by_item], workers, progress, limit)
        sizes = np.empty(len(items), np.int64)
        sizes[by_item] = store.sizes
        for part in split_parts(self.buckets, self.members, 8 * sizes, limit):
            with progress.stage("refining"):
                chosen = np.zeros(len(items), np.bool_)
                chosen[part] = True
                sets = store.read(chosen[by_item])
                found = self._batch(part, by_item[chosen[by_item]], sets)
                if self.corpus.settings.method != "brute":
                    _refine(found, self.corpus.settings.measure, progress, self.alarms)
            yield found

    def _batch(self, part: Int64, by_item: Int64, sets: Sets) -> Comparable:
        """The distinct sets of a part; set k of `sets` is that of member by_item[k]."""
        row_of = np.empty(len(part), np.int64)
        row_of[np.searchsorted(part, by_item)] = np.arange(len(part))
        same = group_prints(*fingerprint_sets(sets.indptr, sets.elements)[:, row_of])
        roots = np.flatnonzero(same == np.arange(len(same)))
        places = self.distinct[self.members[part]]
        self._point_further(places, same)
        number = np.full(len(self.distinct), -1, np.int32)
        number[self.members[part[roots]]] = np.arange(len(roots), dtype=np.int32)
        rows = row_of[roots]
        buckets = renumber(self.buckets, number)
        return Comparable(places[roots], buckets, sets.indptr[rows], sets.indptr[rows + 1], sets.elements)

    def _point_further(self, places: Int64, same: Int64) -> None:
        """Equal sequences of tokens were collapsed already; follow on to equal sets."""
        if (same == np.arange(len(same))).all():
            return
        onward = np.arange(len(self.first))
        onward[places] = places[same]
        self.first = onward[self.first]


def find_candidates(corpus: Corpus, order: Int64, workers: Workers, progress: Progress) -> Candidates:
    """Who shares a bucket with whom.

    Parameters
    ----------
    order : int64[...]
        The items that are not empty, by priority.
    """
    settings = corpus.settings
    settings.budget.check_items(len(order))
    with progress.stage("joining bands"):
        first = group_prints(*(corpus.digests.numbers(f"print {half}", np.uint64)[order] for half in range(2)))
        distinct = np.flatnonzero(first == np.arange(len(order)))
        if settings.method == "brute":
            buckets, members = all_together(len(distinct)), np.arange(len(distinct))
        else:
            threads = settings.budget.joining_threads(len(order), workers.threads)
            each = workers.map if threads == workers.threads else map
            buckets = join_bands(corpus.digests.band, corpus.digests.bands, order[distinct], each)
            members = np.flatnonzero(members_of(buckets, len(distinct)))
    return Candidates(corpus, order, first, distinct, members, buckets)


def _refine(found: Comparable, measure: Measure, progress: Progress, alarms: list[dict[str, Any]]) -> None:
    """Replace oversize buckets by buckets of rare elements, in which every similar pair of them meets."""
    large = oversize(found.buckets)
    if not large.any():
        return
    floor = measure.jaccard_floor
    assert floor is not None, "lsh is only planned for measures that have a floor"
    progress.compiling(list_prefixes, "oversize buckets")
    refined = select(found.buckets, large)
    items = np.unique(refined.members).astype(np.int64)
    prefixes = join_prefixes(items, *found.sets, *measure.arguments, (floor.numerator, floor.denominator))
    found.buckets = concatenate([select(found.buckets, ~large), prefixes])
    alarms.append(
        {
            "kind": "oversize_buckets",
            "buckets": len(refined),
            "largest": int(refined.sizes.max()),
            "items": len(items),
            "text": f"{len(refined)} buckets with up to {refined.sizes.max():,} items were refined by rare shingles "
            f"({len(items):,} items in all): often boilerplate. No pair is lost by it.",
        }
    )
