"""Posting lists: for each token (on each side), the sets that have it in their prefix, in order.

A list is owners[starts[l]:] up to NONE. Position 0 holds the empty list. With two sides, the lists of side 1 follow
those of side 0, so that a probing set only scans lists of the other side.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.exact_bounds import bound_probers
from lookalike.kernels.exact_encode import INLINE_WORDS, NONE, u32


@inlined
def shelf_of(sides, i, other, span):
    """Where the lists of set i's side (or of the other side) begin; `span` is the number of lists per side."""
    if sides.size == 0:
        return u32(0)
    return u32(span) if (sides[i] != 0) != other else u32(0)


@kernel("int64, int64, (int64[], uint32[], uint32, bool[]), uint32[], int64[], uint32[], int64, uint32[]")
def count_postings(first, last, sets, class_of, indexed, alone, span, counts):
    """Count the postings of sets first..last-1, per list.

    Parameters
    ----------
    sets : (indptr int64[sets + 1], tokens uint32[...], singles uint32, sides bool[sets] or bool[0])
    class_of : uint32[sets]
    indexed : int64[classes], prefix lengths
    alone : uint32[sets] or uint32[0]
        The number of leading tokens of each set that have no list, if known.
    counts : uint32[lists], added to
    """
    indptr, tokens, singles, sides = sets
    for i in range(first, last):
        shelf = shelf_of(sides, i, False, span)
        known = np.int64(alone[i]) if alone.size > 0 else 0
        for k in range(indptr[i] + known, indptr[i] + indexed[class_of[i]]):
            if tokens[k] >= singles:
                counts[u32(u32(tokens[k] - singles) + shelf)] += u32(1)


@kernel("uint32[,], uint32[] -> int64")
def place_lists(counts, starts):
    """Turn counts into positions: where each list starts, and where in it each part starts to write.

    Parameters
    ----------
    counts : uint32[parts, lists]
        Receives the position of each part's next posting.
    starts : uint32[lists]
        Receives the position of the first posting; 0 for an empty list.

    Returns
    -------
    the number of positions, including the terminators of the lists
    """
    place = np.int64(1)
    for token in range(starts.size):
        start = place
        for part in range(counts.shape[0]):
            count = np.int64(counts[part, token])
            counts[part, token] = place
            place += count
        starts[token] = start if place > start else 0
        place += np.int64(place > start)
    return place


@kernel(
    "int64, int64, int64, int64, int64, (int64[], uint32[], uint32, bool[]), (uint32[], int64[], int64[]), "
    "int64[], uint32[], int64, uint64[], uint32[], (uint32[], uint32[], uint32[], uint64[])"
)
def fill_postings(first, last, measure, num, den, sets, classes, indexed, alone, span, signs, cursors, index):
    """Write the postings of sets first..last-1.

    Parameters
    ----------
    classes : (class_of uint32[sets], sizes int64[classes], lowest int64[classes])
    alone, signs : as in exact_encode.sign_short
    cursors : uint32[lists], advanced
    index : (owners uint32[...], limits uint32[...], places uint32[...], signatures uint64[...])
        Receives, for each posting: its set; the largest class of a probing set that can be a partner if this is the
        first shared token; the position in the set; the words of its signature, folded to one. Arrays of size 0 are
        skipped.
    """
    indptr, tokens, singles, sides = sets
    class_of, sizes, lowest = classes
    owners, limits, places, signatures = index
    by_place = _working_room(first, last, class_of, indexed)
    before, highest = np.int64(-1), np.int64(0)
    for i in range(first, last):
        c = np.int64(class_of[i])
        known = np.int64(alone[i]) if alone.size > 0 else 0
        if known >= indexed[c]:
            continue
        if c != before:
            before = c
            highest = max(highest, c)
            while highest + 1 < sizes.size and lowest[highest + 1] <= c:
                highest += 1
            bound_probers(measure, num, den, sizes, c, highest, indexed[c], by_place)
        shelf = shelf_of(sides, i, False, span)
        start = indptr[i]
        for place in range(known, indexed[c]):
            if tokens[start + place] < singles:
                continue
            token = u32(u32(tokens[start + place] - singles) + shelf)
            at = cursors[token]
            cursors[token] = u32(at + u32(1))
            owners[at] = u32(i)
            if limits.size > 0:
                limits[at] = by_place[place]
            if places.size > 0:
                places[at] = u32(place)
            if signatures.size > 0:
                signatures[at] = signs[INLINE_WORDS * i] ^ signs[INLINE_WORDS * i + 1]


@inlined
def _working_room(first, last, class_of, indexed):
    longest = np.int64(0)
    for i in range(first, last):
        longest = max(longest, indexed[class_of[i]])
    return np.empty(longest, np.uint32)


@kernel("int64, int64, uint32[], uint32[], uint32[]")
def end_lists(first, last, starts, ends, owners):
    """Terminate lists first..last-1, and the empty one, with NONE; `ends` are the cursors of the last part."""
    owners[0] = NONE
    for token in range(first, last):
        if starts[token] != u32(0):
            owners[ends[token]] = NONE


@kernel("int64, int64, uint32[], uint32[], uint8[]")
def mark_contained(first, last, starts, owners, contained):
    """Mark those of lists first..last-1 that are contained in the previous one: once it is scanned, they are redundant.

    Shingles of copied text form runs of such lists.

    Parameters
    ----------
    starts : uint32[lists]
    owners : uint32[...], ascending in each list
    contained : uint8[lists], initially zero
    """
    for token in range(max(1, first), last):
        if starts[token] == u32(0) or starts[token - 1] == u32(0):
            continue
        inner, outer = starts[token], starts[token - 1]
        while owners[inner] != NONE:
            while owners[outer] < owners[inner]:
                outer = u32(outer + u32(1))
            if owners[outer] != owners[inner]:
                break
            inner = u32(inner + u32(1))
            outer = u32(outer + u32(1))
        contained[token] = owners[inner] == NONE
