"""Bounds from set sizes alone: which sizes can be partners, and how long the prefixes have to be.

Sets are sorted by size, and the sets of one size form a *class*. A set is probed against earlier ones, so the indexed
set of a pair is never the larger. Every bound here follows from one fact: the smallest overlap that a pair needs never
decreases when one of the sets grows.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.sets import CONTAINMENT, DICE, JACCARD, OVERLAP, cosine_holds, needed_overlap


@inlined
def reaches(measure, num, den, smaller, larger, overlap):
    """Whether `overlap` suffices for sets of these sizes: needed_overlap <= overlap, without a division."""
    if measure == JACCARD:
        return num * (smaller + larger) <= (num + den) * overlap
    if measure == DICE:
        return num * (smaller + larger) <= 2 * den * overlap
    if measure == CONTAINMENT:
        return num * smaller <= den * overlap
    if measure == OVERLAP:
        return num <= den * overlap
    return cosine_holds(overlap, num, den, smaller, larger)


@kernel("int64[] -> (uint32[], int64[], int64[])")
def size_classes(indptr):
    """Group sets by size.

    Parameters
    ----------
    indptr : int64[sets + 1], with differences that never decrease

    Returns
    -------
    class_of : uint32[sets]
    sizes : int64[classes], ascending
    starts : int64[classes + 1], the first set of each class
    """
    sets = indptr.size - 1
    class_of = np.empty(sets, np.uint32)
    sizes = np.empty(sets, np.int64)
    starts = np.empty(sets + 1, np.int64)
    classes = 0
    for i in range(sets):
        size = indptr[i + 1] - indptr[i]
        if classes == 0 or size != sizes[classes - 1]:
            sizes[classes] = size
            starts[classes] = i
            classes += 1
        class_of[i] = classes - 1
    starts[classes] = sets
    return class_of, sizes[:classes].copy(), starts[: classes + 1].copy()


@kernel("int64, int64, int64, int64[] -> (int64[], int64[], int64[])")
def bound_classes(measure, num, den, sizes):
    """For each class, the smallest class of a partner, and the prefix lengths for indexing and probing.

    Two sets that share at least o elements share one among the first n - o + 1 of a set of size n. An indexed set meets
    sets of its own size or larger, so its o is that of two sets of its size; a probing set meets smaller ones, down to
    the smallest that can be a partner at all.

    Parameters
    ----------
    sizes : int64[classes], ascending

    Returns
    -------
    lowest, indexed, probing : int64[classes]
        lowest[c] is c + 1 if class c has no partners, not even itself.
    """
    lowest, indexed, probing = np.empty_like(sizes), np.empty_like(sizes), np.empty_like(sizes)
    low = 0
    for c in range(sizes.size):
        size = sizes[c]
        while low <= c and not reaches(measure, num, den, sizes[low], size, sizes[low]):
            low += 1
        lowest[c] = low
        indexed[c] = max(0, size - needed_overlap(measure, num, den, size, size) + 1)
        probing[c] = size - needed_overlap(measure, num, den, sizes[low], size) + 1 if low <= c else 0
    return lowest, indexed, probing


@kernel("int64, int64, int64, int64[], int64[], int64, int64, int64, int64[], int64[], int64[], int64[]")
def bound_partners(measure, num, den, sizes, starts, c, low, places, needed, spare, ends, allowed):
    """Bounds on the partners of a probing set of class c; they are the same for all sets of the class.

    Parameters
    ----------
    sizes, starts : int64[classes], int64[classes + 1]
    low : the smallest class of a partner, at most c
    places : length of the probing prefix
    needed, spare : int64[classes]
        For each class from `low` to c: the overlap needed, and how many elements may be in only one of the two sets.
    ends : int64[places or more]
        If position p of the probing set is the first shared one, all partners come before this set, because at most
        size - p elements are shared. Never increases.
    allowed : int64[places or more]
        The largest `spare` among those partners. (`spare` itself can decrease by one from one size to the next.)
    """
    size = sizes[c]
    overlap = needed_overlap(measure, num, den, sizes[low], size)
    for partner in range(low, c + 1):
        while not reaches(measure, num, den, sizes[partner], size, overlap):
            overlap += 1
        needed[partner] = overlap
        spare[partner] = size + sizes[partner] - 2 * overlap
    partner = c
    for place in range(places):
        while partner >= low and needed[partner] > size - place:
            partner -= 1
        ends[place] = starts[partner + 1]
        allowed[place] = partner
    _largest_so_far(spare, low, places, allowed)


@inlined
def _largest_so_far(spare, low, places, allowed):
    """Replace each class in `allowed` (never increasing with the place) by the largest `spare` from `low` up to it."""
    largest, partner = np.int64(-1), low
    for back in range(places):
        place = places - 1 - back
        while partner <= allowed[place]:
            largest = max(largest, spare[partner])
            partner += 1
        allowed[place] = largest


@kernel("int64, int64, int64, int64[], int64, int64, int64, uint32[]")
def bound_probers(measure, num, den, sizes, c, highest, places, limits):
    """The largest class of a probing set, if position p of an indexed set of class c is the first shared one.

    Parameters
    ----------
    highest : the largest class to consider
    limits : uint32[places or more]
    """
    size = sizes[c]
    prober = highest
    for place in range(places):
        while prober > c and not reaches(measure, num, den, size, sizes[prober], size - place):
            prober -= 1
        limits[place] = prober
