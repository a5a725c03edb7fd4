"""Union-find: the clusters of connected items."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel


@inlined
def root_of(parent, item):
    """The smallest item in the cluster of `item`; halves the path to it."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel("int32[], int32[], int32[], bool[]")
def unite(parent, left, right, joined):
    """Join left[k] with right[k] for all k in order; joined[k] receives whether this joined two clusters.

    `parent` is int32[items]; initially, each item is its own parent. The root of a cluster is its smallest item.
    """
    for k in range(left.size):
        a, b = root_of(parent, np.int64(left[k])), root_of(parent, np.int64(right[k]))
        joined[k] = a != b
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@kernel("int32[]")
def flatten(parent):
    """Point every item directly to its root. Parents are smaller than their children."""
    for i in range(parent.size):
        parent[i] = parent[parent[i]]


@kernel("int32[], int32[], int32[], int64[]")
def towards_root(parent, left, right, via):
    """Traverse a forest from its roots: via[item] is the pair that connects the item to its cluster, -1 for roots.

    The pairs left[k], right[k] form a forest of the items; `parent` is flat.
    """
    degree = np.zeros(parent.size + 1, np.int64)
    for k in range(left.size):
        degree[left[k] + 1] += 1
        degree[right[k] + 1] += 1
    for i in range(parent.size):
        degree[i + 1] += degree[i]
    cursor = degree[:-1].copy()
    pairs = np.empty(2 * left.size, np.int64)
    for k in range(left.size):
        for item in (left[k], right[k]):
            pairs[cursor[item]] = k
            cursor[item] += 1
    via[:] = -1
    queue = np.empty(parent.size, np.int64)
    for root in range(parent.size):
        if parent[root] != root:
            continue
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            item = queue[head]
            head += 1
            for p in range(degree[item], degree[item + 1]):
                other = left[pairs[p]] + right[pairs[p]] - item
                if other != root and via[other] < 0:
                    via[other] = pairs[p]
                    queue[tail] = other
                    tail += 1
