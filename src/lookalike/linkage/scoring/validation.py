"""How many matches are valid, told by a field that was left out of the score (the lecture's creation date).

True matches differ little in the field, by d_match on average; random pairs by d_random. Pairs of a score, of which a
fraction f is valid, differ by f d_match + (1 - f) d_random on average, so the mean x that they do differ by gives
f = (d_random - x) / (d_random - d_match). No label is needed. That holds for any function of the difference, so large
differences are cut off: a slip in the year then weighs no more than a random pair.

What it rests on: the field does not depend on the score, neither among matches nor among others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.linkage.scoring.monotone import rising
from lookalike.tuning.intervals import student_quantile
from lookalike.types import Bool, Float64, Int64

BINS = 60
"""The range of scores is cut into so many bins of one width, before thin ones are joined."""
FULL = 30
"""A bin has at least so many pairs with a known difference."""
SURE = 2000
"""So many of the highest scores are taken for sure matches unless told, but at most a tenth of all pairs."""
ENOUGH = 20
"""Fewer sure matches than this tell no mean."""
QUANTILE = 0.9
"""Differences beyond this quantile of random pairs are cut off there: up to a tenth of them may be nonsense."""


class Sample(NamedTuple):
    """The mean of differences, their variance, and how many there are."""

    mean: float
    variance: float
    pairs: float

    @property
    def doubt(self) -> float:
        """The variance of the mean."""
        return self.variance / self.pairs


class Precision(NamedTuple):
    """The share of valid matches among the pairs of a cut or higher, with a 95% interval."""

    cut: float
    pairs: int
    precision: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Validation:
    """Valid fraction by score, and the precision at each cut. All arrays are by bin, lowest scores first."""

    cuts: Float64
    """The lower bound of each bin: a pair is in the last bin whose bound it reaches."""
    pairs: Int64
    known: Int64
    """Pairs with a known difference, sure ones left out."""
    means: Float64
    """Their mean difference; NaN where there is none."""
    fractions: Float64
    """The valid fraction of all pairs of the bin; it never falls as scores rise."""
    precision: Float64
    """The valid fraction of the pairs of this bin and those above."""
    low: Float64
    high: Float64
    matching: Sample
    random: Sample
    notes: tuple[str, ...] = ()
    most: float = math.inf
    """Larger differences were cut off here."""

    def of(self, differences: Float64, sure: Bool | None = None) -> Precision:
        """The precision of some pairs, by their own differences: of links that were chosen among those above a cut.

        Whatever chose them did not look at the field. Those that are `sure` count as valid, if such were asked to tell
        how much matches differ.

        Examples
        --------
        >>> found = validate(np.arange(4.0), np.array([0.0, 30, 0, 0]), np.arange(61.0), matching=0, quantile=1)
        >>> found.of(np.array([0.0, 30.0, 0.0, 0.0])).precision
        0.75
        """
        taken = np.zeros(len(differences), np.bool_) if sure is None or math.isinf(self.matching.pairs) else sure
        known = np.minimum(np.abs(differences[~np.isnan(differences) & ~taken]), self.most)
        share, count = float(taken.mean()), len(known)
        valid = (self.random.mean - known.mean()) / (self.random.mean - self.matching.mean) if count else 1.0
        precision = min(1.0, max(0.0, share + (1 - share) * float(valid)))
        row = float(len(differences)), float(taken.sum()), float(count), float(known.sum())
        low, high = _interval(self.matching, self.random, *row)
        return Precision(math.nan, len(differences), precision, min(low, precision), max(high, precision))

    def at(self, cut: float) -> Precision:
        """The precision of a cut: that of the bins from the one it falls in (the lowest bin if it is below all)."""
        bin_ = max(0, int(np.searchsorted(self.cuts, cut, side="right")) - 1)
        return self._row(bin_)

    def table(self) -> list[Precision]:
        """The precision at the lower bound of each bin, for people."""
        return [self._row(bin_) for bin_ in range(len(self.cuts))]

    def cut_for(self, precision: float, cautious: bool = False) -> Precision | None:
        """The lowest cut with this precision, or whose interval lies above it if cautious; None if there is none.

        Every higher cut has it as well.
        """
        if not 0 <= precision <= 1:
            raise UsageError(f"precision must be from 0 to 1, not {precision}")
        reached = (self.low if cautious else self.precision) >= precision
        falls = np.flatnonzero(~reached)
        bin_ = int(falls[-1]) + 1 if len(falls) else 0
        return self._row(bin_) if bin_ < len(self.cuts) else None

    def _row(self, bin_: int) -> Precision:
        return Precision(
            float(self.cuts[bin_]),
            int(self.pairs[bin_:].sum()),
            float(self.precision[bin_]),
            float(self.low[bin_]),
            float(self.high[bin_]),
        )


def valid_fraction(mean: float, random: float, matching: float = 0.0) -> float:
    """The fraction of valid matches among pairs that differ by `mean` on average.

    Examples
    --------
    The lecture: both records are created within 90 days, so bogus matches differ by 30 days on average; (30 - x)/30.

    >>> valid_fraction(12, random=30)
    0.6

    Identical records differed by 10 days. With that taken into account the same 12 days tell of more:

    >>> valid_fraction(12, random=30, matching=10)
    0.9
    """
    if not 0 <= matching < random:
        raise UsageError(
            f"matches must differ less than random pairs do, not by {matching:g} and {random:g}: choose another field"
        )
    return min(1.0, max(0.0, (random - mean) / (random - matching)))


def validate(
    scores: Float64,
    differences: Float64,
    random: Float64,
    sure: Bool | None = None,
    matching: float | None = None,
    quantile: float = QUANTILE,
    bins: int = BINS,
) -> Validation:
    """The valid fraction by score, and the precision at each cut.

    Parameters
    ----------
    scores
        float64[pairs].
    differences
        float64[pairs]: how much the two records of each pair differ in the field; NaN where a value is missing.
    random
        The same of random pairs that could have been candidates.
    sure
        bool[pairs]: pairs taken for valid, which tell how much matches differ; the highest scores unless told.
    matching
        The mean difference of matches, where it is known otherwise; 0 gives the lecture's (d_random - x) / d_random,
        which is at most the true fraction.
    quantile
        Differences beyond this quantile of the random ones are cut off; 1 cuts off none.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> scores, random = draw.uniform(0, 10, 20000), draw.uniform(0, 90, 20000)
    >>> valid = draw.random(20000) < scores / 10
    >>> differences = np.where(valid, draw.uniform(0, 10, 20000), draw.uniform(0, 90, 20000))
    >>> found = validate(scores, differences, random, matching=5)
    >>> found.at(5).low < 0.75 < found.at(5).high
    True
    """
    if not len(scores) == len(differences) or not len(scores):
        raise UsageError(f"{len(scores)} scores and {len(differences)} differences: there must be as many, and some")
    if np.isnan(differences).all():
        raise UsageError("no candidate pair has a value in the validating field: choose another field")
    random = random[~np.isnan(random)]
    if len(random) < ENOUGH:
        raise UsageError(
            f"only {len(random)} random pairs have a value in the validating field: draw more, or choose another field"
        )
    most = float(np.quantile(random, quantile))
    differences, apart = np.minimum(np.abs(differences), most), _sample(np.minimum(np.abs(random), most))
    sure = _highest(scores, differences) if sure is None and matching is None else sure
    taken = np.zeros(len(scores), np.bool_) if sure is None or matching is not None else sure
    close, notes = _matching(differences[taken], matching)
    if notes:  # too few to measure by; then none is taken for valid either
        taken = np.zeros(len(scores), np.bool_)
    _check_apart(close, apart)
    return _by_score(scores, differences, taken, close, apart, bins, notes, most)


def _sample(values: Float64) -> Sample:
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return Sample(float(values.mean()) if len(values) else 0.0, variance, float(len(values)))


def _highest(scores: Float64, differences: Float64) -> Bool:
    """The pairs of the highest scores: so many, and those of the same score."""
    measured = np.sort(scores[~np.isnan(differences)])
    wanted = min(SURE, len(measured) // 10)
    return scores >= measured[-wanted] if wanted else np.zeros(len(scores), np.bool_)


def _matching(differences: Float64, given: float | None) -> tuple[Sample, tuple[str, ...]]:
    """How much matches differ: as stated, as measured on sure ones, or 0 where these are too few."""
    measured = _sample(differences[~np.isnan(differences)])
    if given is not None:
        return Sample(given, given**2, math.inf), ()  # as waiting times scatter; only the interval depends on it
    if measured.pairs >= ENOUGH:
        return measured, ()
    return Sample(0.0, 0.0, math.inf), (
        f"only {measured.pairs:.0f} sure matches have a value in the validating field: matches are taken to be equal "
        "in it, so the precision shown is a lower bound",
    )


def _check_apart(close: Sample, apart: Sample) -> None:
    if apart.mean - close.mean <= 4 * math.sqrt(apart.doubt + close.doubt):
        raise UsageError(
            f"the validating field does not tell matches from random pairs: sure matches differ by {close.mean:.4g} "
            f"on average, random pairs by {apart.mean:.4g}: choose another field"
        )


def _by_score(
    scores: Float64,
    differences: Float64,
    sure: Bool,
    close: Sample,
    apart: Sample,
    bins: int,
    notes: tuple[str, ...],
    most: float,
) -> Validation:
    measured = ~np.isnan(differences) & ~sure
    cuts = _cuts(scores, measured | sure, bins)
    bin_of = np.searchsorted(cuts, scores, side="right") - 1
    weights = (np.ones(len(scores)), sure, measured, np.where(measured, differences, 0.0))
    pairs, certain, known, sums = (np.bincount(bin_of, of, len(cuts)).astype(np.float64) for of in weights)
    share = np.divide(certain, pairs, out=np.zeros(len(cuts)), where=pairs > 0)
    means = np.divide(sums, known, out=np.full(len(cuts), np.nan), where=known > 0)
    valid = (apart.mean - means) / (apart.mean - close.mean)
    if known.any():  # a bin without a known difference is taken to be like its neighbours
        valid = np.interp(np.arange(len(cuts)), np.flatnonzero(known), valid[known > 0])
    mixed = np.where(share == 1, 1.0, share + (1 - share) * valid)
    whole = _from_top(pairs)
    # Precision is made to rise as it is, not from fractions made to rise: the best of neighbours would be too good.
    precision = np.clip(rising(_from_top(pairs * mixed) / whole, whole), 0, 1)
    rows = zip(whole, _from_top(certain), _from_top(known), _from_top(sums))
    low, high = np.array([_interval(close, apart, *row) for row in rows]).T
    return Validation(
        cuts,
        pairs.astype(np.int64),
        known.astype(np.int64),
        means,
        np.clip(rising(mixed, pairs), 0, 1),
        precision,
        np.minimum(low, precision),
        np.maximum(high, precision),
        close,
        apart,
        notes,
        most,
    )


def _from_top(values: Float64) -> Float64:
    return np.asarray(np.cumsum(values[::-1])[::-1], np.float64)


def _cuts(scores: Float64, known: Bool, bins: int) -> Float64:
    """Lower bounds of bins of one width; those with few known pairs are joined with the next higher (top: lower)."""
    bounds = np.unique(np.linspace(scores.min(), scores.max(), bins + 1)[:-1])
    counts = np.bincount(np.searchsorted(bounds, scores, side="right") - 1, known, len(bounds))
    kept, held = [], 0.0
    for bound, count in zip(bounds[::-1].tolist(), counts[::-1].tolist()):
        held += count
        if held >= FULL:
            kept.append(bound)
            held = 0.0
    kept = kept or [float(bounds[0])]
    kept[-1] = float(bounds[0])
    return np.array(kept[::-1])


def _interval(
    close: Sample, apart: Sample, pairs: float, sure: float, known: float, total: float
) -> tuple[float, float]:
    """Bounds of the precision of the pairs above a cut: sure ones are valid, the others by their mean difference."""
    share = sure / pairs
    low, high = _bounds(total / known, known, close, apart) if known else (float(share == 1), 1.0)
    return share + (1 - share) * low, share + (1 - share) * high


def _bounds(mean: float, count: float, close: Sample, apart: Sample) -> tuple[float, float]:
    """The fractions f under which a mean this far off is no surprise (a score interval, as Wilson's for shares).

    Under f the mean of so many pairs has expectation f close + (1 - f) apart, and each difference the variance of the
    mixture: f v_close + (1 - f) v_apart + f (1 - f) gap^2. That stays right where few are bogus and none was seen.
    With the doubt about both means, |mean - expectation| <= z deviations is a quadratic inequality in f.
    """
    gap, off = apart.mean - close.mean, apart.mean - mean
    squared = student_quantile(max(count - 1, 1.0)) ** 2
    # gap^2 f^2 - 2 off gap f + off^2 <= z^2 (c0 + c1 f + c2 f^2)
    c0 = apart.variance / count + apart.doubt
    c1 = (close.variance - apart.variance + gap**2) / count - 2 * apart.doubt
    c2 = -(gap**2) / count + apart.doubt + close.doubt
    a, b, c = gap**2 - squared * c2, -2 * off * gap - squared * c1, off**2 - squared * c0
    inside = b * b - 4 * a * c
    if a <= 0 or inside < 0:
        return 0.0, 1.0  # too few to tell
    root = math.sqrt(inside)
    return tuple(min(1.0, max(0.0, (-b + sign * root) / (2 * a))) for sign in (-1, 1))  # type: ignore[return-value]
