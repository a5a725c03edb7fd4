"""From threshold and recall to bands and rows.

Each further row removes false candidates and misses more pairs; each further band does the reverse. So a plan has as
many rows as the target recall allows with the hash functions available. It depends on nothing else: batch jobs and an
index of any size use the same plan. Where rounding could decide, integers do, so the plan is the same on every machine.
Nothing here knows how signatures are made or compared.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from lookalike.errors import UsageError
from lookalike.tuning.collisions import Number
from lookalike.tuning.curves import area, bends, lecture_threshold, miss_probability, probability, similarity_at
from lookalike.tuning.scales import Scale, make_scale
from lookalike.tuning.thresholds import parse_threshold
from lookalike.tuning.wording import describe_plan, percent
from lookalike.types.frozen import frozen
from lookalike.types.wording import count

MOST_HASHES = 65536
"""Beyond this, a signature is larger than most documents."""


class TooFewHashesError(UsageError):
    """No plan with so few hashes reaches the recall."""


@frozen
class Plan:
    """How signatures are split into bands, and which pairs that finds.

    Examples
    --------
    >>> plan = tune(threshold=0.8, recall=0.99, hashes=256)
    >>> plan.bands, plan.rows, round(plan.recall, 4)
    (26, 8, 0.9916)
    """

    threshold: float
    """The least similarity of the pairs to find, or their largest distance."""
    wanted_recall: float | None
    """The target recall; None for the rule of the book, which has none."""
    hashes: int
    """The number of hashes allowed; for vectors, each stands for several functions (`Scale.functions`)."""
    bands: int
    rows: int
    recall: float
    """The probability that a pair at the threshold is found; nearer pairs are found more often."""
    measure: str = "jaccard"
    """The measure of threshold and curve; cosine is the cosine of vectors."""
    bits: int | None = None
    """The number of bits of an item (hamming)."""
    width: float | None = None
    """The width of the buckets on a line (euclidean)."""

    @property
    def scale(self) -> Scale:
        """The measure with its parameter."""
        return Scale(self.measure, self.bits, self.width)

    @property
    def used_hashes(self) -> int:
        """The number of hash functions that the bands use."""
        return self.bands * self.rows

    @property
    def banding(self) -> str:
        """Bands and rows in words: "26 bands of 8 rows"."""
        return f"{count(self.bands, 'band')} of {count(self.rows, 'row')}"

    def curve(self, value: Number) -> Number:
        """The probability that a pair of this similarity (or at this distance) is a candidate pair.

        Examples
        --------
        >>> round(lecture_plan(threshold=0.55, hashes=100).curve(0.5), 3)
        0.47
        """
        return probability(self.scale.collision(value), self.bands, self.rows)

    def miss(self, value: Number) -> Number:
        """1 - curve(value), to full precision where the curve is close to 1.

        Examples
        --------
        >>> f"{tune(threshold=0.8).miss(0.9):.2g}"
        '4.4e-07'
        """
        return miss_probability(self.scale.collision(value), self.bands, self.rows)

    def at(self, chance: float) -> float:
        """The similarity or distance of pairs that are candidate pairs with this probability.

        Examples
        --------
        >>> round(tune(threshold=0.8).at(0.5), 3)
        0.635
        """
        return self.scale.at(similarity_at(chance, self.bands, self.rows))

    @property
    def axis(self) -> tuple[float, float]:
        """The range of values worth showing: distances up to where one pair in a hundred is found.

        Examples
        --------
        >>> tune(threshold=0.8).axis, tune(threshold=8, measure="hamming", bits=64).axis
        ((0.0, 1.0), (0.0, 24.0))
        """
        if not self.scale.is_distance:
            return 0.0, 1.0
        end = self.at(0.01)
        if self.threshold:
            end = min(8, max(2, math.ceil(end / self.threshold))) * self.threshold
        return 0.0, min(end, float(self.bits or math.inf))

    def areas(self) -> tuple[float, float]:
        """The areas of false negatives and false positives along the axis.

        Above the curve on the side of the threshold where pairs are wanted, and below it on the other side.

        Examples
        --------
        >>> [round(number, 4) for number in tune(threshold=0.8).areas()]
        [0.0001, 0.1751]
        """
        start, end = self.axis
        wanted, others = (start, self.threshold), (self.threshold, end)
        if not self.scale.is_distance:
            wanted, others = (self.threshold, end), wanted
        smooth = self.scale.at(bends(self.bands, self.rows))
        return area(self.miss, *wanted, smooth), area(self.curve, *others, smooth)

    def to_dict(self) -> dict[str, Any]:
        """The plan as `run.json` and `--json` show it.

        Examples
        --------
        >>> lecture_plan(threshold=0.55, hashes=100).to_dict()["used_hashes"]
        100
        """
        shown = {**asdict(self), "used_hashes": self.used_hashes}
        if self.measure == "jaccard":
            del shown["measure"]
        return {name: value for name, value in shown.items() if name not in ("bits", "width") or value is not None}

    def _repr_html_(self) -> str:
        """As notebooks show it: the plan in words, and how likely pairs near the threshold are to be found."""
        near = sorted({self.threshold, self.at(0.01), self.at(0.5), self.at(0.99)})
        rows = "".join(f"<tr><td>{value:.4g}</td><td>{percent(self.curve(value))}</td></tr>" for value in near)
        heads = f'<tr><th scope="col">{self.scale.noun}</th><th scope="col">candidate pair</th></tr>'
        return f"<div><p>{self.describe()}</p><table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>"

    def describe(self) -> str:
        """The plan and what it promises, in a few sentences.

        Examples
        --------
        >>> for sentence in tune(threshold=0.8, recall=0.99, hashes=256).describe().split(". "):
        ...     print(sentence)
        26 bands of 8 rows, using 208 of 256 hashes
        A pair of similarity 0.8 is found with probability 99.16% (target: 99%), one of 0.9 with 99.999956%
        Verification will drop the false candidates: 35.6% of pairs of similarity 0.6 and 1.7% of those of 0.4
        Pairs of similarity 0.635 have a 50% chance of becoming candidates.
        >>> print(". ".join(tune(threshold=2, measure="euclidean").describe().split(". ")[:2]))
        99 bands of 10 rows, using 990 of 1,024 lines. One line agrees on a pair at distance 2 with probability \
