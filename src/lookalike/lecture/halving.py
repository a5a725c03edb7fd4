"""Hamming LSH: similar sets from a pyramid of matrices, each halved by OR-ing pairs of rows.

Sets are the columns of a 0/1 matrix whose rows are in random order. A random selection of rows is a good signature of a
column that is about half full, but useless for a sparse one. Therefore pairs of rows are OR-ed, again and again: each
step halves the matrix and makes its columns denser. At each level, the columns of medium density are hashed by bands of
random rows; columns that agree in all rows of a band are candidates, which `find_hamming_pairs` verifies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lookalike.candidates.buckets import concatenate, group_keys
from lookalike.errors import UsageError
from lookalike.kernels.join import overlaps_of
from lookalike.types import Bool, Buckets, Float64, Int64, Pairs, Sets, UInt64, distinct
from lookalike.types.frozen import frozen
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import all_pairs, list_pairs

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Spreads the bits of a band to the upper end of a word, one to one."""
MOST_DENSE = 0.2
"""Largest density of a column in the first matrix: halving only makes columns denser, and each level that a column
passes through is another chance to be found."""


@frozen
class Halving:
    """How columns are hashed.

    Examples
    --------
    >>> Halving().is_medium(np.array([0.1, 0.2, 0.5, 0.9])).tolist()
    [False, True, True, False]
    """

    bands: int = 40
    """Bands per level."""
    rows: int = 16
    """Rows per band; columns that agree in all of them are candidates."""
    low: float = 0.2
    """Smallest density of a column that is hashed."""
    high: float = 0.8
    """Largest density. With 0.2 to 0.8, sets of similarity 0.5 or more are both hashed at some level."""
    least_rows: int = 32
    """Levels with fewer rows are skipped: all columns look alike there."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.bands < 1 or not 1 <= self.rows <= 64:
            raise UsageError(f"bands must be at least 1 and rows from 1 to 64, not {self.bands} and {self.rows}")
        if not 0 <= self.low < self.high <= 1:
            raise UsageError(f"densities must satisfy 0 <= low < high <= 1, not low {self.low} and high {self.high}")
        if self.least_rows < 1:
            raise UsageError(f"least_rows must be at least 1, not {self.least_rows}")

    def is_medium(self, densities: Float64) -> Bool:
        """Which columns are neither too sparse nor too dense."""
        return (densities >= self.low) & (densities <= self.high)

    def levels(self, sets: Sets) -> Iterator[tuple[int, Level]]:
        """The levels that are hashed, numbered from 0 at the first matrix."""
        for number, level in enumerate(pyramid(shuffle_rows(sets, self.seed))):
            if level.rows >= self.least_rows:
                yield number, level

    def draw(self, number: int, rows: int) -> Int64:
        """The random rows of the bands at a level: int64[bands, rows], drawn with replacement."""
        return np.random.default_rng([self.seed, 1, number]).integers(0, rows, (self.bands, self.rows))


@frozen
class Level:
    """A matrix of the pyramid: column i is 1 in rows ones[indptr[i]:indptr[i + 1]], ascending."""

    rows: int
    indptr: Int64
    ones: UInt64

    @property
    def densities(self) -> Float64:
        """The share of 1s in each column."""
        return np.diff(self.indptr) / max(1, self.rows)

    def halved(self) -> Level:
        """The matrix with half the rows: row i is the OR of rows 2i and 2i + 1.

        Examples
        --------
        >>> Level(8, np.array([0, 3]), np.array([2, 3, 6], np.uint64)).halved().ones.tolist()
        [1, 3]
        """
        ones = self.ones >> np.uint64(1)
        first = np.ones(len(ones), np.bool_)
        first[1:] = ones[1:] != ones[:-1]
        first[self.indptr[:-1][np.diff(self.indptr) > 0]] = True
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(first)])
        return Level((self.rows + 1) // 2, before[self.indptr], ones[first])


def shuffle_rows(sets: Sets, seed: int) -> Level:
    """Sets as the columns of a matrix with one row per element, in random order.

    If a column would be too dense, empty rows are mixed in.

    Examples
    --------
    >>> level = shuffle_rows(Sets(np.array([0, 2, 3]), np.array([5, 9, 7], np.uint64)), seed=1)
    >>> level.rows, level.densities.tolist()
    (10, [0.2, 0.1])
    """
    universe, number = np.unique(sets.elements, return_inverse=True)
    rows = max(len(universe), math.ceil(int(sets.sizes.max(initial=0)) / MOST_DENSE))
    order = np.random.default_rng([seed, 0]).permutation(rows)
    owners = np.repeat(np.arange(len(sets)), sets.sizes)
    ones = order[number]
    ones = ones[np.lexsort((ones, owners))]
    return Level(rows, sets.indptr, ones.astype(np.uint64))


def pyramid(level: Level) -> Iterator[Level]:
    """The matrix, its half, the half of that, and so on down to a single row.

    Examples
    --------
    >>> [one.rows for one in pyramid(Level(8, np.array([0, 1]), np.array([6], np.uint64)))]
    [8, 4, 2, 1]
    """
    yield level
    while level.rows > 1:
        level = level.halved()
        yield level


def hamming_candidates(sets: Sets, halving: Halving | None = None) -> Buckets:
    """The sets that share a band at some level: of medium density there, and equal in all rows of the band.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> one = np.sort(random.choice(1000, 100, replace=False)).astype(np.uint64)
    >>> sets = Sets(np.array([0, 100, 200, 201]), np.concatenate([one, one, one[:1]]))
    >>> sorted(set(hamming_candidates(sets).members.tolist()))
    [0, 1]
    """
    halving = halving or Halving()
    found = []
    for number, level in halving.levels(sets):
        columns = np.flatnonzero(halving.is_medium(level.densities))
        if len(columns) > 1:
            for keys in _band_keys(level, columns, halving.draw(number, level.rows)):
                groups = group_keys(keys)
                found.append(Buckets(groups.starts, columns[groups.members].astype(np.int32)))
    return concatenate(found)


def _band_keys(level: Level, columns: Int64, drawn: Int64) -> Iterator[UInt64]:
    """For each band, the bits of the columns in its rows as one number: uint64[columns]."""
    bits = _bits_at(level, columns, distinct(drawn))
    places = np.searchsorted(distinct(drawn), drawn)
    for band in places:
        keys = np.zeros(len(columns), np.uint64)
        for row in band:
            keys = (keys << np.uint64(1)) | bits[row]
        yield keys * _ODD


def _bits_at(level: Level, columns: Int64, rows: Int64) -> Bool:
    """The bits of some columns in some rows (ascending): bool[rows, columns]."""
    place = np.full(level.rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    sizes = np.diff(level.indptr)
    wanted = np.full(len(sizes), -1, np.int64)
    wanted[columns] = np.arange(len(columns))
    owners = np.repeat(wanted, sizes)
    at = place[level.ones.astype(np.int64)]
    hit = (owners >= 0) & (at >= 0)
    bits = np.zeros((len(rows), len(columns)), np.bool_)
    bits[at[hit], owners[hit]] = True
    return bits


def chance_to_meet(sets: Sets, left: Int64, right: Int64, halving: Halving | None = None) -> Float64:
    """The probability that pairs of sets become candidates, over the random choice of rows in the bands.

    At a level where both columns are of medium density and agree (0 with 0, 1 with 1) in a share s of the rows, a band
    of r rows finds the pair with probability s^r. All bands of all such levels miss it with probability
    prod (1 - s^r)^bands. The order of the rows, and thus which rows are OR-ed, follows from the seed.

    Examples
    --------
    >>> elements = np.concatenate([np.arange(50), np.arange(10, 60), np.arange(90, 100)]).astype(np.uint64)
    >>> sets = Sets(np.array([0, 50, 100, 110]), elements)
    >>> chance_to_meet(sets, np.array([0, 0]), np.array([1, 2])).round(1).tolist()
    [1.0, 0.0]
    """
    halving = halving or Halving()
    missed = np.ones(len(left))
    for _, level in halving.levels(sets):
        shares = agreement(level, left, right)
        medium = halving.is_medium(level.densities)
        both = medium[left] & medium[right]
        missed[both] *= (1 - shares[both] ** halving.rows) ** halving.bands
    return 1 - missed


def agreement(level: Level, left: Int64, right: Int64) -> Float64:
    """The share of the rows in which pairs of columns agree.

    Examples
    --------
    >>> level = Level(4, np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.uint64))
    >>> agreement(level, np.array([0]), np.array([1])).tolist()
    [0.5]
    """
    shared = np.empty(len(left), np.int64)
    overlaps_of(left, right, level.indptr[:-1], level.indptr[1:], level.ones, shared)
    sizes = np.diff(level.indptr)
    return 1 - (sizes[left] + sizes[right] - 2 * shared) / max(1, level.rows)


def find_hamming_pairs(sets: Sets, threshold: float | str | Fraction = 0.5, halving: Halving | None = None) -> Pairs:
    """The candidate pairs that are similar enough, with their exact similarity, by left, then right.

    Parameters
    ----------
    threshold
        Smallest Jaccard similarity. Below 0.5, pairs whose sizes differ too much are never candidates.

    Examples
    --------
    >>> elements = np.concatenate([np.arange(60), np.arange(6, 66), np.arange(200, 260)]).astype(np.uint64)
    >>> found = find_hamming_pairs(Sets(np.array([0, 60, 120, 180]), elements))
    >>> found.left.tolist(), found.right.tolist(), found.similarity.round(3).tolist()
    ([0], [1], [0.818])
    """
    measure = Measure.parse("jaccard", threshold)
    buckets = hamming_candidates(sets, halving)
    found = all_pairs(list_pairs(buckets, (sets.indptr[:-1], sets.indptr[1:], sets.elements), measure.arguments))
    order = np.lexsort((found.right, found.left))
    left, right = (side[order].astype(np.int64) for side in (found.left, found.right))
    overlaps = found.overlaps[order].astype(np.int64)
    return Pairs(left, right, measure.of_overlaps(overlaps, sets.sizes[left], sets.sizes[right]))
