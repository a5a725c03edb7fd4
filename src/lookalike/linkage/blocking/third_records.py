"""Further candidate pairs: two records that both match a third one.

If an entity has many records, some pairs of damaged records share no key, but both match a third, better record. Knows
which pairs are matches so far, not why.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lookalike.kernels import blocking as kernels
from lookalike.linkage.blocking.budget import HashReport
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.types import Bool, Int32, Int64, distinct

THIRD = "records that match the same third"
MOST_MATCHES = 100
"""A record that matches more others than this proposes none: an entity rarely has that many records, and there would be
too many pairs."""
LOOKED_AT = 200
"""Pairs per record to examine, most of which are already candidates: the number for entities of 20 records."""
MOST_LOOKED_AT = 20_000_000
CHUNK = 1 << 22
"""Pairs that are examined at a time."""


def propose_by_third(pairs: CandidatePairs, matches: Bool, records: int, chunk: int = CHUNK) -> tuple[Int32, Int32]:
    """Pairs of records that match the same third record and are not candidates yet, in order.

    Records with few matches propose first; the others propose none if there would be too many pairs to examine.

    Examples
    --------
    >>> left, right = np.array([0, 1, 3], np.int32), np.array([1, 2, 4], np.int32)
    >>> pairs = replace(CandidatePairs.none(), left=left, right=right, groups=np.zeros(3, np.uint8))
    >>> [side.tolist() for side in propose_by_third(pairs, np.array([True, True, True]), 5)]
    [[0], [2]]
    """
    left, right = pairs.left[matches], pairs.right[matches]
    if not len(left):
        return left, right
    thirds, others = np.concatenate([left, right]), np.concatenate([right, left])
    order = np.argsort(thirds.astype(np.int64) << 32 | others)
    starts = np.searchsorted(thirds[order], np.arange(records + 1)).astype(np.int64)
    sizes = np.diff(starts)
    costs = sizes * (sizes - 1) // 2
    limit = _limit(costs[sizes <= MOST_MATCHES], min(LOOKED_AT * records, MOST_LOOKED_AT))
    total = np.cumsum(np.where(costs <= limit, costs, 0))
    borders = np.searchsorted(total, np.arange(0, int(total[-1]) + chunk, chunk), side="left")
    known = pairs.left.astype(np.int64) << 32 | pairs.right
    new = [np.empty(0, np.int64)]
    for first, last in zip(borders, [*borders[1:], records]):
        blocks = starts[first : last + 1], others[order], costs[first:last]
        new.append(_without(_pairs_of(*blocks, limit, records), known))
    found = distinct(np.concatenate(new))
    return (found >> 32).astype(np.int32), (found & 0xFFFFFFFF).astype(np.int32)


def _pairs_of(starts: Int64, members: Int32, costs: Int64, limit: int, records: int) -> Int64:
    """All pairs within each block of at most `limit` pairs, as left << 32 | right, ascending and distinct."""
    bits = max(1, (records - 1).bit_length())
    words = np.empty(int(costs[costs <= limit].sum()), np.uint64)
    kernels.fill_block_pairs(starts, members, costs, limit, records, False, bits, 0, words)
    found = distinct((words >> np.uint64(kernels.MARK_BITS)).astype(np.int64))
    return np.asarray((found >> bits) << 32 | (found & ((1 << bits) - 1)))


def _without(found: Int64, known: Int64) -> Int64:
    """The pairs that are not in `known`, which is sorted."""
    if not len(known):
        return found
    return np.asarray(found[known[np.minimum(np.searchsorted(known, found), len(known) - 1)] != found])


def _limit(costs: Int64, budget: int) -> int:
    """The greatest cost such that all blocks up to it fit the budget."""
    costs = np.sort(costs)
    fit = int(np.searchsorted(np.cumsum(costs), budget, side="right"))
    if fit == len(costs):
        return int(costs.max(initial=0))
    below = costs[costs < costs[fit]]
    return int(below.max(initial=0))


def insert_pairs(pairs: CandidatePairs, left: Int32, right: Int32, what: str = THIRD) -> tuple[CandidatePairs, Int64]:
    """Insert pairs into the candidate pairs, in order; also return the new order of old and new pairs.

    `what` names them in the report.

    Examples
    --------
    >>> pairs = replace(CandidatePairs.none(), left=np.array([2], np.int32), right=np.array([3], np.int32))
    >>> pairs = replace(pairs, groups=np.array([1], np.uint8))
    >>> more, order = insert_pairs(pairs, np.array([0], np.int32), np.array([1], np.int32))
    >>> more.left.tolist(), more.groups.tolist(), more.report[-1].pairs, order.tolist()
    ([0, 2], [0, 1], 1, [1, 0])
    """
    lefts, rights = np.concatenate([pairs.left, left]), np.concatenate([pairs.right, right])
    order = np.argsort(lefts.astype(np.int64) << 32 | rights, kind="stable")
    groups = np.concatenate([pairs.groups, np.zeros(len(left), np.uint8)])
    report = HashReport(what, "", len(left), pairs=len(left), only=len(left))
    found = replace(pairs, left=lefts[order], right=rights[order], groups=groups[order], report=[*pairs.report, report])
    return found, order
