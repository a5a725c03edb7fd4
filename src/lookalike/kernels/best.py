"""The k best neighbours of one set, in a heap with the worst one on top; all comparisons use integers.

For a set of size n, a neighbour is (overlap o, size m, rank in the input); of two equally similar neighbours, the one
with the smaller rank is better. Jaccard and Dice order neighbours by o / (n + m), cosine by o^2 / m, containment and
overlap by o. Each row of the heap is int64 (overlap, size, rank, number of the set).
"""

import numpy as np

from lookalike.kernels.compile import bare
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import multiply_high
from lookalike.kernels.sets import CONTAINMENT, COSINE, OVERLAP, needed_overlap


@bare
def _compare_products(a, b, c, d):
    """-1, 0 or 1 if a * b is below, equal to or above c * d; exact for factors up to 2^63."""
    high, other_high = multiply_high(U(a), U(b)), multiply_high(U(c), U(d))
    low, other_low = U(a) * U(b), U(c) * U(d)
    if high != other_high:
        return np.int64(1) if high > other_high else np.int64(-1)
    return np.int64(low > other_low) - np.int64(low < other_low)


@bare
def compare(measure, n, overlap, m, other_overlap, other_m):
    """-1, 0 or 1 if the first neighbour of a set of size n is less, equally or more similar than the second."""
    if measure in (CONTAINMENT, OVERLAP):
        return np.int64(overlap > other_overlap) - np.int64(overlap < other_overlap)
    if measure == COSINE:
        return _compare_products(overlap * overlap, other_m, other_overlap * other_overlap, m)
    left, right = overlap * (n + other_m), other_overlap * (n + m)
    return np.int64(left > right) - np.int64(left < right)


@bare
def _reaching(measure, n, m, overlap, other_m):
    """The smallest overlap that makes a set of size m as similar as one of size `other_m` with `overlap`."""
    if measure in (CONTAINMENT, OVERLAP):
        return overlap
    if measure == COSINE:
        guess = np.int64(overlap * np.sqrt(m / other_m))
        while guess > 0 and compare(measure, n, guess - 1, m, overlap, other_m) >= 0:
            guess -= 1
        while compare(measure, n, guess, m, overlap, other_m) < 0:
            guess += 1
        return guess
    return (overlap * (n + m) + n + other_m - 1) // (n + other_m)


@bare
def entry_bar(rule, n, m, heap, filled):
    """The smallest overlap with which a set of size m enters the heap.

    Parameters
    ----------
    rule : (measure, num, den)
        The threshold is num / den; num = 0 means no threshold.

    Returns
    -------
    (needed, tied) : the smallest overlap, and whether it ties with the worst neighbour, so that the rank decides
    """
    measure, num, den = rule
    needed = np.int64(1)
    if num > 0:
        needed = np.int64(needed_overlap(measure, num, den, n, m))
    if filled == heap.shape[0]:
        reach = _reaching(measure, n, m, heap[0, 0], heap[0, 1])
        if reach >= needed:
            return reach, compare(measure, n, reach, m, heap[0, 0], heap[0, 1]) == 0
    return needed, False


@bare
def _is_worse(measure, n, heap, i, j):
    order = compare(measure, n, heap[i, 0], heap[i, 1], heap[j, 0], heap[j, 1])
    return order < 0 or (order == 0 and heap[i, 2] > heap[j, 2])


@bare
def _swap(heap, i, j):
    for column in range(4):
        heap[i, column], heap[j, column] = heap[j, column], heap[i, column]


@bare
def _sink(measure, n, heap, filled):
    """Move the top of the heap down to its correct position."""
    i = 0
    while 2 * i + 1 < filled:
        child = 2 * i + 1
        if child + 1 < filled and _is_worse(measure, n, heap, child + 1, child):
            child += 1
        if not _is_worse(measure, n, heap, child, i):
            break
        _swap(heap, i, child)
        i = child


@bare
def put_in(measure, n, heap, filled, overlap, m, rank, number):
    """Add a neighbour, replacing the worst one if the heap is full; return the number of neighbours."""
    i = filled if filled < heap.shape[0] else 0
    heap[i, 0], heap[i, 1], heap[i, 2], heap[i, 3] = overlap, m, rank, number
    if filled == heap.shape[0]:
        _sink(measure, n, heap, filled)
        return filled
    while i > 0 and _is_worse(measure, n, heap, i, (i - 1) // 2):
        _swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2
    return filled + 1


@bare
def take_out(measure, n, heap, filled, neighbours, overlaps, start):
    """Move the contents of the heap to neighbours[start:] and overlaps[start:], best first."""
    while filled > 0:
        filled -= 1
        neighbours[start + filled], overlaps[start + filled] = heap[0, 3], heap[0, 0]
        _swap(heap, 0, filled)
        _sink(measure, n, heap, filled)
