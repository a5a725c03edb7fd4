"""Candidates for records: an OR of many hashes, so that a small error in every field does not hide a pair.

Values of each field, exact and coarse; of two and of three fields, for records whose value of one is too common;
neighbours in the order of a field; minhash bands over the shingles of each field, of the fields of each group, and of
the whole record.
What a hash costs is counted from its blocks before a pair is made (ledger.py). The costliest blocks of a step are left
to a finer hash, or out, and the report says so. How similar two records are is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.blocking.budget import GROUPS, Count, HashReport, Ledger, afford
from lookalike.linkage.blocking.keys import (
    TEXTS,
    RecordSignatures,
    coarsen,
    order_of,
    power,
    rank_values,
    share_out,
    sketch_columns,
    value_hash,
)
from lookalike.types import Bool, Column, Int32, Mapper, UInt8

WINDOW = 5
"""Neighbours in the order of a field are up to so many places apart."""
COMMON = 50
"""A field whose values have more records than this on average is not put in order: neighbours would be chance."""
ROWS = range(2, 8)
"""Rows of a band that are tried; the first that is affordable is taken."""
RECORD_SLOTS, FIELD_SLOTS = 60, 30
"""Slots of the signatures of several fields together, and of one field."""
SAMPLED = 250_000
"""Records whose blocks are looked at to tell what bands cost."""
SPILLED = 0.3
"""Bands are affordable where at most this share of the records lies in blocks that are too large."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Candidate pairs of records, by number, sorted by left, then right; and what each hash did."""

    left: Int32
    right: Int32
    groups: UInt8
    """Bit 0: found by a hash of group A, bit 1: by one of group B; 0: by hashes over fields of both only."""
    report: list[HashReport]
    fields: tuple[list[str], list[str]]
    """The names of the fields of group A and of group B."""

    def __len__(self) -> int:
        return len(self.left)


def default_budget(records: int) -> int:
    """How many pairs are made at most unless told: 100 a record for small tables, 15 for millions.

    Examples
    --------
    >>> default_budget(5_000), default_budget(2_000_000)
    (500000, 30000000)
    """
    return min(100 * records, 300_000 + 50 * records, 6_000_000 + 12 * records)


