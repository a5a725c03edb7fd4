"""Pairs of bit strings that agree in one block of bits and differ in few bits overall."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.machine import count_ones


@inlined
def _agree_before(strings, one, other, masks, block):
    """Whether two bit strings agree in a block before `block`."""
    for earlier in range(block):
        apart = np.uint64(0)
        for w in range(strings.shape[1]):
            apart |= (strings[one, w] ^ strings[other, w]) & masks[earlier, w]
        if apart == 0:
            return True
    return False


@kernel("uint64[,], int32[], int64[], int64, int64, int64, int64, uint64[,], int64, int32[], int32[] -> int64")
def near_in_buckets(strings, members, ends, first, last, before, most, masks, block, left, right):
    """Find pairs in a bucket that differ in at most `most` bits; report each only in the first block that agrees.

    Parameters
    ----------
    strings : uint64[strings, words]
    members : int32[places]
        Bit strings grouped by bucket, in ascending order within each.
    ends : int64[places]
        The end of the bucket that each place belongs to.
    first, last : int
        The range of places to process; each member is compared with those after it in its bucket.
    before : int
        If above 0, consider only pairs of a bit string below `before` and one that is not.
    masks : uint64[blocks, words]
        The bits of each block; the members of a bucket agree in those of `block`.
    left, right : int32[room], filled
        Must be large enough for all pairs.
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
