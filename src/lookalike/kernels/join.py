"""From buckets of items to verified pairs, and to keepers.

Items are numbered by priority, so "earlier" means "smaller". An item can be in several *buckets*; bucket b is
members[starts[b]:starts[b + 1]], of which the first fills[b] entries are in use, in ascending order. Item i's set is
elements[begins[i]:ends[i]]. A `ratio` (numerator, denominator) restricts the candidates in a bucket to items with
shorter / longer >= ratio; (0, 1) means no restriction.
"""

import numpy as np

from lookalike.kernels.compile import by_type, inlined, kernel
from lookalike.kernels.hashing import U
from lookalike.kernels.sets import CONTAINMENT, EUCLIDEAN, HAMMING, needed_overlap, overlap_at_least
from lookalike.kernels.sorting import sort_stretch
from lookalike.kernels.unionfind import root_of
from lookalike.kernels.vectors import cosine_at, differing_bits, distance_at

COMPARED, MATCHED = 0, 1
"""Positions in `counts`: candidate pairs compared, pairs found."""


@kernel("S, int64, int64 -> uint64[]", S=("uint64[]", "uint64[..]"))
def pack_keys(keys, index_bits, key_bits):
    """Pack the upper `key_bits` of each key above its index, in one word per key."""
    packed = np.empty(keys.size, np.uint64)
    for i in range(keys.size):
        packed[i] = (keys[i] >> U(64 - key_bits) << U(index_bits)) | U(i)
    return packed


@kernel("uint64[], int64, S, int64[], int64[] -> (int64, int64)", S=("uint64[]", "uint64[..]"))
def group_runs(packed, index_bits, keys, members, ends):
    """Scan sorted (upper key bits | index) words, and keep the buckets with two or more members.

    Equal upper bits form a run. Whole keys decide, since a run can contain a few keys that differ in the lower bits.

    Parameters
    ----------
    packed : uint64[n], sorted
    keys : uint64[n]
    members : int64[n]
        Receives the indices, bucket by bucket, in ascending order within each.
    ends : int64[n]
        Receives the end of each bucket in `members`.

    Returns
    -------
    (buckets, members) : the number of each
    """
    mask = (U(1) << U(index_bits)) - U(1)
    buckets = filled = 0
    start = 0
    while start < packed.size:
        stop = start + 1
        while stop < packed.size and packed[stop] >> U(index_bits) == packed[start] >> U(index_bits):
            stop += 1
        if stop - start > 1:
            buckets, filled = _split_run(packed[start:stop], mask, keys, members, ends, buckets, filled)
        start = stop
    return buckets, filled


@inlined
def _split_run(run, mask, keys, members, ends, buckets, filled):
    first = filled
    uniform = True
    for k in range(run.size):
        members[first + k] = np.int64(run[k] & mask)
        uniform &= keys[members[first + k]] == keys[members[first]]
    if not uniform:  # order by whole key; the sort is stable, so indices stay ascending
        for i in range(first + 1, first + run.size):
            index = members[i]
            j = i
            while j > first and keys[members[j - 1]] > keys[index]:
                members[j] = members[j - 1]
                j -= 1
            members[j] = index
    start = first
    for i in range(first + 1, first + run.size + 1):
        if i < first + run.size and keys[members[i]] == keys[members[start]]:
            continue
        if i - start > 1:
            for k in range(start, i):
                members[filled] = members[k]
                filled += 1
            ends[buckets] = filled
            buckets += 1
        start = i
    return buckets, filled


@kernel("int64[], int32[], S, int64[]", S=("uint64[]", "uint64[..]"))
def first_with_print(starts, members, second, first):
    """In buckets of equal first halves, point each member to the first one whose second half is also equal."""
    for b in range(starts.size - 1):
        for k in range(starts[b], starts[b + 1]):
            for j in range(starts[b], k):  # stops at once, unless first halves agree by chance
                if second[members[j]] == second[members[k]]:
                    first[members[k]] = members[j]
                    break


@kernel("int64[], int32[], int32[] -> (int64[], int32[])")
def renumber_buckets(starts, members, number):
    """Renumber the members; drop those without a number (-1), and buckets left with fewer than two members.

    Numbers ascend with the members, so buckets stay in order.
    """
    new_members = np.empty(members.size, np.int32)
    new_starts = np.zeros(starts.size, np.int64)
    buckets = filled = 0
    for b in range(starts.size - 1):
        first = filled
        for k in range(starts[b], starts[b + 1]):
            if number[members[k]] >= 0:
                new_members[filled] = number[members[k]]
                filled += 1
        if filled - first < 2:
            filled = first
            continue
        buckets += 1
        new_starts[buckets] = filled
    return new_starts[: buckets + 1].copy(), new_members[:filled].copy()


