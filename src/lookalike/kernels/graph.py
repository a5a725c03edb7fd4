"""Which items are kept, given the overlaps of all similar pairs; no sets are compared again."""

from lookalike.kernels.compile import kernel
from lookalike.kernels.sets import needed_overlap


@kernel("int64[], int32[], int32[], int64[], int64, int64, int64, int64, bool[], int32[], int32[]")
def settle_pairs(starts, others, overlaps, sizes, measure, num, den, fixed, asked, keeper, shared):
    """Find keepers in order of priority: the first earlier kept item that is similar enough.

    Parameters
    ----------
    starts : int64[items + 1]
    others, overlaps : int32[...]
        Item i is similar to the earlier items others[starts[i]:starts[i + 1]], ascending, with these overlaps.
    sizes : int64[items]
        The sizes of the items' sets.
    fixed
        Items before this one are always kept.
    asked : bool[items]
        The items to find a keeper for.
    keeper, shared : int32[items]
        Receive the keeper and the overlap with it; left unchanged if there is none.
    """
    for item in range(starts.size - 1):
        if not asked[item]:
            continue
        for k in range(starts[item], starts[item + 1]):
            other = others[k]
            if keeper[other] >= 0 and other >= fixed:
                continue
            if overlaps[k] >= needed_overlap(measure, num, den, sizes[item], sizes[other]):
                keeper[item] = other
                shared[item] = overlaps[k]
                break