0.7343 (buckets are 6 wide)
        """
        return describe_plan(self)


def tune(
    threshold: float | str | Fraction | None = None,
    recall: float | str | Fraction = 0.99,
    hashes: int = 256,
    measure: str = "jaccard",
    bits: int | None = None,
    width: float | str | None = None,
) -> Plan:
    """The plan with the fewest false candidates that finds pairs at the threshold with the target recall.

    Of all bands x rows <= hashes with 1 - (1 - p^rows)^bands >= recall, it has the most rows, and then the fewest
    bands. p is the probability that one hash function agrees on a pair at the threshold; for jaccard it is the
    threshold itself. For vectors, one of `hashes` stands for 8 hyperplanes, 8 sampled bits or 4 lines, which are
    cheap, and a band has at most 40 rows.

    Parameters
    ----------
    threshold : float, str or Fraction
        The least similarity of the pairs to find, above 0 and at most 1, by default 0.8; for euclidean and hamming
        the largest distance.
    recall : float, str or Fraction
        The share of pairs at the threshold to find, above 0 and below 1.
    hashes : int
        The most values that a signature may have, from 1 to 65536.
    measure : str
        jaccard, dice, cosine (of vectors, by hyperplanes), euclidean (by lines) or hamming (by sampled bits).
    bits : int
        The number of bits of an item; required for hamming.
    width : float
        The width of the buckets on a line, for euclidean. Default: three times the threshold, which makes few false
        candidates for any number of hashes, and which all jobs use.

    Returns
    -------
    Plan
        `.bands`, `.rows`, `.recall`, and the S-curve `.curve(similarity)`.

    Raises
    ------
    UsageError
        If a value is out of range, or no plan with so few hashes reaches the recall.

    Examples
    --------
    >>> plan = tune(threshold=0.8, recall=0.99, hashes=256)
    >>> plan.bands, plan.rows, round(plan.recall, 4)
    (26, 8, 0.9916)
    >>> tune(threshold=0.8, recall=0.9996, hashes=100).rows
    5
    >>> tune(threshold=0.95, recall=0.95, measure="cosine").banding
    '65 bands of 29 rows'
    """
    scale, exact = make_scale(measure, threshold, bits, width)
    chance, target, allowed = scale.chance_at(exact), _check_recall(recall), _check_hashes(hashes)
    limit = scale.functions(allowed)
    most_rows = min(limit, scale.most_rows or limit)
    # The bands needed grow with the rows, so the rows that fit are an initial part of 1, 2, ..., most_rows.
    rows = bisect_right(
        range(1, most_rows + 1),
        False,
        key=lambda rows: not _fits(_bands_needed(chance, target, rows, limit), rows, limit),
    )
    bands = _bands_needed(chance, target, rows, limit) if rows else None
    if bands is None:
        raise TooFewHashesError(_too_few_hashes(scale, exact, target, allowed))
    # Computed exactly, the recall is never below the target; a rounded last digit must not make it so.
    reached = max(probability(float(chance), bands, rows), float(target))
    return Plan(float(exact), float(target), allowed, bands, rows, reached, scale.measure, scale.bits, scale.width)


def lecture_plan(
    threshold: float | str | Fraction | None = None,
    hashes: int = 256,
    measure: str = "jaccard",
    bits: int | None = None,
    width: float | str | None = None,
) -> Plan:
    """The plan by the rule of the book: (1/bands)^(1/rows) as close to the threshold as possible.

    Bands x rows is the number of functions that `hashes` stands for. The rule aims at where the curve rises, not at a
    recall. Of two plans equally close it takes the one with fewer bands. For measures other than jaccard, the
    probability that one hash function agrees at the threshold replaces the threshold. Arguments are those of `tune`.

    Examples
    --------
    >>> plan = lecture_plan(threshold=0.55, hashes=100)
    >>> plan.bands, plan.rows, round(plan.recall, 3)
    (20, 5, 0.644)
    """
    scale, exact = make_scale(measure, threshold, bits, width)
    chance, allowed = float(scale.chance_at(exact)), _check_hashes(hashes)
    limit = scale.functions(allowed)
    divisors = [bands for bands in range(1, limit + 1) if limit % bands == 0]
    bands = min(divisors, key=lambda bands: abs(lecture_threshold(bands, limit // bands) - chance))
    rows, reached = limit // bands, probability(chance, bands, limit // bands)
    return Plan(float(exact), None, allowed, bands, rows, reached, scale.measure, scale.bits, scale.width)


def _bands_needed(threshold: Fraction, recall: Fraction, rows: int, limit: int) -> int | None:
    """The fewest bands of this many rows that reach the recall; None if more than `limit`.

    log(1 - recall)/log(1 - threshold^rows), rounded up. Within the limit its error is far below 1e-6; only this close
    to an integer can rounding decide, and there the exact powers do.
    """
    if threshold == 1:
        return 1
    if threshold <= 0:  # a chance too small for a float
        return None
    log_power = rows * (math.log1p(-float(1 - threshold)) if threshold > 0.5 else math.log(threshold))
    near_one = log_power > math.log(0.5)
    log_missed = math.log(-math.expm1(log_power)) if near_one else math.log1p(-math.exp(log_power))
    log_allowed = math.log1p(-float(recall)) if recall < 0.5 else math.log(1 - recall)
    if log_missed == 0 or log_allowed / log_missed > limit + 1:
        return None
    quotient = log_allowed / log_missed
    bands = max(1, math.ceil(quotient))
    if abs(quotient - (whole := round(quotient))) < 1e-6 and whole >= 1:
        bands = whole if _reaches(threshold, recall, whole, rows) else whole + 1
    return bands if bands <= limit else None


def _reaches(threshold: Fraction, recall: Fraction, bands: int, rows: int) -> bool:
    """Whether (1 - threshold^rows)^bands <= 1 - recall, in integers."""
    whole = threshold.denominator**rows
    missed = (whole - threshold.numerator**rows) ** bands
    return bool(missed * recall.denominator <= (recall.denominator - recall.numerator) * whole**bands)


def _fits(bands: int | None, rows: int, limit: int) -> bool:
    return bands is not None and bands * rows <= limit


def _check_recall(value: float | str | Fraction) -> Fraction:
    try:
        recall = parse_threshold(value)
    except UsageError:
        raise UsageError(f"recall must be a number such as 0.99, not {value!r}") from None
    if recall == 1:
        raise UsageError(
            "recall must be below 1, since hashing can miss a pair: set a recall such as 0.999, "
            "or use --method exact, which finds every pair"
        )
    if not 0 < recall < 1:
        raise UsageError(f"recall must be above 0 and below 1, not {value}; try 0.99")
    return recall


def _check_hashes(value: int) -> int:
    try:
        hashes = operator.index(value)
    except TypeError:
        hashes = 0
    if isinstance(value, bool) or not 1 <= hashes <= MOST_HASHES:
        raise UsageError(f"hashes must be a whole number from 1 to {MOST_HASHES}, not {value!r}; try 256")
    return hashes


def _too_few_hashes(scale: Scale, threshold: Fraction, recall: Fraction, hashes: int) -> str:
    """What would work instead. One row per band is the cheapest plan, and its bands are its functions."""
    aim = f"pairs {scale.place(f'{float(threshold):g}')} with recall {float(recall):g}"
    start = f"{count(hashes, 'hash')} cannot find {aim}"
    change = "lower" if scale.is_distance else "raise"
    bands = _bands_needed(scale.chance_at(threshold), recall, 1, scale.functions(MOST_HASHES))
    if bands is None:
        return f"{start}, nor can the maximum of {MOST_HASHES}: {change} the threshold or lower the recall"
    return (
        f"{start}: set hashes to {-(-bands // scale.functions(1))} or more, {change} the threshold, or lower the recall"
    )
