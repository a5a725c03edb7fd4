"""Items that share a bucket of each of several hash functions, and their pairs.

Groups are found by sorting: only pairs that share all previous buckets are considered.
"""

from __future__ import annotations

import numpy as np

from lookalike.errors import ResourceError
from lookalike.families.base import Hashed
from lookalike.types import NOWHERE, Bool, Int64, distinct


def pairs_in_common(hashed: Hashed, functions: range, most: int) -> Int64:
    """The pairs of items that share a bucket of every function, as left x items + right, ascending.

    Parameters
    ----------
    hashed
        The buckets of the items.
    functions
        The functions to use.
    most
        More pairs than this, or more combinations of the buckets of items, raise a ResourceError.

    Examples
    --------
    >>> hashed = Hashed(np.array([[[7], [7], [7], [8]], [[1], [2], [1], [1]]]))
    >>> pairs_in_common(hashed, range(2), most=10).tolist()  # 0 and 2 of four items
    [2]
    """
    # A place is an item in a group; groups are split function by function, and groups of one item dropped.
    items = np.arange(len(hashed), dtype=np.int64)
    groups = np.zeros(len(hashed), np.int64)
    for function in functions:
        choices = hashed.buckets[function, items]
        rows, columns = np.nonzero(choices != NOWHERE)
        if len(rows) > max(most, hashed.buckets[function].size):
            raise ResourceError(
                f"items are in {len(rows):,} combinations of buckets, more than {most:,}: "
                "use fewer functions in an And, or a family with fewer buckets per item"
            )
        items, groups = _split(items[rows], groups[rows], choices[rows, columns])
    return _pairs_of(items, groups, len(hashed), most)


def _split(items: Int64, groups: Int64, buckets: Int64) -> tuple[Int64, Int64]:
    """Groups of two or more items that agree in group and bucket, each item once; sorted by group and item."""
    order = np.lexsort((items, buckets, groups))
    items, groups, buckets = items[order], groups[order], buckets[order]
    same_group = (_same(groups) & _same(buckets)) if len(items) else np.zeros(0, np.bool_)
    distinct = ~(same_group & _same(items)) if len(items) else same_group
    items, first = items[distinct], ~same_group[distinct]
    numbers = np.cumsum(first) - 1
    shared = np.bincount(numbers)[numbers] > 1 if len(numbers) else first
    return items[shared], numbers[shared]


def _same(values: Int64) -> Bool:
    """Where a value equals its predecessor."""
    return np.concatenate([[False], values[1:] == values[:-1]])


def _pairs_of(items: Int64, groups: Int64, count: int, most: int) -> Int64:
    """All pairs within each group; groups are runs with ascending items."""
    if not len(items):
        return np.empty(0, np.int64)
    starts = np.flatnonzero(~_same(groups))
    sizes = np.diff(np.append(starts, len(items)))
    total = int((sizes.astype(np.float64) * (sizes - 1) / 2).sum())
    if total > most:
        raise ResourceError(
            f"the buckets make {total:,} pairs, more than {most:,} (the largest has {sizes.max():,} items): "
            "use more functions in an And, or smaller buckets"
        )
    # Each item is the left item of a pair with every later item of its group.
    after = np.repeat(starts + sizes, sizes) - np.arange(len(items)) - 1
    left = np.repeat(np.arange(len(items)), after)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(after) - after, after)
    return distinct(items[left] * count + items[right])
