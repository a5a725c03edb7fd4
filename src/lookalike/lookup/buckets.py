"""Candidates by looking in buckets: the items of a gallery that share a bucket with a probe.

The buckets of the gallery are sorted once for each hash function; a probe's are found among them by bisection, so that
nothing is looked at that shares no bucket. Knows numbers of buckets, not what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lookalike.types import NOWHERE, Int32, Int64

_TOGETHER = 1 << 20
"""Pairs that are collected before those found again are dropped."""


class Shelf(NamedTuple):
    """The buckets of a gallery under one hash function, in order of their numbers."""

    keys: Int64
    members: Int32


def shelve(buckets: Int64) -> Shelf:
    """Sort the buckets (items x choices) of a gallery under one function.

    Examples
    --------
    >>> shelve(np.array([[7, NOWHERE], [3, 7]])).members.tolist()
    [1, 0, 1]
    """
    owners = np.repeat(np.arange(len(buckets), dtype=np.int32), buckets.shape[1])
    keys = buckets.ravel()
    somewhere = keys != NOWHERE
    keys, owners = keys[somewhere], owners[somewhere]
    order = np.argsort(keys, kind="stable")
    return Shelf(keys[order], owners[order])


def meet(shelf: Shelf, buckets: Int64) -> tuple[Int64, Int64]:
    """The pairs (probe, member) that share a bucket of a function; a pair that shares two comes twice.

    Examples
    --------
    >>> shelf = shelve(np.array([[7, NOWHERE], [3, 7]]))
    >>> [part.tolist() for part in meet(shelf, np.array([[3], [7], [NOWHERE]]))]
    [[0, 1, 1], [1, 0, 1]]
    """
    owners = np.repeat(np.arange(len(buckets)), buckets.shape[1])
    keys = buckets.ravel()
    first, last = (np.searchsorted(shelf.keys, keys, side) for side in ("left", "right"))
    counts = last - first  # 0 for NOWHERE, which no shelf has
    ends = np.cumsum(counts)
    places = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
    return np.repeat(owners, counts), shelf.members[places].astype(np.int64)


def look_up(shelves: Iterable[tuple[Shelf, Int64]], gallery: int) -> tuple[Int64, Int64]:
    """The distinct pairs (probe, member) that share a bucket of any function, in order of probe, then member.

    Parameters
    ----------
    shelves
        For each function the shelf of the gallery, and the buckets of the probes.
    gallery
        How many items the gallery has.

    Examples
    --------
    >>> shelf = shelve(np.array([[7], [3]]))
    >>> [part.tolist() for part in look_up([(shelf, np.array([[3], [7]]))] * 2, 2)]
    [[0, 1], [1, 0]]
    """
    found, size = [np.empty(0, np.int64)], 0
    for shelf, buckets in shelves:
        probes, members = meet(shelf, buckets)
        found.append(probes * gallery + members)
        size += len(probes)
        if size > _TOGETHER:
            found, size = [np.unique(np.concatenate(found))], 0
    probes, members = np.divmod(np.unique(np.concatenate(found)), max(1, gallery))
    return probes, members
