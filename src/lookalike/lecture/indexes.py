"""The lecture's three indexes for high similarity, in plain Python, to read and to try out.

A set is a string of its symbols in a fixed order, none twice. Places count from 1, as in the lecture; `distance` is the
largest Jaccard distance of interest. Nothing here is fast: exact.py is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from lookalike.errors import UsageError

Bucket = tuple[str, ...] | tuple[str, int] | tuple[str, int, int]
"""A symbol; with "position" also its place; with "suffix" also how many symbols follow it."""


def partner_lengths(length: int, distance: Fraction) -> range:
    """The lengths of strings that can be this near: L (1 - J) to L / (1 - J).

    Examples
    --------
    >>> partner_lengths(10, Fraction(1, 10))
    range(9, 12)
    """
    return range(-floor(-length * (1 - distance)), floor(length / (1 - distance)) + 1)


def prefix_length(length: int, distance: Fraction) -> int:
    """How many symbols are indexed: floor(J L + 1). Two strings that share none of theirs are further apart.

    Examples
    --------
    >>> [prefix_length(length, Fraction(1, 5)) for length in (4, 5, 6, 10)]
    [1, 2, 2, 3]
    """
    return floor(distance * length + 1)


def buckets_of(string: Sequence[str], distance: Fraction, index: str = "suffix") -> list[Bucket]:
    """The buckets that a string is put in.

    Examples
    --------
    >>> buckets_of("abcdef", Fraction(1, 5), "prefix")
    [('a',), ('b',)]
    >>> buckets_of("acdefghijk", Fraction(1, 10), "suffix")
    [('a', 1, 9), ('c', 2, 8)]
    """
    length = len(string)
    places = range(1, prefix_length(length, distance) + 1)
    return [_bucket(string[i - 1], i, length - i, index) for i in places if i <= length]


def buckets_to_probe(string: Sequence[str], distance: Fraction, index: str = "suffix") -> list[Bucket]:
    """The buckets in which every string near enough to this one is found.

    With "position", place j is looked at for place i if j <= (J L - J - i + 2) / (1 - J). With "suffix", also the
    number m of symbols behind it counts: i + j - 2 + |k - m| <= J (1 + min(k, m)) / (1 - J).

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
            found += [(symbol, j) for j in range(1, last_place(length, i, distance) + 1)]
        else:
            longest = partner_lengths(length, distance)[-1]
            places = ((j, m) for j in range(1, longest + 1) for m in range(longest + 1))
            found += [(symbol, j, m) for j, m in places if suffixes_match(i, length - i, j, m, distance)]
    return found


def last_place(length: int, i: int, distance: Fraction) -> int:
    """The last place j of another string at which symbol i may first be shared: (J L - J - i + 2) / (1 - J).

    E >= i + j - 2 symbols differ and at most C <= L - i + 1 are shared, while E / (E + C) <= J.

    Examples
    --------
    >>> [last_place(10, i, Fraction(1, 5)) for i in (1, 2, 3)]
    [3, 2, 1]
    """
    return floor((distance * length - distance - i + 2) / (1 - distance))


def suffixes_match(i: int, k: int, j: int, m: int, distance: Fraction) -> bool:
    """May place i with k symbols behind it be the first shared with place j and m symbols behind it?

    Examples
    --------
    >>> suffixes_match(1, 4, 1, 5, Fraction(1, 5)), suffixes_match(2, 3, 2, 3, Fraction(1, 5))
    (True, False)
    """
    return (i + j - 2 + abs(k - m)) * (1 - distance) <= distance * (1 + min(k, m))


def _bucket(symbol: str, place: int, behind: int, index: str) -> Bucket:
    if index == "prefix":
        return (symbol,)
    if index == "position":
        return symbol, place
    if index == "suffix":
        return symbol, place, behind
    raise UsageError(f"index {index!r}: prefix, position or suffix")
