"""Assemble the sets of a batch that are compared with each other.

A part that does not fit in memory is cut into blocks. A *group* of consecutive blocks stays in memory while every
earlier block is read once and compared with it; then the group is compared within itself. So a block is read once for
each later group. Sets are read to their final place, and each block has its own share of the buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lookalike.candidates.buckets import concatenate, group_prints, renumber
from lookalike.engine.run import Run
from lookalike.engine.settings import MatchSettings, Settings
from lookalike.engine.stores.block_buckets import BlockBuckets
from lookalike.matching.batches import Candidates, piece_prefix, prints_of
from lookalike.matching.comparable import Comparable, CutPart, EqualSets
from lookalike.types import Bool, Buckets, Int32, Int64, Sets, UInt64
from lookalike.types.frozen import frozen


class LoadedBlock(NamedTuple):
    """Members whose sets are in memory: the set of `members[mine[k]]` is elements[begins[k]:ends[k]]."""

    mine: Int64
    begins: Int64
    ends: Int64


@frozen
class Extent:
    """The sizes of the smallest and the largest of some sets."""

    low: int
    high: int

    def may_match(self, other: Extent, matching: MatchSettings) -> bool:
        """Whether sets of two extents can be similar, as far as sizes tell."""
        one, two = sorted([self, other], key=lambda extent: (extent.low, extent.high))
        common = min(one.high, two.high)
        smaller, larger = (one.high, two.low) if one.high < two.low else (common, common)
        return matching.measure.can_reach(smaller, larger) and smaller >= matching.length_ratio * larger


def compare_batch(run: Run[Settings], candidates: Candidates, batch: int, removed: Bool) -> Iterator[Comparable]:
    """Yield the sets of a batch that must be compared with each other, each time in the same memory.

    Parameters
    ----------
    removed : bool[places]
        Places whose keeper is already known. The caller updates it between the parts of a batch, so that later blocks
        of a part are not compared with removed sets.
    """
    blocks, prefix = candidates.packing.batches[batch], piece_prefix(run, batch)
    whole = len(blocks) == 1
    parts = _compare_whole(run, candidates, blocks[0]) if whole else _compare_blocks(run, candidates, batch, removed)
    for number, found in enumerate(parts):
        found.name = f"{prefix}-{number:05}"
        yield found


def _compare_whole(run: Run[Settings], candidates: Candidates, block: int) -> Iterator[Comparable]:
    with run.progress.stage("refining"):
        sets = candidates.sets.read(block)
        mine = np.flatnonzero(candidates.packing.block_of == block)
        loaded, prints = _locate(candidates, mine, sets), _prints(candidates, mine, sets)
        distinct, equal = _collapse(candidates, mine, prints)
        found = _assemble(candidates, [loaded], [distinct[mine]], sets.elements)
        number = np.full(len(candidates.order), -1, np.int32)
        number[found.places] = np.arange(len(found), dtype=np.int32)
        _add_buckets(candidates, found, (renumber(band, number) for band in candidates.bands))
        found.equal = equal
    yield found


def _compare_blocks(run: Run[Settings], candidates: Candidates, batch: int, removed: Bool) -> Iterator[Comparable]:
    """Compare each group with every earlier block, then within itself.

    Since places increase from block to block, the first keeper of a set is found first.
    """
    with run.progress.stage("refining"):
        part = _CutBatch(run, candidates, batch, removed)
    with part.buckets:
        for group in part.groups:
            with run.progress.stage("refining"):
                part.load(group)
            for block in range(part.blocks.start, group.start):
                if part.may_match(block):
                    with run.progress.stage("refining"):
                        found = part.beside(block)
                    yield found
                    part.forget(found)
            with run.progress.stage("refining"):
                found = part.within()
            yield found
            part.forget(found)


class _CutBatch:
    """A part that does not fit in memory, in blocks."""

    def __init__(self, run: Run[Settings], candidates: Candidates, batch: int, removed: Bool) -> None:
        self._matching, self._candidates, self._removed = run.settings.matching, candidates, removed
        self.blocks = candidates.packing.batches[batch]
        block_of = candidates.packing.block_of
        inside = np.flatnonzero((block_of >= self.blocks.start) & (block_of < self.blocks.stop))
        self._mine = inside[np.argsort(block_of[inside], kind="stable")].astype(np.int32)
        """The members of the part, block by block."""
        self._starts = np.searchsorted(block_of[self._mine], np.arange(self.blocks.start, self.blocks.stop + 1))
        self._distinct, self._equal, self._part, self._extents = self._cut()
        self.groups = self._form_groups()
        name = f"{piece_prefix(run, batch)}-buckets.arrow"
        held_bytes = run.settings.execution.budget.set_buffer_bytes
        self.buckets = BlockBuckets(candidates.bands, self._blocks_of_places(), run.scratch(), name, held_bytes)
        self._space = np.empty(self._most_elements(), np.uint64)
        """The elements of the group, and behind them those of the block that it is compared with."""
        self._number = np.full(len(candidates.order), -1, np.int32)
        """For each place, the number of its set among those that are compared now; otherwise -1."""
        self._group, self._filled = range(0), 0
        self._loaded = LoadedBlock(*(np.empty(0, np.int64) for _ in range(3)))

    def _members(self, block: int) -> Int64:
        first = block - self.blocks.start
        return self._mine[self._starts[first] : self._starts[first + 1]].astype(np.int64)

    def _blocks_of_places(self) -> Int32:
        """For each place, its block in this part; otherwise -1."""
        block_of = np.full(len(self._candidates.order), -1, np.int32)
        block_of[self._candidates.members[self._mine]] = self._candidates.packing.block_of[self._mine]
        return block_of

    def _cut(self) -> tuple[Bool, EqualSets | None, CutPart, dict[int, Extent]]:
        """What is known of all blocks: the distinct sets, and the extent of those of each block.

        Everything else about them is freed here, since comparing the blocks needs the memory.
        """
        mine, sizes, prints = (list(column) for column in zip(*map(self._measure, self.blocks)))
        whole = np.concatenate(mine)
        distinct, equal = _collapse(self._candidates, whole, np.concatenate(prints, axis=1))
        kept = [size[distinct[one]] for one, size in zip(mine, sizes)]
        extents = {
            block: Extent(int(some.min()), int(some.max())) for block, some in zip(self.blocks, kept) if len(some)
        }
        places = self._candidates.members[whole[distinct[whole]]].astype(np.int32)
        return distinct, equal, CutPart(places, np.concatenate(kept)), extents

    def _measure(self, block: int) -> tuple[Int64, Int32, UInt64]:
        """The members of a block with the sizes and fingerprints of their sets."""
        sets, mine = self._candidates.sets.read(block), self._members(block)
        loaded = _locate(self._candidates, mine, sets)
        return mine, (loaded.ends - loaded.begins).astype(np.int32), _prints(self._candidates, mine, sets)

    def _form_groups(self) -> list[range]:
        """Consecutive blocks that fit in memory together with any earlier block."""
        nbytes = [self._candidates.compared_bytes(self._members(block)) for block in self.blocks]
        groups: list[range] = []
        held = largest = 0
        for number, own in enumerate(nbytes):
            block = self.blocks[number]
            if groups and held + own + largest <= self._candidates.group_bytes:
                groups[-1], held = range(groups[-1].start, block + 1), held + own
            else:
                groups.append(range(block, block + 1))
                held, largest = own, max(nbytes[:number], default=0)
        return groups

    def _most_elements(self) -> int:
        """The elements of a group and of the largest block before it, at most."""
        counts = [self._candidates.sets.count_elements(block) for block in self.blocks]
        first = self.blocks.start
        return max(
            sum(counts[group.start - first : group.stop - first]) + max(counts[: group.start - first], default=0)
            for group in self.groups
        )

    def load(self, group: range) -> None:
        """Read the blocks of a group, which stay in memory."""
        self._group, self._filled = group, 0
        parts = []
        for block in group:
            parts.append(self._read(block))
            self._filled = int(parts[-1].ends.max(initial=self._filled))
        self._loaded = LoadedBlock(*(np.concatenate(column) for column in zip(*parts)))
        self.buckets.hold(group, lazily=self._candidates.by_band)

    def _read(self, block: int) -> LoadedBlock:
        """Read a block to the place behind the group."""
        sets = self._candidates.sets.read(block, self._space[self._filled :])
        return _locate(self._candidates, self._members(block), sets, self._filled)

    def may_match(self, block: int) -> bool:
        """Whether standing sets of a block have sizes that allow them to be similar to sets of the group."""
        if block not in self._extents or not self._standing(self._members(block)).any():
            return False
        extents = [self._extents[one] for one in self._group if one in self._extents]
        return any(extent.may_match(self._extents[block], self._matching) for extent in extents)

    def beside(self, block: int) -> Comparable:
        """The group with an earlier block."""
        earlier = self._read(block)
        found = self._take([earlier, self._loaded], self.buckets.with_block(block))
        found.earlier = int(np.count_nonzero(self._standing(earlier.mine)))
        return found

    def within(self) -> Comparable:
        """The group alone."""
        return self._take([self._loaded], self.buckets.within())

    def _take(self, parts: list[LoadedBlock], bands: Iterable[Buckets]) -> Comparable:
        """The standing sets of loaded blocks, with the buckets that they share."""
        found = _assemble(self._candidates, parts, [self._standing(part.mine) for part in parts], self._space)
        found.cut, found.equal = self._part, self._equal
        self._equal = None  # reported once
        self._number[found.places] = np.arange(len(found), dtype=np.int32)
        _add_buckets(self._candidates, found, (renumber(band, self._number) for band in bands))
        return found

    def forget(self, found: Comparable) -> None:
        """Make room for the next comparison; until then, bands may still be numbered."""
        self._number[found.places] = -1

    def _standing(self, mine: Int64) -> Bool:
        """Which members are distinct and not removed; reference items stay."""
        places = self._candidates.members[mine]
        return np.asarray(self._distinct[mine] & (~self._removed[places] | (places < self._candidates.references)))


def _locate(candidates: Candidates, mine: Int64, sets: Sets, start: int = 0) -> LoadedBlock:
    """Where the sets of members are, if those of the block begin at `start`."""
    rows = _rows(candidates, mine)
    return LoadedBlock(mine, sets.indptr[rows] + start, sets.indptr[rows + 1] + start)


def _rows(candidates: Candidates, mine: Int64) -> Int64:
    """The row of each member of a block in its sets, which are in input order."""
    rows = np.empty(len(mine), np.int64)
    rows[np.argsort(candidates.order[candidates.members[mine]])] = np.arange(len(mine))
    return rows


def _prints(candidates: Candidates, mine: Int64, sets: Sets) -> UInt64:
    return np.asarray(prints_of(sets, candidates.corpus.settings.vectors)[:, _rows(candidates, mine)])


def _collapse(candidates: Candidates, mine: Int64, prints: UInt64) -> tuple[Bool, EqualSets | None]:
    """For each member, whether it is the first with its set; and the places whose set equals an earlier one."""
    if candidates.second is not None:
        prints = prints + (candidates.order[candidates.members[mine]] >= candidates.second).astype(np.uint64)
    same = group_prints(*prints)
    copies = np.flatnonzero(same != np.arange(len(same)))
    distinct = np.zeros(len(candidates.members), np.bool_)
    distinct[mine] = True
    distinct[mine[copies]] = False
    if not len(copies):
        return distinct, None
    return distinct, EqualSets(candidates.members[mine[copies]], candidates.members[mine[same[copies]]])


def _assemble(candidates: Candidates, parts: list[LoadedBlock], kept: list[Bool], elements: UInt64) -> Comparable:
    """The chosen sets of loaded blocks, without buckets."""
    mine, begins, ends = (np.concatenate([one[here] for one, here in zip(column, kept)]) for column in zip(*parts))
    elements = elements.view()
    elements.flags.writeable = False
    found = Comparable(candidates.members[mine], concatenate([]), begins, ends, elements)
    found.kind = candidates.corpus.settings.vectors
    return found


def _add_buckets(candidates: Candidates, found: Comparable, bands: Iterable[Buckets]) -> None:
    if candidates.by_band:
        found.bands = bands
    else:
        found.buckets = concatenate([*bands])
