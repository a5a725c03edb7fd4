"""One-to-one: the pairs to keep so that no item is in two of them."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel


@kernel
def take_greedily(left, right, order, busy, kept):
    """In the given order, keep a pair whose two items are free.

    Parameters
    ----------
    left, right : int32[pairs]
    order : int64[...]
        The pairs to consider.
    busy : bool[items]
        Items that are already in a kept pair.
    kept : bool[pairs]
    """
    for pair in order:
        a, b = left[pair], right[pair]
        if not busy[a] and not busy[b]:
            busy[a] = True
            busy[b] = True
            kept[pair] = True


@kernel
def take_best(left, right, worth, starts, rows, columns, kept):
    """In each group of pairs keep those of the greatest total worth.

    Parameters
    ----------
    left, right : int32[pairs]
        Numbered from 0 within each group, separately on each side.
    worth : float64[pairs]
        Not negative. If a pair occurs twice, the first is worth more.
    starts : int64[groups + 1]
        The pairs of group g are starts[g] to starts[g + 1].
    rows, columns : int64[groups]
        The number of items of each side in the group.
    kept : bool[pairs]
    """
    for group in range(rows.size):
        first, last = starts[group], starts[group + 1]
        turned = rows[group] > columns[group]
        short, long = min(rows[group], columns[group]), max(rows[group], columns[group])
        cost = np.zeros((short, long))
        for pair in range(first, last):
            i, j = (right[pair], left[pair]) if turned else (left[pair], right[pair])
            cost[i, j] = min(cost[i, j], -worth[pair])
        partner = _assign(cost)
        for pair in range(first, last):
            i, j = (right[pair], left[pair]) if turned else (left[pair], right[pair])
            if partner[i] == j:
                kept[pair] = True
                partner[i] = -1  # if a pair is given twice, the first


@inlined
def _assign(cost):
    """The column of each row, at the least total cost; there are at least as many columns (Hungarian method).

    Rows are added one by one. A row takes the shortest path to a free column, over reduced costs
    cost[i, j] - up[i] - over[j] >= 0, and the columns on the path change rows.
    """
    rows, columns = cost.shape
    up, over = np.zeros(rows), np.zeros(columns + 1)
    row_of = np.full(columns + 1, -1, np.int64)  # the last column is where a new row starts
    before = np.empty(columns, np.int64)
    for row in range(rows):
        row_of[columns] = row
        column = columns
        nearest = np.full(columns, np.inf)
        visited = np.zeros(columns + 1, np.bool_)
        while row_of[column] >= 0:
            visited[column] = True
            at, step, following = row_of[column], np.inf, -1
            for j in range(columns):
                if visited[j]:
                    continue
                reduced = cost[at, j] - up[at] - over[j]
                if reduced < nearest[j]:
                    nearest[j] = reduced
                    before[j] = column
                if nearest[j] < step:
                    step = nearest[j]
                    following = j
            for j in range(columns + 1):
                if visited[j]:
                    up[row_of[j]] += step
                    over[j] -= step
                elif j < columns:
                    nearest[j] -= step
            column = following
        while column != columns:
            row_of[column] = row_of[before[column]]
            column = before[column]
    partner = np.full(rows, -1, np.int64)
    for j in range(columns):
        if row_of[j] >= 0:
            partner[row_of[j]] = j
    return partner
