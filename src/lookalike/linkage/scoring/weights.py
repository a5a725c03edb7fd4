"""Fellegi-Sunter weights of agreement, estimated without labels.

The weight of a level is log2(m/u): how much more often it occurs among matches (m) than among non-matches (u). u is
measured on random pairs; m and the number of matches are found by expectation-maximisation over the candidate pairs. A
missing value is no evidence. Nothing here knows what a field contains or where pairs come from.

Three things make sure that the estimation finds matches, and not some other division of the candidates:

- u stays as measured on random pairs. Nearly all of the `pairs` in total are non-matches, many of which agree by chance
  in a field or two; most candidates are such pairs. Only agreement beyond that is evidence.
- Fields with the same information (suburb, postcode) are not counted twice: see dependence.py.
- A better agreement never weighs less than a weaker one. Of all m with that property, the most likely is used (m/u is
  pooled over adjacent levels). So a field cannot be reversed: it gets no weight instead, and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field as made_by
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.scoring.dependence import Tree, grow_tree, independent
from lookalike.linkage.scoring.frequency import BITS, adjust_by_frequency
from lookalike.linkage.scoring.patterns import Levels, LevelTables, check_levels, look_up
from lookalike.tuning.monotone import rising
from lookalike.types import Float64, Int64
from lookalike.types.frozen import frozen

AGREE = 0.9
"""The initial assumption of how often matches are equal in a field."""
BELIEF = 1.0
"""The number of matches of that assumption added to those found: levels never seen are rare, not impossible."""
ROUNDS = 3
"""How often u is measured again, without the random pairs that turned out to be matches. The third changes little."""
LABELS = 5.0
"""How many labels of an agreement pattern count as much as the model's own estimate for it."""
FEW = 100
"""With fewer candidates, the estimate cannot be trusted."""


class WeightsRow(NamedTuple):
    """One level of a field: how often it occurs, and its weight in bits."""

    field: int
    level: int
    matches: float
    others: float
    weight: float
    parent: int
    """The field that this field depends on; -1 for none."""
    weight_if_parent_agrees: float
    """The weight if that field has its best level; the same as `weight` if there is no parent."""


@frozen
class Weights:
    """The weight of each level of each field, the number of matches, and how they were estimated."""

    matches: LevelTables
    """How often each level occurs among matches (m); entry 0, for a missing value, is 1."""
    others: Tree
    """How often each level occurs among non-matches (u)."""
    pairs: float
    """The number of all pairs, which the random ones represent."""
    expected: float
    """The estimated number of matches among the candidates."""
    candidates: int
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()
    """Warnings for the user."""
    own_shares: dict[int, Float64] = made_by(default_factory=dict)
    """For each field of kind text, the share of matches among the pairs that share each value."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each field."""
        return tuple(len(table) - 1 for table in self.matches)

    @property
    def prior(self) -> float:
        """The share of matches among all pairs: the prior, because u is measured on all pairs."""
        return self.expected / self.pairs

    @property
    def prior_bits(self) -> float:
        """log2 of the odds that two records match, before any field is compared."""
        return _prior_bits(self.expected, self.pairs)

    @property
    def share(self) -> float:
        """The share of matches among the candidates."""
        return self.expected / self.candidates if self.candidates else 0.0

    def by_field(self, levels: Levels) -> Float64:
        """The weight of each field in each pattern, in bits: float64[patterns, fields]."""
        check_levels(levels, self.sizes)
        return look_up(levels, _logs(self.matches)) - self.others.logs(levels)

    def score(self, levels: Levels) -> Float64:
        """log2 of the likelihood ratio of each pattern, matches to non-matches; without the prior."""
        scores: Float64 = self.by_field(levels).sum(axis=1)
        return scores

    def probability(self, levels: Levels, adjust: Float64 | float = 0.0) -> Float64:
        """The model's probability that a pair of each pattern is a match.

        `adjust` is added to the scores, for example the sums of `adjust_by_frequency`.
        """
        return self.probability_of(self.score(levels) + adjust)

    def probability_of(self, scores: Float64) -> Float64:
        """The probability that pairs of these scores are matches."""
        return _posterior(scores, self.expected, self.pairs)

    def adjust_by_frequency(
        self, levels: Levels, frequencies: Float64, strength: float = 1.0, bits: float = BITS
    ) -> Float64:
        """The change of each field's weight because the shared value is common or rare: float64[pairs, fields].

        A field whose parent agrees as well is not adjusted: the shared value is then no new information.

        Parameters
        ----------
        levels
            int8[pairs, fields].
        frequencies
            float64[pairs, fields]: the probability that another record has the shared value (`frequency_beyond`);
            NaN for no adjustment.
        """
        check_levels(levels, self.sizes)
        added = np.zeros(levels.shape, np.float64)
        for field, parent in enumerate(self.others.parent):
            equal = float(self.others.own(field)[0])
            added[:, field] = adjust_by_frequency(levels[:, field], frequencies[:, field], equal, strength, bits)
            if parent >= 0:
                added[levels[:, parent] == 1, field] = 0.0
        return added

    def table(self) -> list[WeightsRow]:
        """The weight of each level of each field, as a table to print."""
        rows = []
        for field, (table, parent) in enumerate(zip(self.matches, self.others.parent)):
            chances = self.others.chances[field]
            for level in range(1, len(table)):
                often, seldom = float(table[level]), float(chances[0, level - 1])
                given = float(chances[1, level - 1]) if parent >= 0 else seldom
                weights = float(np.log2(often / seldom)), float(np.log2(often / given))
                rows.append(WeightsRow(field, level, often, seldom, weights[0], parent, weights[1]))
        return rows


