"""The book's three indexes for high similarity, in plain Python, to read and to experiment with.

A set is written as a string: its symbols in a fixed order, each once. Positions count from 1, as in the book;
`distance` is the largest Jaccard distance of interest. The fast version is `candidates/exact.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from lookalike.errors import UsageError

Bucket = tuple[str, ...] | tuple[str, int] | tuple[str, int, int]
"""A symbol; with index "position" also its position; with "suffix" also the number of symbols after it."""


def partner_lengths(length: int, distance: Fraction) -> range:
    """The lengths that strings within the distance can have: L (1 - J) to L / (1 - J).

    Examples
    --------
    >>> partner_lengths(10, Fraction(1, 10))
    range(9, 12)
    """
    return range(-floor(-length * (1 - distance)), floor(length / (1 - distance)) + 1)


def prefix_length(length: int, distance: Fraction) -> int:
    """Number of indexed symbols: floor(J L + 1). Strings whose prefixes have none in common are farther apart.

    Examples
    --------
    >>> [prefix_length(length, Fraction(1, 5)) for length in (4, 5, 6, 10)]
    [1, 2, 2, 3]
    """
    return floor(distance * length + 1)


def buckets_of(string: Sequence[str], distance: Fraction, index: str = "suffix") -> list[Bucket]:
    """The buckets in which a string is stored.

    Examples
    --------
    >>> buckets_of("abcdef", Fraction(1, 5), "prefix")
    [('a',), ('b',)]
    >>> buckets_of("acdefghijk", Fraction(1, 10), "suffix")
    [('a', 1, 9), ('c', 2, 8)]
    """
    length = len(string)
    positions = range(1, min(prefix_length(length, distance), length) + 1)
    return [_bucket(string[i - 1], i, length - i, index) for i in positions]


def buckets_to_probe(string: Sequence[str], distance: Fraction, index: str = "suffix") -> list[Bucket]:
    """The buckets that contain every string within the distance.

    With "position", position i is compared with position j if j <= (J L - J - i + 2) / (1 - J). With "suffix", the
    numbers k and m of symbols after them count too: i + j - 2 + |k - m| <= J (1 + min(k, m)) / (1 - J).

    Examples
    --------
    >>> buckets_to_probe("abcde", Fraction(1, 5))
    [('a', 1, 3), ('a', 1, 4), ('a', 1, 5), ('a', 2, 4), ('b', 1, 3)]
    """
    length = len(string)
    found: list[Bucket] = []
    for i in range(1, min(prefix_length(length, distance), length) + 1):
        symbol = string[i - 1]
        if index == "prefix":
            found.append((symbol,))
        elif index == "position":
            found += [(symbol, j) for j in range(1, last_position(length, i, distance) + 1)]
        else:
            longest = partner_lengths(length, distance)[-1]
            pairs = ((j, m) for j in range(1, longest + 1) for m in range(longest + 1))
            found += [(symbol, j, m) for j, m in pairs if suffixes_match(i, length - i, j, m, distance)]
    return found


def last_position(length: int, i: int, distance: Fraction) -> int:
    """The last position j of another string at which symbol i can be the first in common: (J L - J - i + 2) / (1 - J).

    At least E = i + j - 2 symbols differ and at most C = L - i + 1 are common, and E / (E + C) <= J must hold.

    Examples
    --------
    >>> [last_position(10, i, Fraction(1, 5)) for i in (1, 2, 3)]
    [3, 2, 1]
    """
    return floor((distance * length - distance - i + 2) / (1 - distance))


def suffixes_match(i: int, k: int, j: int, m: int, distance: Fraction) -> bool:
    """Whether position i, with k symbols after it, and position j, with m after it, can be the first in common.

    Examples
    --------
    >>> suffixes_match(1, 4, 1, 5, Fraction(1, 5)), suffixes_match(2, 3, 2, 3, Fraction(1, 5))
    (True, False)
    """
    return (i + j - 2 + abs(k - m)) * (1 - distance) <= distance * (1 + min(k, m))


def _bucket(symbol: str, position: int, after: int, index: str) -> Bucket:
    if index == "prefix":
        return (symbol,)
    if index == "position":
        return symbol, position
    if index == "suffix":
        return symbol, position, after
    raise UsageError(f"index must be prefix, position or suffix, not {index!r}")
