"""Join the digests: who has the same sequence of tokens, and who shares a bucket in which band.

What is joined is streamed from the digests, a range of keys at a time where a whole band does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lookalike.candidates.bands import join_band, key_ranges
from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_prints
from lookalike.engine.corpus import Corpus
from lookalike.engine.progress import Progress
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import Digests
from lookalike.engine.workers import Workers
from lookalike.matching.batches import Candidates, put_up
from lookalike.types import Bool, Buckets, Int32


def places_of(order: Int32, items: int) -> Int32:
    """The place of each item in the order of priority; -1 for those that have none.

    Examples
    --------
    >>> places_of(np.array([2, 0], np.int32), 3).tolist()
    [1, -1, 0]
    """
    place_of = np.full(items, -1, np.int32)
    place_of[order] = np.arange(len(order), dtype=np.int32)
    return place_of


def collapse_copies(digests: Digests, place_of: Int32, places: int, ranges: int, second: int = 0) -> Int32:
    """For each place the first place with the same sequence of tokens; items from `second` on are apart."""
    first = np.arange(places, dtype=np.int32)
    sides = [place_of]
    if second:
        here = np.arange(len(place_of)) < second
        sides = [np.where(here, place_of, np.int32(-1)), np.where(here, np.int32(-1), place_of)]
    for side in sides:
        for low, high in key_ranges(ranges):
            found, (halves, others) = digests.gather(["print 0", "print 1"], side, low, high)
            first[found] = found[group_prints(halves, others)]
    return first


def join_bands(digests: Digests, place_of: Int32, ranges: int, workers: Workers, progress: Progress) -> BucketStore:
    """The buckets of every band, range by range; bands that an earlier run has joined are taken as they are."""
    store = BucketStore(digests.work)
    progress.advance(len(store))

    def join(job: tuple[int, int, int]) -> Buckets:
        band, low, high = job
        places, (keys,) = digests.gather([f"key {band}"], place_of, low, high)
        return join_band(keys, places)

    def jobs() -> Iterator[tuple[int, int, int]]:
        for band in range(len(store), digests.bands):
            for low, high in key_ranges(ranges):
                yield band, low, high

    parts: list[Buckets] = []
    for part in workers.map(join, jobs()):
        parts.append(part)
        if len(parts) == ranges:
            store.add(concatenate(parts))
            progress.advance(1)
            parts = []
    return store


def members_of(store: BucketStore, places: int) -> Bool:
    """Which places are in some bucket."""
    found = np.zeros(places, np.bool_)
    for band in store:
        found[band.members] = True
    return found


def find_candidates(
    corpus: Corpus,
    order: Int32,
    workers: Workers,
    progress: Progress,
    references: int = 0,
    second: int = 0,
    by_band: bool = False,
) -> Candidates:
    """Who shares a bucket with whom.

    Parameters
    ----------
    order : int32[...]
        The items that are not empty, by priority.
    references
        So many items, at the front, are reference items.
    second
        The number of the first item of another collection: equal sets of the two are no copies of each other.
    by_band
        Whether the bands are to be compared one by one.
    """
    settings, digests = corpus.settings, corpus.digests
    settings.execution.budget.check_items(len(corpus))
    ranges = settings.execution.budget.joining_ranges(len(order), workers.threads)
    with progress.stage("joining bands", digests.bands, "bands"):
        place_of = places_of(order, len(corpus))
        first = collapse_copies(digests, place_of, len(order), ranges, second)
        copies = np.flatnonzero(first != np.arange(len(order)))
        if settings.matching.method != "lsh":
            bands = BucketStore(None)
            bands.add(all_together(np.flatnonzero(first == np.arange(len(order)))))
        else:
            place_of[order[copies]] = -1
            bands = join_bands(digests, place_of, ranges, workers, progress)
        del place_of
    # without bands even a single set counts: how much it overlaps with its copies, its size tells
    inside = members_of(bands, len(order)) if settings.matching.method == "lsh" else first == np.arange(len(order))
    return put_up(corpus, order, references, first, bands, np.flatnonzero(inside), second, by_band)