def fit_weights(
    levels: Levels,
    counts: Int64,
    random: Levels,
    random_counts: Int64 | Float64,
    sizes: Sequence[int],
    pairs: float | None = None,
    names: Sequence[str] | None = None,
    dependent: bool = True,
    iterations: int = 1000,
    tolerance: float = 1e-6,
    labelled: Float64 | None = None,
) -> Weights:
    """Estimate weights from candidate pairs and random pairs, without labels.

    Parameters
    ----------
    levels, counts
        int8[patterns, fields], and the number of candidate pairs of each pattern (`patterns_of`).
    random, random_counts
        The same for random pairs.
    sizes
        The number of levels of each field.
    pairs
        The number of all pairs of records, candidates or not. Without it, the candidates are treated as all pairs,
        which is correct only if they were chosen independently of the fields.
    names
        The names of the fields, for notes.
    dependent
        Whether fields may depend on each other among random pairs. That can be measured only with three fields or more
        and if `pairs` is known, because the matches among the random pairs must be recognised.
    iterations, tolerance
        The estimation ends after this many iterations, or when no number changes by more than the tolerance.
    labelled
        float64[2, patterns]: how many pairs of each candidate pattern are known matches, and known non-matches.

    Examples
    --------
    A million pairs. Three fields, each equal in a hundredth of them by chance; 1,000 matches are equal in all three.

    >>> levels = np.array([[i, j, k] for i in (1, 2) for j in (1, 2) for k in (1, 2)], np.int8)
    >>> candidates = np.array([1001, 99, 99, 9800, 99, 9800, 9800, 50000])
    >>> random = np.array([100, 10, 10, 980, 10, 980, 980, 96930])
    >>> found = fit_weights(levels, candidates, levels, random, (2, 2, 2), pairs=1e6)
    >>> found.converged, round(found.expected, -2)
    (True, 1000.0)
    >>> found.probability(levels).round(1).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    sizes, names = tuple(sizes), names or [f"field {field}" for field in range(len(sizes))]
    for given, often in ((levels, counts), (random, random_counts)):
        check_levels(given, sizes)
        if len(given) != len(often):
            raise UsageError(f"{len(given)} patterns, but {len(often)} counts")
    if not len(random) or not random_counts.sum():
        raise UsageError("no random pairs to measure chance agreement on: draw at least some thousands")
    candidates = int(counts.sum())
    known = pairs is not None
    pairs = float(max(candidates, 1)) if pairs is None else float(pairs)
    if pairs < candidates:
        raise UsageError(f"{candidates:,} candidates among {pairs:,.0f} pairs: pairs must be the number of all pairs")
    state = _begin(levels, counts, random, random_counts, sizes, pairs)
    # One or two fields cannot reveal the matches among the random pairs, nor which fields depend on each other.
    enough = known and len(sizes) > 2
    for _ in range(ROUNDS if enough else 1):
        if enough:
            state = replace(state, others=_measure_again(state, random, random_counts, dependent))
        state = _maximise(state, levels, counts, iterations, tolerance, labelled)
    return replace(state, notes=tuple(_notes(state, levels, counts, names, known)))


def _begin(
    levels: Levels, counts: Int64, random: Levels, random_counts: Int64 | Float64, sizes: tuple[int, ...], pairs: float
) -> Weights:
    """Initial weights: matches agree in most fields; only their number is estimated."""
    others = independent(random, random_counts.astype(np.float64), sizes)
    state = Weights(tuple(_believed(size) for size in sizes), others, pairs, 0.0, int(counts.sum()), 0, False)
    scores = state.score(levels)
    expected = state.candidates / 2
    for _ in range(30):
        expected = float((counts * _posterior(scores, expected, pairs)).sum())
    return replace(state, expected=expected)


def _measure_again(state: Weights, random: Levels, counts: Int64 | Float64, dependent: bool) -> Tree:
    """How often levels occur among random pairs that are not matches, according to the current estimate."""
    if dependent:
        often = look_up(random, _logs(state.matches))
        return grow_tree(random, counts.astype(np.float64), state.sizes, often, state.prior)
    chance = 1 - _posterior(state.score(random), state.expected, state.pairs)
    return independent(random, counts * chance, state.sizes)


def _believed(size: int) -> Float64:
    """The initial assumption of how often each level occurs among matches: each half as often as the one before."""
    if size < 2:
        raise UsageError(f"a field needs at least two levels (equal, different), not {size}")
    rest = 0.5 ** np.arange(size - 1)
    return np.concatenate([[1.0, AGREE], (1 - AGREE) * rest / rest.sum()])


def _maximise(
    state: Weights, levels: Levels, counts: Int64, iterations: int, tolerance: float, labelled: Float64 | None = None
) -> Weights:
    """Expectation-maximisation until nothing changes; `others` stays fixed.

    Labels of a pattern apply to all its pairs; they are combined with the model's own estimate.
    """
    known = np.zeros((2, len(levels))) if labelled is None else labelled
    trust = LABELS / (LABELS + known.sum(axis=0))
    labels = known[0] / (LABELS + known.sum(axis=0))
    others = state.others.logs(levels).sum(axis=1)
    owns = [state.others.own(field) for field in range(len(state.sizes))]
    believed = [_believed(size)[1:] * BELIEF for size in state.sizes]
    matches, expected = state.matches, state.expected
    done, moved = 0, math.inf
    while done < iterations and moved > tolerance:
        done += 1
        scores = look_up(levels, _logs(matches)).sum(axis=1) - others
        found = counts * (trust * _posterior(scores, expected, state.pairs) + labels)
        now = float(found.sum())
        seen = [np.bincount(levels[:, f], found, minlength=len(own) + 1)[1:] for f, own in enumerate(owns)]
        tables = tuple(map(_ordered, (count + belief for count, belief in zip(seen, believed)), owns))
        moved = max(float(np.abs(new - old).max()) for new, old in zip(tables, matches))
        moved = max(moved, abs(now - expected) / max(now, 1.0))
        matches, expected = tables, now
    return replace(
        state,
        matches=matches,
        expected=expected,
        iterations=state.iterations + done,
        converged=moved <= tolerance,
    )


def _ordered(seen: Float64, own: Float64) -> Float64:
    """The most likely m for these counts such that m/u never rises from a level to the next weaker one."""
    ratio = rising((seen / own)[::-1], own[::-1])[::-1]
    often = own * ratio
    return np.concatenate([[1.0], often / often.sum()])


def _posterior(scores: Float64, expected: float, pairs: float) -> Float64:
    """The probability that pairs of these scores are matches, if `expected` of `pairs` are."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp2(-(scores + _prior_bits(expected, pairs)))), np.float64)


