"""Bit strings that agree in a block of their bits, and differ in few bits altogether."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.machine import count_ones


@inlined
def _agree_before(strings, one, other, masks, block):
    """Whether two bit strings agree in a block before this one."""
    for earlier in range(block):
        apart = np.uint64(0)
        for w in range(strings.shape[1]):
            apart |= (strings[one, w] ^ strings[other, w]) & masks[earlier, w]
        if apart == 0:
            return True
    return False


@kernel("uint64[,], int32[], int64[], int64, int64, int64, int64, uint64[,], int64, int32[], int32[] -> int64")
def near_in_buckets(strings, members, ends, first, last, before, most, masks, block, left, right):
    """Pairs of bit strings of one bucket that differ in `most` bits or fewer, each in the first block it agrees in.

    Parameters
    ----------
    strings : uint64[strings, words]
    members : int32[places]
        Bit strings by bucket, ascending in each.
    ends : int64[places]
        Where the bucket of each place ends.
    first, last : int
        Only members at these places are compared, with those after them in their bucket.
    before : int
        If above 0, only pairs of a bit string below it with one that is not.
    masks : uint64[blocks, words]
        The bits of each block; members agree in those of `block`.
    left, right : int32[room], filled
        Enough for all pairs.
    """
    written = 0
    for place in range(first, last):
        one = members[place]
        for other_place in range(place + 1, ends[place]):
            other = members[other_place]
            if before > 0 and not one < before <= other:
                continue
            total = np.int64(0)
            for w in range(strings.shape[1]):
                total += np.int64(count_ones(strings[one, w] ^ strings[other, w]))
            if total <= most and not _agree_before(strings, one, other, masks, block):
                left[written], right[written] = one, other
                written += 1
    return written
