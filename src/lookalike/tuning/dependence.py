"""How often levels occur together among pairs that are no matches: fields that say the same are counted once.

Fields are rarely independent: whoever lives in the same suburb has the same postcode. Multiplying their probabilities
would make such a pair look like a match, and estimates that start from it go wrong. Here each field may depend on
one other field (the tree that explains most of the dependence: Chow and Liu 1968), measured on random pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookalike.tuning.patterns import Levels
from lookalike.types import Float64

SMOOTH = 0.5
"""Added to the count of each level, so that one never seen is rare and not impossible."""
DOUBT = 10.0
"""So many pairs of the field's own distribution are added to each distribution that depends on another field."""
CERTAIN = 5.0
"""Two fields depend on each other if their G statistic is so many standard deviations above chance."""


@dataclass(frozen=True, slots=True)
class Tree:
    """For each field the distribution of its levels, by the level of the field that it depends on."""

    parent: tuple[int, ...]
    """The field that each depends on; -1 for none."""
    chances: tuple[Float64, ...]
    """float64[levels of the parent + 1, levels]; row 0, for a parent that is missing or none, is the field's own."""

    def own(self, field: int) -> Float64:
        """How often each level of the field occurs, whatever the others are."""
        chances: Float64 = self.chances[field][0]
        return chances

    def logs(self, levels: Levels) -> Float64:
        """log2 of the probability of each field's level, given the parent's: float64[patterns, fields], 0 if missing.

        Examples
        --------
        >>> tree = Tree((-1, 0), (np.array([[0.5, 0.5]]), np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])))
        >>> tree.logs(np.array([[1, 1], [0, 1], [2, 0]], np.int8)).tolist()
        [[-1.0, 0.0], [0.0, -2.0], [-1.0, 0.0]]
        """
        found = np.empty(levels.shape, np.float64)
        for field, (parent, chances) in enumerate(zip(self.parent, self.chances)):
            with np.errstate(divide="ignore"):
                table = np.hstack([np.zeros((len(chances), 1)), np.log2(chances)])
            above = levels[:, parent] if parent >= 0 else np.zeros(len(levels), np.int8)
            found[:, field] = table[above, levels[:, field]]
        return found


def grow_tree(levels: Levels, counts: Float64, sizes: tuple[int, ...], doubtful: float = 0.0) -> Tree:
    """Measure the distribution of patterns on random pairs.

    Parameters
    ----------
    levels, counts
        int8[patterns, fields], and how many random pairs have each (fractions where some are believed to be matches).
    sizes
        How many levels each field has.
    doubtful
        Two fields are taken to be dependent if more pairs than these have levels that go together. Matches among the
        random pairs agree in everything, so as many pairs as could be matches are no sign of dependence; with
        infinity no field depends on any.

    Examples
    --------
    >>> same = np.array([[1, 1, 1], [1, 1, 2], [2, 2, 1], [2, 2, 2]], np.int8)
    >>> tree = grow_tree(same, np.array([10.0, 90.0, 90.0, 810.0]), (2, 2, 2))
    >>> tree.parent
    (-1, 0, -1)
    """
    own = [_own(levels[:, field], counts, size) for field, size in enumerate(sizes)]
    parents = _spanning_forest(levels, counts, sizes, doubtful)
    chances = []
    for field, parent in enumerate(parents):
        rows = own[field][None, :]
        if parent >= 0:
            together = _joint(levels, counts, sizes, parent, field)
            above = together.sum(axis=1, keepdims=True)
            rows = np.vstack([rows, (together + DOUBT * own[field]) / (above + DOUBT)])
        chances.append(rows)
    return Tree(parents, tuple(chances))


def _own(column: Levels, counts: Float64, size: int) -> Float64:
    seen = np.bincount(column, counts, minlength=size + 1)[1:] + SMOOTH
    return np.asarray(seen / seen.sum(), np.float64)


def _joint(levels: Levels, counts: Float64, sizes: tuple[int, ...], first: int, second: int) -> Float64:
    """How many pairs have each level of the one and of the other: float64[levels, levels], none of them missing."""
    wide = sizes[second] + 1
    numbers = levels[:, first].astype(np.int64) * wide + levels[:, second]
    table = np.bincount(numbers, counts, minlength=(sizes[first] + 1) * wide)
    return np.asarray(table.reshape(sizes[first] + 1, wide)[1:, 1:], np.float64)


def _information(together: Float64, doubtful: float) -> float:
    """What one field tells of the other, in bits times pairs; 0 if that could be chance, or the doubtful pairs."""
    total = together.sum()
    if total <= 0:
        return 0.0
    expected = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True) / total
    if np.maximum(together - expected, 0).sum() <= doubtful:
        return 0.0
    ratio = np.divide(together, expected, out=np.ones_like(together), where=together > 0)
    told = float((together * np.log(ratio)).sum())
    freedom = (together.shape[0] - 1) * (together.shape[1] - 1)
    return told / math.log(2) if 2 * told > freedom + CERTAIN * math.sqrt(2 * freedom) else 0.0


def _spanning_forest(levels: Levels, counts: Float64, sizes: tuple[int, ...], doubtful: float) -> tuple[int, ...]:
    """Each field's parent in the forest of most information; the first field of a tree is its root."""
    fields = len(sizes)
    told = np.zeros((fields, fields))
    if doubtful == math.inf:
        return (-1,) * fields
    for first in range(fields):
        for second in range(first + 1, fields):
            known = _information(_joint(levels, counts, sizes, first, second), doubtful)
            told[first, second] = told[second, first] = known
    parents, inside = [-1] * fields, np.zeros(fields, np.bool_)
    best, via = np.zeros(fields), np.full(fields, -1)
    for _ in range(fields):
        # The field that the tree tells most of; where it tells nothing of any, the first one left starts a new tree.
        taken = int(np.argmax(np.where(inside, -1.0, best)))
        inside[taken] = True
        parents[taken] = int(via[taken])
        closer = told[taken] > best
        best[closer], via[closer] = told[taken][closer], taken
    return tuple(parents)