def find_pairs(
    columns: Sequence[Column],
    split: int,
    *,
    coarse: Sequence[tuple[Column, int]] = (),
    most_pairs: int | None = None,
    each: Mapper = map,
    seed: int = 1,
) -> Blocked:
    """Pairs of records that are worth comparing.

    Parameters
    ----------
    columns
        The fields; records are numbered, those of the left table first.
    split
        How many records the left table has; as many as there are for one table with itself. (Two tables of which the
        right one is empty look the same: whoever has such must not ask.)
    coarse
        Further columns whose equal values make candidates, each with the number of the field that it was made of.
    most_pairs
        The budget. What several hashes of one step bring counts as often; by default see default_budget.
    each
        Maps work to threads. The outcome does not depend on it.

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
    most_pairs = default_budget(records) if most_pairs is None else most_pairs
    if most_pairs < 0:
        raise UsageError(f"the budget of pairs must not be negative, but is {most_pairs}")
    ledger = Ledger(records, split, most_pairs, each)
    groups = share_out(columns)
    _pay_values(ledger, columns, coarse, groups, most_pairs)
    _pay_neighbours(ledger, columns, groups, most_pairs * 5 // 8 - ledger.filled)
    _pay_shingles(ledger, columns, groups, seed)
    first, second = ([c.name for c, own in zip(columns, groups) if own == group] for group in (1, 2))
    return Blocked(*ledger.pairs(), fields=(first, second))


def _pay_values(
    ledger: Ledger,
    columns: Sequence[Column],
    coarse: Sequence[tuple[Column, int]],
    groups: Sequence[int],
    most_pairs: int,
) -> None:
    """Equal values of one field, exact or coarse; of two and three where all the fewer were too common."""
    given = [(c, place) for place, c in enumerate(columns)]
    given += [(made, place) for place, c in enumerate(columns) for made in coarsen(c)]
    given += coarse
    left_over: dict[tuple[int, ...], Bool] = {}
    for count, share in ((1, 4), (2, 8), (3, 16)):
        finer = len(columns) > count and count < 3
        note = (
            f"refined: with {'one more field' if count == 1 else 'a third field'}" if finer else "left out: too large"
        )
        taken, hashes = [], []
        for numbers in combinations(range(len(given)), count):
            fields = {given[number][1] for number in numbers}
            chosen = _all_left_over(left_over, numbers, ledger.records)
            if len(fields) == count and (count == 1 or chosen.any()):
                taken.append(numbers)
                group = _common([groups[field] for field in fields])
                hashes.append(value_hash([given[number][0] for number in numbers], group, chosen))
        flags = ledger.pay(hashes, most_pairs // share, note) if hashes else []
        left_over = {numbers: keys[0] for numbers, keys in zip(taken, flags)}


def _all_left_over(left_over: dict[tuple[int, ...], Bool], fields: tuple[int, ...], records: int) -> Bool:
    """Which records lie in blocks that were too large for every choice of one field fewer."""
    chosen = np.ones(records, np.bool_)
    if len(fields) > 1:
        for fewer in combinations(fields, len(fields) - 1):
            chosen &= left_over.get(fewer, False)
    return chosen


def _common(groups: Sequence[int]) -> int:
    """The group that all belong to, or 0."""
    return groups[0] if len(set(groups)) == 1 else 0


def _pay_neighbours(ledger: Ledger, columns: Sequence[Column], groups: Sequence[int], budget: int) -> None:
    """Neighbours in the order of each field that has many values, read forwards and backwards."""
    names, given = [], []
    for place, column in enumerate(columns):
        group = GROUPS[groups[place]]
        known = len(column) - column.missing
        if known > COMMON * len(column.values):
            why = f"left out: {known / len(column.values):,.0f} records a value, so that neighbours are chance"
            ledger.add(HashReport(f"order of {column.name}", group, known, note=why))
            continue
        same = [c for c, own in zip(columns, groups) if own == groups[place] and c is not column]
        beside = max(same, key=power, default=None)
        for reverse in (False, True):
            names.append((f"order of {column.name}{' read backwards' if reverse else ''}", group))
            given.append((column, reverse, beside))
        if beside is None and len(columns) > 1:
            # Many records of one value are in no order of their own: the telling field of the other group gives one.
            beside = max((c for c in columns if c is not column), key=power)
            names.append((f"order of {column.name}, then {beside.name}", ""))
            given.append((column, False, beside))
    ledger.pay_orders(names, _orders_of(given, ledger.each), WINDOW, budget)


def _orders_of(given: Sequence[tuple[Column, bool, Column | None]], each: Mapper) -> list[Int32]:
    """Records in the order of a column (read backwards), then of the one beside it; each column is ranked once."""
    asked = {(column.name, reverse): column for column, reverse, _ in given}
    asked |= {(beside.name, False): beside for _, _, beside in given if beside is not None}
    ranks = dict(zip(asked, each(lambda one: rank_values(asked[one], one[1]), asked)))

    def order(one: tuple[Column, bool, Column | None]) -> Int32:
        column, reverse, beside = one
        other = None if beside is None else (beside.codes, ranks[beside.name, False])
        return order_of(column.codes, ranks[column.name, reverse], other)

    return list(each(order, given))


def _pay_shingles(ledger: Ledger, columns: Sequence[Column], groups: Sequence[int], seed: int) -> None:
    """Bands of the whole record, of the fields of each group, and of each field that is a text."""
    wholes = [("the whole record", list(range(len(columns))), 0)]
    wholes += [(f"the fields of group {GROUPS[g]}", [f for f, own in enumerate(groups) if own == g], g) for g in (1, 2)]
    jobs = [job for job in wholes if len(job[1]) > 1]
    # One field alone: its bands are of the other group than its value, for want of another field.
    alone = len(columns) == 1
    jobs += [(c.name, [f], 2 if alone else groups[f]) for f, c in enumerate(columns) if alone or c.kind in TEXTS]
    for number, (name, fields, group) in enumerate(jobs):
        slots = RECORD_SLOTS if len(fields) > 1 else FIELD_SLOTS
        budget = ledger.free // (len(jobs) - number) if number else ledger.free // 3
        chosen = [columns[f] for f in fields]
        # Not named: they should be gone when the next ones are made.
        _pay_bands(ledger, sketch_columns(chosen, name, group, slots, seed + number, ledger.each), budget)


def _pay_bands(ledger: Ledger, signatures: RecordSignatures, budget: int) -> None:
    """As few rows as are affordable; blocks that are too large get twice as many."""
    rows = next((rows for rows in ROWS if _is_affordable(ledger, signatures, rows, budget)), ROWS[-1])
    flags = ledger.pay([signatures.bands(rows)], budget * 3 // 4, f"refined: with {2 * rows} rows")
    if any(flag.any() for flag in flags[0]):
        ledger.pay([signatures.bands(rows, flags[0], taken=2 * rows)], budget // 4, "left out: too large")


def _is_affordable(ledger: Ledger, signatures: RecordSignatures, rows: int, budget: int) -> bool:
    """Do some blocks of two bands, which stand for all of them, leave few records in blocks that are too large?"""
    bands, every = signatures.bands(rows), max(1, ledger.records // SAMPLED)
    looked_at = range(min(2, len(bands.keys)))
    counts: list[Count] = list(ledger.each(lambda key: ledger.count(bands, key, every), looked_at))
    most = afford(counts, budget * 3 // 4 * len(counts) // len(bands.keys) // every, ledger.largest)
    spilled = sum(int(count.members[count.costs > limit].sum()) for count, limit in zip(counts, most))
    return spilled <= SPILLED * sum(count.records for count in counts)
