"""Counts over all candidate pairs of records, in one pass: how many have each level of agreement, and each score."""

import numba as nb

from lookalike.kernels.compile import bare_kernel


@bare_kernel
def count_levels(levels, counts):
    """Add how many pairs have each level in each field.

    Parameters
    ----------
    levels : int8[pairs, fields]
    counts : int64[fields, more than the highest level]
    """
    for field in range(levels.shape[1]):  # each field's levels lie side by side
        for pair in range(levels.shape[0]):
            counts[field, levels[pair, field]] += 1


@bare_kernel
def tally(values, weights, edges, counts, sums):
    """Add how many values lie between two edges, and the sum of their weights; those beyond all edges are left out.

    Parameters
    ----------
    values, weights : float64
        As many weights as values, or none.
    edges : float64[bins + 1]
        Ascending. The nearer they are to equal distances, the faster it goes.
    counts, sums : int64[bins], float64[bins]
        From each edge to before the next.
    """
    bins = counts.size
    low, high = edges[0], edges[bins]
    scale = bins / (high - low) if high > low else 0.0
    for k in range(values.size):
        value = values[k]
        if not low <= value < high:
            continue
        place = min(nb.int64((value - low) * scale), bins - 1)
        while value < edges[place]:
            place -= 1
        while value >= edges[place + 1]:
            place += 1
        counts[place] += 1
        if weights.size:
            sums[place] += weights[k]
