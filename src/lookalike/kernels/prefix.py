"""Prefixes of sets whose elements are ordered by rarity, for candidates/prefix.py."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sets import needed_overlap
from lookalike.kernels.sorting import sort_stretch

RARITY_BITS = 20
"""The upper bits of a symbol are the rarity class of an element; below are the upper bits of the element itself."""

MOST_SHAPES = 4096
"""If a bucket has more distinct (size, position) pairs, comparing all of them costs more than it saves."""


@kernel("int64[], int64[], int64[], uint64[] -> uint32[]")
def count_elements(items, begins, ends, elements):
    """Count how often elements occur in the sets of the items, in a table indexed by their low bits.

    Two elements can share a counter: any fixed order of the elements is correct; exact counts only make it faster.
    """
    total = np.int64(0)
    for k in range(items.size):
        total += ends[items[k]] - begins[items[k]]
    size = np.int64(1024)
    while size < total and size < (np.int64(1) << 26):
        size *= 2
    counters = np.zeros(size, np.uint32)
    for k in range(items.size):
        for e in range(begins[items[k]], ends[items[k]]):
            counters[np.int64(elements[e] & U(size - 1))] += np.uint32(1)
    return counters


@inlined
def _symbol(element, counters):
    count = U(counters[np.int64(element & U(counters.size - 1))])
    return (min(count, U((1 << RARITY_BITS) - 1)) << U(64 - RARITY_BITS)) | (element >> U(RARITY_BITS))


@inlined
def _prefix_length(size, floor_num, floor_den):
    """Size - o + 1, where o = ceil(size floor) is the smallest possible overlap with a similar set."""
    return size - max(np.int64(1), (size * floor_num + floor_den - 1) // floor_den) + 1


@kernel("int64[], int64[], int64[], uint64[], uint32[], int64, int64 -> (int64[], uint64[], int32[])")
def list_prefixes(items, begins, ends, elements, counters, floor_num, floor_den):
    """List the first symbols of each set in order of rarity.

    Elements with the same symbol count as one, which can only add candidates.

    Returns
    -------
    starts : int64[items + 1]
    symbols : uint64[...], mixed so that they can serve as keys
    places : int32[...], the position of each symbol in the order of its set
    """
    starts = np.zeros(items.size + 1, np.int64)
    longest = np.int64(0)
    for k in range(items.size):
        size = ends[items[k]] - begins[items[k]]
        longest = max(longest, size)
        starts[k + 1] = starts[k] + _prefix_length(size, floor_num, floor_den)
    symbols, places = np.empty(starts[-1], np.uint64), np.empty(starts[-1], np.int32)
    order = np.empty(longest, np.uint64)
    filled = np.int64(0)
    for k in range(items.size):
        begin, end = begins[items[k]], ends[items[k]]
        for e in range(begin, end):
            order[e - begin] = _symbol(elements[e], counters)
        sort_stretch(order, 0, end - begin)
        length = starts[k + 1] - starts[k]
        starts[k] = filled
        for p in range(length):
            if p == 0 or order[p] != order[p - 1]:
                symbols[filled], places[filled] = mix(order[p]), p
                filled += 1
    starts[items.size] = filled
    return starts, symbols[:filled], places[:filled]


@inlined
def _distinct_shapes(shapes):
    sort_stretch(shapes, 0, shapes.size)
    kept = 1
    for k in range(1, shapes.size):
        if shapes[k] != shapes[k - 1]:
            shapes[kept] = shapes[k]
            kept += 1
    return kept


@kernel("int64[], int64[], int64[], int64, int64, int64, int64 -> bool[]")
def useful_entries(starts, sizes, places, limit, measure, num, den):
    """Find the members of large buckets that can be similar to another member, by set size and position.

    If a symbol is the first that two sets have in common, at positions p and q, they share at most min(n - p, m - q)
    elements. In buckets of up to `limit` members, all count.
    """
    useful = np.ones(sizes.size, np.bool_)
    for b in range(starts.size - 1):
        start, end = starts[b], starts[b + 1]
        if end - start <= limit:
            continue
        shapes = np.empty(end - start, np.int64)
        for k in range(start, end):
            shapes[k - start] = (sizes[k] << 31) | places[k]
        distinct = shapes.copy()
        count = _distinct_shapes(distinct)
        if count > MOST_SHAPES:
            continue
        hopeful = np.zeros(count, np.bool_)
        for i in range(count):
            n, p = distinct[i] >> 31, distinct[i] & 0x7FFFFFFF
            for j in range(i, count):
                m, q = distinct[j] >> 31, distinct[j] & 0x7FFFFFFF
                most = min(n - p, m - q)
                if most >= needed_overlap(measure, num, den, n, m) or most >= needed_overlap(measure, num, den, m, n):
                    hopeful[i] = True
                    hopeful[j] = True
        for k in range(start, end):
            useful[k] = hopeful[np.searchsorted(distinct[:count], shapes[k - start])]
    return useful
