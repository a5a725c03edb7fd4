"""Compare candidates batch by batch, each batch as large as memory allows.

Items are ordered by priority; a *place* is a position in that order. Sets that can be similar are connected by buckets,
so the connected parts are independent of each other and are compared batch by batch. A part that does not fit in memory
is cut into blocks: each block is compared with every earlier one, and then within itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lookalike.candidates.buckets import concatenate, group_prints, renumber
from lookalike.candidates.parts import Packing, connected_parts, pack_parts
from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import MEMBER_BYTES
from lookalike.engine.run import Run
from lookalike.engine.settings import MatchSettings, Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.sets import SetStore
from lookalike.features.vectors import fingerprints
from lookalike.kernels.sets import fingerprint_sets
from lookalike.matching.comparable import Comparable, CutPart, EqualSets
from lookalike.types import Bool, Int32, Int64, Sets, UInt64, VectorKind
from lookalike.types.frozen import frozen


class LoadedBlock(NamedTuple):
    """Members whose sets are in memory: `members[mine]`; the k-th of them has the set rows[k]."""

    mine: Int64
    rows: Int64
    sets: Sets


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

    def fetch(self, run: Run[Settings]) -> None:
        """Get all sets by reading their items again, except those that a killed run has saved."""
        items = self.order[self.members].astype(np.int64)
        by_item = np.argsort(items)
        by_item = by_item[np.searchsorted(items[by_item], self.sets.reached) :]
        items, block_of = items[by_item], self.packing.block_of[by_item]
        with run.progress.stage("fetching sets", self.corpus.nbytes, "B"), self.sets:
            for low, high, sets in self.corpus.fetch_sets(run, items):
                self.sets.add(sets, block_of[low:high], items[low:high])

    def compare(self, run: Run[Settings], batch: int, removed: Bool) -> Iterator[Comparable]:
        """Yield the sets of a batch that must be compared with each other.

        Parameters
        ----------
        removed : bool[places]
            Places whose keeper is already known. The caller updates it between the parts of a batch, so that later
            blocks of a part are not compared with removed sets.
        """
        for number, found in enumerate(self._compare(run, batch, removed)):
            found.name = f"{piece_prefix(run, batch)}-{number:05}"
            yield found

    def _compare(self, run: Run[Settings], batch: int, removed: Bool) -> Iterator[Comparable]:
        blocks = self.packing.batches[batch]
        if len(blocks) == 1:
            with run.progress.stage("refining"):
                whole = self._load(blocks[0])
                distinct, equal = self._collapse(whole.mine, self._prints(whole))
                found = self._assemble([whole], distinct)
                found.equal = equal
            yield found
        else:
            yield from self._compare_blocks(run, blocks, removed)

    def parts(self, limit: int) -> tuple[Int32, Bool]:
        """For each place, its connected part; for each part, whether its sets take more than `limit`."""
        part_of = connected_parts(self.bands, len(self.order))
        nbytes = set_bytes(self.corpus, self.order[self.members], 1 if self.by_band else len(self.bands))
        return part_of, np.bincount(part_of[self.members], nbytes, minlength=len(self.order)) > limit

    def _compare_blocks(self, run: Run[Settings], blocks: range, removed: Bool) -> Iterator[Comparable]:
        """Compare a part that does not fit: each block with every earlier one, then within itself.

        Since places increase from block to block, the first keeper of a set is found first.
        """
        with run.progress.stage("refining"):
            distinct, equal, part, extents = self._cut(blocks)
        for number in blocks:
            block = self._load(number)
            for earlier in [*range(blocks.start, number), None]:
                if earlier is not None and not _may_match(extents, earlier, number, run.settings.matching):
                    continue
                with run.progress.stage("refining"):
                    standing = distinct & (~removed[self.members] | (self.members < self.references))
                    together = [block] if earlier is None else [self._load(earlier), block]
                    found = self._assemble(together, standing)
                    found.cut, found.equal = part, equal
                equal = None  # reported once
                yield found

    def _cut(self, blocks: range) -> tuple[Bool, EqualSets | None, CutPart, dict[int, tuple[int, int]]]:
        """What is known of all blocks of a part: its distinct sets, and by block the sizes of the smallest and largest.

        Everything else about them is freed here, since comparing the blocks needs the memory.
        """
        mine, sizes, prints = (list(column) for column in zip(*(self._measure(self._load(block)) for block in blocks)))
        whole = np.concatenate(mine)
        distinct, equal = self._collapse(whole, np.concatenate(prints, axis=1))
        del prints
        kept = [size[distinct[one]] for one, size in zip(mine, sizes)]
        extents = {block: (int(some.min()), int(some.max())) for block, some in zip(blocks, kept) if len(some)}
        places = self.members[whole[distinct[whole]]].astype(np.int32)
        return distinct, equal, CutPart(places, np.concatenate(kept)), extents

    def _measure(self, block: LoadedBlock) -> tuple[Int64, Int32, UInt64]:
        """The members of a block with the sizes and fingerprints of their sets."""
        return block.mine, block.sets.sizes[block.rows].astype(np.int32), self._prints(block)

    def _load(self, block: int) -> LoadedBlock:
        mine = np.flatnonzero(self.packing.block_of == block)
        rows = np.empty(len(mine), np.int64)
        rows[np.argsort(self.order[self.members[mine]])] = np.arange(len(mine))
        return LoadedBlock(mine, rows, self.sets.read(block))

    def _prints(self, block: LoadedBlock) -> UInt64:
        return np.asarray(prints_of(block.sets, self.corpus.settings.vectors)[:, block.rows])

    def _collapse(self, mine: Int64, prints: UInt64) -> tuple[Bool, EqualSets | None]:
        """For each member, whether it is the first with its set; and the places whose set equals an earlier one."""
        if self.second is not None:
            prints = prints + (self.order[self.members[mine]] >= self.second).astype(np.uint64)
        same = group_prints(*prints)
        copies = np.flatnonzero(same != np.arange(len(same)))
        distinct = np.zeros(len(self.members), np.bool_)
        distinct[mine] = True
        distinct[mine[copies]] = False
        if not len(copies):
            return distinct, None
        return distinct, EqualSets(self.members[mine[copies]], self.members[mine[same[copies]]])

    def _assemble(self, blocks: list[LoadedBlock], chosen: Bool) -> Comparable:
        """The chosen sets of some blocks, with the buckets that they share."""
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
        found.kind = self.corpus.settings.vectors
        found.bands = bands if self.by_band else ()
        return found


def _may_match(extents: dict[int, tuple[int, int]], block: int, other: int, matching: MatchSettings) -> bool:
    """Whether any sets of the two blocks have sizes that allow them to be similar."""
    if block not in extents or other not in extents:
        return False
    low, high = sorted([extents[block], extents[other]])
    apart = low[1] < high[0]
    common = min(low[1], high[1])
    smaller, larger = (low[1], high[0]) if apart else (common, common)
    return matching.measure.can_reach(smaller, larger) and smaller >= matching.length_ratio * larger


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
    packing = _pack(bands, members, corpus, order, 1 if by_band else len(bands), budget.sets_bytes)
    work = run.scratch() if packing.blocks > 1 else run.work
    most_elements = int(corpus.counts[order[members]].sum(dtype=np.int64))
    sets = SetStore(packing.blocks, f"sets-{budget.batch_name}", work, budget.set_buffer_bytes, most_elements)
    return Candidates(corpus, order, references, first, bands, members, packing, sets, options.second, by_band)


def set_bytes(corpus: Corpus, items: Int32, at_once: int) -> Int64:
    """The memory that the sets of items take during comparison, with this number of bands at a time."""
    return 8 * corpus.counts[items].astype(np.int64) + MEMBER_BYTES * at_once


def _pack(bands: BucketStore, members: Int64, corpus: Corpus, order: Int32, at_once: int, limit: int) -> Packing:
    """Pack candidates into batches, with `at_once` bands in memory. Counts include repeats, so sets are no larger."""
    nbytes = set_bytes(corpus, order[members], at_once)
    if nbytes.sum() <= limit:
        return Packing(np.zeros(len(members), np.int32), [range(1)] if len(members) else [])

    name_of = partial(name_member, corpus, order, members)
    return pack_parts(connected_parts(bands, len(order))[members], nbytes, limit, name_of)


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
