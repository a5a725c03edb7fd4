"""Independent parts: items that are not connected by any chain of buckets are never compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from lookalike.errors import ResourceError
from lookalike.kernels.unionfind import flatten, unite
from lookalike.types import Buckets, Int32, Int64
from lookalike.types.frozen import frozen


def connected_parts(bands: Iterable[Buckets], items: int, before: Int32 | None = None) -> Int32:
    """For each of the items 0..items-1, the smallest item that it is connected to by buckets of any band.

    `before` holds the connections of other bands.

    Examples
    --------
    >>> two = Buckets(np.array([0, 2, 4]), np.array([0, 3, 1, 2], np.int32))
    >>> connected_parts([two], 5).tolist()
    [0, 1, 1, 0, 4]
    """
    parent = np.arange(items, dtype=np.int32) if before is None else before.copy()
    for buckets in bands:
        heads = np.repeat(buckets.members[buckets.starts[:-1]], buckets.sizes)
        unite(parent, heads, buckets.members, np.empty(len(heads), np.bool_))
    flatten(parent)
    return parent


@frozen
class Packing:
    """Members in *blocks* that fit in memory, and blocks in *batches* that can be processed one after the other.

    A batch is one block of whole parts, or several blocks that together are one part too large to fit: any two of its
    blocks fit in memory together.
    """

    block_of: Int32
    """The block of each member."""
    batches: list[range]
    """The blocks of each batch; those of a large part hold its members in ascending order."""

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.batches[-1].stop if self.batches else 0


def pack_parts(
    part_of: Int32,
    nbytes: Int64,
    limit: int,
    name_of: Callable[[int], str] = "item {}".format,
    goal: int | None = None,
    block_bytes: int | None = None,
) -> Packing:
    """Combine whole parts to blocks of at most `limit` bytes, and split larger parts.

    Parameters
    ----------
    part_of : int32[members]
        The part of each member; members are in ascending order.
    nbytes : int64[members]
        The memory that each takes.
    name_of
        How a message names a member.
    goal
        Stop filling a block at this size; a larger part that is within the limit becomes a block of its own.
    block_bytes
        The size of the blocks of a larger part, at most half of the limit; a member can take half of the limit.

    Examples
    --------
    >>> pack_parts(np.array([0, 1, 1, 0], np.int32), np.full(4, 8), 20)
    Packing(block_of=array([0, 1, 1, 0], dtype=int32), batches=[range(0, 1), range(1, 2)])
    """
    by_part = np.argsort(part_of, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(part_of[by_part])) + 1, len(by_part))
    taken = np.concatenate([np.zeros(1, np.int64), np.cumsum(nbytes[by_part])])
    block_of = np.empty(len(by_part), np.int32)
    batches: list[range] = []
    start = block = 0
    while start < len(by_part):
        fitting = ends[: np.searchsorted(taken[ends], taken[start] + min(limit, goal or limit), side="right")]
        end = int(ends[np.searchsorted(ends, start, side="right")])
        if len(fitting) and fitting[-1] > start:
            cuts = [start, int(fitting[-1])]
        elif taken[end] - taken[start] <= limit:
            cuts = [start, end]
        else:
            cuts = _cut(taken, start, end, limit // 2, block_bytes or limit // 2, lambda k: name_of(int(by_part[k])))
        for first, last in pairwise(cuts):
            block_of[by_part[first:last]] = block
            block += 1
        batches.append(range(block - len(cuts) + 1, block))
        start = cuts[-1]
    return Packing(block_of, batches)


def _cut(taken: Int64, start: int, end: int, limit: int, goal: int, name_of: Callable[[int], str]) -> list[int]:
    """Split one part into blocks of at most `goal` bytes, or of one member of at most `limit` bytes."""
    cuts = [start]
    while cuts[-1] < end:
        cut = min(end, int(np.searchsorted(taken, taken[cuts[-1]] + goal, side="right")) - 1)
        cut = max(cut, cuts[-1] + 1)
        if (needed := int(taken[cut] - taken[cuts[-1]])) > limit:
            raise ResourceError(
                f"{name_of(cuts[-1])}: its set takes {needed / 2**20:,.0f} MiB; {limit / 2**20:,.0f} MiB are available "
                "for one. Increase --memory, or leave the largest items out"
            )
        cuts.append(cut)
    return cuts
