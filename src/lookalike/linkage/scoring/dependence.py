"""How often levels occur together among non-matches, so that fields with the same information are not counted twice.

Fields are rarely independent: people in the same suburb have the same postcode. Multiplying their probabilities would
make such a pair look like a match, and mislead the estimation. Here each field may depend on one
other field (the tree that explains most of the dependence: Chow and Liu 1968), measured on random pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lookalike.linkage.scoring.patterns import Levels
from lookalike.types import Bool, Float64, Int64
from lookalike.types.frozen import frozen

SMOOTH = 0.5
"""Added to the count of each level, so that a level never seen is rare rather than impossible."""
DOUBT = 10.0
"""The number of pairs of the field's own distribution added to each of its conditional distributions."""
CERTAIN = 5.0
"""Two fields depend on each other if their G statistic is this many standard deviations above chance."""
AGAINST = -1.0
"""A field is evidence against a match if its weight is at most this many bits."""
LEAST = -3.0
"""The lower bound of that evidence: at least one match in eight is assumed to differ in a field."""
TELLING = 4.0
"""A field tells records apart if pairs that are equal in it are at most this many times as frequent as matches."""
SUSPECT = 3.0
"""Two fields depend on each other only if the excess of pairs exceeds this multiple of the matches among them."""


@frozen
class Tree:
    """For each field, the distribution of its levels given the level of the field that it depends on."""

    parent: tuple[int, ...]
    """The field that each field depends on; -1 for none."""
    chances: tuple[Float64, ...]
    """float64[levels of the parent + 1, levels]; row 0, for a missing or no parent, is the marginal distribution."""

    def own(self, field: int) -> Float64:
        """The marginal distribution of the field's levels."""
        chances: Float64 = self.chances[field][0]
        return chances

    def logs(self, levels: Levels) -> Float64:
        """log2 of the probability of each field's level given its parent's: float64[patterns, fields], 0 if missing.

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
    """The distribution of each field's levels on random pairs, as if all fields were independent.

    Examples
    --------
    >>> independent(np.array([[1], [2]], np.int8), np.array([9.5, 89.5]), (2,)).own(0).tolist()
    [0.1, 0.9]
    """
    return Tree((-1,) * len(sizes), tuple(_own(levels[:, f], counts, size)[None, :] for f, size in enumerate(sizes)))


def grow_tree(levels: Levels, counts: Float64, sizes: tuple[int, ...], matches: Float64, prior: float) -> Tree:
    """Measure on random pairs how often levels occur, and which fields depend on each other.

    Matches among the random pairs agree in everything, which must not be mistaken for dependence. So dependence between
    two fields is measured on pairs that the other fields show to be non-matches.

    Parameters
    ----------
    levels, counts
        int8[patterns, fields], and the number of random pairs of each pattern.
    sizes
        The number of levels of each field.
    matches
        float64[patterns, fields]: log2 of the level's probability among matches; 0 if it is missing.
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
    telling = [float(own.own(field)[0]) <= TELLING * prior for field in range(len(sizes))]
    pairs = _Pairs.of(levels, counts, sizes, matches - own.logs(levels), prior, telling)
    parents = _spanning_forest(pairs)
    tree = _with_parents(own, parents, pairs)
    # Once dependence is known, the matches can be recognised and removed.
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
    """The probability that pairs of these scores are matches."""
    with np.errstate(over="ignore"):
        odds = prior * np.exp2(scores)
        return np.asarray(1 - 1 / (1 + odds), np.float64)


