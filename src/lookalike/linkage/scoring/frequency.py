"""The frequency of values: agreement on a rare value is stronger evidence."""

from __future__ import annotations

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Float64

BITS = 8.0
"""The default limit of the change of a weight by the frequency of the value, in bits either way."""


def adjust_by_frequency(
    levels: Levels, frequencies: Float64, equal: float, strength: float = 1.0, bits: float = BITS
) -> Float64:
    """The change of the weight of an agreement because its value is common (less) or rare (more).

    Two random records agree with probability `equal`, but on this value with its frequency: log2(equal / frequency).

    Parameters
    ----------
    levels : int8[pairs]
        Only level 1 is adjusted: at other levels there is no single value.
    frequencies : float64[pairs]
        The probability that another record has the shared value (`frequency_beyond`); NaN for no adjustment.
    equal
        How often random pairs are equal in the field.
    strength
        From 0 (no adjustment) to 1 (full adjustment).
    bits
        The limit either way: a value seen once may be a typing error.

    Examples
    --------
    >>> common, rare = 0.08, 0.0001
    >>> adjust_by_frequency(np.array([1, 1, 2], np.int8), np.array([common, rare, rare]), equal=0.01).round(2).tolist()
    [-3.0, 6.64, 0.0]
    """
    if not 0 < equal <= 1 or not 0 <= strength <= 1 or not bits >= 0:
        raise UsageError(
            "equal must be above 0 and at most 1, strength between 0 and 1, and bits not negative; not "
            f"{equal}, {strength}, {bits}"
        )
    adjusted = (levels == 1) & (frequencies > 0)  # false for NaN
    added = np.zeros(len(levels), np.float64)
    added[adjusted] = np.clip(strength * np.log2(equal / frequencies[adjusted]), -bits, bits)
    return added


def frequency_beyond(spare: Float64, records: int, equal: float) -> Float64:
    """The probability that another record has the value that two records share, from the number of others that have it.

    The two records themselves do not count: if they match, they share the value for a single reason. A value that no
    third record has counts as occurring half a time, or as rarely as agreement in general if that is rarer.

    Parameters
    ----------
    spare
        The number of records with the value in one table, without the pair: the count less 2 if both are in that
        table, else less 1 (take the larger of two tables). NaN if no value is shared.
    records
        The number of records in that table.
    equal
        How often random pairs are equal in the field.

    Examples
    --------
    >>> frequency_beyond(np.array([0.0, 1.0, 50.0, np.nan]), records=1000, equal=0.01).tolist()
    [0.0005, 0.001, 0.05, nan]
    >>> frequency_beyond(np.array([0.0]), records=1000, equal=0.00001).tolist()
    [1e-05]
    """
    return np.where(spare > 0, spare / records, np.where(np.isnan(spare), np.nan, min(equal, 0.5 / records)))
