"""Queries to one part of an index: which items share a bucket, and how similar they are, each in a single call.

Blocks of a file are checked when they are first read, here too: a kernel stops at a damaged block.
"""

import numpy as np

from lookalike.kernels.checksums import damaged_block
from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.index import guessed_run_of, stretch_of
from lookalike.kernels.sets import common_at_least, needed_overlap
from lookalike.kernels.sorting import sort_stretch

DONE, FULL, CROWDED = -1, -2, -3
"""Why a kernel stopped, unless at a damaged block: it is done, the output is full, or a bucket has too many items."""


@inlined
def each_once(values, start, end):
    """Sort values[start:end] and drop repeats; return the new end."""
    sort_stretch(values, start, end)
    kept = start
    for at in range(start, end):
        if at == start or values[at] != values[at - 1]:
            values[kept] = values[at]
            kept += 1
    return kept


@kernel(
    "uint64[,], bool[], int64, uint64[], uint64[,], int64, uint64[,], int32[,], (uint64[], uint64[], bool[]), int64, "
    "int64, int64, int64, int64[], int64[] -> (int64, int64, int64)"
)
def collect_shared(
    asked, there, first_band, words, fences, step, keys, numbers, file, keys_begin, numbers_begin, limit, first, left,
    right,
):  # fmt: skip
    """List the items of a segment that share a key with the queried ones, from item `first` on; sorted, no repeats.

    Parameters
    ----------
    asked, there, first_band, words, fences, step
        As for `locate_keys`.
    keys, numbers : uint64[bands, count], int32[bands, count]
        The sorted keys of each band, and the item of each key.
    file : (uint64[n], uint64[blocks], bool[blocks])
        As for `damaged_block`.
    keys_begin, numbers_begin : int64
        Where these arrays begin in the file.
    limit : int64
        Buckets with more items than this are not handled here.
    left, right : int64[room]
        Receive the queried item and the item found.

    Returns
    -------
    (stopped, filled, why) : the first item left to do, the number of pairs, and a damaged block, FULL, CROWDED
        or DONE
    """
    count = keys.shape[1]
    filled = np.int64(0)
    for i in range(first, asked.shape[1]):
        begun = filled
        if not there[i]:
            continue
        for band in range(asked.shape[0]):
            key = asked[band, i]
            start, end = stretch_of(key, first_band + band, words, fences[band], step, count)
            low, high = start, end
            start, end = guessed_run_of(key, keys[band], low, high, fences[band], step)
            # the keys on either side prove that the run is complete
            block = damaged_block(file, keys_begin + 8 * band * count, 8, max(start - 1, low), min(end + 1, high))
            if block >= 0:
                return i, begun, block
            if end - start > limit:
                return i, begun, np.int64(CROWDED)
            block = damaged_block(file, numbers_begin + 4 * band * count, 4, start, end)
            if block >= 0:
                return i, begun, block
            if filled + end - start > right.size:
                return i, begun, np.int64(FULL)
            for at in range(start, end):
                right[filled] = numbers[band, at]
                filled += 1
        filled = each_once(right, begun, filled)
        for at in range(begun, filled):
            left[at] = i
    return np.int64(asked.shape[1]), filled, np.int64(DONE)


@kernel(
    "int64[], int64[], int64[], uint64[], int64[], uint64[], (uint64[], uint64[], bool[]), int64, int64, bool[], "
    "int64, int64, int64, int64, int64[], int64[] -> (int64, int64)"
)
def compare_found(
    left, right, asked_indptr, asked_elements, offsets, data, file, offsets_begin, data_begin, gone, base, measure, num,
    den, overlaps, sizes,
):  # fmt: skip
    """Keep the pairs of a queried item and an item of a part that reach the threshold, with their overlap.

    Parameters
    ----------
    left, right : int64[n]
        The pairs; those that are kept are moved to the front.
    offsets, data : int64[items + 1], uint64[m]
        The sets of the part.
    file : (uint64[n], uint64[blocks], bool[blocks])
        As for `damaged_block`.
    offsets_begin, data_begin : int64
        Where these arrays begin in the file.
    gone, base : bool[...], int64
        Item j of the part was removed if gone[base + j].
    overlaps, sizes : int64[n]
        Receive the overlap, and the size of the set found.

    Returns
    -------
    (kept, why) : the number of pairs kept, and a damaged block or DONE
    """
    kept = np.int64(0)
    for pair in range(left.size):
        i, j = left[pair], right[pair]
        if gone[base + j]:
            continue
        block = damaged_block(file, offsets_begin, 8, j, j + 2)
        if block < 0:
            block = damaged_block(file, data_begin, 8, offsets[j], offsets[j + 1])
        if block >= 0:
            return kept, block
        start, end, own, own_end = offsets[j], offsets[j + 1], asked_indptr[i], asked_indptr[i + 1]
        needed = needed_overlap(measure, num, den, own_end - own, end - start)
        overlap = common_at_least(asked_elements, own, own_end, data, start, end, needed)
        if overlap >= 0:
            left[kept], right[kept], overlaps[kept], sizes[kept] = i, j, overlap, end - start
            kept += 1
    return kept, np.int64(DONE)