@kernel("int64[], int32[], int64 -> (int64[], int32[])")
def buckets_by_item(starts, members, items):
    """Invert bucket -> members to item -> buckets (int64[items + 1], int32[...])."""
    item_starts = np.zeros(items + 1, np.int64)
    for k in range(members.size):
        item_starts[members[k] + 1] += 1
    for i in range(items):
        item_starts[i + 1] += item_starts[i]
    cursor = item_starts[:-1].copy()
    item_buckets = np.empty(members.size, np.int32)
    for b in range(starts.size - 1):
        for k in range(starts[b], starts[b + 1]):
            item_buckets[cursor[members[k]]] = b
            cursor[members[k]] += 1
    return item_starts, item_buckets


@inlined
def _alike_in_length(left, right, ratio, begins, ends):
    """Whether the shorter set is long enough to be a candidate. Sizes and terms below 2^31 do not overflow 64 bits."""
    left_size, right_size = ends[left] - begins[left], ends[right] - begins[right]
    return min(left_size, right_size) * ratio[1] >= ratio[0] * max(left_size, right_size)


@inlined
def _earlier(item, lowest, graph, begins, ends, mark, found):
    """Collect in `found` the distinct candidates m from the item's buckets with lowest <= m < item, ascending."""
    item_starts, item_buckets, starts, fills, members, ratio = graph
    count = 0
    for p in range(item_starts[item], item_starts[item + 1]):
        b = item_buckets[p]
        k = starts[b] + fills[b] - 1
        while k >= starts[b] and members[k] >= lowest:
            other = members[k]
            if other < item and mark[other] != item:
                mark[other] = item
                if _alike_in_length(item, other, ratio, begins, ends):
                    found[count] = other
                    count += 1
            k -= 1
    sort_stretch(found, 0, count)
    return count


def _vectors_overlap(left, right, measure, num, den, begins, ends, elements):
    size = ends[left] - begins[left]
    if measure == EUCLIDEAN:
        near = distance_at(elements, begins[left], begins[right], size) <= num / den
    else:
        near = cosine_at(elements, begins[left], begins[right], size) >= num / den
    return np.int64(0) if near else np.int64(-1)


def _words_overlap(left, right, measure, num, den, begins, ends, elements):
    left_size, right_size = ends[left] - begins[left], ends[right] - begins[right]
    if measure == HAMMING:
        bits = differing_bits(elements, begins[left], begins[right], left_size)
        return bits if bits * den <= num else np.int64(-1)
    needed = needed_overlap(measure, num, den, left_size, right_size)
    return overlap_at_least(elements, begins[left], ends[left], begins[right], ends[right], needed)


def _overlap_by_type(left, right, measure, num, den, begins, ends, elements):  # noqa: ARG001
    return _vectors_overlap if elements.dtype.name.startswith("float") else _words_overlap


@by_type(_overlap_by_type)
def _overlap(left, right, measure, num, den, begins, ends, elements):
    """The overlap of two items if they are similar enough (for containment: left in right), otherwise -1.

    For vectors the result is 0, for bit strings the number of bits that differ: the type of the elements and the
    measure determine what is compared.
    """
    raise NotImplementedError  # compiled code calls one of the two above


@kernel(
    "int64[], int64, (int64[], int32[], int64[], int64[], int32[], (int64, int64)), (int64[], int64[], E[]), "
    "int64, int64, int64, int32[], int32[], int32[], int32[], int64[]",
    E=("uint64", "float32", "float64"),
)
def find_keepers(items, lowest, graph, sets, measure, num, den, mark, found, keeper, overlaps, counts):
    """For each of `items`, find the first similar member m of its buckets with lowest <= m < item.

    Parameters
    ----------
    items : int64[...], ascending
    graph : (item_starts, item_buckets, starts, fills, members, ratio)
    sets : (begins, ends, elements)
    mark : int32[all items], with no value equal to an item's number
    found : int32[all items], a work array
    keeper, overlaps : int32[all items]
        keeper[item] receives the number of the member, overlaps[item] the overlap; left unchanged if there is none.
    counts : int64[2], added to
    """
    begins, ends, elements = sets
    for k in range(items.size):
        item = items[k]
        count = _earlier(item, lowest, graph, begins, ends, mark, found)
        for c in range(count):
            overlap = _overlap(item, found[c], measure, num, den, begins, ends, elements)
            counts[COMPARED] += 1
            if overlap >= 0:
                counts[MATCHED] += 1
                keeper[item] = found[c]
                overlaps[item] = overlap
                break


@kernel(
    "int64, int64, int64, bool[], (int64[], int32[], int64[], int64[], int32[], (int64, int64)), (int64[], "
    "int64[], E[]), int64, int64, int64, int32[], int32[], int32[], int32[], int64[]",
    E=("uint64", "float32", "float64"),
)
def settle_block(first, last, fixed, asked, graph, sets, measure, num, den, mark, found, keeper, overlaps, counts):
    """Decide items first..last-1 in order, given their keepers in earlier blocks; add kept items to their buckets.

    Items below `fixed` are always kept; keepers are only searched for items with `asked` set.
    """
    item_starts, item_buckets, starts, fills, members, _ = graph
    one = np.empty(1, np.int64)
    for item in range(first, last):
        if asked[item] and keeper[item] < 0:
            one[0] = item
            find_keepers(one, first, graph, sets, measure, num, den, mark, found, keeper, overlaps, counts)
        if keeper[item] >= 0 and item >= fixed:
            continue
        for p in range(item_starts[item], item_starts[item + 1]):
            b = item_buckets[p]
            members[starts[b] + fills[b]] = item
            fills[b] += 1


