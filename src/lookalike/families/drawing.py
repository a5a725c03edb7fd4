"""Shared by the families of vectors: random numbers from a seed, and checks of matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.types import Float64


def check_seed(seed: int) -> int:
    """Check that a seed is a whole number of at most 64 bits.

    Examples
    --------
    >>> check_seed(1)
    1
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise UsageError(f"seed must be a whole number from 0 to 2^64 - 1, not {seed!r}")
    return number


def generator(seed: int, purpose: int) -> np.random.Generator:
    """A separate random generator for each purpose of a seed.

    Functions are drawn one after the other, so that the first ones do not depend on their number.

    Examples
    --------
    >>> one, more = generator(1, 0).standard_normal((2, 3)), generator(1, 0).standard_normal((5, 3))
    >>> bool((one == more[:2]).all())
    True
    """
    return np.random.default_rng([seed, purpose])


def check_matrix(items: Any) -> Float64:
    """Vectors as a float64 matrix with one row each; all values must be finite.

    Examples
    --------
    >>> check_matrix([[1, 2], [3, float("nan")]])
    Traceback (most recent call last):
    lookalike.errors.UsageError: row 1 (counted from 0) has a value that is not a finite number: nan
    """
    try:
        rows = np.asarray(items, np.float64)
    except (TypeError, ValueError):
        raise UsageError("vectors must be a matrix of numbers with a row for each item, all of one length") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError(f"vectors must be a matrix with a row for each item, not an array of shape {rows.shape}")
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise UsageError(f"row {row} (counted from 0) has a value that is not a finite number: {rows[row, column]}")
    return rows
