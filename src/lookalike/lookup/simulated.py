"""Simulated fingerprints: the book's model of grid squares, and invented prints captured twice with realistic errors.

Simulations show how the method behaves when the truth is known; they say nothing about real fingers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.families.triples import Triples
from lookalike.lookup.prints import Prints
from lookalike.types import Bool, Float64

_PAIRS_AT_ONCE = 256
"""Pairs of prints per batch; each batch has its own triples."""


class Rates(NamedTuple):
    """Error rates of the triples."""

    false_negatives: float
    """Share of pairs from one finger that are not candidates."""
    false_positives: float
    """Share of pairs from different fingers that are."""


def lecture_rates(occupied: float = 0.2, agreement: float = 0.8, triples: int = 1024) -> Rates:
    """The rates computed in the book: every triple of every pair is an independent draw.

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
    """The rates to expect on a real grid, where all triples of a pair see the same squares.

    If two prints share c of the S squares, a triple finds them with probability c (c - 1)(c - 2) / (S (S - 1)(S - 2));
    with independent squares, c is binomial. A pair that happens to share few squares is missed by all triples together,
    so there are more false negatives than in the book, especially on small grids.

    Examples
    --------
    >>> [[round(rate, 3) for rate in exact_rates(squares)] for squares in (64, 256, 4096)]
    [[0.156, 0.054], [0.044, 0.062], [0.017, 0.063]]
    """
    same, other = (_mean_found(squares, occupied * share, triples) for share in (agreement, occupied))
    return Rates(1 - same, other)


def _mean_found(squares: int, share: float, triples: int) -> float:
    """The mean probability of being a candidate, over the binomial number of common squares."""
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
    """Draw pairs of prints from the book's model and count the errors of the triples.

    Parameters
    ----------
    pairs
        Number of pairs from one finger, and of pairs from different fingers.
    by_square
        Draw each square independently, so that the number of occupied squares varies from print to print. By default,
        every print occupies exactly the share `occupied`, and prints of a finger have exactly the share `agreement`
        of these in common.

    Examples
    --------
    >>> rates = simulate_rates(100, squares=1024)
    >>> rates.false_negatives < 0.06 and rates.false_positives < 0.15
    True
    """
    if pairs < 1 or not 0 < occupied < 0.5 or not 0 < agreement <= 1:
        raise UsageError("pairs must be at least 1, occupied above 0 and below 0.5, agreement above 0 and at most 1")
    random = np.random.default_rng(seed)
    found = np.zeros(2)
    for first in range(0, pairs, _PAIRS_AT_ONCE):
        count = min(_PAIRS_AT_ONCE, pairs - first)
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
    """Pairs with independent squares: the second print occupies those of the first with chance `agreement`."""
    left = random.random((count, squares)) < occupied
    elsewhere = occupied * (1 - agreement) / (1 - occupied)
    return left, random.random((count, squares)) < np.where(left, agreement, elsewhere)


def _by_count(
    random: np.random.Generator, count: int, squares: int, occupied: float, agreement: float
) -> tuple[Bool, Bool]:
    """Pairs of prints with a fixed number of squares, a fixed number of them in common."""
    size = round(squares * occupied)
    common = round(size * agreement)
    order = random.random((count, squares)).argsort(axis=1)
    left, right = np.zeros((2, count, squares), np.bool_)
    np.put_along_axis(left, order[:, :size], True, axis=1)
    np.put_along_axis(right, order[:, size - common : 2 * size - common], True, axis=1)
    return left, right


def draw_prints(count: int, minutiae: int = 45, seed: int = 1) -> Prints:
    """Prints of invented fingers, in pixels at 500 dots per inch.

    Minutiae are spread over an upright ellipse, at least half a millimetre apart; their number varies by up to a fifth.
    Ridges run around the centre in the upper half and horizontally below; a minutia points along its ridge, either way.

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
    """Points in an ellipse of 260 x 380 pixels, at least 10 pixels apart."""
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
    """The same fingers captured again: moved, rotated, scaled, with displaced, missing and false minutiae.

    Parameters
    ----------
    shift, jitter
        Standard deviations in pixels, of the whole print and of each minutia.
    rotation
        Largest rotation to either side, in degrees.
    scale
        Standard deviation of the scaling factor.
    missing, false
        Share of the minutiae that are not detected, and false minutiae as a share of the true ones.

    Examples
    --------
    >>> again = recapture(draw_prints(2), missing=0, false=0)
    >>> again.indptr.tolist() == draw_prints(2).indptr.tolist()
    True
    """
    random = np.random.default_rng([seed, 1])
    parts = []
    for number, name in enumerate(prints.names):
        x, y, angles = prints.minutiae(number)
        seen = random.random(len(x)) >= missing
        extra = random.binomial(len(x), false)
        # false minutiae lie anywhere among the true ones
        low, high = np.array([[x.min(), y.min()], [x.max(), y.max()]])
        places = np.vstack([np.stack([x, y], axis=1)[seen], random.uniform(low, high, (extra, 2))])
        directions = np.concatenate([angles[seen], random.uniform(0, 360, extra)])
        turn, factor = random.uniform(-rotation, rotation), 1 + random.normal(0, scale)
        cos, sin = math.cos(math.radians(turn)) * factor, math.sin(math.radians(turn)) * factor
        places = places @ np.array([[cos, sin], [-sin, cos]]) + random.normal(0, shift, 2)
        places += random.normal(0, jitter, places.shape)
        parts.append(Prints.single(name, places[:, 0], places[:, 1], (directions + turn) % 360))
    return Prints.joined(parts)
