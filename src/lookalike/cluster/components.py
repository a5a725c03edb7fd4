"""Connected clusters: sets joined by pairs, however long the chain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.cluster.keepers import Decisions
from lookalike.kernels import join, unionfind
from lookalike.types import Buckets, Int32, Int64, UInt64


class Components(NamedTuple):
    """For each set, the first set of its cluster, and the pair that connects it to the cluster."""

    root: Int32
    partner: Int32
    """The other set of that pair; -1 for the first set of a cluster."""
    overlaps: Int32
    """The overlap with the partner."""
    candidates: int
    pairs: int


def connect(
    buckets: Buckets,
    sets: tuple[Int64, Int64, UInt64],
    measure: tuple[int, int, int],
    direct: Decisions,
    ratio: tuple[int, int] = (0, 1),
) -> Components:
    """Join the clusters that the direct decisions left separate, by pairs between two clusters in any bucket.

    The direct decisions already connect most sets, so few pairs remain to be compared.
    """
    count = len(direct.keeper)
    parent = np.arange(count, dtype=np.int32)
    gone = np.flatnonzero(direct.keeper >= 0).astype(np.int32)
    unionfind.unite(parent, gone, direct.keeper[gone], np.empty(len(gone), np.bool_))
    left, right, overlaps = (np.empty(count, np.int32) for _ in range(3))
    counts = np.zeros(2, np.int64)
    joined = join.connect_buckets(
        buckets.starts, buckets.members, ratio, sets, *measure, parent, left, right, overlaps, counts
    )
    unionfind.flatten(parent)
    ends = (np.concatenate([gone, left[:joined]]), np.concatenate([direct.keeper[gone], right[:joined]]))
    shared = np.concatenate([direct.overlaps[gone], overlaps[:joined]])
    via = np.empty(count, np.int64)
    unionfind.towards_root(parent, *ends, via)
    hangs = np.flatnonzero(via >= 0)
    partner, partner_overlap = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    partner[hangs] = ends[0][via[hangs]] + ends[1][via[hangs]] - hangs
    partner_overlap[hangs] = shared[via[hangs]]
    return Components(parent, partner, partner_overlap, int(counts[join.COMPARED]), int(counts[join.MATCHED]))
