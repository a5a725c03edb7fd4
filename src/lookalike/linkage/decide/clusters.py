"""Clusters: connected components, and clusters joined by majority, where a few wrong pairs cannot form chains.

Knows pairs of item numbers and how certain each pair is a match, but not why.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.kernels import majority, unionfind
from lookalike.types import Bool, Float64, Int32, Int64

WHOLE = 1 << 30
"""The contribution of a certain match to a mean. Sums of integers are the same in any order."""

PART = 1 << 17
"""Matches processed at a time, more only if they belong to one component: up to 120 bytes each."""

Numbers = npt.NDArray[np.integer]


def connect_pairs(left: Numbers, right: Numbers, items: int) -> Int32:
    """The first item of each item's connected component, however long its chain of pairs.

    Examples
    --------
    >>> connect_pairs(np.array([1, 3]), np.array([3, 4]), items=5).tolist()
    [0, 1, 2, 1, 1]
    """
    parent = np.arange(items, dtype=np.int32)
    unionfind.unite(parent, left.astype(np.int32), right.astype(np.int32), np.empty(len(left), np.bool_))
    unionfind.flatten(parent)
    return parent


def cluster_by_majority(
    left: Numbers,
    right: Numbers,
    bits: Float64,
    items: int,
    cut: float = 0.0,
    split: int | None = None,
    *,
    part: int = PART,
) -> Int32:
    """The first item of each item's cluster, where clusters are joined by the majority of the pairs across them.

    Each item starts alone. Two clusters may be joined if there is a link between them and at least half of the pairs
    between them are matches. The two clusters whose pairs have the greatest mean probability are joined first; this is
    repeated until none can be joined. So each cluster is connected by links, and no two clusters that may be joined are
    left. Ties between means are broken by the best match between the clusters: by its bits, then by its items. The
    order of the matches does not matter.

    Parameters
    ----------
    left, right
        The items of each match: a pair that is at least as likely one entity as not. Other pairs are not matches.
    bits
        How certain each match is: log2 of the odds, not negative.
    items
        The number of items; they are numbered from 0.
    cut
        Matches with at least this many bits are links.
    split
        If two tables were compared, the first item of the right one: pairs within a table then do not count.
    part
        Matches processed at a time; the outcome does not depend on it.

    Examples
    --------
    Two links out of three hold a cluster together; one wrong link does not join two clusters:

    >>> left, right = np.array([0, 1, 3, 4, 3, 2]), np.array([1, 2, 4, 5, 5, 3])
    >>> cluster_by_majority(left, right, np.array([9.0, 8, 9, 9, 9, 4]), items=6).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    if not len(left) == len(right) == len(bits):
        raise UsageError(f"{len(left)} left and {len(right)} right items, {len(bits)} scores: need as many of each")
    if np.isnan(bits).any() or (bits < 0).any():
        raise UsageError("matches have 0 bits or more: leave out other pairs")
    if (left == right).any():
        raise UsageError("a pair of an item with itself is not a match: leave it out")
    links = bits >= cut
    first = connect_pairs(left[links], right[links], items)
    for some in _parts(first, left, right, part):
        low, high = np.minimum(left[some], right[some]), np.maximum(left[some], right[some])
        order = np.lexsort((high, low, -bits[some]))
        members, places = np.unique(np.concatenate([low[order], high[order]]), return_inverse=True)
        ends = places[: len(some)].astype(np.int32), places[len(some) :].astype(np.int32)
        share = np.rint(WHOLE / (1 + np.exp2(-bits[some[order]]))).astype(np.int64)
        lefts = members < (items if split is None else split)
        linked = int(np.count_nonzero(links[some]))
        first[members] = members[_join(*ends, share, linked, lefts, split is not None)]
    return first


def _parts(first: Int32, left: Numbers, right: Numbers, part: int) -> list[Int64]:
    """The matches within each component of more than three items that links connect; about `part` at a time.

    Components of three are always clusters: after two items are joined, one of their two pairs with the third is a
    link, and one half is enough.
    """
    within = first[left] == first[right]
    within &= np.bincount(first, minlength=len(first))[first[left]] > 3
    chosen = np.flatnonzero(within)
    matches = np.bincount(first[left[chosen]], minlength=len(first))
    number = (np.cumsum(matches) // part)[first[left[chosen]]]
    chosen = chosen[np.argsort(number, kind="stable")]
    starts = np.flatnonzero(np.diff(np.sort(number))) + 1
    return np.split(chosen, starts) if len(chosen) else []


def _join(left: Int32, right: Int32, share: Int64, links: int, lefts: Bool, two_tables: bool) -> Int32:
    """The first item of each item's cluster; allocates the kernel's working arrays."""
    items, matches = len(lefts), len(left)
    places = 1 << (4 * matches // 3).bit_length()  # at most three quarters full
    parent, first = np.arange(items, dtype=np.int32), np.empty(items, np.int32)
    majority.join_by_majority(
        left, right, share, links, parent,
        sizes=(np.ones(items, np.int64), lefts.astype(np.int64), two_tables),
        sums=(_empty(matches), np.empty(matches, np.int64), _empty(matches), np.empty(matches)),
        lists=(np.full(items, -1, np.int32), _empty(items), np.zeros(items, np.int32), _empty(2 * matches)),
        table=(np.full(places, -1), _empty(places)),
        heap=(np.empty(2 * matches), _empty(2 * matches)),
        filled=np.zeros(1, np.int64),
    )  # fmt: skip
    majority.name_by_first(parent, first)
    return first


def _empty(places: int) -> Int32:
    return np.empty(places, np.int32)
