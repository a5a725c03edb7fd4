"""The lecture's recipe up to the pairs: collapse identical sets, join the bands, fetch the sets, refine.

Items are taken in an order of priority; everything here is numbered by that order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.candidates.bands import join_bands, members_of
from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_prints, renumber, select
from lookalike.candidates.prefix import join_prefixes, oversize
from lookalike.jobs.corpus import Corpus
from lookalike.jobs.parallel import Workers
from lookalike.jobs.progress import Progress
from lookalike.kernels.prefix import list_prefixes
from lookalike.kernels.sets import fingerprint_sets
from lookalike.types import Bool, Buckets, Int64, UInt64
from lookalike.verify.sets import Measure


@dataclass(slots=True)
class Comparable:
    """Distinct sets that may be similar to others, with the buckets in which they meet.

    A *place* is a position in the order of priority. The sets are numbered 0, 1, ... in that order.
    """

    order: Int64
    """Item number at each place; empty items have none."""
    first: Int64
    """For each place the place of the first item with an equal set."""
    places: Int64
    """The place of each distinct set that is in some bucket."""
    buckets: Buckets
    """Members are numbers of such sets."""
    begins: Int64
    ends: Int64
    elements: UInt64
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return self.ends - self.begins

    def has_copies(self, among: Bool) -> Bool:
        """Which sets are equal to that of some later place among these."""
        copied = np.zeros(len(self.order), np.bool_)
        copied[self.first[among & (self.first != np.arange(len(self.first)))]] = True
        return copied[self.places]

    @property
    def sets(self) -> tuple[Int64, Int64, UInt64]:
        """The sets as kernels take them."""
        return self.begins, self.ends, self.elements


def find_comparable(corpus: Corpus, order: Int64, workers: Workers, progress: Progress) -> Comparable:
    """Everything that must be compared, and with what.

    Parameters
    ----------
    order : int64[...]
        The items that are not empty, by priority.
    """
    settings = corpus.settings
    with progress.stage("joining bands"):
        prints = [corpus.digests.numbers(f"print {half}", np.uint64)[order] for half in range(2)]
        first = group_prints(np.stack(prints))
        distinct = np.flatnonzero(first == np.arange(len(order)))
        if settings.method == "brute":
            buckets, candidates = all_together(len(distinct)), np.arange(len(distinct))
        else:
            buckets = join_bands(corpus.digests.band, corpus.digests.bands, order[distinct], workers.map)
            candidates = np.flatnonzero(members_of(buckets, len(distinct)))
    return _with_sets(corpus, order, first, distinct, candidates, buckets, workers, progress)


def _with_sets(
    corpus: Corpus,
    order: Int64,
    first: Int64,
    distinct: Int64,
    candidates: Int64,
    buckets: Buckets,
    workers: Workers,
    progress: Progress,
) -> Comparable:
    """Fetch the candidates' sets, collapse equal ones, and refine what is too large to pair."""
    places = distinct[candidates]
    items = order[places]
    by_item = np.argsort(items)
    row_of = np.empty(len(items), np.int64)
    row_of[by_item] = np.arange(len(items))
    total = sum(source.nbytes for source in corpus.sources)
    with progress.stage("fetching sets", total, "B"):
        sets = corpus.fetch_sets(items[by_item], workers, progress)
    with progress.stage("refining"):
        same = group_prints(np.ascontiguousarray(fingerprint_sets(sets.indptr, sets.elements)[:, row_of]))
        roots = np.flatnonzero(same == np.arange(len(same)))
        first = _point_further(first, places, same)
        number = np.full(len(distinct), -1, np.int32)
        number[candidates[roots]] = np.arange(len(roots), dtype=np.int32)
        rows = row_of[roots]
        found = Comparable(
            order,
            first,
            places[roots],
            renumber(buckets, number),
            sets.indptr[rows],
            sets.indptr[rows + 1],
            sets.elements,
        )
        if corpus.settings.method != "brute":
            _refine(found, corpus.settings.measure, progress)
    return found


def _point_further(first: Int64, places: Int64, same: Int64) -> Int64:
    """Equal sequences of tokens were collapsed already; follow on to equal sets."""
    onward = np.arange(len(first))
    onward[places] = places[same]
    return onward[first]


def _refine(found: Comparable, measure: Measure, progress: Progress) -> None:
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
    found.alarms.append(
        {
            "kind": "oversize_buckets",
            "buckets": len(refined),
            "largest": int(refined.sizes.max()),
            "items": len(items),
            "text": f"{len(refined)} buckets with up to {refined.sizes.max():,} items were refined by rare shingles "
            f"({len(items):,} items in all): often boilerplate. No pair is lost by it.",
        }
    )
