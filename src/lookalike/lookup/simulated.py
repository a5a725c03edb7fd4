"""Simulated fingerprints: the lecture's model of squares, and prints that are captured again with everything amiss.

Nothing here is data: it shows what the method does where the truth is known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.triples import Triples
from lookalike.types import Bool, Float64, Prints

_AT_ONCE = 256
"""Pairs of prints that are drawn at a time, with triples of their own."""


class Rates(NamedTuple):
    """How often triples are wrong."""

    false_negatives: float
    """The share of pairs of one finger that are no candidates."""
    false_positives: float
    """The share of pairs of different fingers that are."""


def lecture_rates(occupied: float = 0.2, agreement: float = 0.8, triples: int = 1024) -> Rates:
    """What the lecture computes: every triple of every pair is an independent draw.

    Examples
    --------
    >>> [round(rate, 3) for rate in lecture_rates()]
    [0.015, 0.063]
    """
    family = Triples(occupied=occupied)
    chances = [family.probability(distance) for distance in (1 - agreement, 1 - occupied)]
    same, other = (-math.expm1(triples * math.log1p(-chance)) for chance in chances)
    return Rates(1 - same, other)


def exact_rates(squares: int, occupied: float = 0.2, agreement: float = 0.8, triples: int = 1024) -> Rates:
    """What to expect of a grid: the triples of a pair all look at the same squares, so luck does not average out.

    Of two prints that share c of the S squares, a triple finds c (c - 1)(c - 2) / (S (S - 1)(S - 2)). With each square
    by itself, c is binomial. Pairs that share few squares by chance are missed by all triples together, so there are
    more false negatives than the lecture's, the more the fewer squares there are.

    Examples
    --------
    >>> [[round(rate, 3) for rate in exact_rates(squares)] for squares in (64, 256, 4096)]
    [[0.156, 0.054], [0.044, 0.062], [0.017, 0.063]]
    """
    same, other = (_mean_found(squares, occupied * share, triples) for share in (agreement, occupied))
    return Rates(1 - same, other)


def _mean_found(squares: int, share: float, triples: int) -> float:
    """The mean over binomial numbers of common squares of the chance to be a candidate."""
    common = np.arange(squares + 1, dtype=np.float64)
    ways = np.array([math.lgamma(squares + 1) - math.lgamma(c + 1) - math.lgamma(squares - c + 1) for c in common])
    weights = np.exp(ways + common * math.log(share) + (squares - common) * math.log1p(-share))
    chances = common * (common - 1) * (common - 2) / (squares * (squares - 1) * (squares - 2))
    found = np.where(chances < 1, -np.expm1(triples * np.log1p(-np.minimum(chances, 1 - 1e-16))), 1.0)
    return float((weights * found).sum())


def simulate_rates(
    pairs: int,
    squares: int = 4096,
    occupied: float = 0.2,
    agreement: float = 0.8,
    triples: int = 1024,
    seed: int = 1,
    by_square: bool = False,
) -> Rates:
    """Draw pairs of prints by the lecture's model and count how often triples are wrong about them.

    Parameters
    ----------
    pairs
        So many of one finger, and as many of different fingers.
    by_square
        Draw each square by itself, so that the number of squares varies from print to print. Otherwise every print has
        exactly the share `occupied`, and prints of a finger exactly the share `agreement` of that in common.

    Examples
    --------
    >>> rates = simulate_rates(100, squares=1024)
    >>> rates.false_negatives < 0.06 and rates.false_positives < 0.15
    True
    """
    if pairs < 1 or not 0 < occupied < 0.5 or not 0 < agreement <= 1:
        raise UsageError("pairs from 1, occupied above 0 and below 0.5, agreement above 0 and at most 1")
    random = np.random.default_rng(seed)
    found = np.zeros(2)
    for first in range(0, pairs, _AT_ONCE):
        count = min(_AT_ONCE, pairs - first)
        family = Triples(squares, occupied, seed=int(random.integers(1 << 62)))
        draw = _by_square if by_square else _by_count
        left, right = draw(random, count, squares, occupied, agreement)
        stranger, _ = draw(random, count, squares, occupied, agreement)
        hashed = family.hash(np.concatenate([left, right, stranger]), triples).buckets[:, :, 0] == 0
        mine, same, other = hashed[:, :count], hashed[:, count : 2 * count], hashed[:, 2 * count :]
        found += [int((mine & another).any(axis=0).sum()) for another in (same, other)]
    return Rates(1 - float(found[0]) / pairs, float(found[1]) / pairs)


def _by_square(
    random: np.random.Generator, count: int, squares: int, occupied: float, agreement: float
) -> tuple[Bool, Bool]:
    """Pairs of prints; the second agrees in a square of the first with this chance, and has `occupied` in all."""
    left = random.random((count, squares)) < occupied
    elsewhere = occupied * (1 - agreement) / (1 - occupied)
    return left, random.random((count, squares)) < np.where(left, agreement, elsewhere)


def _by_count(
    random: np.random.Generator, count: int, squares: int, occupied: float, agreement: float
) -> tuple[Bool, Bool]:
    """Pairs of prints of just so many squares, of which just so many are common."""
    size = round(squares * occupied)
    common = round(size * agreement)
    order = random.random((count, squares)).argsort(axis=1)
    left, right = np.zeros((2, count, squares), np.bool_)
    np.put_along_axis(left, order[:, :size], True, axis=1)
    np.put_along_axis(right, order[:, size - common : 2 * size - common], True, axis=1)
    return left, right


def draw_prints(count: int, minutiae: int = 45, seed: int = 1) -> Prints:
    """Prints of fingers that do not exist, in pixels at 500 dots per inch.

    Minutiae lie anywhere in an upright oval, at least half a millimetre apart; their number varies by a fifth or so.
    Ridges run around a centre above and across below, and a minutia points along its ridge, one way or the other.

    Examples
    --------
    >>> prints = draw_prints(3)
    >>> len(prints), bool((np.diff(prints.indptr) > 20).all())
    (3, True)
    """
    random = np.random.default_rng(seed)
    places = [_draw_places(random, round(minutiae * random.uniform(0.8, 1.2))) for _ in range(count)]
    x, y = np.concatenate([np.empty((0, 2)), *places]).T
    around = np.degrees(np.arctan2(y, x)) + 90
    ridges = np.where(y > 0, around, 0.0) + random.normal(0, 12, len(x)) + 180 * random.integers(0, 2, len(x))
    indptr = np.cumsum([0, *map(len, places)]).astype(np.int64)
    names = [f"finger {number}" for number in range(count)]
    return Prints(names, indptr, x + 160, y + 220, ridges % 360)


def _draw_places(random: np.random.Generator, count: int) -> Float64:
    """Places in an oval of 260 x 380 pixels, none nearer than 10 pixels to another."""
    places = np.empty((0, 2))
    while len(places) < count:
        place = random.uniform(-1, 1, 2)
        if (place**2).sum() <= 1:
            place *= (130, 190)
            if not len(places) or ((places - place) ** 2).sum(axis=1).min() >= 100:
                places = np.vstack([places, place])
    return places


def recapture(
    prints: Prints,
    *,
    shift: float = 30.0,
    rotation: float = 20.0,
    scale: float = 0.05,
    jitter: float = 3.0,
    missing: float = 0.1,
    false: float = 0.1,
    seed: int = 1,
) -> Prints:
    """The same fingers once more: moved, turned and scaled, minutiae a little off, some missing, some that are none.

    Parameters
    ----------
    shift, jitter
        Standard deviations in pixels, of the whole print and of each minutia.
    rotation
        At most so many degrees to either side.
    scale
        The standard deviation of the factor.
    missing, false
        The share of the minutiae that is not seen, and how many more are seen that are not there.

    Examples
    --------
    >>> again = recapture(draw_prints(2), missing=0, false=0)
    >>> again.indptr.tolist() == draw_prints(2).indptr.tolist()
    True
    """
    random = np.random.default_rng([seed, 1])
    parts = []
    for number, name in enumerate(prints.names):
        own = slice(*prints.indptr[number : number + 2])
        seen = random.random(own.stop - own.start) >= missing
        x, y, angles = prints.x[own][seen], prints.y[own][seen], prints.angles[own][seen]
        extra = random.binomial(own.stop - own.start, false)
        # false ones anywhere among the others
        low, high = np.array([[prints.x[own].min(), prints.y[own].min()], [prints.x[own].max(), prints.y[own].max()]])
        places = np.vstack([np.stack([x, y], axis=1), random.uniform(low, high, (extra, 2))])
        directions = np.concatenate([angles, random.uniform(0, 360, extra)])
        turn, factor = random.uniform(-rotation, rotation), 1 + random.normal(0, scale)
        cos, sin = math.cos(math.radians(turn)) * factor, math.sin(math.radians(turn)) * factor
        places = places @ np.array([[cos, sin], [-sin, cos]]) + random.normal(0, shift, 2)
        places += random.normal(0, jitter, places.shape)
        parts.append(
            Prints([name], np.array([0, len(places)], np.int64), places[:, 0], places[:, 1], (directions + turn) % 360)
        )
    return Prints.joined(parts)
