"""The ledger of candidate pairs: counts what hashes cost before it is paid, pays within a budget, tells what it left.

Pairs are words of 64 bits (see kernels/blocking.py) in one array as large as the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lookalike.candidates.bands import join_band
from lookalike.errors import ResourceError
from lookalike.kernels import blocking as kernels
from lookalike.linkage.blocking.keys import Hash
from lookalike.types import Bool, Buckets, Int32, Int64, Mapper, UInt8, UInt64

GROUPS = ("", "A", "B")


@dataclass(frozen=True, slots=True)
class HashReport:
    """What one hash brought."""

    name: str
    group: str
    """A or B; empty for a hash that looks at fields of both."""
    records: int = 0
    """Records with a key; of bands, the most in any one."""
    blocks: int = 0
    """Keys that records to be compared share."""
    largest: int = 0
    """Records in the largest block."""
    pairs: int = 0
    """Pairs that it brought; of bands, a pair as often as bands brought it."""
    only: int = 0
    """Pairs that no other hash brought."""
    oversize: int = 0
    """Blocks whose pairs were not made."""
    unpaid: int = 0
    """Pairs of those blocks."""
    note: str = ""
    """What became of the oversize blocks, or why the hash was left out."""


@dataclass(frozen=True, slots=True)
class Count:
    """What the blocks of one key of each record would cost."""

    records: int
    largest: int
    costs: Int64
    """Each cost that a block has, ascending, and"""
    blocks: Int64
    """how many blocks have it,"""
    members: Int64
    """with so many records."""


class Blocks(NamedTuple):
    """Records that share a key."""

    records: int
    """So many have a key."""
    buckets: Buckets
    costs: Int64
    """How many pairs each bucket stands for."""


@dataclass(frozen=True, slots=True)
class Payment:
    """One key of each record, what it costs, and the costliest block that is paid."""

    hash: int
    blocks: Blocks
    count: Count
    most: int

    @property
    def paid(self) -> Bool:
        """Which of the costs are paid."""
        return self.count.costs <= self.most

    @property
    def pairs(self) -> int:
        """How many pairs are made."""
        return int((self.count.costs * self.count.blocks)[self.paid].sum())


def afford(counts: Sequence[Count], budget: int, largest: int) -> list[int]:
    """The costliest block that is paid for each count: cheap blocks first, among equals those of the first count.

    None that costs more than `largest` is, whatever the budget.

    Examples
    --------
    >>> one = Count(9, 5, np.array([1, 10]), np.array([3, 1]), np.array([6, 5]))
    >>> afford([one, one], 6, 99), afford([one, one], 20, 99), afford([one, one], 2, 99), afford([one, one], 20, 9)
    ([1, 1], [10, 1], [0, 0], [1, 1])
    """
    costs = np.concatenate([np.empty(0, np.int64), *(count.costs for count in counts)])
    totals = np.concatenate([np.empty(0, np.int64), *(count.costs * count.blocks for count in counts)])
    owners = np.repeat(np.arange(len(counts)), [len(count.costs) for count in counts])
    order = np.lexsort((owners, costs))
    paid = order[: np.searchsorted(np.cumsum(totals[order]), budget, side="right")]
    paid = paid[costs[paid] <= largest]
    most = np.zeros(len(counts), np.int64)
    np.maximum.at(most, owners[paid], costs[paid])
    return most.tolist()


class Ledger:
    """Pairs found so far, of records 0..records-1; where split < records only pairs across it count."""

    def __init__(self, records: int, split: int, most_pairs: int, each: Mapper) -> None:
        self.bits = max(1, (records - 1).bit_length())
        if 2 * self.bits + kernels.MARK_BITS > 64:
            raise ResourceError(f"{records:,} records are more than can be paired at once; link them in parts")
        self.records, self.split, self.crossing, self.each = records, split, split < records, each
        self.words: UInt64 = np.empty(most_pairs, np.uint64)
        self.filled = 0
        self.reports: list[HashReport] = []
        self.groups: UInt8 = np.zeros(1 << kernels.MARK_BITS, np.uint8)
        self.groups[: kernels.SEVERAL] = range(kernels.SEVERAL)

    @property
    def largest(self) -> int:
        """The most pairs that a block may cost: so many that each of its records gets the budget of a record.

        A block of s records of one table costs about s^2 / 2, that is s / 2 a record; of two tables, half of it.
        """
        each = len(self.words) / max(1, self.records)
        return max(1, int((4 if self.crossing else 2) * each**2))

    @property
    def free(self) -> int:
        """How many more pairs there is room for."""
        return len(self.words) - self.filled

    def count(self, make: Hash, key: int = 0, every: int = 1) -> Count:
        """What one key of a hash would cost; with `every`, what about one in so many of its blocks would."""
        return self._count(self._blocks(make, key, every))

    def _count(self, found: Blocks) -> Count:
        keyed, buckets, costs = found
        if not len(costs):
            return Count(keyed, 0, costs, costs, costs)
        sizes = buckets.sizes
        order = np.argsort(costs, kind="stable")
        firsts = np.flatnonzero(np.append(True, np.diff(costs[order])))
        useful = costs[order][firsts] > 0
        blocks = np.diff(np.append(firsts, len(order)))
        members = np.add.reduceat(sizes[order], firsts)
        largest = int(sizes[costs > 0].max(initial=0))
        return Count(keyed, largest, costs[order][firsts][useful], blocks[useful], members[useful])

    def _blocks(self, make: Hash, key: int, every: int = 1) -> Blocks:
        keys = make.keys[key]()
        known = keys != kernels.NO_KEY
        places = np.flatnonzero(known if every == 1 else known & (keys % np.uint64(every) == 0)).astype(np.int32)
        buckets = join_band(keys if len(places) == len(keys) else keys[places], places)
        costs = np.empty(len(buckets), np.int64)
        kernels.count_block_pairs(buckets.starts, buckets.members, self.split, self.crossing, costs)
        return Blocks(len(places), buckets, costs)

    def pay(self, hashes: Sequence[Hash], budget: int, note: str) -> list[list[Bool]]:
        """Make the pairs of the cheapest blocks; tell for each hash and key which records lie in blocks left over.

        `note` says what becomes of those.
        """
        which = [(number, key) for number, one in enumerate(hashes) for key in range(len(one.keys))]
        blocks = list(self.each(lambda one: self._blocks(hashes[one[0]], one[1]), which))
        counts = list(self.each(self._count, blocks))
        most = afford(counts, min(budget, self.free), self.largest)
        payments = [Payment(one[0], *paid) for one, *paid in zip(which, blocks, counts, most)]
        marks = [self._report(one, [p for p in payments if p.hash == n], note) for n, one in enumerate(hashes)]
        starts = self.filled + np.cumsum([0, *(payment.pairs for payment in payments)])

        def fill(given: tuple[Payment, int]) -> Bool:
            payment, start = given
            return self._fill(payment, marks[payment.hash], self.words[start : start + payment.pairs])

        left_over = iter(list(self.each(fill, zip(payments, starts.tolist()))))
        self.merge(int(starts[-1]))
        return [[next(left_over) for _ in one.keys] for one in hashes]

    def _fill(self, payment: Payment, mark: int, words: UInt64) -> Bool:
        left_over = np.zeros(self.records, np.bool_)
        _, buckets, costs = payment.blocks
        where = self.split, self.crossing, self.bits, mark, words
        kernels.fill_block_pairs(buckets.starts, buckets.members, costs, payment.most, *where)
        left_over[buckets.members[np.repeat(costs > payment.most, buckets.sizes)]] = True
        return left_over

    def _report(self, make: Hash, payments: Sequence[Payment], note: str) -> int:
        counts = [payment.count for payment in payments]
        oversize = sum(int(payment.count.blocks[~payment.paid].sum()) for payment in payments)
        return self.add(
            HashReport(
                make.name,
                GROUPS[make.group],
                records=max(count.records for count in counts),
                blocks=sum(int(count.blocks.sum()) for count in counts),
                largest=max(count.largest for count in counts),
                pairs=sum(payment.pairs for payment in payments),
                oversize=oversize,
                unpaid=sum(int((p.count.costs * p.count.blocks)[~p.paid].sum()) for p in payments),
                note=note if oversize else "",
            )
        )

    def add(self, report: HashReport) -> int:
        """Take up the report of a hash; return the mark of its pairs."""
        self.reports.append(report)
        mark = kernels.SEVERAL + len(self.reports) - 1
        if mark >= len(self.groups):
            raise ResourceError(f"more than {len(self.groups) - kernels.SEVERAL:,} hashes; name fewer fields")
        self.groups[mark] = GROUPS.index(report.group)
        return mark

    def pay_orders(self, names: Sequence[tuple[str, str]], orders: Sequence[Int32], window: int, budget: int) -> None:
        """Pair neighbours in each order, within the largest window up to `window` that is affordable."""
        args = self.split, self.crossing
        counts = list(self.each(lambda order: kernels.count_window_pairs(order, window, *args), orders))
        total = np.sum([np.zeros(window, np.int64), *counts], axis=0)
        chosen = int(np.searchsorted(total, min(budget, self.free), side="right"))
        filled = self.filled
        for (name, group), order, count in zip(names, orders, counts):
            pairs = int(count[chosen - 1]) if chosen else 0
            unpaid = int(count[-1]) - pairs
            note = f"neighbours up to {chosen} places apart, not {window}: no room for more" if unpaid else ""
            report = HashReport(name, group, len(order), pairs=pairs, unpaid=unpaid, note=note)
            words = self.words[filled : filled + pairs]
            kernels.fill_window_pairs(order, chosen, *args, self.bits, self.add(report), words)
            filled += pairs
        self.merge(filled)

    def merge(self, filled: int) -> None:
        """Take up the words beyond those that there were, up to `filled`; let each pair be there once."""
        new = np.sort(self.words[self.filled : filled])
        kernels.merge_runs(self.words, self.filled, new)
        self.filled = kernels.merge_words(self.words[:filled], self.groups)

    def pairs(self) -> tuple[Int32, Int32, UInt8, list[HashReport]]:
        """Left, right and groups of all pairs in order, and the reports."""
        words = self.words[: self.filled]
        left, right = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
        found, only = np.empty(len(words), np.uint8), np.zeros(len(self.groups), np.int64)
        # A pair of one hash is of that hash's group.
        kernels.unpack_words(words, self.bits, self.groups, left, right, found, only)
        alone = only[kernels.SEVERAL :].tolist()
        return left, right, found, [replace(one, only=count) for one, count in zip(self.reports, alone)]
