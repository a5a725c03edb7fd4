"""Items of every kind at known distances, and a family with several buckets an item, for the tests of families."""

from __future__ import annotations

import math

import numpy as np

from lookalike.families.base import Family, Hashed
from lookalike.types import NOWHERE, Sets


def spread(expected: float, draws: int, deviations: float = 5.0) -> float:
    """How far a count of `draws` independent draws may be from draws x expected: five standard deviations."""
    return deviations * math.sqrt(draws * expected * (1 - expected)) + 1e-9


def even_and_odd(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows (0, 1), (2, 3), ... of a matrix of items."""
    return np.arange(0, 2 * count, 2), np.arange(1, 2 * count, 2)


def sets_at(distance: float, pairs: int, size: int = 60) -> tuple[Sets, float]:
    """Pairs of sets over fresh elements; of `size` elements each, and their exact Jaccard distance."""
    shared = round(2 * size * (1 - distance) / (2 - distance))
    starts = np.repeat(np.arange(pairs) * 2 * size, 2) + np.tile([0, size - shared], pairs)
    elements = (starts[:, None] + np.arange(size)).astype(np.uint64).ravel()
    # Spread over 64 bits: universal hashing of consecutive numbers is not what the tests are about.
    elements = elements * np.uint64(0x9E3779B97F4A7C15)
    rows = np.sort(elements.reshape(2 * pairs, size), axis=1)
    return Sets(np.arange(0, 2 * pairs * size + 1, size), rows.ravel()), 1 - shared / (2 * size - shared)


def vectors_at_angle(degrees: float, pairs: int, dimension: int, seed: int = 7) -> np.ndarray:
    """Pairs of vectors at this angle, in random directions and of random lengths."""
    random = np.random.default_rng(seed)
    one = random.standard_normal((pairs, dimension))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    other = random.standard_normal((pairs, dimension))
    other -= (one * other).sum(axis=1, keepdims=True) * one
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    turned = math.cos(math.radians(degrees)) * one + math.sin(math.radians(degrees)) * other
    both = np.stack([one, turned], axis=1).reshape(2 * pairs, dimension)
    return both * random.uniform(0.1, 10, (2 * pairs, 1))


def points_at(distance: float, pairs: int, dimension: int, seed: int = 8) -> np.ndarray:
    """Pairs of points at this Euclidean distance, at random places and in random directions."""
    random = np.random.default_rng(seed)
    one = random.uniform(-50, 50, (pairs, dimension))
    step = random.standard_normal((pairs, dimension))
    step *= distance / np.linalg.norm(step, axis=1, keepdims=True)
    return np.stack([one, one + step], axis=1).reshape(2 * pairs, dimension)


def bits_at(distance: int, bits: int, pairs: int, seed: int = 9) -> np.ndarray:
    """Pairs of packed rows that differ in this many of their bits; what fills up the last byte differs, too."""
    random = np.random.default_rng(seed)
    one = random.integers(0, 2, (pairs, bits), np.uint8)
    order = random.permuted(np.tile(np.arange(bits), (pairs, 1)), axis=1)
    other = one ^ (order < distance).astype(np.uint8)
    filling = -bits % 8
    both = np.stack([one, other], axis=1).reshape(2 * pairs, bits)
    return np.packbits(np.hstack([both, np.tile([[0], [1]], (pairs, filling))]), axis=1)


class Choices(Family):
    """Items that are their own buckets, several of them a function: functions x items x choices, kept as given."""

    distance = "none to speak of"

    def __init__(self, name: str = "choices") -> None:
        self.name = name

    def probability(self, distance: float) -> float:
        return math.exp(-distance)

    def hash(self, items: np.ndarray, count: int) -> Hashed:
        return Hashed(np.where(items[:count] < 0, NOWHERE, items[:count]).astype(np.int64))
