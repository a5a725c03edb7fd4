"""Who is linked with whom: each record with at most one other, or all that hang together.

Knows pairs of item numbers and what each pair is worth; not why.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.kernels import assignment, unionfind
from lookalike.types import Bool, Float64, Int32, Int64

METHODS = ("optimal", "greedy")
LARGEST = 2000
"""Items that hang together are assigned optimally up to so many; that takes up to a second each (time grows with
the third power). More of them are assigned greedily, and that is said."""

Numbers = npt.NDArray[np.integer]


class Assignment(NamedTuple):
    """The pairs that stay, and what was not assigned as asked."""

    kept: Int64
    """Their places among the pairs, ascending."""
    notes: tuple[str, ...] = ()


def one_to_one(left: Numbers, right: Numbers, worth: Float64, method: str = "optimal") -> Assignment:
    """Keep pairs so that no item is in two of them.

    What comes out does not depend on the order of the pairs. Each pair that is left out has an item in a kept one.

    Parameters
    ----------
    left, right
        Numbers of the two items of each pair, from 0. For `optimal` no item is on both sides.
    worth
        What each pair is worth more than no pair, not negative: the score less the cut, for example.
    method
        `optimal` for the greatest total worth; `greedy` for the pair worth most first, ties by number.

    Examples
    --------
    >>> left, right, worth = np.array([0, 0, 1]), np.array([2, 3, 2]), np.array([10.0, 8.0, 9.0])
    >>> one_to_one(left, right, worth).kept.tolist(), one_to_one(left, right, worth, "greedy").kept.tolist()
    ([1, 2], [0])
    """
    _check(left, right, worth, method)
    if not len(left):
        return Assignment(np.empty(0, np.int64))
    order = np.lexsort((-worth, right, left))  # from here on nothing depends on the order given
    ends, worth = (left[order].astype(np.int32), right[order].astype(np.int32)), worth[order]
    kept = np.zeros(len(worth), np.bool_)
    notes = _take_best(*ends, worth, kept) if method == "optimal" else ()
    busy = np.zeros(int(max(ends[0].max(), ends[1].max())) + 1, np.bool_)
    for end in ends:
        busy[end[kept]] = True
    # After the optimal pairs this fills in what was left to it, and pairs worth nothing whose items are free.
    assignment.take_greedily(*ends, np.argsort(-worth, kind="stable"), busy, kept)
    return Assignment(np.sort(order[kept]), notes)


def cluster_pairs(left: Numbers, right: Numbers, items: int) -> Int32:
    """The first item of each item's cluster: items that hang together through pairs, however long the chain.

    Examples
    --------
    >>> cluster_pairs(np.array([1, 3]), np.array([3, 4]), items=5).tolist()
    [0, 1, 2, 1, 1]
    """
    parent = np.arange(items, dtype=np.int32)
    unionfind.unite(parent, left.astype(np.int32), right.astype(np.int32), np.empty(len(left), np.bool_))
    unionfind.flatten(parent)
    return parent


def _check(left: Numbers, right: Numbers, worth: Float64, method: str) -> None:
    if method not in METHODS:
        raise UsageError(f"one-to-one by {' or '.join(METHODS)}, not {method!r}")
    if not len(left) == len(right) == len(worth):
        raise UsageError(f"{len(left)} left, {len(right)} right items and {len(worth)} scores: there must be as many")
    if not np.isfinite(worth).all() or (worth < 0).any():
        raise UsageError("one-to-one needs finite scores from 0: subtract the cut first")
    if (left == right).any():
        raise UsageError("a pair of an item with itself cannot be linked: leave it out")


def _take_best(left: Int32, right: Int32, worth: Float64, kept: Bool) -> tuple[str, ...]:
    """Keep the best pairs of each component that is not too large; says which are left."""
    items = int(max(left.max(), right.max())) + 1
    root = cluster_pairs(left, right, items)
    sides = np.zeros((2, items), np.bool_)
    sides[0, left] = sides[1, right] = True
    size = np.bincount(root[sides.any(axis=0)], minlength=items)
    torn = (
        np.bincount(root[sides.all(axis=0)], minlength=items) > 0
    )  # an item on both sides: rows and columns are not enough
    chosen = np.flatnonzero(((size <= LARGEST) & ~torn)[root[left]])
    chosen = chosen[np.argsort(root[left[chosen]], kind="stable")]
    group, counts = np.unique(root[left[chosen]], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = np.full(items, -1, np.int64)
    place[group] = np.arange(len(group))
    rows, columns = (_within_groups(place[root], side, len(group)) for side in sides)
    picked = np.zeros(len(chosen), np.bool_)
    assignment.take_best(
        rows.number[left[chosen]],
        columns.number[right[chosen]],
        worth[chosen],
        starts,
        rows.counts,
        columns.counts,
        picked,
    )
    kept[chosen[picked]] = True
    return tuple(_notes(size, torn, root, left))


class _Numbered(NamedTuple):
    number: Int64
    counts: Int64


def _within_groups(group: Int64, members: Bool, groups: int) -> _Numbered:
    """Number the members of each group from 0, and count them."""
    asked = np.flatnonzero(members & (group >= 0))
    by_group = asked[np.argsort(group[asked], kind="stable")]
    counts = np.bincount(group[asked], minlength=groups)
    number = np.full(len(group), -1, np.int64)
    number[by_group] = np.arange(len(by_group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return _Numbered(number, counts.astype(np.int64))


def _notes(size: Int64, torn: Bool, root: Int32, left: Int32) -> list[str]:
    notes = []
    for wrong, why in (
        (torn, "have items on both sides"),
        ((size > LARGEST) & ~torn, f"are of over {LARGEST:,} items"),
    ):
        pairs = int(np.count_nonzero(wrong[root[left]]))
        if pairs:
            notes.append(
                f"one-to-one: {np.count_nonzero(wrong):,} groups with {pairs:,} pairs {why}: assigned greedily"
            )
    return notes
