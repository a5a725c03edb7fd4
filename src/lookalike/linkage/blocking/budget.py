"""Collects candidate pairs within a budget: estimates pairs per blocking key, then takes the cheapest blocks.

Pairs are 64-bit words (see kernels/blocking.py) in one array as large as the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lookalike.candidates.bands import join_band
from lookalike.errors import ResourceError
from lookalike.kernels import blocking as kernels
from lookalike.kernels.sorting import sort_bits
from lookalike.linkage.blocking.keys import BlockingHash
from lookalike.types import Bool, Buckets, Int32, Int64, Mapper, UInt8, UInt64
from lookalike.types.frozen import frozen

GROUPS = ("", "A", "B")


@frozen
class HashReport:
    """The contribution of one hash."""

    name: str
    group: str
    """A or B; empty for a hash that covers fields of both."""
    records: int = 0
    """Records with a key; for bands, the largest number in any one."""
    blocks: int = 0
    """Keys shared by records that are to be compared."""
    largest: int = 0
    """Records in the largest block."""
    pairs: int = 0
    """Pairs found; for bands, a pair counts once per band that found it."""
    only: int = 0
    """Pairs that no other hash found."""
    oversize: int = 0
    """Blocks that were too large to be paired."""
    unpaid: int = 0
    """Pairs of those blocks."""
    note: str = ""
    """How the oversize blocks were handled, or why the hash was skipped."""


@frozen
class BlockCosts:
    """The costs of the blocks of one key per record, in pairs, as a histogram."""

    records: int
    """Records with a key."""
    largest: int
    """Records in the largest block."""
    costs: Int64
    """The distinct costs of blocks, ascending."""
    blocks: Int64
    """The number of blocks of each cost."""
    members: Int64
    """The number of records in those blocks."""


class KeyBlocks(NamedTuple):
    """Blocks of records that share a key."""

    records: int
    """Records with a key."""
    buckets: Buckets
    costs: Int64
    """Pairs of each bucket."""


@frozen
class BlockChoice:
    """The blocks of one key per record, and which of them are paired."""

    hash: int
    """The number of the hash that makes the key."""
    blocks: KeyBlocks
    summary: BlockCosts
    limit: int
    """Blocks that cost more are not paired."""

    @property
    def taken(self) -> Bool:
        """For each cost, whether blocks of that cost are paired."""
        return self.summary.costs <= self.limit

    @property
    def pairs(self) -> int:
        """The number of pairs of the blocks taken."""
        return int((self.summary.costs * self.summary.blocks)[self.taken].sum())

    @property
    def unpaid(self) -> int:
        """The number of pairs of the other blocks."""
        return int((self.summary.costs * self.summary.blocks)[~self.taken].sum())

    @property
    def oversize(self) -> int:
        """The number of the other blocks."""
        return int(self.summary.blocks[~self.taken].sum())


def choose_limits(summaries: Sequence[BlockCosts], budget: int, largest: int) -> list[int]:
    """The cost of the most expensive block to take, by key: cheap blocks first, ties in the order of the keys.

    No block above `largest` is taken, even if the budget would allow it.

    Examples
    --------
    >>> one = BlockCosts(9, 5, np.array([1, 10]), np.array([3, 1]), np.array([6, 5]))
    >>> choose_limits([one, one], 6, 99), choose_limits([one, one], 20, 99)
    ([1, 1], [10, 1])
    >>> choose_limits([one, one], 2, 99), choose_limits([one, one], 20, 9)
    ([0, 0], [1, 1])
    """
    costs = np.concatenate([np.empty(0, np.int64), *(one.costs for one in summaries)])
    totals = np.concatenate([np.empty(0, np.int64), *(one.costs * one.blocks for one in summaries)])
    owners = np.repeat(np.arange(len(summaries)), [len(one.costs) for one in summaries])
    order = np.lexsort((owners, costs))
    taken = order[: np.searchsorted(np.cumsum(totals[order]), budget, side="right")]
    taken = taken[costs[taken] <= largest]
    limits = np.zeros(len(summaries), np.int64)
    np.maximum.at(limits, owners[taken], costs[taken])
    return limits.tolist()


class PairCollector:
    """The distinct pairs found so far among records 0..records-1; if split < records, only pairs across it count."""

    def __init__(self, records: int, split: int, most_pairs: int, each: Mapper) -> None:
        self.bits = max(1, (records - 1).bit_length())
        if 2 * self.bits + kernels.MARK_BITS > 64:
            raise ResourceError(f"{records:,} records are too many to be paired at once; link them in parts")
        self.records, self.split, self.crossing, self.each = records, split, split < records, each
        self.words: UInt64 = np.empty(most_pairs, np.uint64)
        self.filled = 0
        self.reports: list[HashReport] = []
        self.groups: UInt8 = np.zeros(1 << kernels.MARK_BITS, np.uint8)
        self.groups[: kernels.SEVERAL] = range(kernels.SEVERAL)

    @property
    def largest(self) -> int:
        """The most pairs that a block may cost, such that none of its records exceeds the budget per record.

        A block of s records of one table costs about s^2 / 2 pairs, or s / 2 per record; half of that for two tables.
        """
        each = len(self.words) / max(1, self.records)
        return max(1, int((4 if self.crossing else 2) * each**2))

    @property
    def free(self) -> int:
        """The number of pairs that still fit."""
        return len(self.words) - self.filled

    def estimate(self, hash_: BlockingHash, key: int = 0, every: int = 1) -> BlockCosts:
        """The costs of one key of a hash; with `every` n, of about one block in n."""
        return self._summarise(self._blocks(hash_, key, every))

    def _summarise(self, found: KeyBlocks) -> BlockCosts:
        keyed, buckets, costs = found
        if not len(costs):
            return BlockCosts(keyed, 0, costs, costs, costs)
        sizes = buckets.sizes
        order = np.argsort(costs, kind="stable")
        firsts = np.flatnonzero(np.append(True, np.diff(costs[order])))
        useful = costs[order][firsts] > 0
        blocks = np.diff(np.append(firsts, len(order)))
        members = np.add.reduceat(sizes[order], firsts)
        largest = int(sizes[costs > 0].max(initial=0))
        return BlockCosts(keyed, largest, costs[order][firsts][useful], blocks[useful], members[useful])

    def _blocks(self, hash_: BlockingHash, key: int, every: int = 1) -> KeyBlocks:
        keys = hash_.keys[key]()
        known = keys != kernels.NO_KEY
        places = np.flatnonzero(known if every == 1 else known & (keys % np.uint64(every) == 0)).astype(np.int32)
        buckets = join_band(keys if len(places) == len(keys) else keys[places], places)
        costs = np.empty(len(buckets), np.int64)
        kernels.count_block_pairs(buckets.starts, buckets.members, self.split, self.crossing, costs)
        return KeyBlocks(len(places), buckets, costs)

    def add_blocks(self, hashes: Sequence[BlockingHash], budget: int, note: str) -> list[list[Bool]]:
        """Add the pairs of the cheapest blocks; return, by hash and key, the records in blocks that were not taken.

        `note` says how those blocks are handled.
        """
        which = [(number, key) for number, one in enumerate(hashes) for key in range(len(one.keys))]
        blocks = list(self.each(lambda one: self._blocks(hashes[one[0]], one[1]), which))
        summaries = list(self.each(self._summarise, blocks))
        limits = choose_limits(summaries, min(budget, self.free), self.largest)
        choices = [BlockChoice(one[0], *rest) for one, *rest in zip(which, blocks, summaries, limits)]
        marks = [self._report(one, [c for c in choices if c.hash == n], note) for n, one in enumerate(hashes)]
        starts = self.filled + np.cumsum([0, *(choice.pairs for choice in choices)])

        def fill(given: tuple[BlockChoice, int]) -> Bool:
            choice, start = given
            return self._fill(choice, marks[choice.hash], self.words[start : start + choice.pairs])

        left_over = iter(list(self.each(fill, zip(choices, starts.tolist()))))
        self._merge(int(starts[-1]))
        return [[next(left_over) for _ in one.keys] for one in hashes]

    def _fill(self, choice: BlockChoice, mark: int, words: UInt64) -> Bool:
        left_over = np.zeros(self.records, np.bool_)
        _, buckets, costs = choice.blocks
        where = self.split, self.crossing, self.bits, mark, words
        kernels.fill_block_pairs(buckets.starts, buckets.members, costs, choice.limit, *where)
        left_over[buckets.members[np.repeat(costs > choice.limit, buckets.sizes)]] = True
        return left_over

    def _report(self, hash_: BlockingHash, choices: Sequence[BlockChoice], note: str) -> int:
        oversize = sum(choice.oversize for choice in choices)
        return self.add_report(
            HashReport(
                hash_.name,
                GROUPS[hash_.group],
                records=max(choice.summary.records for choice in choices),
                blocks=sum(int(choice.summary.blocks.sum()) for choice in choices),
                largest=max(choice.summary.largest for choice in choices),
                pairs=sum(choice.pairs for choice in choices),
                oversize=oversize,
                unpaid=sum(choice.unpaid for choice in choices),
                note=note if oversize else "",
            )
        )

    def add_report(self, report: HashReport) -> int:
        """Add the report of a hash; return the mark of its pairs."""
        self.reports.append(report)
        mark = kernels.SEVERAL + len(self.reports) - 1
        if mark >= len(self.groups):
            raise ResourceError(f"more than {len(self.groups) - kernels.SEVERAL:,} hashes; name fewer fields")
        self.groups[mark] = GROUPS.index(report.group)
        return mark

    def add_neighbours(
        self, names: Sequence[tuple[str, str]], orders: Sequence[Int32], window: int, budget: int
    ) -> None:
        """Pair neighbours in each order, within the largest window up to `window` that fits the budget."""
        args = self.split, self.crossing
        counts = list(self.each(lambda order: kernels.count_window_pairs(order, window, *args), orders))
        total = np.sum([np.zeros(window, np.int64), *counts], axis=0)
        chosen = int(np.searchsorted(total, min(budget, self.free), side="right"))
        filled = self.filled
        for (name, group), order, count in zip(names, orders, counts):
            pairs = int(count[chosen - 1]) if chosen else 0
            unpaid = int(count[-1]) - pairs
            note = f"neighbours up to {chosen} places apart instead of {window}: budget exhausted" if unpaid else ""
            report = HashReport(name, group, len(order), pairs=pairs, unpaid=unpaid, note=note)
            words = self.words[filled : filled + pairs]
            kernels.fill_window_pairs(order, chosen, *args, self.bits, self.add_report(report), words)
            filled += pairs
        self._merge(filled)

    def _merge(self, filled: int) -> None:
        """Merge the words added since the last call, up to `filled`, so that each pair occurs once."""
        added = self.words[self.filled : filled]
        new = added.copy()
        if sort_bits(new, added, 0, -(-(2 * self.bits + kernels.MARK_BITS) // 8)):
            new[:] = added
        kernels.merge_runs(self.words, self.filled, new)
        self.filled = kernels.merge_words(self.words[:filled], self.groups)

    def restore(self, words: UInt64, reports: Sequence[HashReport]) -> None:
        """Continue with the pairs and reports of an earlier collector for the same records."""
        self.words[: len(words)] = words
        self.filled = len(words)
        for report in reports:
            self.add_report(report)

    def pairs(self) -> tuple[Int32, Int32, UInt8, list[HashReport]]:
        """Left, right and groups of all pairs in order, and the reports."""
        words = self.words[: self.filled]
        left, right = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
        found, only = np.empty(len(words), np.uint8), np.zeros(len(self.groups), np.int64)
        # A pair found by one hash belongs to that hash's group.
        kernels.unpack_words(words, self.bits, self.groups, left, right, found, only)
        alone = only[kernels.SEVERAL :].tolist()
        return left, right, found, [replace(one, only=count) for one, count in zip(self.reports, alone)]
