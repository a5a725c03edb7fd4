"""Candidates among bit strings by the pigeonhole principle.

Two strings that differ in at most t bits agree in all bits of at least one of t + 1 blocks, so only strings that agree
in a block need to be compared, and no pair is missed.
"""

from __future__ import annotations

import numpy as np

from lookalike.candidates.bands import join_band
from lookalike.candidates.buckets import group_keys
from lookalike.kernels.vectors import bit_keys
from lookalike.types import Buckets, Int64, UInt64

MOST_ROWS = 64
"""Bits of a block that are used: more make no difference."""

# Nanoseconds of one thread, measured on random bit strings.
LOOK, SORT = 0.8, 80.0
"""One bit of a block looked up; a string in one block sorted."""
MEET = 25.0
"""A comparison of two strings that agree in a block."""
COMPARE_WORD = 0.7
"""A comparison of two words when all pairs are compared in order."""


def all_pairs_cost(items: int, words: int) -> float:
    """The nanoseconds that comparing every pair takes."""
    return items * (items - 1) / 2 * words * COMPARE_WORD


def blocks_cost(items: int, blocks: int, rows: int, meetings: float) -> float:
    """The nanoseconds that finding and comparing the strings that agree in a block takes."""
    return items * blocks * (rows * LOOK + SORT) + meetings * MEET


def block_rows(bits: int, most: int) -> int:
    """The bits of each of `most` + 1 blocks; 0 if there are not enough.

    Examples
    --------
    >>> block_rows(256, 10), block_rows(8, 8), block_rows(256, 0)
    (23, 0, 64)
    """
    return min(MOST_ROWS, bits // (most + 1))


def choose_positions(sample: UInt64, bits: int, most: int) -> Int64:
    """The bits of each block: int64[blocks, rows], each bit in one block at most.

    Bits that are set in about half of the sample are the most informative. They are distributed evenly over the blocks;
    the rest are not used.
    """
    blocks, rows = most + 1, block_rows(bits, most)
    set_bits = np.unpackbits(sample.view(np.uint8), axis=1, bitorder="little")[:, :bits]
    order = np.argsort(np.abs(set_bits.mean(axis=0) - 0.5), kind="stable")
    return np.ascontiguousarray(order[: blocks * rows].reshape(rows, blocks).T)


def masks_of(positions: Int64, words: int) -> UInt64:
    """The bits of each block as words: uint64[blocks, words]."""
    masks = np.zeros((len(positions), words), np.uint64)
    rows = np.broadcast_to(np.arange(len(positions))[:, None], positions.shape)
    np.bitwise_or.at(masks, (rows, positions >> 6), np.uint64(1) << (positions & 63).astype(np.uint64))
    return masks


def expected_meetings(sample: UInt64, positions: Int64, items: int) -> float:
    """How many pairs of all strings share a bucket, from a sample of them."""
    shared = 0
    for block in positions:
        sizes = group_keys(_keys(sample, block)).sizes
        shared += int((sizes * (sizes - 1) // 2).sum())
    return shared * (items / max(1, len(sample))) ** 2


def agreeing(strings: UInt64, block: Int64) -> Buckets:
    """Buckets of strings that agree in all bits of a block."""
    return join_band(_keys(strings, block), np.arange(len(strings), dtype=np.int32))


def _keys(strings: UInt64, block: Int64) -> UInt64:
    keys = np.empty((1, len(strings)), np.uint64)
    bit_keys(strings, np.ascontiguousarray(block), len(block), keys)
    found: UInt64 = keys[0]
    return found
