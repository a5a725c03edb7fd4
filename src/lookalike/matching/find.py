"""Find candidates: items with the same sequence of tokens, and items that share a bucket in a band.

Digests are streamed. If a whole band does not fit in memory, one range of its keys is processed at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lookalike.candidates.bands import join_band, key_ranges
from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_prints
from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import ITEM_BYTES, REFERRED_BYTES
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import Digests
from lookalike.matching.batches import Candidates, FindOptions, plan_batches
from lookalike.types import Bool, Buckets, Int32, to_arrow, to_numpy

FEW_ITEMS = 1 << 13
"""The bands of fewer items are joined in less time than threads take to hand them over."""
COPIES = "copies.arrow"
"""The piece of work that lists items with the same sequence of tokens."""


def find_candidates(run: Run[Settings], corpus: Corpus, order: Int32, options: FindOptions) -> Candidates:
    """Find which items share a bucket, and plan which are compared together.

    Parameters
    ----------
    order : int32[...]
        The items that are not empty, by priority.
    """
    matching, budget = run.settings.matching, run.settings.execution.budget
    item_bytes = REFERRED_BYTES if options.references else ITEM_BYTES
    budget.check_items(len(corpus), item_bytes)
    ranges = budget.joining_ranges(len(order), run.workers.threads, item_bytes)
    by_keys = matching.method == "lsh"
    stage = ("joining bands", corpus.digests.bands, "bands") if by_keys else ("finding copies",)
    with run.progress.stage(*stage):
        place_of = places_of(order, len(corpus))
        first = _collapse_once(run, corpus.digests, place_of, len(order), ranges, options.second)
        distinct = first == np.arange(len(order))
        if by_keys:
            place_of[order[~distinct]] = -1
            bands = join_bands(run, corpus.digests, place_of, ranges)
        else:
            bands = BucketStore(None)
            bands.add(all_together(np.flatnonzero(distinct)))
    # exact methods need even a set that shares no bucket: its size is its overlap with its copies
    inside = members_of(bands, len(order)) if by_keys else distinct
    return plan_batches(run, corpus, order, options, first=first, bands=bands, members=np.flatnonzero(inside))


def places_of(order: Int32, items: int) -> Int32:
    """The place of each item in the order of priority; -1 for items without one.

    Examples
    --------
    >>> places_of(np.array([2, 0], np.int32), 3).tolist()
    [1, -1, 0]
    """
    place_of = np.full(items, -1, np.int32)
    place_of[order] = np.arange(len(order), dtype=np.int32)
    return place_of


def _collapse_once(
    run: Run[Settings], digests: Digests, place_of: Int32, places: int, ranges: int, second: int | None
) -> Int32:
    """Like `collapse_copies`, but a resumed run reuses the result."""
    work = run.work
    if work is not None and work.has(COPIES):
        return np.array(to_numpy(work.load(COPIES).column("first")))
    first = collapse_copies(digests, place_of, places, ranges, second)
    if work is not None and work.wanted:
        work.save(COPIES, pa.table({"first": to_arrow(first)}))
    return first


def collapse_copies(digests: Digests, place_of: Int32, places: int, ranges: int, second: int | None = None) -> Int32:
    """For each place, the first place with the same sequence of tokens; items from `second` on are kept separate."""
    first = np.arange(places, dtype=np.int32)
    sides = [place_of]
    if second is not None:
        here = np.arange(len(place_of)) < second
        sides = [np.where(here, place_of, np.int32(-1)), np.where(here, np.int32(-1), place_of)]
    for side in sides:
        for low, high in key_ranges(ranges):
            found, (halves, others) = digests.gather(["print 0", "print 1"], side, low, high)
            first[found] = found[group_prints(halves, others)]
    return first


def join_bands(run: Run[Settings], digests: Digests, place_of: Int32, ranges: int) -> BucketStore:
    """Find the buckets of every band, range by range; bands that a killed run has joined are reused."""
    store = BucketStore(run.work)
    run.progress.advance(len(store))

    def join(job: tuple[int, int, int]) -> Buckets:
        band, low, high = job
        places, (keys,) = digests.gather([f"key {band}"], place_of, low, high)
        return join_band(keys, places)

    def jobs() -> Iterator[tuple[int, int, int]]:
        for band in range(len(store), digests.bands):
            for low, high in key_ranges(ranges):
                yield band, low, high

    parts: list[Buckets] = []
    each = run.workers.map if len(place_of) > FEW_ITEMS else map
    for part in each(join, jobs()):
        parts.append(part)
        if len(parts) == ranges:
            store.add(concatenate(parts))
            run.progress.advance(1)
            parts = []
    return store


def members_of(store: BucketStore, places: int) -> Bool:
    """Which places are in some bucket."""
    found = np.zeros(places, np.bool_)
    for band in store:
        found[band.members] = True
    return found
