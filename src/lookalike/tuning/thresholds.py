"""Thresholds as exact fractions, and the Jaccard similarity that the threshold of each measure implies.

Similarities are compared in integers, so thresholds are fractions: 0.55 of 100 is 55, which the float
0.55 * 100 = 55.00000000000001 would miss. Nothing here knows sets or pairs.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from lookalike.errors import UsageError

MEASURES = ("jaccard", "containment", "dice", "cosine", "overlap", "euclidean", "hamming")
"""The values of `--measure`: similarities of two sets, then distances of two vectors or bit strings; cosine applies to
both sets and vectors."""
DISTANCES = ("euclidean", "hamming")
"""Measures for which less is nearer: their threshold is the largest distance."""


def parse_threshold(value: float | str | Fraction | int) -> Fraction:
    """The fraction that the user meant: the decimal 0.8 is 4/5, not the nearest binary float.

    Parameters
    ----------
    value : float, str, Fraction or int
        A float counts as its shortest decimal; a string may also be a fraction such as "2/3".

    Raises
    ------
    UsageError
        If it is not a number. The range is checked by `check_threshold`, which knows the measure.

    Examples
    --------
    >>> parse_threshold(0.8), parse_threshold("0.55"), parse_threshold("2/3")
    (Fraction(4, 5), Fraction(11, 20), Fraction(2, 3))
    """
    if isinstance(value, bool) or not isinstance(value, float | str | int | Fraction | Decimal | np.number):
        raise UsageError(f"threshold must be a number such as 0.8, not {value}")
    # str() of a NumPy float is the shortest decimal of its own width: np.float32(0.8) is 0.8 too.
    text = str(value).strip()
    try:
        # Fraction would expand 1e-999999999 to a billion digits: check the size first.
        size = abs(float(Fraction(text) if "/" in text else text))
        number = Fraction(text) if 1e-60 < size < 1e60 else Fraction(0) if size == 0 else None
    except (ValueError, OverflowError, ZeroDivisionError):
        number = None
    if number is None or number.denominator > 10**60:
        raise UsageError(f"threshold must be a number such as 0.8, not {value}")
    return number


def written(fraction: Fraction) -> float | str:
    """A fraction as a user would write it: a number, or text such as 2/3 that no decimal equals.

    Examples
    --------
    >>> written(Fraction(4, 5)), written(Fraction(2, 3))
    (0.8, '2/3')
    """
    number = float(fraction)
    return number if Fraction(repr(number)) == fraction else str(fraction)


def check_threshold(measure: str, value: float | str | Fraction | int) -> Fraction:
    """Check a threshold for a measure, and return it as a fraction.

    Examples
    --------
    >>> check_threshold("jaccard", 0.8), check_threshold("overlap", 3)
    (Fraction(4, 5), Fraction(3, 1))
    >>> check_threshold("overlap", 0.8)
    Traceback (most recent call last):
    lookalike.errors.UsageError: threshold must be a whole number of at least 1 for overlap (it counts shared \
elements), not 0.8
    """
    _check_measure(measure)
    threshold = parse_threshold(value)
    if measure == "overlap":
        if threshold.denominator != 1 or threshold < 1:
            wanted = "a whole number of at least 1 for overlap (it counts shared elements)"
            raise UsageError(f"threshold must be {wanted}, not {value}")
    elif measure in DISTANCES:
        if threshold < 0 or (measure == "hamming" and threshold.denominator != 1):
            wanted = "a whole number of bits from 0" if measure == "hamming" else "0 or more"
            raise UsageError(f"threshold must be {wanted} for {measure} (it is the largest distance), not {value}")
    elif not 0 < threshold <= 1:
        raise UsageError(f"threshold must be above 0 and at most 1 for {measure}, not {value}; try 0.8")
    return threshold


def jaccard_floor(measure: str, threshold: Fraction) -> Fraction | None:
    """The smallest Jaccard similarity of two sets that reach the threshold of a measure.

    Candidates found by Jaccard similarity must be sought from here on. None: there is no floor above 0, since a small
    set can be contained in a huge one.

    Notes
    -----
    With n = abs(A), m = abs(B) and i shared elements, Jaccard is i/(n + m - i).

    *Dice* d = 2i/(n + m), hence n + m = 2i/d and Jaccard = 1/(2/d - 1) = d/(2 - d): one fixes the other.

    *Cosine* c = i/sqrt(n m) fixes the product n m = (i/c)^2. Of two numbers with a fixed product the sum is
    largest when they are furthest apart, and neither is below i: n = i, m = i/c^2. There Jaccard = i/m = c^2, and it is
    larger everywhere else. The bound is reached by a set within another. It grows with c, so c >= t gives
    Jaccard >= t^2.

    Examples
    --------
    >>> from fractions import Fraction
    >>> [str(jaccard_floor(m, Fraction(4, 5))) for m in ("jaccard", "dice", "cosine", "containment")]
    ['4/5', '2/3', '16/25', 'None']
    """
    threshold = check_threshold(measure, threshold)
    if measure == "jaccard":
        return threshold
    if measure == "dice":
        return threshold / (2 - threshold)
    if measure == "cosine":
        return threshold**2
    return None


def _check_measure(measure: str) -> None:
    if measure not in MEASURES:
        raise UsageError(f"measure must be one of {', '.join(MEASURES)}, not {measure!r}")
