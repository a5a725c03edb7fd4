"""The share of valid matches, estimated from a field that is not part of the score (in the book, a creation date).

True matches differ little in the field, by d_match on average; random pairs by d_random. If a fraction f of the pairs
at some score is valid, these pairs differ by f d_match + (1 - f) d_random on average; so their observed mean difference
x gives f = (d_random - x) / (d_random - d_match). No labels are needed. The same holds for any function of the
difference, so large differences are capped: an error in the year then counts no more than a random pair.

Assumption: the field is independent of the score, both among matches and among non-matches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.tuning.intervals import student_quantile
from lookalike.tuning.monotone import rising
from lookalike.types import Bool, Float64, Int64, distinct
from lookalike.types.frozen import frozen

BINS = 60
"""The number of bins of equal width that the scores are divided into, before sparse ones are merged."""
FULL = 30
"""A bin has at least this many pairs with a known difference."""
SURE = 2000
"""By default, this many of the highest scores count as certain matches, but at most a tenth of all pairs."""
ENOUGH = 20
"""With fewer certain matches, their mean difference cannot be estimated."""
QUANTILE = 0.9
"""Differences are capped at this quantile of the random ones: up to a tenth of them may be nonsense."""


class SampleMean(NamedTuple):
    """The mean of differences, their variance, and their number."""

    mean: float
    variance: float
    pairs: float

    @property
    def squared_error(self) -> float:
        """The variance of the mean."""
        return self.variance / self.pairs


class Precision(NamedTuple):
    """The share of valid matches among the pairs at or above a cut, with a 95% interval."""

    cut: float
    pairs: int
    precision: float
    low: float
    high: float


@frozen
class Validation:
    """The valid fraction by score, and the precision at each cut. All arrays are by bin, lowest scores first."""

    cuts: Float64
    """The lower bound of each bin: a pair belongs to the last bin whose bound it reaches."""
    pairs: Int64
    known: Int64
    """Pairs with a known difference, without the certain ones."""
    means: Float64
    """Their mean difference; NaN if there are none."""
    fractions: Float64
    """The valid fraction of the pairs of the bin; it never falls as scores rise."""
    precision: Float64
    """The valid fraction of the pairs of this bin and all higher ones."""
    low: Float64
    high: Float64
    matching: SampleMean
    random: SampleMean
    notes: tuple[str, ...] = ()
    most: float = math.inf
    """Larger differences were capped at this value."""

    def of(self, differences: Float64, sure: Bool | None = None) -> Precision:
        """The precision of some pairs, from their own differences; for links chosen among the pairs above a cut.

        The choice must not depend on the field. Pairs that are `sure` count as valid, if such pairs were used to
        estimate how much matches differ.

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
        """The precision at a cut: of the bin that it falls in (the lowest if it is below all) and all higher ones."""
        bin_ = max(0, int(np.searchsorted(self.cuts, cut, side="right")) - 1)
        return self._row(bin_)

    def table(self) -> list[Precision]:
        """The precision at the lower bound of each bin, as a table to print."""
        return [self._row(bin_) for bin_ in range(len(self.cuts))]

    def cut_for(self, precision: float, cautious: bool = False) -> Precision | None:
        """The lowest cut that reaches this precision (if cautious: with its whole interval); None if there is none.

        Every higher cut reaches it as well.
        """
        if not 0 <= precision <= 1:
            raise UsageError(f"precision must be between 0 and 1, not {precision}")
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
    The book's example: all records were created within 90 days, so false matches differ by 30 days on average:

    >>> valid_fraction(12, random=30)
    0.6

    Identical records differed by 10 days on average. Taking this into account, the same 12 days mean a higher fraction:

    >>> valid_fraction(12, random=30, matching=10)
    0.9
    """
    if not 0 <= matching < random:
        raise UsageError(
            f"matches must differ less than random pairs, not by {matching:g} and {random:g}: choose another field"
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
        float64[pairs]: the difference of the two records of each pair in the field; NaN if a value is missing.
    random
        The same for random pairs that could have been candidates.
    sure
        bool[pairs]: pairs assumed valid, from which the mean difference of matches is estimated; by default those with
        the highest scores.
    matching
        The mean difference of matches, if known; 0 gives the book's (d_random - x) / d_random, a lower bound of the
        true fraction.
    quantile
        Differences are capped at this quantile of the random ones; 1 caps none.

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
        raise UsageError(f"{len(scores)} scores and {len(differences)} differences: need as many of both, at least one")
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
    if notes:  # too few for an estimate; then none is assumed valid either
        taken = np.zeros(len(scores), np.bool_)
    _check_apart(close, apart)
    return _by_score(scores, differences, taken, close, apart, bins, notes, most)


def _sample(values: Float64) -> SampleMean:
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return SampleMean(float(values.mean()) if len(values) else 0.0, variance, float(len(values)))


def _highest(scores: Float64, differences: Float64) -> Bool:
    """The pairs with the highest scores, including ties."""
    measured = np.sort(scores[~np.isnan(differences)])
    wanted = min(SURE, len(measured) // 10)
    return scores >= measured[-wanted] if wanted else np.zeros(len(scores), np.bool_)


def _matching(differences: Float64, given: float | None) -> tuple[SampleMean, tuple[str, ...]]:
    """The difference of matches: as given, as measured on certain ones, or 0 if these are too few."""
    measured = _sample(differences[~np.isnan(differences)])
    if given is not None:
        return SampleMean(given, given**2, math.inf), ()  # as of an exponential distribution; only for the interval
    if measured.pairs >= ENOUGH:
        return measured, ()
    return SampleMean(0.0, 0.0, math.inf), (
        f"only {measured.pairs:.0f} certain matches have a value in the validating field: matches are assumed to be "
        "equal in it, so the precision shown is a lower bound",
    )


def _check_apart(close: SampleMean, apart: SampleMean) -> None:
    if apart.mean - close.mean <= 4 * math.sqrt(apart.squared_error + close.squared_error):
        raise UsageError(
            "the validating field does not distinguish matches from random pairs: certain matches differ by "
            f"{close.mean:.4g} on average, random pairs by {apart.mean:.4g}: choose another field"
        )


def _by_score(
    scores: Float64,
    differences: Float64,
    sure: Bool,
    close: SampleMean,
    apart: SampleMean,
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
    if known.any():  # a bin without a known difference is interpolated from its neighbours
        valid = np.interp(np.arange(len(cuts)), np.flatnonzero(known), valid[known > 0])
    mixed = np.where(share == 1, 1.0, share + (1 - share) * valid)
    whole = _from_top(pairs)
    # Precision is made monotone itself, not computed from monotone fractions, which would be biased upwards.
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
    """Lower bounds of bins of equal width; sparse ones are merged with the next higher one (top: lower)."""
    bounds = distinct(np.linspace(scores.min(), scores.max(), bins + 1)[:-1])
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
    close: SampleMean, apart: SampleMean, pairs: float, sure: float, known: float, total: float
) -> tuple[float, float]:
    """Bounds of the precision of the pairs above a cut: certain ones are valid, others by their mean difference."""
    share = sure / pairs
    low, high = _bounds(total / known, known, close, apart) if known else (float(share == 1), 1.0)
    return share + (1 - share) * low, share + (1 - share) * high


def _bounds(mean: float, count: float, close: SampleMean, apart: SampleMean) -> tuple[float, float]:
    """The fractions f that are consistent with the observed mean (a score interval, like Wilson's for proportions).

    Under f, the mean of the pairs has expectation f close + (1 - f) apart, and each difference has the variance of the
    mixture: f v_close + (1 - f) v_apart + f (1 - f) gap^2. That remains correct if few pairs are false and none was
    seen. With the errors of both means, |mean - expectation| <= z deviations is a quadratic inequality in f.
    """
    gap, off = apart.mean - close.mean, apart.mean - mean
    squared = student_quantile(max(count - 1, 1.0)) ** 2
    # gap^2 f^2 - 2 off gap f + off^2 <= z^2 (c0 + c1 f + c2 f^2)
    c0 = apart.variance / count + apart.squared_error
    c1 = (close.variance - apart.variance + gap**2) / count - 2 * apart.squared_error
    c2 = -(gap**2) / count + apart.squared_error + close.squared_error
    a, b, c = gap**2 - squared * c2, -2 * off * gap - squared * c1, off**2 - squared * c0
    inside = b * b - 4 * a * c
    if a <= 0 or inside < 0:
        return 0.0, 1.0  # too few pairs for any bound
    root = math.sqrt(inside)
    return tuple(min(1.0, max(0.0, (-b + sign * root) / (2 * a))) for sign in (-1, 1))  # type: ignore[return-value]
