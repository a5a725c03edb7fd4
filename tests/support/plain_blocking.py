"""Tables of records for tests: columns of values, and the candidates of all hashes in plain Python."""

from collections import defaultdict
from itertools import combinations

import numpy as np

from lookalike.linkage.blocking.find import FIELD_SLOTS, RECORD_SLOTS, ROWS, WINDOW
from lookalike.linkage.blocking.keys import TEXTS, assign_groups, coarsen, power, sketch_columns
from lookalike.linkage.fields.columns import Column
from lookalike.types import strings_to_arrow


def make_column(name, kind, values):
    """A column of strings; None and the empty string are no value."""
    numbers = {}
    codes = [numbers.setdefault(value, len(numbers)) if value else -1 for value in values]
    return Column(name, kind, np.array(codes, np.int32), strings_to_arrow(list(numbers)))


def values_of(column):
    texts = column.values.to_pylist()
    return [texts[code] if code >= 0 else None for code in column.codes.tolist()]


def pairs_of_blocks(keys, split):
    """All pairs that share a key (None is no key), left before right, across the split if there are two tables."""
    blocks = defaultdict(list)
    for record, key in enumerate(keys):
        if key is not None:
            blocks[key].append(record)
    return {pair for block in blocks.values() for pair in combinations(block, 2) if _counts(pair, split, len(keys))}


def _counts(pair, split, records):
    return split == records or pair[0] < split <= pair[1]


def plain_order(column, beside, reverse):
    """Records with a value by (value, value beside, number); a missing value beside comes last."""
    own, other = values_of(column), values_of(beside) if beside else None

    def key(record):
        value = own[record][::-1] if reverse else own[record]
        after = (other[record] is None, other[record] or "") if other else ()
        return value.encode(), after, record

    return sorted((record for record, value in enumerate(own) if value), key=key)


def plain_pairs(columns, split, seed=1):
    """Each hash that is paid where there is room for all, as (name, group, pairs)."""
    groups, records = assign_groups(columns), len(columns[0])
    found = [(c.name, g, pairs_of_blocks(values_of(c), split)) for c, g in zip(columns, groups)]
    found += [
        (coarse.name, g, pairs_of_blocks(values_of(coarse), split))
        for c, g in zip(columns, groups)
        for coarse in coarsen(c)
    ]
    found += _plain_neighbours(columns, groups, split, records)
    jobs = [("the whole record", range(len(columns)), 0)]
    jobs += [(f"the fields of group {'AB'[g - 1]}", [f for f, own in enumerate(groups) if own == g], g) for g in (1, 2)]
    jobs = [(name, list(fields), g) for name, fields, g in jobs if len(fields) > 1]
    jobs += [
        (c.name, [f], 2 if len(columns) == 1 else groups[f])
        for f, c in enumerate(columns)
        if len(columns) == 1 or c.kind in TEXTS
    ]
    for number, (name, fields, group) in enumerate(jobs):
        slots = RECORD_SLOTS if len(fields) > 1 else FIELD_SLOTS
        made = sketch_columns([columns[f] for f in fields], name, group, slots, seed + number, map)
        pairs = set()
        for first in range(0, slots, ROWS[0]):
            rows = made.values[first : first + ROWS[0]]
            pairs |= pairs_of_blocks([tuple(rows[:, c].tolist()) if c >= 0 else None for c in made.codes], split)
        found.append((made.name, group, pairs))
    return found


def _plain_neighbours(columns, groups, split, records):
    for column, group in zip(columns, groups):
        others = [c for c in columns if c is not column]
        same = [c for c, g in zip(columns, groups) if g == group and c is not column]
        beside = max(same, key=power, default=None)
        orders = [(f"order of {column.name}", group, beside, False)]
        orders += [(f"order of {column.name} read backwards", group, beside, True)]
        if others and not same:
            told = max(others, key=power)
            orders.append((f"order of {column.name}, then {told.name}", 0, told, False))
        for name, own, by, reverse in orders:
            yield name, own, _neighbours(plain_order(column, by, reverse), split, records)


def _neighbours(order, split, records):
    near = {
        tuple(sorted((order[i], order[j])))
        for i in range(len(order))
        for j in range(i + 1, min(i + WINDOW, len(order) - 1) + 1)
    }
    return {pair for pair in near if _counts(pair, split, records)}
