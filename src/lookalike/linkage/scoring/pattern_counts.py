"""Agreement patterns: pairs that agree alike in every field are counted together.

Ten million pairs have a few thousand patterns, so whatever is estimated from pairs is estimated from patterns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.kernels.scoring import number_patterns, renumber
from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Int32, Int64


class Patterns(NamedTuple):
    """The distinct patterns of pairs, in ascending order, how often each occurs, and which one each pair has."""

    levels: Levels
    """int8[patterns, fields]."""
    counts: Int64
    of_pair: Int32


def patterns_of(levels: Levels) -> Patterns:
    """Count together the pairs that agree alike in every field.

    Examples
    --------
    >>> found = patterns_of(np.array([[1, 2], [0, 1], [1, 2]], np.int8))
    >>> found.levels.tolist(), found.counts.tolist(), found.of_pair.tolist()
    ([[0, 1], [1, 2]], [1, 2], [1, 0, 1])
    """
    if levels.ndim != 2 or not levels.shape[1]:
        raise UsageError(f"levels must be a table of pairs by fields with at least one field, not {levels.shape}")
    if levels.size and levels.min() < 0:
        raise UsageError("levels must be from 0 (missing), not negative")
    if not len(levels):
        return Patterns(levels, np.empty(0, np.int64), np.empty(0, np.int32))
    numbers, fields = np.zeros(len(levels), np.int32), np.ascontiguousarray(levels.T)
    base, done = 1, 0
    while done < len(fields):  # so many fields at a time as fit a key of 64 bits
        bases = [base]
        while done + len(bases) <= len(fields):
            bases.append(int(fields[done + len(bases) - 1].max()) + 1)
            if math.prod(bases) >= 1 << 63:
                bases.pop()
                break
        keys = number_patterns(fields[done : done + len(bases) - 1], np.array(bases, np.uint64), numbers)
        ranks = np.empty(len(keys), np.int32)
        ranks[np.argsort(keys)] = np.arange(len(keys), dtype=np.int32)
        counts, examples = np.zeros(len(keys), np.int64), np.empty(len(keys), np.int64)
        renumber(numbers, ranks, counts, examples)
        base, done = len(keys), done + len(bases) - 1
    return Patterns(levels[examples], counts, numbers)
