"""How often levels occur together among pairs that are no matches: fields that say the same are counted once.

Fields are rarely independent: whoever lives in the same suburb has the same postcode. Multiplying their probabilities
would make such a pair look like a match, and estimates that start from it go wrong. Here each field may depend on
one other field (the tree that explains most of the dependence: Chow and Liu 1968), measured on random pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Float64

SMOOTH = 0.5
"""Added to the count of each level, so that one never seen is rare and not impossible."""
DOUBT = 10.0
"""So many pairs of the field's own distribution are added to each distribution that depends on another field."""
CERTAIN = 5.0
"""Two fields depend on each other if their G statistic is so many standard deviations above chance."""
AGAINST = -1.0
"""A field speaks against a match if its evidence is at most so many bits."""
LEAST = -3.0
"""However rarely matches are said to differ in a field, one in eight is thought to, since that is an estimate."""
SUSPECT = 3.0
"""Two fields depend on each other only if so many times more pairs go together than matches are left among them."""


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


def independent(levels: Levels, counts: Float64, sizes: tuple[int, ...]) -> Tree:
    """The distribution of each field's levels on random pairs, as if no field depended on any.

    Examples
    --------
    >>> independent(np.array([[1], [2]], np.int8), np.array([9.5, 89.5]), (2,)).own(0).tolist()
    [0.1, 0.9]
    """
    return Tree((-1,) * len(sizes), tuple(_own(levels[:, f], counts, size)[None, :] for f, size in enumerate(sizes)))


def grow_tree(levels: Levels, counts: Float64, sizes: tuple[int, ...], matches: Float64, prior: float) -> Tree:
    """Measure on random pairs how often levels occur, and which fields depend on each other.

    Matches among the random pairs agree in everything, which must not pass for dependence. So whether two fields
    depend on each other is seen on pairs of which the other fields say that they are no match.

    Parameters
    ----------
    levels, counts
        int8[patterns, fields], and how many random pairs have each pattern.
    sizes
        How many levels each field has.
    matches
        float64[patterns, fields]: log2 of how often the level occurs among matches; 0 where it is missing.
    prior
        The share of matches among random pairs.

    Examples
    --------
    >>> levels = np.array([[1, 1, 1], [1, 1, 2], [2, 2, 1], [2, 2, 2]], np.int8)
    >>> matches = np.log2(np.where(levels == 1, 0.9, 0.1))
    >>> grow_tree(levels, np.array([10.0, 90.0, 90.0, 810.0]), (2, 2, 2), matches, 0.01).parent
    (-1, 0, -1)
    """
    own = independent(levels, counts, sizes)
    pairs = _Pairs(levels, counts, sizes, matches - own.logs(levels), prior)
    parents = _spanning_forest(pairs)
    tree = _with_parents(own, parents, pairs)
    # With dependence known, the matches can be told and taken out.
    scores = (matches - tree.logs(levels)).sum(axis=1)
    return _with_parents(independent(levels, counts * (1 - _likely(scores, prior)), sizes), parents, pairs)


def _with_parents(own: Tree, parents: tuple[int, ...], pairs: _Pairs) -> Tree:
    chances = list(own.chances)
    for field, parent in enumerate(parents):
        if parent >= 0:
            together, _ = pairs.joint(parent, field)
            above = together.sum(axis=1, keepdims=True)
            chances[field] = np.vstack([chances[field], (together + DOUBT * chances[field]) / (above + DOUBT)])
    return Tree(parents, tuple(chances))


def _own(column: Levels, counts: Float64, size: int) -> Float64:
    seen = np.bincount(column, counts, minlength=size + 1)[1:] + SMOOTH
    return np.asarray(seen / seen.sum(), np.float64)


def _likely(scores: Float64, prior: float) -> Float64:
    """How likely pairs of these scores are matches."""
    with np.errstate(over="ignore"):
        odds = prior * np.exp2(scores)
        return np.asarray(1 - 1 / (1 + odds), np.float64)


class _Pairs(NamedTuple):
    """Random pairs, by pattern."""

    levels: Levels
    counts: Float64
    sizes: tuple[int, ...]
    evidence: Float64
    prior: float

    def joint(self, first: int, second: int) -> tuple[Float64, float]:
        """How many pairs have each level of the one field and of the other, and how many of these may be matches.

        float64[levels, levels]; only pairs that have both, and whose other fields speak against a match: none for it.
        """
        others = np.delete(self.evidence, [first, second], axis=1)
        # The strongest field alone: that the others disagree as well may say the same once more.
        against = others.min(axis=1, initial=0.0)
        counts = np.where((others.max(axis=1, initial=0.0) <= 0) & (against <= AGAINST), self.counts, 0.0)
        wide = self.sizes[second] + 1
        numbers = self.levels[:, first].astype(np.int64) * wide + self.levels[:, second]
        table = np.bincount(numbers, counts, minlength=(self.sizes[first] + 1) * wide)
        together = np.asarray(table.reshape(-1, wide)[1:, 1:], np.float64)
        return together, float(counts @ _likely(np.maximum(against, LEAST), self.prior))


def _information(together: Float64, doubtful: float) -> float:
    """What one field tells of the other, in bits times pairs; 0 if that could be chance, or the doubtful pairs."""
    total = together.sum()
    if total <= 0:
        return 0.0
    expected = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True) / total
    if np.maximum(together - expected, 0).sum() <= SUSPECT * doubtful:
        return 0.0
    ratio = np.divide(together, expected, out=np.ones_like(together), where=together > 0)
    told = float((together * np.log(ratio)).sum())
    freedom = (together.shape[0] - 1) * (together.shape[1] - 1)
    return told / math.log(2) if 2 * told > freedom + CERTAIN * math.sqrt(2 * freedom) else 0.0


def _spanning_forest(pairs: _Pairs) -> tuple[int, ...]:
    """Each field's parent in the forest of most information; the first field of a tree is its root."""
    fields = len(pairs.sizes)
    told = np.zeros((fields, fields))
    for first in range(fields):
        for second in range(first + 1, fields):
            told[first, second] = told[second, first] = _information(*pairs.joint(first, second))
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
