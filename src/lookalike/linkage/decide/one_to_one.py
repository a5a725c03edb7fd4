"""One-to-one assignment: choose pairs such that each item is in at most one of them.

Knows pairs of item numbers and what each pair is worth, but not why. Why SciPy: docs/decisions/0017-assignment.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.decide.clusters import Numbers, connect_pairs
from lookalike.types import Bool, Float64, Int32, Int64

METHODS = ("optimal", "greedy")
LARGEST = 50_000
"""Items of the largest component that is assigned optimally, which takes some seconds (quadratic time)."""
DENSE = 1 << 20
"""Entries of the largest dense matrix. The dense method breaks ties in order, and is faster for small components."""
STEP = 1 << 16
"""Pairs that the greedy method converts to Python numbers at a time."""


class Assignment(NamedTuple):
    """The pairs kept, and notes about components that were not assigned as requested."""

    kept: Int64
    """Their positions among the given pairs, ascending."""
    notes: tuple[str, ...] = ()


def one_to_one(
    left: Numbers,
    right: Numbers,
    worth: Float64,
    method: str = "optimal",
    *,
    largest: int = LARGEST,
    dense: int = DENSE,
) -> Assignment:
    """Keep pairs such that each item is in at most one of them.

    The outcome does not depend on the order of the pairs. Every pair that is dropped shares an item with a kept one.
    Ties are broken in the order of the items where possible: of equal pairs, the first left item gets the first right.

    Parameters
    ----------
    left, right
        The numbers of the two items of each pair, from 0. For `optimal`, no item may be on both sides.
    worth
        What each pair is worth compared with no pair, not negative: for example, its score less the cut.
    method
        `optimal` for the greatest total worth; `greedy` to take the pair with the greatest worth first, ties by number.
    largest
        Components of more items than this are assigned greedily, with a note.
    dense
        Components with more possible pairs than this are assigned as sparse matrices; the total worth is the same.

    Examples
    --------
    >>> left, right, worth = np.array([0, 0, 1]), np.array([2, 3, 2]), np.array([10.0, 8.0, 9.0])
    >>> one_to_one(left, right, worth).kept.tolist(), one_to_one(left, right, worth, "greedy").kept.tolist()
    ([1, 2], [0])
    """
    _check(left, right, worth, method)
    if not len(left):
        return Assignment(np.empty(0, np.int64))
    order = np.lexsort((-worth, right, left))  # from here on, nothing depends on the order given
    again = (np.diff(left[order], prepend=-1) == 0) & (np.diff(right[order], prepend=-1) == 0)
    order = order[~again]  # if a pair is given twice, use the greater worth
    ends, worth = (left[order].astype(np.int32), right[order].astype(np.int32)), worth[order]
    kept = np.zeros(len(worth), np.bool_)
    notes: list[str] = []
    if method == "optimal":
        for some in _components(*ends, largest, notes):
            kept[some[_best_of(ends[0][some], ends[1][some], worth[some], dense)]] = True
    # After the optimal pairs, this adds components left to it, and pairs worth nothing whose items are free.
    _take_greedily(*ends, np.argsort(-worth, kind="stable"), kept)
    return Assignment(np.sort(order[kept]), tuple(notes))


def _check(left: Numbers, right: Numbers, worth: Float64, method: str) -> None:
    if method not in METHODS:
        raise UsageError(f"one-to-one must be {' or '.join(METHODS)}, not {method!r}")
    if not len(left) == len(right) == len(worth):
        raise UsageError(f"{len(left)} left and {len(right)} right items, {len(worth)} scores: need as many of each")
    if not np.isfinite(worth).all() or (worth < 0).any():
        raise UsageError("one-to-one needs finite scores that are not negative: subtract the cut first")
    if (left == right).any():
        raise UsageError("an item cannot be linked with itself: leave such pairs out")


def _components(left: Int32, right: Int32, largest: int, notes: list[str]) -> list[Int64]:
    """The pairs of each component that is to be assigned optimally.

    A component with a single item on one side needs no optimum: its best pair is the greedy choice.
    """
    items = int(max(left.max(), right.max())) + 1
    root = connect_pairs(left, right, items)
    sides = np.zeros((2, items), np.bool_)
    sides[0, left] = sides[1, right] = True
    counts = np.stack([np.bincount(root[side], minlength=items) for side in sides])
    mixed = np.bincount(root[sides.all(axis=0)], minlength=items) > 0
    large = (counts.sum(axis=0) > largest) & ~mixed
    for wrong, what in ((mixed, "items on both sides"), (large, f"more than {largest:,} items")):
        if pairs := int(np.count_nonzero(wrong[root[left]])):
            groups = np.count_nonzero(wrong)
            notes.append(f"one-to-one: groups with {what} are assigned greedily ({groups:,}, with {pairs:,} pairs)")
    contested = (counts.min(axis=0) > 1) & ~mixed & ~large
    chosen = np.flatnonzero(contested[root[left]])
    chosen = chosen[np.argsort(root[left[chosen]], kind="stable")]
    return np.split(chosen, np.flatnonzero(np.diff(root[left[chosen]])) + 1) if len(chosen) else []


def _best_of(left: Int32, right: Int32, worth: Float64, dense: int) -> Int64:
    """The positions of the pairs with the greatest total worth such that no item occurs twice."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    (lefts, row), (rights, column) = (np.unique(side, return_inverse=True) for side in (left, right))
    partner = np.full(len(lefts), -1)
    if len(lefts) * len(rights) <= dense:
        matrix = np.zeros((len(lefts), len(rights)))
        matrix[row, column] = worth
        rows, columns = linear_sum_assignment(matrix, maximize=True)
    else:
        # Every row is assigned, so each left item also gets a column of its own, worth nothing. An entry of 0 means no
        # pair, so all weights are one higher; since each row gets exactly one column, that changes no comparison.
        alone = np.arange(len(lefts))
        places = np.append(row, alone), np.append(column, len(rights) + alone)
        weights = csr_array((np.append(worth + 1, np.ones(len(lefts))), places))
        rows, columns = min_weight_full_bipartite_matching(weights, maximize=True)
    partner[rows] = columns
    return np.flatnonzero(partner[row] == column)


def _take_greedily(left: Int32, right: Int32, order: Int64, kept: Bool) -> None:
    """In the given order, keep each pair whose two items are free."""
    items = int(max(left.max(), right.max())) + 1
    busy = bytearray(items)
    taken = np.frombuffer(busy, np.bool_)
    taken[left[kept]] = taken[right[kept]] = True
    order = order[~(taken[left[order]] | taken[right[order]])]
    # Most pairs have no rival and need no loop.
    rivals = np.bincount(left[order], minlength=items) + np.bincount(right[order], minlength=items)
    alone = (rivals[left[order]] == 1) & (rivals[right[order]] == 1)
    kept[order[alone]] = True
    order = order[~alone]
    for first in range(0, len(order), STEP):
        some = order[first : first + STEP]
        for pair, a, b in zip(some.tolist(), left[some].tolist(), right[some].tolist()):
            if not busy[a] and not busy[b]:
                busy[a] = busy[b] = 1
                kept[pair] = True
