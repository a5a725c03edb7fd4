"""The join with the filters from the book, comparing sets directly: by length, prefix, position and suffix length.

It prepares nothing but the posting lists, so it is also the fastest method for few sets.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.exact_bounds import bound_partners, reaches
from lookalike.kernels.exact_encode import u32
from lookalike.kernels.exact_index import shelf_of
from lookalike.kernels.sets import needed_overlap, overlap_at_least
from lookalike.kernels.sorting import largest

BY_LENGTH, BY_PREFIX, BY_POSITION, BY_SUFFIX = 0, 1, 2, 3
"""The last filter to apply; those before it apply too."""
POSTINGS, PREFIX, POSITION, SUFFIX, SIGNATURE, FOUND = 0, 1, 2, 3, 4, 5
"""Positions in `counts`: postings scanned, pairs left after each filter, pairs found."""
NEXT, WRITTEN = 0, 1
"""Positions in the `state` of a probing kernel: the next set, and the number of pairs written."""


@inlined
def position_holds(measure, num, den, size, place, other_place):
    """Whether two sets whose first shared token is at these places can be similar, whatever the size of the other set.

    `place` is that of the probing set. At most size - place elements are shared. The best possible partner has exactly
    that many from its position on (but is no larger than the probing set): a smaller one shares fewer, and a larger one
    needs more.
    """
    other = min(size, size - place + other_place)
    return reaches(measure, num, den, other, size, min(size - place, other - other_place))


@inlined
def _compare_all(i, low, measure, num, den, indptr, tokens, sides, written, left, right, overlaps):
    """Compare set i with every set from `low` on; return the number of pairs written so far."""
    for other in range(low, i):
        if sides.size > 0 and sides[other] == sides[i]:
            continue
        start, end = indptr[other], indptr[other + 1]
        needed = needed_overlap(measure, num, den, end - start, indptr[i + 1] - indptr[i])
        overlap = overlap_at_least(tokens, start, end, indptr[i], indptr[i + 1], needed)
        if overlap >= 0:
            left[written], right[written], overlaps[written] = other, i, overlap
            written += 1
    return written


@inlined
def _compare_listed(
    i, c, low, last, shelf, level, measure, num, den, indptr, tokens, singles, class_of, sizes, ends, needed,
    cursors, owners, places, marks, written, left, right, overlaps, counts
):  # fmt: skip
    """Compare set i with the sets that share a prefix token and pass the filters; return the number of pairs written.

    The first token that leads to another set is the first that the two share, since the prefixes of both are complete
    up to that point. So nothing before it has to be compared.
    """
    size, start, stop = sizes[c], indptr[i], indptr[i + 1]
    for place in range(last):
        if tokens[start + place] < singles:
            continue
        token = u32(u32(tokens[start + place] - singles) + shelf)
        at = np.int64(cursors[token])
        while owners[at] < low:
            at += 1
        cursors[token] = at
        end = min(ends[place], i) if level == BY_SUFFIX else i
        while owners[at] < end:
            other, other_place = np.int64(owners[at]), np.int64(places[at])
            at += 1
            counts[POSTINGS] += 1
            if marks[other] == i + 1:
                continue
            marks[other] = i + 1
            counts[PREFIX] += 1
            if level >= BY_POSITION and not position_holds(measure, num, den, size, place, other_place):
                continue
            counts[POSITION] += 1
            other_class = class_of[other]
            least = needed[other_class]
            if level >= BY_SUFFIX and sizes[other_class] - other_place < least:
                continue
            counts[SUFFIX] += 1
            other_start = indptr[other] + other_place
            overlap = overlap_at_least(tokens, other_start, indptr[other + 1], start + place, stop, least)
            if overlap >= 0:
                left[written], right[written], overlaps[written] = other, i, overlap
                written += 1
    return written


@inlined
def sets_span(cursors, sides):
    """The number of posting lists per side."""
    return cursors.size // 2 if sides.size > 0 else cursors.size


@kernel(
    "int64, int64, int64, (int64, int64, int64), (int64[], uint32[], uint32, bool[]), (uint32[], int64[], "
    "int64[], int64[], int64[]), (uint32[], uint32[], uint32[]), uint32[], (int32[], int32[], int32[]), "
    "int64[], int64[]"
)
def probe_plain(first, last, level, rule, sets, classes, index, marks, out, state, counts):
    """Find the earlier partners of sets first..last-1; stops early if `out` could overflow.

    Parameters
    ----------
    level : BY_LENGTH, BY_PREFIX, BY_POSITION or BY_SUFFIX
    rule : (measure, num, den)
    sets : (indptr int64[sets + 1], tokens uint32[...], singles uint32, sides bool[sets] or bool[0])
    classes : (class_of uint32[sets], sizes, starts, lowest, probing, all int64[classes]; starts has one more)
    index : (cursors uint32[lists], owners uint32[...], places uint32[...])
        Cursors advance past sets that are too small for all later probing sets.
    marks : uint32[sets], not containing any value from first + 1 to last
    out : (left, right, overlaps), int32[sets or more]
    state : int64[2], receives NEXT and WRITTEN
    counts : int64[6], added to
    """
    measure, num, den = rule
    indptr, tokens, singles, sides = sets
    cursors, owners, places = index
    left, right, overlaps = out
    span = sets_span(cursors, sides)
    class_of, sizes, starts, lowest, probing = classes
    needed, spare = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    longest = largest(probing)
    ends, allowed = np.empty(longest, np.int64), np.empty(longest, np.int64)
    written, before, i = 0, np.int64(-1), first
    while i < last:
        c = np.int64(class_of[i])
        low = starts[lowest[c]]
        if written + i - low > left.size:
            break
        if low < i and level == BY_LENGTH:
            written = _compare_all(i, low, measure, num, den, indptr, tokens, sides, written, left, right, overlaps)
        elif low < i:
            if c != before:
                before = c
                bound_partners(measure, num, den, sizes, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
            shelf = shelf_of(sides, i, True, span)
            written = _compare_listed(
                i, c, low, probing[c], shelf, level, measure, num, den, indptr, tokens, singles, class_of, sizes, ends,
                needed, cursors, owners, places, marks, written, left, right, overlaps, counts
            )  # fmt: skip
        i += 1
    state[NEXT], state[WRITTEN] = i, written
    counts[FOUND] += written
