"""Matches of one table have more in common than not; records that are only related have less in common.

The only other book of an author, or the only other ad of a company, stands out from all other records as a match does,
and second choices do not show that such pairs occur by chance. But they share a name or a description only.
"""

from __future__ import annotations

import numpy as np

from lookalike.types import Bool, Float64

MOST = 0.5
"""Records are alike if they have at least this share in common (`Evidence.in_common`)."""
NOTHING = 10.0
"""The bits that a pair loses if its records have nothing in common; if half is in common, it loses one bit."""


def are_alike(common: Float64) -> Bool:
    """Which pairs have more in common than not.

    Examples
    --------
    >>> are_alike(np.array([0.2, 0.8])).tolist()
    [False, True]
    """
    return np.asarray(common >= MOST)


def alike_bits(common: Float64) -> Float64:
    """The (negative) bits of pairs that have these shares in common.

    Examples
    --------
    >>> alike_bits(np.array([0.0, 0.3, 0.5, 0.7, 1.0])).round(1).tolist()
    [-10.0, -4.1, -1.0, -0.1, -0.0]
    """
    return np.asarray(-np.log2(1 + np.exp2(NOTHING * (1 - common / MOST))))


def add_bits(likely: Float64, bits: Float64) -> Float64:
    """Probabilities after further evidence.

    Examples
    --------
    >>> add_bits(np.array([0.0, 0.5, 1.0]), np.full(3, -1.0)).round(2).tolist()
    [0.0, 0.33, 1.0]
    """
    odds = likely * np.exp2(bits)
    return np.asarray(odds / (odds + 1 - likely))
