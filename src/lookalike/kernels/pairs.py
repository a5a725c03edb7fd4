"""From pairs of distinct sets to pairs of all items that have these sets.

Items with equal sets are items[starts[place]:starts[place + 1]], ascending, where `place` is that of the first one.
"""

import numpy as np

from lookalike.kernels.compile import kernel


@kernel("int64[], int64[], int64[], bool -> float64")
def count_expanded(left, right, starts, directed):
    """The number of pairs of items for the pairs (left[k], right[k]) of sets; a float, because it can be very large."""
    total = 0.0
    for k in range(left.size):
        mine, others = starts[left[k] + 1] - starts[left[k]], starts[right[k] + 1] - starts[right[k]]
        if left[k] != right[k]:
            total += float(mine) * float(others)
        else:
            total += float(mine) * float(mine - 1) / (1.0 if directed else 2.0)
    return total


@kernel("int64[], int64[], float64[], int64[], int32[], bool, int64[], int32[..], int32[..], float64[..] -> int64")
def expand_pairs(left, right, similarity, starts, items, directed, state, out_left, out_right, out_similarity):
    """Pair every item of one set with every item of the other, until the output is full.

    A set paired with itself stands for the pairs of its own items. Unless `directed`, the smaller item is on the left.

    Parameters
    ----------
    state : int64[3]
        Where to resume: pair of sets, item of its left set, item of its right set. Initially zeros; the first is
        left.size when everything is done.
    out_left, out_right : int32[room]
    out_similarity : float64[room]

    Returns
    -------
    The number of pairs written.
    """
    n = 0
    while state[0] < left.size:
        k = state[0]
        i_start, i_stop = starts[left[k]], starts[left[k] + 1]
        j_start, j_stop = starts[right[k]], starts[right[k] + 1]
        same = left[k] == right[k]
        i = i_start + state[1]
        while i < i_stop:
            j = j_start + state[2]
            while j < j_stop:
                a, b = items[i], items[j]
                if not same or a < b or (directed and a != b):
                    if n == out_left.size:
                        state[1], state[2] = i - i_start, j - j_start
                        return n
                    swap = not directed and b < a
                    out_left[n] = b if swap else a
                    out_right[n] = a if swap else b
                    out_similarity[n] = similarity[k]
                    n += 1
                j += 1
            state[2] = 0
            i += 1
        state[1] = 0
        state[0] += 1
    return n


@kernel("int32[,], int64, int64, int32[,]")
def order_rows(rows, column, most, ordered):
    """Copy rows of four words, sorted by a column with values 0 to `most`; rows with equal values keep their order."""
    ends = np.zeros(most + 2, np.int64)
    for i in range(rows.shape[0]):
        ends[rows[i, column] + 1] += 1
    for value in range(most + 1):
        ends[value + 1] += ends[value]
    for i in range(rows.shape[0]):
        at = ends[rows[i, column]]
        ends[rows[i, column]] = at + 1
        for word in range(4):
            ordered[at, word] = rows[i, word]
