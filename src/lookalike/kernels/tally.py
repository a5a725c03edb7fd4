"""Counts over all candidate pairs of records in one pass: by level of agreement, and by score."""

import numpy as np

from lookalike.kernels.compile import bare_kernel


@bare_kernel("int8[..,..], int64[,]")
def count_levels(levels, counts):
    """Count the pairs with each level in each field; adds to `counts`.

    Parameters
    ----------
    levels : int8[pairs, fields]
    counts : int64[fields, more than the highest level]
    """
    for field in range(levels.shape[1]):  # the levels of a field are contiguous
        for pair in range(levels.shape[0]):
            counts[field, levels[pair, field]] += 1


@bare_kernel("float64[], float64[], float64[], int64[], float64[]")
def tally(values, weights, edges, counts, sums):
    """Count the values in each interval between edges, and sum their weights; values outside all edges are ignored.

    Parameters
    ----------
    values, weights : float64
        As many weights as values, or no weights.
    edges : float64[bins + 1]
        In ascending order. The more evenly they are spaced, the faster this is.
    counts, sums : int64[bins], float64[bins]
        For each interval from an edge (inclusive) to the next (exclusive).
    """
    bins = counts.size
    low, high = edges[0], edges[bins]
    scale = bins / (high - low) if high > low else 0.0
    for k in range(values.size):
        value = values[k]
        if not low <= value < high:
            continue
        place = min(np.int64((value - low) * scale), bins - 1)
        while value < edges[place]:
            place -= 1
        while value >= edges[place + 1]:
            place += 1
        counts[place] += 1
        if weights.size:
            sums[place] += weights[k]
