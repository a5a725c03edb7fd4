"""Clusters that a few wrong pairs do not chain together: what is joined has the majority of the pairs for it.

Knows pairs of item numbers and how sure each is a match; not why.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.kernels import majority
from lookalike.linkage.decide.one_to_one import cluster_pairs
from lookalike.types import Bool, Float64, Int32, Int64

WHOLE = 1 << 30
"""What a certain match adds to a mean. Sums of whole numbers are the same in any order."""

PART = 1 << 17
"""Matches that are looked at together, more only where they hang together: up to 120 bytes each."""

Numbers = npt.NDArray[np.integer]


def cluster_by_majority(
    left: Numbers, right: Numbers, bits: Float64, items: int, cut: float = 0.0, split: int | None = None
) -> Int32:
    """The first item of each item's cluster, where clusters are joined by the majority of the pairs across them.

    Each item begins alone. Of any two clusters with a link across, of whose pairs at least half are matches, those are
    joined whose pairs have the greatest mean probability; then again, until there are none. So at the end each cluster
    is held together by links, and no two that a link joins could be one. Means that are equal go by the best match
    across: by its bits, then by its items. The order of the matches does not matter.

    Parameters
    ----------
    left, right
        The items of each match, a pair that is as likely one entity as not, or more. Pairs that are not given are none.
    bits
        How sure each match is, from 0: log2 of the odds.
    items
        How many there are; they are numbered from 0.
    cut
        Matches with so many bits are links.
    split
        Where two tables were compared, the first item of the right one: pairs of one table then do not count.

    Examples
    --------
    Two pairs of three hold on to a third record; one wrong link does not make one cluster of two:

    >>> left, right = np.array([0, 1, 3, 4, 3, 2]), np.array([1, 2, 4, 5, 5, 3])
    >>> cluster_by_majority(left, right, np.array([9.0, 8, 9, 9, 9, 4]), items=6).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    if not len(left) == len(right) == len(bits):
        raise UsageError(f"{len(left)} left, {len(right)} right items and {len(bits)} scores: there must be as many")
    if np.isnan(bits).any() or (bits < 0).any():
        raise UsageError("matches have 0 bits or more: leave out the other pairs")
    if (left == right).any():
        raise UsageError("a pair of an item with itself is no match: leave it out")
    links = bits >= cut
    first = cluster_pairs(left[links], right[links], items)
    for part in _parts(first, left, right):
        low, high = np.minimum(left[part], right[part]), np.maximum(left[part], right[part])
        order = np.lexsort((high, low, -bits[part]))
        members, places = np.unique(np.concatenate([low[order], high[order]]), return_inverse=True)
        ends = places[: len(part)].astype(np.int32), places[len(part) :].astype(np.int32)
        share = np.rint(WHOLE / (1 + np.exp2(-bits[part[order]]))).astype(np.int64)
        lefts = members < (items if split is None else split)
        linked = int(np.count_nonzero(links[part]))
        first[members] = members[_join(*ends, share, linked, lefts, split is not None)]
    return first


def _parts(first: Int32, left: Numbers, right: Numbers) -> list[Int64]:
    """The matches within what links hold together, where that is more than three items; some at a time.

    Three are always joined: after two of them, one of two pairs with the third is a link, which is half.
    """
    within = first[left] == first[right]
    within &= np.bincount(first, minlength=len(first))[first[left]] > 3
    asked = np.flatnonzero(within)
    matches = np.bincount(first[left[asked]], minlength=len(first))
    number = (np.cumsum(matches) // PART)[first[left[asked]]]
    asked = asked[np.argsort(number, kind="stable")]
    starts = np.flatnonzero(np.diff(np.sort(number))) + 1
    return np.split(asked, starts) if len(asked) else []


def _join(left: Int32, right: Int32, share: Int64, links: int, lefts: Bool, two_tables: bool) -> Int32:
    """The first item of each one's cluster, with room made for the kernel."""
    items, matches = len(lefts), len(left)
    places = 1 << (4 * matches // 3).bit_length()  # at most three quarters full
    parent, first = np.arange(items, dtype=np.int32), np.empty(items, np.int32)
    majority.join_by_majority(
        left, right, share, links, parent,
        sizes=(np.ones(items, np.int64), lefts.astype(np.int64), two_tables),
        sums=(_room(matches), np.empty(matches, np.int64), _room(matches), np.empty(matches)),
        lists=(np.full(items, -1, np.int32), _room(items), np.zeros(items, np.int32), _room(2 * matches)),
        table=(np.full(places, -1), _room(places)),
        heap=(np.empty(2 * matches), _room(2 * matches)),
        filled=np.zeros(1, np.int64),
    )  # fmt: skip
    majority.name_by_first(parent, first)
    return first


def _room(places: int) -> Int32:
    return np.empty(places, np.int32)
