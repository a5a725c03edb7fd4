"""Minhashing as the book works it out by hand: a few sets of small integers, a few hash functions, every value shown.

For teaching and tests. The jobs use `families/minhash.py`, which handles millions of sets of 64-bit elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.types import Int64

EMPTY = -1
"""Signature value of an empty set: no hash value, since these start at 0."""


def universal_signatures(
    sets: Sequence[Collection[int]], multipliers: Sequence[int], offsets: Sequence[int], modulus: int
) -> Int64:
    """Signatures by universal hashing: for every hash (a, b), the smallest (a x + b) mod p of each set.

    Parameters
    ----------
    sets : sequence of collections of int
        Non-negative elements.
    multipliers, offsets : sequence of int
        a and b of each hash.
    modulus : int
        p, from 1 to 2^31, so that products fit in 64 bits.

    Returns
    -------
    int64 array, sets x hashes
        -1 for empty sets.

    Examples
    --------
    The sets S1 to S4 of the book under x + 1 mod 5 and 3x + 1 mod 5:

    >>> universal_signatures([{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}], [1, 3], [1, 1], 5).T
    array([[1, 3, 0, 1],
           [0, 2, 0, 0]])
    """
    if len(multipliers) != len(offsets):
        counts = f"{len(multipliers)} multipliers and {len(offsets)} offsets"
        raise UsageError(f"each hash needs a multiplier and an offset, but there are {counts}")
    if not 1 <= modulus <= 2**31:
        raise UsageError(f"modulus must be an integer from 1 to {2**31}, not {modulus}")
    # After reduction, both factors are below 2^31 and their product below 2^62.
    a = np.array([multiplier % modulus for multiplier in multipliers], np.int64)[:, None]
    b = np.array([offset % modulus for offset in offsets], np.int64)[:, None]
    return _signatures(sets, len(a), lambda elements: (a * (elements % modulus) + b) % modulus)


def permutation_signatures(sets: Sequence[Collection[int]], orders: npt.ArrayLike) -> Int64:
    """Signatures by true permutations: the position of the first row in permuted order that is in the set.

    Parameters
    ----------
    sets : sequence of collections of int
        Row numbers, from 0 to below the size of the universe.
    orders : int array, hashes x universe
        `orders[i, row]` is the position of the row in permutation i; the book writes permutations as columns.

    Returns
    -------
    int64 array, sets x hashes
        -1 for empty sets.

    Examples
    --------
    The rows a to e in the order b, e, a, d, c. The first row of S1 = {a, d} is a, at position 2:

    >>> permutation_signatures([{0, 3}, {2}], [[2, 0, 4, 3, 1]]).tolist()
    [[2], [4]]
    """
    positions = np.atleast_2d(np.asarray(orders, np.int64))
    repeats = np.diff(np.sort(positions, axis=1), axis=1) == 0
    if positions.ndim != 2 or repeats.any() or (positions < 0).any():
        raise UsageError("orders must be hashes x universe, each row a permutation (no repeated or negative positions)")
    universe = positions.shape[1]
    largest = max((max(members) for members in sets if members), default=-1)
    if largest >= universe:
        raise UsageError(f"element {largest} is outside the universe of {universe} rows")
    return _signatures(sets, len(positions), lambda elements: positions[:, elements])


def _signatures(sets: Sequence[Collection[int]], hashes: int, values: Callable[[Int64], Int64]) -> Int64:
    """The smallest value of each set under every hash; `values` maps elements to int64[hashes, elements]."""
    signatures = np.full((len(sets), hashes), EMPTY, np.int64)
    for row, members in enumerate(sets):
        if members:
            elements = np.array(sorted(members), np.int64)
            if elements[0] < 0:
                raise UsageError(f"elements must be non-negative integers, not {elements[0]}")
            signatures[row] = values(elements).min(axis=1)
    return signatures
