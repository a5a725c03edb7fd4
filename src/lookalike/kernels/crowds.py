"""Large buckets of an index: of their many items, only those that share a rare element are found."""

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.sets import needed_overlap
from lookalike.kernels.sorting import first_from


@inlined
def _next_shape(at, end, members, places, sizes):
    """The first entry after `at` with a different set size or position; entries are sorted by both."""
    size, place = sizes[members[at]], places[at]
    step = 1
    while at + step < end and sizes[members[at + step]] == size and places[at + step] == place:
        at += step
        step *= 2
    while step > 1:
        step //= 2
        if at + step < end and sizes[members[at + step]] == size and places[at + step] == place:
            at += step
    return at + 1


@inlined
def _shares_bucket(i, item, starts, ends, numbers, limit):
    """Whether `item` is in one of the large buckets of queried item i; numbers ascend within each bucket."""
    for band in range(starts.shape[0]):
        if ends[band, i] - starts[band, i] > limit:
            at = first_from(numbers[band], starts[band, i], ends[band, i], item)
            if at < ends[band, i] and numbers[band, at] == item:
                return True
    return False


@kernel(
    "int64[], int64[], int32[], int64[,], int64[,], int32[,], uint16[], int32[], int64[], int64[,], int64[,], "
    "int32[,], int64, int64, int64, int64, int64, int64[], int64[] -> (int64, int64)"
)
def collect_rare(
    rows, firsts, asked_places, run_starts, run_ends, members, places, sizes,
    indptr, starts, ends, numbers, limit, measure, num, den, first, left, right,
):  # fmt: skip
    """Find the items that share a large bucket and a rare element with the queried ones, from row `first` on.

    Stops when `left` and `right` are full. If a rare element is the first that two sets have in common, at positions p
    and q of their orders, the sets share at most min(n - p, m - q) elements; items for which that is too few are left
    out.

    Parameters
    ----------
    rows : int64[r]
        The queried items that are in large buckets.
    firsts : int64[r + 1]
        Where the rare elements of each row begin.
    asked_places : int32[s]
        The position of each rare element in the order of its set.
    run_starts, run_ends : int64[1, s]
        The range of entries of each rare element.
    members, places : int32[1, e], uint16[e]
        The item of each entry, and the position of the element in the item's order; sorted by set size and position.
    sizes : int32[items]
        The set size of each item of the segment.
    indptr : int64[n + 1]
        The sets of the queried items.
    starts, ends, numbers : int64[bands, n], int64[bands, n], int32[bands, count]
        The buckets of the queried items, and the items in them.
    limit : int64
        A bucket with more items than this is large.
    measure, num, den : int64
        The measure and its threshold.
    left, right : int64[room]
        Receive the queried item and the item found; a pair may be listed more than once.

    Returns
    -------
    (stopped, filled) : the first row that is not finished, and the number of pairs
    """
    filled = 0
    for r in range(first, rows.size):
        i = rows[r]
        n = indptr[i + 1] - indptr[i]
        begun = filled
        for s in range(firsts[r], firsts[r + 1]):
            at, end = run_starts[0, s], run_ends[0, s]
            while at < end:
                item = members[0, at]
                m = sizes[item]
                most = min(n - asked_places[s], m - places[at])
                if most < needed_overlap(measure, num, den, n, m):
                    at = _next_shape(at, end, members[0], places, sizes)
                    continue
                if _shares_bucket(i, item, starts, ends, numbers, limit):
                    if filled == left.size:
                        return r, begun
                    left[filled] = i
                    right[filled] = item
                    filled += 1
                at += 1
    return rows.size, filled
