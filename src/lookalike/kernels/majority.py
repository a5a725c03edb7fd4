"""Clusters by majority: two are joined if at least half of the pairs between them are matches, the best first.

Match k connects items left[k] and right[k]; matches are numbered from the best, and the first ones are links. The
matches between two clusters are summed in one *record*, which is numbered after one of them, so that the clusters of
record k are always those of left[k] and right[k]. A table maps two clusters to their record; each cluster lists its
records.

The next record to join is the one with the greatest mean share. Joining lowers means, except when two records become
one. So the heap may contain means that are too large: they are corrected when they reach the top. A record is corrected
only while at least half of its pairs are matches, and thus at most about as often as it has matches: the total is about
n log n steps, no matter how long the chains are.
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel, bare_part
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.unionfind import root_of

EMPTY = -1
"""An empty slot of the table, and the end of a list."""


@bare
def _key(a, b):
    """Two clusters as one number, in either order."""
    return np.int64(min(a, b)) << 32 | np.int64(max(a, b))


@bare
def _home(keys, key):
    return np.int64(mix(U(key)) & U(keys.size - 1))


@bare_part
def _slot(keys, key):
    """The slot of a key in the table, or the free slot where it belongs."""
    at = _home(keys, key)
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & (keys.size - 1)
    return at


@bare_part
def _forget(keys, records, key):
    """Remove a key from the table, and move up the keys that it displaced."""
    hole = _slot(keys, key)
    at = hole
    while True:
        at = (at + 1) & (keys.size - 1)
        if keys[at] == EMPTY:
            break
        if (at - _home(keys, keys[at])) & (keys.size - 1) >= (at - hole) & (keys.size - 1):
            keys[hole], records[hole] = keys[at], records[at]
            hole = at
    keys[hole] = EMPTY


@bare
def _before(means, matches, i, j):
    return means[i] > means[j] or (means[i] == means[j] and matches[i] < matches[j])


@bare
def _swap(means, matches, i, j):
    means[i], means[j] = means[j], means[i]
    matches[i], matches[j] = matches[j], matches[i]


@bare_part
def _push(heap, filled, mean, match):
    """Add a record, identified by its best match, to the heap, which has the best record on top."""
    means, matches = heap
    i = filled[0]
    means[i], matches[i] = mean, match
    filled[0] += 1
    while i > 0 and _before(means, matches, i, (i - 1) // 2):
        _swap(means, matches, i, (i - 1) // 2)
        i = (i - 1) // 2


@bare_part
def _drop_top(heap, filled):
    means, matches = heap
    filled[0] -= 1
    _swap(means, matches, 0, filled[0])
    i = 0
    while 2 * i + 1 < filled[0]:
        child = 2 * i + 1
        if child + 1 < filled[0] and _before(means, matches, child + 1, child):
            child += 1
        if not _before(means, matches, child, i):
            break
        _swap(means, matches, i, child)
        i = child


@bare
def _across(sizes, a, b):
    """The number of pairs between two clusters; with two tables, only pairs across the tables count."""
    size, lefts, two_tables = sizes
    if two_tables:
        return lefts[a] * (size[b] - lefts[b]) + (size[a] - lefts[a]) * lefts[b]
    return size[a] * size[b]


@bare
def _append(lists, cluster, node):
    first, last, length, after = lists
    if first[cluster] == EMPTY:
        first[cluster] = node
    else:
        after[last[cluster]] = node
    last[cluster] = node
    after[node] = EMPTY
    length[cluster] += 1


@bare_part
def _start(left, right, share, links, sums, lists, table):
    """Create a record for each match, except those that repeat an earlier one."""
    votes, total, best, queued = sums
    keys, records = table
    for k in range(left.size):
        votes[k], total[k], best[k], queued[k] = 1, share[k], k, share[k] if k < links else -1.0
        at = _slot(keys, _key(left[k], right[k]))
        if keys[at] != EMPTY:
            votes[k] = 0
            continue
        keys[at], records[at] = _key(left[k], right[k]), k
        _append(lists, left[k], np.int64(2 * k))
        _append(lists, right[k], np.int64(2 * k + 1))


@bare
def _combine(j, k, across, links, sums, heap, filled):
    """Merge record k into j; both connect the joined clusters to the same other cluster."""
    votes, total, best, queued = sums
    votes[j] += votes[k]
    total[j] += total[k]
    best[j] = min(best[j], best[k])
    queued[j] = max(queued[j], queued[k])
    votes[k] = 0
    mean = total[j] / across
    if best[j] < links and 2 * np.int64(votes[j]) >= across and mean >= queued[j]:
        # One of the two was not queued (it had no link, or was rejected), and has improved the other.
        queued[j] = mean
        _push(heap, filled, mean, best[j])


@bare_part
def _join(a, b, left, right, links, parent, sizes, sums, lists, table, heap, filled):
    """Join two clusters; the records of the one with fewer records move to the other."""
    first, _, length, after = lists
    keys, records = table
    votes = sums[0]
    large, small = (a, b) if length[a] >= length[b] else (b, a)
    at = _slot(keys, _key(a, b))
    votes[records[at]] = 0
    _forget(keys, records, _key(a, b))
    parent[small] = large
    sizes[0][large] += sizes[0][small]
    sizes[1][large] += sizes[1][small]
    node = np.int64(first[small])
    while node != EMPTY:
        following = np.int64(after[node])
        k = node >> 1
        if votes[k] > 0:
            other = root_of(parent, np.int64(left[k] if node & 1 else right[k]))
            _forget(keys, records, _key(small, other))
            at = _slot(keys, _key(large, other))
            if keys[at] == EMPTY:
                keys[at], records[at] = _key(large, other), k
                _append(lists, large, node)
            else:
                _combine(records[at], k, _across(sizes, large, other), links, sums, heap, filled)
        node = following


@bare_kernel(
    "int32[], int32[], int64[], int64, int32[], (int64[], int64[], bool), (int32[], int64[], int32[], "
    "float64[]), (int32[], int32[], int32[], int32[]), (int64[], int32[]), (float64[], int32[]), int64[]"
)
def join_by_majority(left, right, share, links, parent, sizes, sums, lists, table, heap, filled):
    """Join the items of each cluster in `parent`; the root of a cluster can be any of its items.

    Parameters
    ----------
    left, right : int32[matches]
        Items; left[k] and right[k] differ.
    share : int64[matches]
        What each match contributes to the mean: positive, never increasing.
    links
        The number of links, which are the first matches; clusters are joined only if there is a link between them.
    parent : int32[items]
        Initially, each item is its own parent.
    sizes : (int64[items], int64[items], bool)
        All ones; whether each item is in the left table (0 or 1); whether there are two tables, so that pairs within
        one do not count.
    sums : (int32[matches], int64[matches], int32[matches], float64[matches])
        Work arrays. For each record: its number of matches, their total share, its best match, and its mean in the
        heap.
    lists : (int32[items], int32[items], int32[items], int32[2 * matches])
        The lists of records, with initial values: first (-1), last (any), length (0), next (any).
    table : (int64[a power of two above matches], int32[as many])
        Keys (initially -1) and records.
    heap : (float64[2 * matches], int32[2 * matches])
        Work arrays for means and matches.
    filled : int64[1]
        The number of heap entries in use, initially 0.
    """
    votes, total, best, queued = sums
    keys, records = table
    means, matches = heap
    _start(left, right, share, links, sums, lists, table)
    coming = 0
    while coming < links or filled[0] > 0:
        # Links are taken in their own order; only corrected records are in the heap.
        if filled[0] == 0 or (
            coming < links
            and (share[coming] > means[0] or (np.float64(share[coming]) == means[0] and coming < matches[0]))
        ):
            mean, match = np.float64(share[coming]), np.int64(coming)
            coming += 1
        else:
            mean, match = means[0], np.int64(matches[0])
            _drop_top(heap, filled)
        a, b = root_of(parent, np.int64(left[match])), root_of(parent, np.int64(right[match]))
        if a == b:
            continue
        k = np.int64(records[_slot(keys, _key(a, b))])
        if queued[k] != mean:
            continue  # another record has replaced it
        across = _across(sizes, a, b)
        if 2 * np.int64(votes[k]) < across:
            queued[k] = -1.0
        elif total[k] / across == mean and best[k] == match:
            _join(a, b, left, right, links, parent, sizes, sums, lists, table, heap, filled)
        else:
            queued[k] = total[k] / across
            _push(heap, filled, queued[k], best[k])


@bare_kernel("int32[], int32[]")
def name_by_first(parent, first):
    """first[item] = the smallest item of its cluster, for parents whose root can be any item."""
    for i in range(parent.size):
        first[i] = -1
    for i in range(parent.size):
        root = root_of(parent, np.int64(i))
        if first[root] < 0:
            first[root] = i
        first[i] = first[root]
