"""Sort and search arrays or ranges of them. Numba's own sort takes seconds to compile."""

import numpy as np

from lookalike.kernels.compile import bare, inlined, kernel

FEW = 24
"""Up to this many values, insertion sort is fastest."""


@kernel("I[], int64, int64", I=("int32", "int64", "uint32", "uint64"))
def insertion_sort(values, start, end):
    """Sort values[start:end]; fast for few values and for values that are nearly in place."""
    for i in range(start + 1, end):
        value = values[i]
        j = i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel("I[], int64, int64", I=("int32", "int64", "uint64"))
def sort_stretch(values, start, end):
    """Sort values[start:end] in n log n steps, regardless of their order (heap sort)."""
    count = end - start
    if count <= FEW:
        insertion_sort(values, start, end)
        return
    first = count // 2
    last = count
    while last > 1:
        if first > 0:  # build the heap: no value is smaller than those below it
            first -= 1
            value = values[start + first]
        else:  # take the largest value off the top
            last -= 1
            value = values[start + last]
            values[start + last] = values[start]
        hole = first
        child = 2 * hole + 1
        while child < last:
            if child + 1 < last and values[start + child + 1] > values[start + child]:
                child += 1
            if values[start + child] <= value:
                break
            values[start + hole] = values[start + child]
            hole = child
            child = 2 * hole + 1
        values[start + hole] = value


@kernel("uint64[], uint64[], int64, int64 -> bool")
def sort_bits(words, other, first, passes):
    """Sort words by `passes` bytes, the lowest of which begins at bit `first`; words that agree keep their order.

    From a few thousand words on, a few passes over all of them (radix sort) are several times as fast as comparisons.

    Parameters
    ----------
    words, other : uint64[n]
        Both are overwritten.

    Returns
    -------
    Whether the sorted words are in `other`.
    """
    swapped = False
    counts = np.zeros((passes, 256), np.int64)
    for i in range(words.size):
        word = words[i] >> np.uint64(first)
        for p in range(passes):
            counts[p, word & np.uint64(255)] += 1
            word >>= np.uint64(8)
    for p in range(passes):
        shift = np.uint64(first + 8 * p)
        if words.size and counts[p, (words[0] >> shift) & np.uint64(255)] == words.size:
            continue  # all words agree in this byte
        before = 0
        for digit in range(256):
            here = counts[p, digit]
            counts[p, digit] = before
            before += here
        for i in range(words.size):
            digit = (words[i] >> shift) & np.uint64(255)
            other[counts[p, digit]] = words[i]
            counts[p, digit] += 1
        words, other = other, words
        swapped = not swapped
    return swapped


@bare
def first_from(values, low, high, least):
    """The first position in the ascending values[low:high] whose value is at least `least`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def largest(values):
    """The largest of several non-negative numbers; 0 if there are none."""
    found = np.int64(0)
    for i in range(values.size):
        found = max(found, np.int64(values[i]))
    return found


@inlined
def twice_as_long(values):
    """An array of twice the length that starts with the same values."""
    longer = np.empty(2 * values.size, values.dtype)
    for i in range(values.size):
        longer[i] = values[i]
    return longer