@kernel(
    "int64, int64, (int64[], int32[], int64[], int64[], int32[], (int64, int64)), (int64[], int64[], E[]), "
    "int64, int64, int64, int32[], int32[], int32[], int32[], int32[], int64[] -> (int64, int64)",
    E=("uint64", "float32", "float64"),
)
def find_pairs(first, last, graph, sets, measure, num, den, mark, found, left, right, overlaps, counts):
    """Find all similar pairs of items first..last-1 with earlier members of their buckets.

    For containment, each direction that holds is a pair of its own, with left contained in right. Stops early when
    `left` is nearly full; returns (next item, pairs written).
    """
    begins, ends, elements = sets
    written = 0
    item = first
    while item < last:
        count = _earlier(item, 0, graph, begins, ends, mark, found)
        if written + 2 * count > left.size:
            for c in range(count):
                mark[found[c]] = -1  # the item will be processed again
            break
        counts[COMPARED] += count
        for c in range(count):
            other = found[c]
            overlap = _overlap(other, item, measure, num, den, begins, ends, elements)
            if overlap >= 0:
                left[written], right[written], overlaps[written] = other, item, overlap
                written += 1
            if measure == CONTAINMENT:
                overlap = _overlap(item, other, measure, num, den, begins, ends, elements)
                if overlap >= 0:
                    left[written], right[written], overlaps[written] = item, other, overlap
                    written += 1
        item += 1
    counts[MATCHED] += written
    return item, written


@kernel(
    "int64, int64, int64[], int32[], int64, (int64[], int64[], E[]), int64, int64, int64, int32[], int32[], int64[] "
    "-> (int64, int64)",
    E=("uint64", "float32", "float64"),
)
def find_pairs_of_band(first, last, starts, members, earlier, sets, measure, num, den, left, right, counts):
    """Find all similar pairs of the members at first..last-1 with those before them in their bucket.

    For buckets without common members, such as those of one band. If `earlier` is above 0, only pairs of an item below
    it and one that is not are considered. Stops early when `left` is nearly full; returns (next position, pairs
    written).
    """
    begins, ends, elements = sets
    written = 0
    bucket = np.searchsorted(starts, first, side="right") - 1
    place = first
    while place < last:
        while starts[bucket + 1] <= place:
            bucket += 1
        if written + place - starts[bucket] > left.size:
            break
        item = np.int64(members[place])
        for k in range(starts[bucket], place):
            other = np.int64(members[k])
            if earlier > 0 and (other >= earlier or item < earlier):
                continue
            counts[COMPARED] += 1
            if _overlap(other, item, measure, num, den, begins, ends, elements) >= 0:
                left[written], right[written] = other, item
                written += 1
        place += 1
    counts[MATCHED] += written
    return place, written


@kernel(
    "int64[], int32[], (int64, int64), (int64[], int64[], E[]), int64, int64, int64, int32[], int32[], "
    "int32[], int32[], int64[] -> int64",
    E=("uint64", "float32", "float64"),
)
def connect_buckets(starts, members, ratio, sets, measure, num, den, parent, left, right, overlaps, counts):
    """Join clusters that have a similar pair in a bucket; pairs within the same cluster are not compared.

    For containment, either direction suffices.

    `parent` is as in kernels/unionfind.py; left, right and overlaps receive the pairs that joined two clusters, which
    are always fewer than the items. Returns their number.
    """
    begins, ends, elements = sets
    written = 0
    for b in range(starts.size - 1):
        for k in range(starts[b] + 1, starts[b + 1]):
            item = np.int64(members[k])
            for j in range(starts[b], k):
                other = np.int64(members[j])
                root, other_root = root_of(parent, item), root_of(parent, other)
                if root == other_root or not _alike_in_length(item, other, ratio, begins, ends):
                    continue
                counts[COMPARED] += 1
                overlap = _overlap(item, other, measure, num, den, begins, ends, elements)
                if overlap < 0 and measure == CONTAINMENT:
                    overlap = _overlap(other, item, measure, num, den, begins, ends, elements)
                if overlap < 0:
                    continue
                counts[MATCHED] += 1
                left[written], right[written], overlaps[written] = item, other, overlap
                written += 1
                parent[max(root, other_root)] = min(root, other_root)
    return written


@kernel("int64[], I[], int64[], int64[], uint64[], I[]", I=("int32", "int64"))
def overlaps_of(left, right, begins, ends, elements, overlaps):
    """The exact overlap of each pair of items left[k], right[k]."""
    for k in range(left.size):
        a, b = left[k], right[k]
        overlaps[k] = overlap_at_least(elements, begins[a], ends[a], begins[b], ends[b], 0)
