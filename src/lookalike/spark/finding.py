"""Find the candidates: collapse copies, connect items that share a bucket, and pack them into tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from lookalike.candidates.parts import Packing, pack_parts
from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import ITEM_BYTES
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.sets import SetStore
from lookalike.matching.batches import Candidates, FindOptions, name_member, set_bytes
from lookalike.matching.find import collapse_copies, places_of
from lookalike.matching.refine import Refined
from lookalike.spark.connecting import Connected, JoinedKeys, Parts, UnionFind, in_large_parts
from lookalike.spark.crowds import RARE, connect_by_rare
from lookalike.spark.keys import Sending
from lookalike.spark.parts import InputParts
from lookalike.spark.reading import BUCKETS
from lookalike.spark.setup import Setup, adopt, work_of
from lookalike.spark.stars import EDGE_BYTES, Stars
from lookalike.types import Int32, Int64

UNION_BYTES = 8
"""Memory per item of union-find on the driver: the part of each, and which are connected."""
DRIVER_BYTES = ITEM_BYTES - UNION_BYTES
"""Memory per item that the driver needs in any case."""
READ = "spark-read.arrow"
JOINED_RARE = "spark-joined-rare.arrow"
"""Pieces that mark all pieces of a stage as complete."""


class SplitRuns(NamedTuple):
    """Long runs that were disconnected before candidates were packed."""

    refined: Refined = Refined()
    places: Int64 = np.empty(0, np.int64)


class Finder:
    """Finds the candidates among items that have been read."""

    def __init__(self, setup: Setup, run: Run[Settings], parts: InputParts, corpus: Corpus, order: Int32) -> None:
        self._setup, self._run, self._parts, self._corpus, self._order = setup, run, parts, corpus, order
        self._sizes, self._work = setup.sizes, work_of(run)
        self.taken_apart = SplitRuns()

    def find(self, options: FindOptions) -> Candidates:
        """See `lookalike.matching.find.find_candidates`."""
        run, corpus, order = self._run, self._corpus, self._order
        budget = run.settings.execution.budget
        budget.check_items(len(corpus), DRIVER_BYTES)
        with run.progress.stage("connecting"):
            place_of = places_of(order, len(corpus))
            ranges = budget.joining_ranges(len(order), run.workers.threads)
            first = collapse_copies(corpus.digests, place_of, len(order), ranges, options.second)
            if run.settings.matching.method == "lsh":
                place_of[order] = first
                members, parts = self._connect(place_of)
            else:  # exact methods compare everything with everything
                members = np.flatnonzero(first == np.arange(len(order)))
                parts = np.zeros(len(members), np.int32)
            packing = self._pack(members, parts, options.by_band)
        nothing = BucketStore(None), members, packing, SetStore(0, "sets")
        references = options.reference_places(order)
        return Candidates(corpus, order, references, first, *nothing, options.second, options.by_band)

    def _connect(self, place_of: Int32) -> tuple[Int64, Int32]:
        """The places that are in some bucket, each with its connected part."""
        joined = partial(JoinedKeys, self._work, part_starts=self._parts.starts, place_of=place_of)
        found = Connected(joined(READ, BUCKETS), len(self._order), self._unconnected())
        if self._corpus.settings.vectors is None:
            nbytes = set_bytes(self._corpus, self._order[found.members], self._corpus.digesting.bands)
            large = in_large_parts(found.parts, nbytes, self._sizes.compared_bytes)
            if large.any() and len(crowd := found.leave_crowds(large, self._sizes.long_run)):
                self._join_rare(crowd)
                found.connect(joined(JOINED_RARE, RARE))
                self.taken_apart = SplitRuns(found.refined, crowd)
        return found.members, found.parts

    def _unconnected(self) -> Callable[[], Parts]:
        """How parts are found: by union-find on the driver if its memory allows, otherwise on the cluster."""
        places, limit = len(self._order), self._sizes.union_bytes
        fits = self._run.settings.execution.budget.fits(places) if limit is None else UNION_BYTES * places <= limit
        if fits:
            return partial(UnionFind, places)
        names = (f"stars{number}" for number in count())
        cluster, piece_edges = self._setup.cluster(self._run), max(1, self._sizes.joined_bytes // EDGE_BYTES)
        return lambda: Stars(cluster, next(names), piece_edges)

    def _join_rare(self, crowd: Int64) -> None:
        """Join items of long runs by their rare elements."""
        if self._work.has(JOINED_RARE):
            return
        run, corpus = self._run, self._corpus
        items = self._order[crowd].astype(np.int64)
        by_item, none = np.argsort(items), np.zeros(len(items), np.int32)
        parts = self._parts.fetching(corpus, items[by_item], crowd[by_item], none, none.astype(np.uint8))
        comparing = self._setup.comparing(run, corpus)
        partitions = self._sizes.key_partitions(int(corpus.counts[items].sum()))
        sending = Sending(comparing.folder, RARE, partitions, self._sizes.long_run)
        floor = run.settings.matching.measure.jaccard_floor
        written = connect_by_rare(self._setup.cluster(run), parts, comparing, floor, sending)
        adopt(self._work, written, JOINED_RARE)

    def _pack(self, members: Int64, parts: Int32, by_band: bool) -> Packing:
        if not len(members):
            return Packing(np.empty(0, np.int32), [])
        corpus, order, bands = self._corpus, self._order, self._corpus.digesting.bands
        nbytes = set_bytes(corpus, order[members], 1 if by_band or not bands else bands)
        goal = self._sizes.sets_bytes(int(nbytes.sum()), self._setup.slots)
        limit = self._sizes.task_sets_bytes or self._setup.task_budget(self._run).sets_bytes
        return pack_parts(parts, nbytes, limit, partial(name_member, corpus, order, members), goal)
