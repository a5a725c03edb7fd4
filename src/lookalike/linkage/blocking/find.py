"""Candidate pairs of records: an OR of many hashes, so that a small error in every field does not hide a pair.

The hashes are: the values of each field, exact and coarse; the values of two and of three fields, for records whose
value of one field is too common; neighbours in the order of a field; and minhash bands over the shingles of each field,
of the fields of each group, and of the whole record. Each step estimates the pairs per blocking key, then takes the
cheapest blocks within the budget (budget.py). The other blocks are left to a finer hash or skipped, and the report says
so. Nothing here knows how similar two records are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.blocking.budget import GROUPS, BlockCosts, HashReport, PairCollector, choose_limits
from lookalike.linkage.blocking.keys import (
    TEXTS,
    RecordSignatures,
    assign_groups,
    coarsen,
    order_of,
    power,
    rank_values,
    sketch_columns,
    value_hash,
)
from lookalike.linkage.fields.columns import Column
from lookalike.types import Bool, Int32, Mapper, UInt8
from lookalike.types.frozen import frozen

WINDOW = 5
"""The greatest distance of neighbours in the order of a field."""
COMMON = 50
"""A field whose values have more records than this on average is not sorted: neighbours would be arbitrary."""
ROWS = range(2, 8)
"""Rows per band to try; the first number that fits the budget is taken."""
RECORD_SLOTS, FIELD_SLOTS = 60, 30
"""Slots of the signatures of several fields together, and of a single field."""
SAMPLED = 250_000
"""Records whose blocks are examined to estimate the cost of bands."""
MOST_COMBINED = 2000
"""Hashes by two fields, and by three, at most. With more fields, the most selective ones are combined."""
SPILLED = 0.3
"""Bands fit the budget if at most this share of the records is in blocks that are too large."""


@frozen
class CandidatePairs:
    """Candidate pairs of records, by number, sorted by left, then right; and what each hash contributed."""

    left: Int32
    right: Int32
    groups: UInt8
    """Bit 0: found by a hash of group A, bit 1: by one of group B; 0: only by hashes over fields of both."""
    report: list[HashReport]
    fields: tuple[list[str], list[str]]
    """The names of the fields of group A and of group B."""

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def none(cls) -> CandidatePairs:
        """No pairs."""
        empty = np.empty(0, np.int32)
        return cls(empty, empty, np.empty(0, np.uint8), [], ([], []))


class FindingSteps(Protocol):
    """Saves the results of the steps of finding candidates."""

    def resume(self, collector: PairCollector) -> int:
        """Pass the results of an earlier run to the collector; return how many steps they cover."""
        ...

    def done(self, step: int, collector: PairCollector) -> None:
        """Called when the collector has the pairs of a step."""
        ...


def default_budget(records: int, two_tables: bool = False) -> int:
    """The default for the largest number of pairs: 100 per record for small tables, 15 for millions.

    Between these, the budget is smaller for two tables than for one, in which a record can have several copies. A
    larger budget found no further matches (docs/log.md).

    Examples
    --------
    >>> default_budget(5_000), default_budget(2_000_000)
    (500000, 30000000)
    >>> default_budget(200_000), default_budget(200_000, two_tables=True)
    (8400000, 4000000)
    """
    most = min(100 * records, 300_000 + 50 * records, 6_000_000 + 12 * records)
    return min(most, 1_000_000 + 15 * records) if two_tables else most


def word_budget(records: int) -> int:
    """The largest number of pairs by blocking keys for two tables made of words: their texts propose the others.

    Examples
    --------
    >>> word_budget(5_000), word_budget(2_000_000)
    (50000, 4500000)
    """
    return min(10 * records, 500_000 + 2 * records)


def find_pairs(
    columns: Sequence[Column],
    split: int,
    *,
    coarse: Sequence[tuple[Column, int]] = (),
    most_pairs: int | None = None,
    each: Mapper = map,
    seed: int = 1,
    sampled: int = SAMPLED,
    steps: FindingSteps | None = None,
) -> CandidatePairs:
    """Pairs of records that are worth comparing.

    Parameters
    ----------
    columns
        The fields; records are numbered, those of the left table first.
    split
        The number of records in the left table; for one table compared with itself, the number of all records. (Two
        tables of which the right one is empty look the same: callers must not ask for that.)
    coarse
        Further columns whose equal values make candidates, each with the number of the field that it was derived from.
    most_pairs
        The budget; see default_budget. A pair found by several hashes of one step counts several times.
    each
        Like the built-in map; may use threads. The outcome does not depend on it.
    sampled
        Records whose blocks are examined to estimate the cost of bands.
    steps
        Notified after each step; may know the results of an earlier run.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> name = Column("name", "person", np.array([0, 1, 0], np.int32), strings_to_arrow(["ann", "bob"]))
    >>> found = find_pairs([name], 1)
    >>> found.left.tolist(), found.right.tolist(), found.report[0].name, found.report[0].pairs
    ([0, 0], [1, 2], 'name', 1)
    """
    if not columns:
        raise UsageError("no field to find candidates by; name at least one with --fields")
    records = len(columns[0])
    most_pairs = default_budget(records, split < records) if most_pairs is None else most_pairs
    if most_pairs < 0:
        raise UsageError(f"the budget of pairs must not be negative: {most_pairs}")
    collector = PairCollector(records, split, most_pairs, each)
    groups = assign_groups(columns)
    todo: list[Callable[[], None]] = [
        lambda: _add_equal_values(collector, columns, coarse, groups, most_pairs),
        lambda: _add_neighbours(collector, columns, groups, most_pairs * 5 // 8 - collector.filled),
        *_shingle_steps(collector, columns, groups, seed, sampled),
    ]
    for number in range(steps.resume(collector) if steps else 0, len(todo)):
        todo[number]()
        if steps:
            steps.done(number, collector)
    first, second = ([c.name for c, own in zip(columns, groups) if own == group] for group in (1, 2))
    return CandidatePairs(*collector.pairs(), fields=(first, second))


def _add_equal_values(
    collector: PairCollector,
    columns: Sequence[Column],
    coarse: Sequence[tuple[Column, int]],
    groups: Sequence[int],
    most_pairs: int,
) -> None:
    """Add pairs with equal values of one field, exact or coarse; of two or three fields where fewer are too common."""
    given = [(c, place) for place, c in enumerate(columns)]
    given += [(made, place) for place, c in enumerate(columns) for made in coarsen(c)]
    given += coarse
    left_over: dict[tuple[int, ...], Bool] = {}
    for count, share in ((1, 4), (2, 8), (3, 16)):
        finer = len(columns) > count and count < 3
        note = f"refined by {'another' if count == 1 else 'a third'} field" if finer else "skipped: too large"
        taken, hashes = [], []
        for numbers in combinations(_worth_combining(given, count, left_over), count):
            fields = {given[number][1] for number in numbers}
            chosen = _all_left_over(left_over, numbers, collector.records)
            if len(fields) == count and (count == 1 or chosen.any()):
                taken.append(numbers)
                group = _common([groups[field] for field in fields])
                hashes.append(value_hash([given[number][0] for number in numbers], group, chosen))
        flags = collector.add_blocks(hashes, most_pairs // share, note) if hashes else []
        left_over = {numbers: keys[0] for numbers, keys in zip(taken, flags)}


def _worth_combining(
    given: Sequence[tuple[Column, int]], count: int, left_over: dict[tuple[int, ...], Bool]
) -> list[int]:
    """The columns of which so many at a time are combined: those that are left over, or the most selective of them.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> texts = strings_to_arrow([str(value) for value in range(99)])
    >>> made = [(Column("", "code", np.arange(99, dtype=np.int32) % (n + 1), texts), n) for n in range(99)]
    >>> rest = {(n,): np.ones(99, np.bool_) for n in range(99)}
    >>> len(_worth_combining(made, 1, {})), _worth_combining(made, 2, rest) == list(range(36, 99))
    (99, True)
    """
    if count == 1:
        return list(range(len(given)))
    places = sorted({place for numbers, flags in left_over.items() if flags.any() for place in numbers})
    most = len(places)
    while comb(most, count) > MOST_COMBINED:
        most -= 1
    if most == len(places):
        return places
    best = sorted(places, key=lambda place: (-power(given[place][0]), place))
    return sorted(best[:most])


def _all_left_over(left_over: dict[tuple[int, ...], Bool], fields: tuple[int, ...], records: int) -> Bool:
    """Which records are in blocks that were too large for every choice of one field fewer."""
    chosen = np.ones(records, np.bool_)
    if len(fields) > 1:
        for fewer in combinations(fields, len(fields) - 1):
            chosen &= left_over.get(fewer, False)
    return chosen


def _common(groups: Sequence[int]) -> int:
    """The group that all fields belong to, or 0."""
    return groups[0] if len(set(groups)) == 1 else 0


def _add_neighbours(collector: PairCollector, columns: Sequence[Column], groups: Sequence[int], budget: int) -> None:
    """Add neighbours in the order of each field with many values, read forwards and backwards."""
    names, given = [], []
    for place, column in enumerate(columns):
        group = GROUPS[groups[place]]
        known = len(column) - column.missing
        if known > COMMON * len(column.values):
            why = f"skipped: {known / len(column.values):,.0f} records per value, so neighbours would be arbitrary"
            collector.add_report(HashReport(f"order of {column.name}", group, known, note=why))
            continue
        same = [c for c, own in zip(columns, groups) if own == groups[place] and c is not column]
        beside = max(same, key=power, default=None)
        for reverse in (False, True):
            names.append((f"order of {column.name}{' read backwards' if reverse else ''}", group))
            given.append((column, reverse, beside))
        if beside is None and len(columns) > 1:
            # Records with equal values have no order of their own: the best field of the other group gives them one.
            beside = max((c for c in columns if c is not column), key=power)
            names.append((f"order of {column.name}, then {beside.name}", ""))
            given.append((column, False, beside))
    collector.add_neighbours(names, _orders_of(given, collector.each), WINDOW, budget)


def _orders_of(given: Sequence[tuple[Column, bool, Column | None]], each: Mapper) -> list[Int32]:
    """Records in the order of a column (possibly read backwards), then of another; each column is ranked once."""
    needed = {(column.name, reverse): column for column, reverse, _ in given}
    needed |= {(beside.name, False): beside for _, _, beside in given if beside is not None}
    ranks = dict(zip(needed, each(lambda one: rank_values(needed[one], one[1]), needed)))

    def order(one: tuple[Column, bool, Column | None]) -> Int32:
        column, reverse, beside = one
        other = None if beside is None else (beside.codes, ranks[beside.name, False])
        return order_of(column.codes, ranks[column.name, reverse], other)

    return list(each(order, given))


def _shingle_steps(
    collector: PairCollector, columns: Sequence[Column], groups: Sequence[int], seed: int, sampled: int
) -> list[Callable[[], None]]:
    """Bands of the whole record, of the fields of each group, and of each text field, each a step."""
    wholes = [("the whole record", list(range(len(columns))), 0)]
    wholes += [(f"the fields of group {GROUPS[g]}", [f for f, own in enumerate(groups) if own == g], g) for g in (1, 2)]
    jobs = [job for job in wholes if len(job[1]) > 1]
    # With a single field, its bands form the second group, for lack of another field.
    alone = len(columns) == 1
    jobs += [(c.name, [f], 2 if alone else groups[f]) for f, c in enumerate(columns) if alone or c.kind in TEXTS]

    def add(number: int) -> None:
        name, fields, group = jobs[number]
        slots = RECORD_SLOTS if len(fields) > 1 else FIELD_SLOTS
        budget = collector.free // (len(jobs) - number) if number else collector.free // 3
        chosen, own = [columns[f] for f in fields], (seed + number) % (1 << 64)
        # Not bound to a name, so that they are freed before the next ones are made.
        _add_bands(collector, sketch_columns(chosen, name, group, slots, own, collector.each), budget, sampled)

    return [partial(add, number) for number in range(len(jobs))]


def _add_bands(collector: PairCollector, signatures: RecordSignatures, budget: int, sampled: int) -> None:
    """Add bands with as few rows as the budget allows; blocks that are too large get twice as many rows."""
    rows = next((rows for rows in ROWS if _is_affordable(collector, signatures, rows, budget, sampled)), ROWS[-1])
    flags = collector.add_blocks([signatures.bands(rows)], budget * 3 // 4, f"refined by bands of {2 * rows} rows")
    if any(flag.any() for flag in flags[0]):
        finer = signatures.bands(rows, flags[0], taken=2 * rows)
        collector.add_blocks([finer], budget // 4, "skipped: too large")


def _is_affordable(
    collector: PairCollector, signatures: RecordSignatures, rows: int, budget: int, sampled: int
) -> bool:
    """Whether few records end up in blocks that are too large, judging by some blocks of two bands."""
    bands, every = signatures.bands(rows), max(1, collector.records // sampled)
    examined = range(min(2, len(bands.keys)))
    costs: list[BlockCosts] = list(collector.each(lambda key: collector.estimate(bands, key, every), examined))
    limits = choose_limits(costs, budget * 3 // 4 * len(costs) // len(bands.keys) // every, collector.largest)
    spilled = sum(int(one.members[one.costs > limit].sum()) for one, limit in zip(costs, limits))
    return spilled <= SPILLED * sum(one.records for one in costs)
