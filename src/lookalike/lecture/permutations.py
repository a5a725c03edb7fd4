"""Minhash as the lecture works it by hand: few sets of small whole numbers, few hashes, every value in view.

For understanding and for tests; real work goes through the sketches beside this file, which know 64-bit
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.types import Int64

EMPTY = -1
"""The signature value of a set without elements: smaller than every hash, and a mark that it is none."""


def universal_signatures(
    sets: Sequence[Collection[int]], multipliers: Sequence[int], offsets: Sequence[int], modulus: int
) -> Int64:
    """Signatures by universal hashing: the smallest (a x + b) mod p of each set, for every hash (a, b).

    Parameters
    ----------
    sets : sequence of collections of int
        Elements from 0.
    multipliers, offsets : sequence of int
        a and b of each hash.
    modulus : int
        p, from 1 to 2^31, so that no product leaves 64 bits.

    Returns
    -------
    int64 array, sets x hashes
        -1 throughout where a set is empty.

    Examples
    --------
    The columns S1 to S4 of the lecture under x + 1 mod 5 and 3x + 1 mod 5:

    >>> universal_signatures([{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}], [1, 3], [1, 1], 5).T
    array([[1, 3, 0, 1],
           [0, 2, 0, 0]])
    """
    if len(multipliers) != len(offsets):
        counts = f"{len(multipliers)} multipliers and {len(offsets)} offsets"
        raise UsageError(f"each hash needs a multiplier and an offset: there are {counts}")
    if not 1 <= modulus <= 2**31:
        raise UsageError(f"modulus must be a whole number from 1 to {2**31}, not {modulus}")
    # Reduced first, both factors are below 2^31 and their product below 2^62.
    a = np.array([multiplier % modulus for multiplier in multipliers], np.int64)[:, None]
    b = np.array([offset % modulus for offset in offsets], np.int64)[:, None]
    return _signatures(sets, len(a), lambda elements: (a * (elements % modulus) + b) % modulus)


def permutation_signatures(sets: Sequence[Collection[int]], orders: npt.ArrayLike) -> Int64:
    """Signatures by true permutations: the position of the first row, in permuted order, that a set has.

    Parameters
    ----------
    sets : sequence of collections of int
        Row numbers from 0, below the size of the universe.
    orders : int array, hashes x universe
        `orders[i, row]` is the position of the row in permutation i: the lecture's columns of numbers,
        lying down.

    Returns
    -------
    int64 array, sets x hashes
        -1 throughout where a set is empty.

    Examples
    --------
    The rows a to e in the order b, e, a, d, c. S1 = {a, d} begins with a, at position 2:

    >>> permutation_signatures([{0, 3}, {2}], [[2, 0, 4, 3, 1]]).tolist()
    [[2], [4]]
    """
    positions = np.atleast_2d(np.asarray(orders, np.int64))
    repeats = np.diff(np.sort(positions, axis=1), axis=1) == 0
    if positions.ndim != 2 or repeats.any() or (positions < 0).any():
        raise UsageError("orders must be hashes x universe, each a permutation: no position twice, none below 0")
    universe = positions.shape[1]
    largest = max((max(members) for members in sets if members), default=-1)
    if largest >= universe:
        raise UsageError(f"element {largest} is outside the universe of {universe} rows")
    return _signatures(sets, len(positions), lambda elements: positions[:, elements])


def _signatures(sets: Sequence[Collection[int]], hashes: int, values: Callable[[Int64], Int64]) -> Int64:
    """The smallest value of each set under every hash; `values` gives hashes x elements."""
    signatures = np.full((len(sets), hashes), EMPTY, np.int64)
    for row, members in enumerate(sets):
        if members:
            elements = np.array(sorted(members), np.int64)
            if elements[0] < 0:
                raise UsageError(f"elements must be whole numbers from 0, not {elements[0]}")
            signatures[row] = values(elements).min(axis=1)
    return signatures
