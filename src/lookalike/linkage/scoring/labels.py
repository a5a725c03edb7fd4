"""Labelled pairs: how they refine weights and probabilities, and how well links agree with them.

Knows numbers of records, not the files that labels come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lookalike.kernels import unionfind
from lookalike.tuning.intervals import wilson_interval
from lookalike.types import Bool, Float64, Int32, Int64
from lookalike.types.frozen import frozen
from lookalike.types.wording import count

FOLDS = 5
"""Parts of the labels, each evaluated on links made without it."""


@frozen
class Labels:
    """Pairs of records that are known to be the same entity, or known not to be."""

    left: Int64
    """Numbers of records, smaller than those in `right`."""
    right: Int64
    match: Bool
    weight: Float64
    """How many pairs each represents."""

    def __len__(self) -> int:
        return len(self.left)

    @property
    def drawn(self) -> bool:
        """Whether the pairs have weights, so that they were drawn from all candidates (`--review`)."""
        return bool((self.weight != 1).any())

    def take(self, chosen: Bool) -> Labels:
        """Some of the labels."""
        return Labels(self.left[chosen], self.right[chosen], self.match[chosen], self.weight[chosen])

    def renumber(self, numbers: Int32) -> Labels:
        """The labels, in order, if these are the new numbers of all records.

        Examples
        --------
        >>> labels = Labels(np.array([0, 1]), np.array([1, 2]), np.array([True, False]), np.ones(2))
        >>> new = labels.renumber(np.array([2, 1, 0], np.int32))
        >>> new.left.tolist(), new.right.tolist(), new.match.tolist()
        ([0, 1], [1, 2], [False, True])
        """
        ends = numbers[self.left].astype(np.int64), numbers[self.right].astype(np.int64)
        low, high = np.minimum(*ends), np.maximum(*ends)
        order = np.lexsort((high, low))
        return Labels(low[order], high[order], self.match[order], self.weight[order])

    def places(self, left: Int32, right: Int32) -> Int64:
        """The position of each labelled pair among candidate pairs (sorted by left, then right), or -1.

        Examples
        --------
        >>> labels = Labels(np.array([0, 2]), np.array([3, 4]), np.array([True, False]), np.ones(2))
        >>> labels.places(np.array([0, 0, 1]), np.array([2, 3, 3])).tolist()
        [1, -1]
        """
        if not len(left):
            return np.full(len(self), -1, np.int64)
        keys = left.astype(np.int64) << 32 | right
        own = self.left.astype(np.int64) << 32 | self.right
        places = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        return np.where(keys[places] == own, places, -1)

    def parts(self) -> Int64:
        """The connected part of each labelled pair: no record is in two parts."""
        records, ends = np.unique(np.append(self.left, self.right), return_inverse=True)
        one, other = np.split(ends.astype(np.int32), 2)
        parent = np.arange(len(records), dtype=np.int32)
        unionfind.unite(parent, one, other, np.empty(len(one), np.bool_))
        unionfind.flatten(parent)
        return np.unique(parent[one], return_inverse=True)[1].astype(np.int64)


class Share(NamedTuple):
    """An estimate with its 95% interval."""

    estimate: float
    low: float
    high: float


@frozen
class LabelFigures:
    """How well links agree with held-out labels."""

    pairs: int
    matches: int
    missed: int
    """Labelled matches that are not candidates."""
    folds: int
    precision: Share | None
    """None if no labelled pair was linked."""
    recall: Share | None
    """None if no labelled pair is a match."""
    f1: Share | None

    @property
    def measures_precision(self) -> bool:
        """Whether the precision is known: it is not if every labelled pair is a match."""
        return self.precision is not None and self.matches < self.pairs


def describe_figures(figures: LabelFigures) -> str:
    """How well links agree with held-out labels, in words.

    Examples
    --------
    >>> describe_figures(LabelFigures(1, 1, 1, 1, None, Share(0.5, 0.1, 0.9), None))
    'Measured on 1 labelled pair, each with links made without its label: recall 50.0% (10.0% to 90.0%).'
    """
    named = ("precision", figures.precision), ("recall", figures.recall), ("F1", figures.f1)
    shares = [
        f"{name} {share.estimate:.1%} ({share.low:.1%} to {share.high:.1%})"
        for name, share in named
        if share is not None
    ]
    said = ", ".join(shares) or "no labelled pair is a match, and none was linked"
    text = f"Measured on {count(figures.pairs, 'labelled pair')}, each with links made without its label: {said}."
    if figures.recall is None or figures.missed:  # labels of pairs that are not even candidates are not from --review
        return text
    return f"{text} Recall and F1 do not count matches that are too unlike each other to be drawn by --review."


def judge_links(labels: Labels, clusters_by: Callable[[Labels], Int64], seed: int) -> Bool:
    """For each labelled pair, whether both records are in one cluster if the labels of its fold are unknown.

    `clusters_by` makes clusters with some of the labels: a number for each record, -1 for none. Connected pairs are in
    one fold, so that no record is on both sides.
    """
    folds, found = divide(labels, seed), np.zeros(len(labels), np.bool_)
    for fold in range(int(folds.max(initial=-1)) + 1):
        held_out = folds == fold
        clusters = clusters_by(labels.take(~held_out))
        one, other = clusters[labels.left[held_out]], clusters[labels.right[held_out]]
        found[held_out] = (one >= 0) & (one == other)
    return found


def divide(labels: Labels, seed: int) -> Int64:
    """The fold of each label: parts in random order, those with most matches first, each to the smallest fold.

    Examples
    --------
    >>> labels = Labels(np.arange(0, 20, 2), np.arange(1, 21, 2), np.arange(10) < 5, np.ones(10))
    >>> np.bincount(divide(labels, 1), labels.match).tolist(), np.bincount(divide(labels, 1)).tolist()
    ([1.0, 1.0, 1.0, 1.0, 1.0], [2, 2, 2, 2, 2])
    """
    parts = labels.parts()
    sizes, matches = np.bincount(parts), np.bincount(parts, labels.match)
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-matches[order], kind="stable")]
    total = np.zeros((min(FOLDS, len(sizes)), 2))
    fold_of = np.zeros(len(sizes), np.int64)
    for part in order.tolist():
        column = 0 if matches[part] else 1  # matches are spread evenly, and so are all pairs
        fold = int(np.lexsort((total[:, 1], total[:, column]))[0])
        fold_of[part] = fold
        total[fold] += matches[part], sizes[part]
    return fold_of[parts]


def measure_links(labels: Labels, linked: Bool, missed: int, folds: int) -> LabelFigures:
    """Precision, recall and F1 of links, measured on labelled pairs."""
    parts, match = labels.parts(), labels.match
    precision = estimate_share(match & linked, linked, labels.weight, parts)
    recall = estimate_share(match & linked, match, labels.weight, parts)
    # F1 = 2s / (1 + s), where s is the share of the correct links among all that are linked or should be.
    both = estimate_share(match & linked, match | linked, labels.weight, parts)
    f1 = None if both is None else Share(*(2 * one / (1 + one) for one in both))
    return LabelFigures(len(labels), int(match.sum()), missed, folds, precision, recall, f1)


def estimate_share(hits: Bool, trials: Bool, weight: Float64, parts: Int64) -> Share | None:
    """The weighted share of hits among trials, with an interval that allows for correlation within parts.

    Wilson's interval, for the number of independent trials that has the observed variance between parts, and at most
    as many as the weights allow: if one trial has nearly all of the weight, the variance cannot be observed.

    Examples
    --------
    >>> hits = np.arange(100) < 90
    >>> [round(one, 3) for one in estimate_share(hits, np.ones(100, bool), np.ones(100), np.arange(100))]
    [0.9, 0.826, 0.945]
    >>> heavy = np.append(np.ones(99), 9_900.0)
    >>> [round(one, 3) for one in estimate_share(hits, np.ones(100, bool), heavy, np.arange(100))]
    [0.009, 0.0, 0.794]
    """
    if not trials.any():
        return None
    won, tried = np.bincount(parts, hits * weight), np.bincount(parts, trials * weight)
    share = min(1.0, float(won.sum() / tried.sum()))
    variance = float(((won - share * tried) ** 2).sum() / tried.sum() ** 2)
    independent = share * (1 - share) / variance if variance > 0 else _effective(tried.astype(np.float64))
    trial_count = min(independent, _effective(trials * weight))
    low, high = wilson_interval(min(share * trial_count, trial_count), trial_count)
    return Share(share, min(low, share), max(high, share))


def _effective(weight: Float64) -> float:
    """The number of trials with equal weights whose mean varies as much as with these weights."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def patterns_of_labels(labels: Labels, places: Int64, of_pair: Sequence[int] | Int32, patterns: int) -> Float64:
    """float64[2, patterns]: the numbers of labelled matches and of other labelled pairs of each agreement pattern."""
    known = places >= 0
    numbers = np.asarray(of_pair)[places[known]]
    own = labels.match[known]
    return np.stack([np.bincount(numbers, kind, minlength=patterns) for kind in (own, ~own)])
