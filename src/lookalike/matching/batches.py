"""The lecture's recipe up to the pairs: collapse identical sets, join the bands, fetch the sets, refine.

Items are taken in an order of priority; a *place* is a position in that order. Sets that can be similar are connected
by buckets, so the connected parts are independent of each other: they are compared one batch after the other, each as
large as memory allows. A part that is larger than that is cut into blocks, and each block is compared with those before
it and then within itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lookalike.candidates.buckets import concatenate, group_prints, renumber
from lookalike.candidates.parts import Packing, connected_parts, pack_parts
from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import MEMBER_BYTES
from lookalike.engine.progress import Progress
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.sets import SetStore
from lookalike.engine.workers import Workers
from lookalike.features.vectors import fingerprints
from lookalike.kernels.sets import fingerprint_sets
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import Refined
from lookalike.types import Bool, Int32, Int64, Sets, UInt64


class Block(NamedTuple):
    """Members whose sets are in memory: `members[mine]`, of which the k-th has the set rows[k]."""

    mine: Int64
    rows: Int64
    sets: Sets


@dataclass(slots=True)
class Candidates:
    """Items that may be similar to others."""

    corpus: Corpus
    order: Int32
    """Item number at each place; empty items have none."""
    fixed: int
    """So many places, at the front, are reference items, which stay."""
    first: Int32
    """For each place the place of the first item with an equal set, as far as is known."""
    bands: BucketStore
    """Buckets of each band; members are places that are the first of theirs."""
    members: Int64
    """The places that are in some bucket, ascending."""
    packing: Packing
    """Which members are compared together."""
    sets: SetStore
    linked: Bool
    """By place: is it known already which earlier set it resembles?"""
    copied: Bool
    """By place: has a later item that is no reference item an equal set?"""
    second: int = 0
    """The number of the first item of another collection; 0 where there is one collection."""
    by_band: bool = False
    """Are the bands to be compared one by one? That takes less memory, and pairs can come more than once."""
    refined: Refined = field(default_factory=Refined)
    equal: list[tuple[Int64, Int64]] = field(default_factory=list)
    """Places, and the first place with an equal set: found only when the sets are compared."""
    sizes: tuple[Int64, Int64] = field(default_factory=lambda: (np.empty(0, np.int64), np.empty(0, np.int64)))
    """Of the distinct sets of the part that is being compared in blocks: places and sizes."""

    def fetch(self, batches: list[int], workers: Workers, progress: Progress) -> None:
        """Get the sets of some batches, by reading their items again."""
        wanted = np.zeros(self.packing.blocks, np.bool_)
        for batch in batches:
            for block in self.packing.batches[batch]:
                wanted[block] = not self.sets.has(block)
        chosen = np.flatnonzero(wanted[self.packing.block_of])
        items = self.order[self.members[chosen]].astype(np.int64)
        by_item = np.argsort(items)
        items, block_of = items[by_item], self.packing.block_of[chosen[by_item]]
        with progress.stage("fetching sets", sum(source.nbytes for source in self.corpus.sources), "B"), self.sets:
            for low, high, sets in self.corpus.fetch_sets(items, workers, progress):
                self.sets.add(sets, block_of[low:high])

    def compare(self, batch: int, progress: Progress) -> Iterator[Comparable]:
        """What must be compared of a batch, one after the other."""
        blocks = self.packing.batches[batch]
        distinct = np.zeros(len(self.members), np.bool_)
        if len(blocks) == 1:
            with progress.stage("refining"):
                whole = self._load(blocks[0])
                self._collapse(whole.mine, self._prints(whole), distinct)
                found = self._put_together([whole], distinct)
            yield found
        else:
            yield from self._compare_blocks(blocks, distinct, progress)

    def drop(self, batch: int) -> None:
        """The sets of a batch are not needed any more."""
        for block in self.packing.batches[batch]:
            self.sets.drop(block)

    def _compare_blocks(self, blocks: range, distinct: Bool, progress: Progress) -> Iterator[Comparable]:
        """A part that does not fit: each block with every earlier one, then within itself.

        Since places rise from block to block, the first set that one resembles is found first.
        """
        with progress.stage("refining"):
            loaded = [
                (block.mine, self._prints(block), block.sets.sizes[block.rows]) for block in map(self._load, blocks)
            ]
            mine, sizes = (np.concatenate([one[k] for one in loaded]) for k in (0, 2))
            self._collapse(mine, np.concatenate([one[1] for one in loaded], axis=1), distinct)
            self.sizes = self.members[mine[distinct[mine]]], sizes[distinct[mine]]
        for number in blocks:
            block = self._load(number)
            for earlier in [*range(blocks.start, number), None]:
                if earlier is not None and not self._may_match(earlier, number):
                    continue
                with progress.stage("refining"):
                    standing = distinct & (~self.linked[self.members] | (self.members < self.fixed))
                    together = [block] if earlier is None else [self._load(earlier), block]
                    found = self._put_together(together, standing)
                    found.cut = True
                yield found

    def _may_match(self, block: int, other: int) -> bool:
        """Are there sets in the two blocks whose sizes let them be similar?"""
        places, sizes = self.sizes
        block_of = self.packing.block_of[np.searchsorted(self.members, places)]
        mine, others = sizes[block_of == block], sizes[block_of == other]
        if not len(mine) or not len(others):
            return False
        low, high = sorted([(int(mine.min()), int(mine.max())), (int(others.min()), int(others.max()))])
        apart = low[1] < high[0]
        common = min(low[1], high[1])
        smaller, larger = (low[1], high[0]) if apart else (common, common)
        settings = self.corpus.settings
        return (
            settings.matching.measure.can_reach(smaller, larger) and smaller >= settings.matching.length_ratio * larger
        )

    def _load(self, block: int) -> Block:
        mine = np.flatnonzero(self.packing.block_of == block)
        rows = np.empty(len(mine), np.int64)
        rows[np.argsort(self.order[self.members[mine]])] = np.arange(len(mine))
        return Block(mine, rows, self.sets.read(block))

    def _prints(self, block: Block) -> UInt64:
        """What tells equal sets; of vectors the order counts."""
        prints = fingerprints if self.corpus.settings.items.vectors else fingerprints_of_sets
        return prints(block.sets)[:, block.rows]

    def _collapse(self, mine: Int64, prints: UInt64, distinct: Bool) -> None:
        """Note which of the members are the first with their set."""
        if self.second:
            prints = prints + (self.order[self.members[mine]] >= self.second).astype(np.uint64)
        same = group_prints(*prints)
        copies = np.flatnonzero(same != np.arange(len(same)))
        distinct[mine] = True
        distinct[mine[copies]] = False
        if len(copies):
            places, firsts = self.members[mine[copies]], self.members[mine[same[copies]]]
            self.equal.append((places, firsts))
            self.copied[firsts[self.copied[places] | (places >= self.fixed)]] = True

    def _put_together(self, blocks: list[Block], chosen: Bool) -> Comparable:
        """The chosen sets of some blocks with the buckets in which they meet."""
        kept = [chosen[block.mine] for block in blocks]
        places = np.concatenate([self.members[block.mine[here]] for block, here in zip(blocks, kept)])
        number = np.full(len(self.order), -1, np.int32)
        number[places] = np.arange(len(places), dtype=np.int32)
        bands = (renumber(band, number) for band in self.bands)
        buckets = concatenate([] if self.by_band else [*bands])
        shifts = np.cumsum([0, *(len(block.sets.elements) for block in blocks)])
        rows = [block.rows[here] for block, here in zip(blocks, kept)]
        begins = np.concatenate([block.sets.indptr[row] + shift for block, row, shift in zip(blocks, rows, shifts)])
        ends = np.concatenate([block.sets.indptr[row + 1] + shift for block, row, shift in zip(blocks, rows, shifts)])
        elements = [block.sets.elements for block in blocks]
        found = Comparable(
            places, buckets, begins, ends, elements[0] if len(elements) == 1 else np.concatenate(elements)
        )
        found.earlier = int(np.count_nonzero(kept[0])) if len(blocks) > 1 else 0
        found.kind = self.corpus.settings.items.vectors
        found.bands = bands if self.by_band else ()
        return found

    def follow(self, equal: list[tuple[Int64, Int64]]) -> None:
        """Let `first` go on to the sets that were found to be equal when they were compared."""
        if equal:
            onward = np.arange(len(self.first), dtype=np.int32)
            for places, firsts in equal:
                onward[places] = firsts
            self.first = onward[self.first]


def put_up(
    corpus: Corpus,
    order: Int32,
    references: int,
    first: Int32,
    bands: BucketStore,
    members: Int64,
    second: int = 0,
    by_band: bool = False,
) -> Candidates:
    """Candidates of which it is known who meets whom: decide what is compared together."""
    fixed = int(np.searchsorted(order >= references, True))
    copies = np.flatnonzero(first != np.arange(len(order)))
    copied = np.zeros(len(order), np.bool_)
    copied[first[copies[copies >= fixed]]] = True
    packing = _pack(bands, members, corpus, order, 1 if by_band else len(bands))
    work = corpus.digests.work_at_hand() if packing.blocks > 1 else None
    sets = SetStore(packing.blocks, f"sets-{corpus.settings.execution.budget.batch_name}", work)
    linked = np.zeros(len(order), np.bool_)
    return Candidates(corpus, order, fixed, first, bands, members, packing, sets, linked, copied, second, by_band)


def _pack(bands: BucketStore, members: Int64, corpus: Corpus, order: Int32, at_once: int) -> Packing:
    """What is compared together, so many bands at once. Of sets it is known what they have at most: repeats count."""
    nbytes = 8 * corpus.counts[order[members]].astype(np.int64) + MEMBER_BYTES * at_once
    limit = corpus.settings.execution.budget.sets_bytes
    if nbytes.sum() <= limit:
        return Packing(np.zeros(len(members), np.int32), [range(1)] if len(members) else [])
    return pack_parts(connected_parts(bands, len(order))[members], nbytes, limit)


def fingerprints_of_sets(sets: Sets) -> UInt64:
    """What tells equal sets: uint64[2, sets]."""
    return fingerprint_sets(sets.indptr, sets.elements)  # type: ignore[no-any-return]
