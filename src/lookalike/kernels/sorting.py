"""Sorting a stretch of an array in place. Numba's own sort does the same but takes seconds to compile."""

from lookalike.kernels.compile import kernel

FEW = 24
"""Up to this many values an insertion sort is fastest."""


@kernel
def insertion_sort(values, start, end):
    """Sort values[start:end]; fast for few values and for values that are nearly in place."""
    for i in range(start + 1, end):
        value = values[i]
        j = i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def sort_stretch(values, start, end):
    """Sort values[start:end] in n log n steps whatever they are (a heap)."""
    count = end - start
    if count <= FEW:
        insertion_sort(values, start, end)
        return
    first = count // 2
    last = count
    while last > 1:
        if first > 0:  # build the heap: larger values above smaller ones
            first -= 1
            value = values[start + first]
        else:  # take the largest off its top
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
