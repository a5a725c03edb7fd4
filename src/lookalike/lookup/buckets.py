"""Candidates by common buckets: the members of a gallery that share a bucket with a probe.

The gallery's buckets are sorted once per hash function; those of a probe are then found by binary search, so members
that share no bucket are never touched. Knows bucket numbers, not what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lookalike.types import NOWHERE, Int32, Int64, distinct

PAIRS_AT_ONCE = 1 << 20
"""Pairs collected before duplicates are dropped."""


class BucketIndex(NamedTuple):
    """The buckets of a gallery under one hash function, sorted by bucket number."""

    keys: Int64
    members: Int32


def index_buckets(buckets: Int64) -> BucketIndex:
    """Sort the buckets of a gallery under one hash function.

    Parameters
    ----------
    buckets : int64[items, choices]
        The buckets of each item; NOWHERE fills unused places.

    Examples
    --------
    >>> index_buckets(np.array([[7, NOWHERE], [3, 7]])).members.tolist()
    [1, 0, 1]
    """
    owners = np.repeat(np.arange(len(buckets), dtype=np.int32), buckets.shape[1])
    keys = buckets.ravel()
    used = keys != NOWHERE
    keys, owners = keys[used], owners[used]
    order = np.argsort(keys, kind="stable")
    return BucketIndex(keys[order], owners[order])


def join_buckets(index: BucketIndex, buckets: Int64) -> tuple[Int64, Int64]:
    """The pairs (probe, member) with a common bucket under one function, once for each bucket they share.

    Examples
    --------
    >>> index = index_buckets(np.array([[7, NOWHERE], [3, 7]]))
    >>> [part.tolist() for part in join_buckets(index, np.array([[3], [7], [NOWHERE]]))]
    [[0, 1, 1], [1, 0, 1]]
    """
    owners = np.repeat(np.arange(len(buckets)), buckets.shape[1])
    keys = buckets.ravel()
    first, last = (np.searchsorted(index.keys, keys, side) for side in ("left", "right"))
    counts = last - first  # 0 for NOWHERE, which is in no index
    ends = np.cumsum(counts)
    places = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
    return np.repeat(owners, counts), index.members[places].astype(np.int64)


def candidate_pairs(
    functions: Iterable[tuple[BucketIndex, Int64]], gallery: int, *, pairs_at_once: int = PAIRS_AT_ONCE
) -> tuple[Int64, Int64]:
    """The distinct pairs (probe, member) with a common bucket under any function, by probe, then member.

    Parameters
    ----------
    functions
        For each hash function, the index of the gallery and the buckets of the probes.
    gallery
        Number of items in the gallery.
    pairs_at_once
        Pairs collected before duplicates are dropped.

    Examples
    --------
    >>> index = index_buckets(np.array([[7], [3]]))
    >>> [part.tolist() for part in candidate_pairs([(index, np.array([[3], [7]]))] * 2, 2)]
    [[0, 1], [1, 0]]
    """
    found, size = [np.empty(0, np.int64)], 0
    for index, buckets in functions:
        probes, members = join_buckets(index, buckets)
        found.append(probes * gallery + members)
        size += len(probes)
        if size > pairs_at_once:
            found, size = [distinct(np.concatenate(found))], 0
    probes, members = np.divmod(distinct(np.concatenate(found)), max(1, gallery))
    return probes, members
