"""Bit sampling: items that differ in few bits mostly agree in a random one."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_seed, generator
from lookalike.tuning.collisions import bit_collision
from lookalike.types import Int64, UInt8


class BitSampling(Family):
    """Single bits, for the Hamming distance.

    Parameters
    ----------
    bits
        The number of bits of an item; distances are then counted in bits. None: all bits of the matrix, and the
        distance is the share of them that differ.
    seed
        Another seed gives other, independent positions.

    Examples
    --------
    >>> BitSampling(bits=64).sensitivity(8, 32)
    Sensitivity(d1=8, d2=32, p1=0.875, p2=0.5)
    >>> items = np.packbits([[1, 0, 1, 1], [1, 1, 1, 1]], axis=1)
    >>> BitSampling(bits=4).positions_for(4, 3).tolist()
    [1, 2, 3]
    >>> BitSampling(bits=4).hash(items, 3).buckets[:, :, 0].tolist()
    [[0, 1], [1, 1], [1, 1]]
    """

    def __init__(self, bits: int | None = None, seed: int = 1) -> None:
        if bits is not None and (isinstance(bits, bool) or not _is_count(bits)):
            raise UsageError(f"bits must be a whole number of at least 1, not {bits!r}")
        self.bits, self.seed = bits, check_seed(seed)
        self.distance = "share of bits that differ" if bits is None else "Hamming distance in bits"
        self.farthest = 1.0 if bits is None else float(bits)

    def probability(self, distance: float) -> float:
        """1 - distance/bits, or 1 - distance if it is a share."""
        return bit_collision(float(distance), self.farthest)

    def positions_for(self, bits: int, count: int) -> Int64:
        """The positions of the first `count` functions among `bits` bits: int64[count].

        Each is drawn from all of them, so that functions are independent and may sample the same bit.

        Examples
        --------
        >>> bool((BitSampling().positions_for(100, 50)[:9] == BitSampling().positions_for(100, 9)).all())
        True
        """
        return generator(self.seed, 0).integers(0, bits, count, np.int64)

    def hash(self, items: Any, count: int) -> Hashed:
        """The bits at random positions of packed bits: uint8[items, bytes], as numpy.packbits returns them."""
        rows = check_bits(items, self.bits)
        positions = self.positions_for(self.bits or 8 * rows.shape[1], count)
        shifts = (7 - positions % 8).astype(np.uint8)
        buckets = (rows[:, positions // 8] >> shifts & 1).astype(np.int64)
        return Hashed(np.ascontiguousarray(buckets.T)[:, :, None])


def check_bits(items: Any, bits: int | None) -> UInt8:
    """Check that packed bits are a matrix of bytes with enough bits.

    Examples
    --------
    >>> check_bits(np.zeros((2, 4), np.uint8), 33)
    Traceback (most recent call last):
    lookalike.errors.UsageError: items have 32 bits (4 bytes a row), fewer than the 33 wanted
    """
    rows = np.asarray(items)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError("packed bits must be a uint8 matrix with a row for each item: see numpy.packbits")
    if bits is not None and 8 * rows.shape[1] < bits:
        raise UsageError(
            f"items have {8 * rows.shape[1]} bits ({rows.shape[1]} bytes a row), fewer than the {bits} wanted"
        )
    return rows


def _is_count(value: Any) -> bool:
    try:
        return operator.index(value) >= 1
    except TypeError:
        return False
