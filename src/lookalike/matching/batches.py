"""Divide the candidates into batches, each as large as memory allows.

Items are ordered by priority; a *place* is a position in that order. Sets that can be similar are connected by buckets,
so the connected parts are independent of each other and are compared batch by batch (see `matching/compare.py`). A part
that does not fit in memory is cut into blocks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lookalike.candidates.parts import Packing, connected_parts, pack_parts
from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import MEMBER_BYTES
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.sets import SetStore
from lookalike.features.vectors import fingerprints
from lookalike.kernels.sets import fingerprint_sets
from lookalike.matching.comparable import EqualSets
from lookalike.types import Bool, Int32, Int64, Sets, UInt64, VectorKind
from lookalike.types.frozen import frozen


@frozen
class FindOptions:
    """Which items may be compared with which."""

    references: int = 0
    """How many items, at the front of the input, are reference items."""
    second: int | None = None
    """The number of the first item of another collection: equal sets of the two are not copies of each other."""
    by_band: bool = False
    """Whether bands are compared one by one: this takes less memory, but a pair can be found more than once."""

    def reference_places(self, order: Int32) -> int:
        """The number of places at the front that hold reference items."""
        return int(np.searchsorted(order >= self.references, True))


@frozen
class Candidates:
    """Items that share a bucket with others, and which of them are compared together."""

    corpus: Corpus
    order: Int32
    """The item at each place; empty items have no place."""
    references: int
    """The number of places at the front that hold reference items, which are always kept."""
    first: Int32
    """For each place, the first place with the same sequence of tokens."""
    bands: BucketStore
    """The buckets of each band; members are places that come first with their tokens."""
    members: Int64
    """The places that are in some bucket, ascending."""
    packing: Packing
    """Which members are compared together."""
    sets: SetStore
    second: int | None = None
    by_band: bool = False
    """See `FindOptions`."""
    group_bytes: int = 0
    """The memory for a group of blocks and the block that it is compared with."""
    in_place: bool = False
    """Whether sets are compared where they are read to: there is then room for twice as many elements."""

    def fetch(self, run: Run[Settings]) -> None:
        """Get all sets by reading their items again, except those that a killed run has saved."""
        items = self.order[self.members].astype(np.int64)
        by_item = np.argsort(items)
        by_item = by_item[np.searchsorted(items[by_item], self.sets.reached) :]
        items, block_of = items[by_item], self.packing.block_of[by_item]
        with run.progress.stage("fetching sets", self.corpus.nbytes, "B"), self.sets:
            for low, high, sets in self.corpus.fetch_sets(run, items):
                self.sets.add(sets, block_of[low:high], items[low:high])

    def parts(self, limit: int) -> tuple[Int32, Bool]:
        """For each place, its connected part; for each part, whether its sets take more than `limit`."""
        part_of = connected_parts(self.bands, len(self.order))
        nbytes = set_bytes(self.corpus, self.order[self.members], 1 if self.by_band else len(self.bands))
        return part_of, np.bincount(part_of[self.members], nbytes, minlength=len(self.order)) > limit

    def compared_bytes(self, mine: Int64) -> int:
        """The memory that the sets of `members[mine]` take while they are compared as blocks of a part."""
        items = self.order[self.members[mine]]
        member_bytes = MEMBER_BYTES * len(mine) * (1 if self.by_band else len(self.bands))
        elements_bytes = 8 * int(self.corpus.counts[items].sum(dtype=np.int64))
        return member_bytes + (elements_bytes // 2 if self.in_place else elements_bytes)


def plan_batches(
    run: Run[Any],
    corpus: Corpus,
    order: Int32,
    options: FindOptions,
    *,
    first: Int32,
    bands: BucketStore,
    members: Int64,
) -> Candidates:
    """Decide which candidates are compared together."""
    budget, references, by_band = run.settings.execution.budget, options.reference_places(order), options.by_band
    # joins and matrix products copy the sets, and number the elements of both sides
    in_place = run.settings.matching.method in (("lsh",) if corpus.settings.vectors else ("lsh", "brute"))
    block_bytes = budget.sets_bytes // (4 if in_place else 2)
    packing = _pack(bands, members, corpus, order, 1 if by_band else len(bands), budget.sets_bytes, block_bytes)
    work = run.scratch() if packing.blocks > 1 else run.work
    most_elements = int(corpus.counts[order[members]].sum(dtype=np.int64))
    sets = SetStore(packing.blocks, f"sets-{budget.batch_name}", work, budget.set_buffer_bytes, most_elements)
    return Candidates(corpus, order, references, first, bands, members, packing, sets, options.second, by_band,
                      budget.sets_bytes, in_place)  # fmt: skip


def set_bytes(corpus: Corpus, items: Int32, at_once: int) -> Int64:
    """The memory that the sets of items take during comparison, with this number of bands at a time."""
    return 8 * corpus.counts[items].astype(np.int64) + MEMBER_BYTES * at_once


def _pack(
    bands: BucketStore, members: Int64, corpus: Corpus, order: Int32, at_once: int, limit: int, block_bytes: int
) -> Packing:
    """Pack candidates into batches, with `at_once` bands in memory. Counts include repeats, so sets are no larger."""
    nbytes = set_bytes(corpus, order[members], at_once)
    if nbytes.sum() <= limit:
        return Packing(np.zeros(len(members), np.int32), [range(1)] if len(members) else [])

    name_of = partial(name_member, corpus, order, members)
    return pack_parts(connected_parts(bands, len(order))[members], nbytes, limit, name_of, block_bytes=block_bytes)


def name_member(corpus: Corpus, order: Int32, members: Int64, member: int) -> str:
    """How a message names a member: its file and row."""
    files, rows = corpus.locate(order[members[member : member + 1]].astype(np.int64))
    return f"{files[0].as_py()}: row {rows[0]}"


def piece_prefix(run: Run[Settings], batch: int) -> str:
    """The prefix of the names of pieces about parts of a batch."""
    return f"part-{run.settings.execution.budget.batch_name}-{batch:05}"


def prints_of(sets: Sets, kind: VectorKind | None) -> UInt64:
    """Fingerprints that identify equal sets: uint64[2, sets]. For vectors, the order of elements counts."""
    found = fingerprints(sets) if kind else fingerprint_sets(sets.indptr, sets.elements)
    return np.asarray(found)


def follow_equal(first: Int32, equal: list[EqualSets]) -> Int32:
    """For each place, the first place with an equal set, including equal sets found during comparison.

    Examples
    --------
    >>> follow_equal(np.array([0, 1, 1], np.int32), [EqualSets(np.array([1]), np.array([0]))]).tolist()
    [0, 0, 0]
    """
    onward = np.arange(len(first), dtype=np.int32)
    for places, firsts in equal:
        onward[places] = firsts
    return onward[first]