class _Pairs(NamedTuple):
    """Random pairs, by pattern: those in which at most two fields are evidence for a match."""

    levels: Levels
    counts: Float64
    sizes: tuple[int, ...]
    prior: float
    lowest: list[tuple[Int64, Float64]]
    """The field that is the strongest evidence against a match, and this evidence; the same for the next two fields."""
    favourable: Int64
    """The number of fields that are evidence for a match."""
    unfavourable: Int64
    """The number of fields that are evidence against one."""
    for_match: Bool
    """bool[patterns, fields]: which fields are."""
    telling: Sequence[bool]
    """Which fields tell records apart: of the pairs that are equal in one, many are matches."""

    @classmethod
    def of(
        cls,
        levels: Levels,
        counts: Float64,
        sizes: tuple[int, ...],
        evidence: Float64,
        prior: float,
        telling: Sequence[bool],
    ) -> _Pairs:
        """The pairs with this evidence, float64[patterns, fields]."""
        for_match = evidence > 0
        some = np.flatnonzero(for_match.sum(axis=1) <= 2)
        evidence, for_match = evidence[some], for_match[some]
        order = np.argpartition(evidence, min(2, len(sizes) - 1), axis=1)[:, :3]
        values = np.take_along_axis(evidence, order, axis=1)
        sort = np.argsort(values, axis=1)
        order, values = np.take_along_axis(order, sort, axis=1), np.take_along_axis(values, sort, axis=1)
        lowest = [(order[:, rank].copy(), values[:, rank].copy()) for rank in range(order.shape[1])]
        counted = for_match.sum(axis=1), (evidence < 0).sum(axis=1)
        return cls(levels[some], counts[some], sizes, prior, lowest, *counted, for_match, telling)

    def _against(self, first: int, second: int) -> Float64:
        """The strongest evidence against a match in any other field; 0 if there is none."""
        found = np.zeros(len(self.counts))
        for field, value in reversed(self.lowest):  # the last that is assigned is the strongest
            np.copyto(found, value, where=(field != first) & (field != second))
        return np.minimum(found, 0.0, out=found)

    def joint(self, first: int, second: int) -> tuple[Float64, float]:
        """The number of pairs by level of both fields, and how many of them may be matches.

        float64[levels, levels]; only pairs that have both values, and whose other fields are evidence against a match,
        with none in favour. Pairs that are equal in two fields which tell records apart, and differ in one other field,
        are matches all the same: that one is wrong. They are replaced by the number that chance would produce.
        """
        # Only the strongest field counts: the other disagreements may repeat its information.
        against = self._against(first, second)
        none_in_favour = self.favourable <= self.for_match[:, [first, second]].sum(axis=1)
        counts = np.where(none_in_favour & (against <= AGAINST), self.counts, 0.0)
        both = self.telling[first] and self.telling[second]
        if both:
            counts[(self.levels[:, [first, second]] == 1).all(axis=1) & (self.unfavourable <= 1)] = 0.0
        wide = self.sizes[second] + 1
        numbers = self.levels[:, first].astype(np.int64) * wide + self.levels[:, second]
        table = np.bincount(numbers, counts, minlength=(self.sizes[first] + 1) * wide)
        together = np.asarray(table.reshape(-1, wide)[1:, 1:], np.float64)
        if both:
            together[0, 0] = max(together[0, 0], _expect_equal(together))
        return together, float((counts * _likely(np.maximum(against, LEAST), self.prior)).sum())


def _expect_equal(together: Float64) -> float:
    """The number of pairs that are equal in two independent fields, judging by all other pairs.

    Examples
    --------
    >>> _expect_equal(np.array([[500.0, 1.0], [2.0, 100.0]]))
    0.02
    """
    return float(together[0, 1:].sum() * together[1:, 0].sum() / max(1.0, together[1:, 1:].sum()))


def _information(together: Float64, doubtful: float) -> float:
    """Mutual information of two fields, in bits times pairs; 0 if chance or the doubtful pairs could explain it."""
    total = together.sum()
    if total <= 0:
        return 0.0
    expected = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True) / total
    if np.maximum(together - expected, 0).sum() <= SUSPECT * doubtful:
        return 0.0
    ratio = np.divide(together, expected, out=np.ones_like(together), where=together > 0)
    nats = float((together * np.log(ratio)).sum())
    freedom = (together.shape[0] - 1) * (together.shape[1] - 1)
    return nats / math.log(2) if 2 * nats > freedom + CERTAIN * math.sqrt(2 * freedom) else 0.0


def _spanning_forest(pairs: _Pairs) -> tuple[int, ...]:
    """Each field's parent in the forest of most mutual information; the first field of a tree is its root."""
    fields = len(pairs.sizes)
    information = np.zeros((fields, fields))
    for first in range(fields):
        for second in range(first + 1, fields):
            information[first, second] = information[second, first] = _information(*pairs.joint(first, second))
    parents, inside = [-1] * fields, np.zeros(fields, np.bool_)
    best, via = np.zeros(fields), np.full(fields, -1)
    for _ in range(fields):
        # The field with most information about the tree; if there is none, the first one left starts a new tree.
        taken = int(np.argmax(np.where(inside, -1.0, best)))
        inside[taken] = True
        parents[taken] = int(via[taken])
        closer = information[taken] > best
        best[closer], via[closer] = information[taken][closer], taken
    return tuple(parents)