def _prior_bits(expected: float, pairs: float) -> float:
    few = max(expected, 1e-9)
    # If candidates are treated as all pairs, every one of them may be a match; the odds stay finite.
    return math.log2(few) - math.log2(max(pairs - few, 1e-9 * pairs))


def _logs(tables: LevelTables) -> LevelTables:
    return tuple(np.log2(table) for table in tables)


def _notes(state: Weights, levels: Levels, counts: Int64, names: Sequence[str], known: bool) -> list[str]:
    """Warnings about an estimate."""
    notes = []
    if not state.converged:
        notes.append(f"the weights did not converge within {state.iterations:,} iterations and may be unreliable")
    if state.candidates < FEW:
        notes.append(f"only {state.candidates} candidate pairs: too few to estimate weights from")
    if state.expected < 1:
        notes.append("no matches found among the candidates: the weights are the initial assumptions")
    if not known:
        notes.append("the number of all pairs is unknown: probabilities treat the candidates as random pairs")
    if len(state.sizes) == 1:
        notes.append("with a single field, only the frequency of a value distinguishes matches from chance agreement")
    found = counts * state.probability(levels)
    steps = np.arange(max(state.sizes))
    for field, name in enumerate(names) if found.any() else ():
        own = state.others.own(field)
        seen = np.bincount(levels[:, field], found, minlength=len(own) + 1)[1:]
        if not seen.any():
            notes.append(f"{name}: no evidence, because a value is missing in every match")
        elif seen @ steps[: len(seen)] / seen.sum() > own @ steps[: len(own)]:
            notes.append(f"{name}: matches agree in it less often than random pairs do, so it has little or no weight")
    return notes
