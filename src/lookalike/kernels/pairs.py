"""Pairs of distinct sets to pairs of all the items that have them.

Items with equal sets are listed in by_set[starts[place]:starts[place + 1]], ascending, for the place of the first.
"""

import numpy as np

from lookalike.kernels.compile import kernel


@kernel
def count_expanded(left, right, firsts, starts, both):
    """How many pairs of items there will be; with `both` (containment), those of equal sets in each direction."""
    total = np.int64(0)
    for k in range(left.size):
        total += (starts[left[k] + 1] - starts[left[k]]) * (starts[right[k] + 1] - starts[right[k]])
    for k in range(firsts.size):
        copies = starts[firsts[k] + 1] - starts[firsts[k]]
        total += copies * (copies - 1) if both else copies * (copies - 1) // 2
    return total


@kernel
def expand_pairs(left, right, similarity, firsts, own, starts, by_set, both, total):
    """The pairs that count_expanded counted: (left int64, right int64, similarity float64), unordered.

    Unless `both`, the smaller place is on the left.
    """
    out_left, out_right = np.empty(total, np.int64), np.empty(total, np.int64)
    values = np.empty(total, np.float64)
    n = 0
    for k in range(left.size):
        for i in range(starts[left[k]], starts[left[k] + 1]):
            for j in range(starts[right[k]], starts[right[k] + 1]):
                a, b = by_set[i], by_set[j]
                out_left[n], out_right[n] = (a, b) if both or a < b else (b, a)
                values[n] = similarity[k]
                n += 1
    for k in range(firsts.size):
        for i in range(starts[firsts[k]], starts[firsts[k] + 1]):
            for j in range(starts[firsts[k]], starts[firsts[k] + 1]):
                if i < j or (both and i != j):
                    out_left[n], out_right[n] = by_set[i], by_set[j]
                    values[n] = own[k]
                    n += 1
    return out_left, out_right, values
