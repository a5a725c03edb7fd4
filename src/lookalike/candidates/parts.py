"""Independent parts: items that no chain of buckets connects are never compared with each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lookalike.errors import ResourceError
from lookalike.kernels.unionfind import flatten, unite
from lookalike.types import Buckets, Int32, Int64


def connected_parts(buckets: Buckets, items: int) -> Int32:
    """For each of the items 0..items-1 the smallest item that buckets connect it with.

    Examples
    --------
    >>> two = Buckets(np.array([0, 2, 4]), np.array([0, 3, 1, 2], np.int32))
    >>> connected_parts(two, 5).tolist()
    [0, 1, 1, 0, 4]
    """
    parent = np.arange(items, dtype=np.int32)
    heads = np.repeat(buckets.members[buckets.starts[:-1]], buckets.sizes)
    unite(parent, heads, buckets.members, np.empty(len(heads), np.bool_))
    flatten(parent)
    return parent


def split_parts(buckets: Buckets, members: Int64, nbytes: Int64, limit: int) -> Iterator[Int64]:
    """Batches of members whose sets fit in memory, connected ones together.

    Parameters
    ----------
    members : int64[...]
        Items that are in buckets, ascending.
    nbytes : int64[...]
        How much memory the set of each takes.
    limit
        How much a batch may take.

    Yields
    ------
    Positions in `members`, ascending.

    Examples
    --------
    >>> two = Buckets(np.array([0, 2, 4]), np.array([0, 3, 1, 2], np.int32))
    >>> [part.tolist() for part in split_parts(two, np.arange(4), np.full(4, 8), 20)]
    [[0, 3], [1, 2]]
    """
    if nbytes.sum() <= limit:
        yield np.arange(len(members))
        return
    part_of = connected_parts(buckets, int(members[-1]) + 1)[members]
    by_part = np.argsort(part_of, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(part_of[by_part])) + 1, len(members))
    taken = np.concatenate([np.zeros(1, np.int64), np.cumsum(nbytes[by_part])])
    start = 0
    while start < len(members):
        fits = np.searchsorted(taken[ends], taken[start] + limit, side="right")
        end = int(ends[fits - 1]) if fits and ends[fits - 1] > start else 0
        if not end:
            first = int(ends[np.searchsorted(ends, start, side="right")])
            needed = int(taken[first] - taken[start])
            raise ResourceError(
                f"{first - start:,} items are connected by buckets and their sets take {needed / 2**20:,.0f} MiB at "
                f"once; {limit / 2**20:,.0f} MiB are free for sets. Give more --memory, or raise --threshold"
            )
        yield np.sort(by_part[start:end])
        start = end
