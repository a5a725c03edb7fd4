"""Random cells of a few measurements: hash functions for faces.

A function selects r of the measurements, divides each into ranges with a random start, and puts an item in the cell of
its ranges. Near the edge of a range, an item can also be in the adjacent one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.errors import BadDataError, UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_seed
from lookalike.types import NOWHERE, Bool, Float64, Int64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
LARGEST_CELL = float(1 << 52)
"""Cells beyond this number cannot be distinguished: the width is far too small for the values."""


class Cells(Family):
    """Cells of r random measurements; the distance is in widths, the same in each of the chosen measurements.

    Parameters
    ----------
    widths
        The width of the ranges: one number per measurement, or one for all.
    r
        The number of measurements that a function selects.
    edge
        A share of the width, at most a half: closer than this to the edge of a range, an item is also in the next one.
    seed
        Another seed draws other measurements and other ranges.

    Examples
    --------
    >>> people = np.array([[170.0, 60.0, 44.0], [170.1, 60.0, 44.0], [190.0, 80.0, 48.0]])
    >>> hashed = Cells([5, 5, 2], r=2).hash(people, count=10)
    >>> int(hashed.agree(3, np.array([0]), np.array([1]))[0]), int(hashed.agree(3, np.array([0]), np.array([2]))[0])
    (1, 0)
    """

    distance = "widths in each of the chosen measurements"

    def __init__(self, widths: float | Sequence[float] | Float64, r: int = 3, edge: float = 0.0, seed: int = 1) -> None:
        self.widths = np.atleast_1d(np.asarray(widths, np.float64))
        if self.widths.ndim != 1 or not self.widths.size or not (np.isfinite(self.widths) & (self.widths > 0)).all():
            raise UsageError("widths must be a positive number for each measurement, or one for all")
        if not 1 <= r <= 16:
            raise UsageError(f"r must be from 1 to 16 measurements, not {r}")
        if not 0 <= edge <= 0.5:
            raise UsageError(f"edge must be from 0 (no second range) to 0.5 (always two), not {edge}")
        self.r, self.edge, self.seed = r, edge, check_seed(seed)

    def __repr__(self) -> str:
        widths = f"{self.widths[0]:g}" if self.widths.size == 1 else f"<{self.widths.size} of them>"
        return f"Cells(widths={widths}, r={self.r}, edge={self.edge:g}, seed={self.seed})"

    def probability(self, distance: float) -> float:
        """The probability that two items share a cell if they differ by `distance` widths in each chosen measurement.

        A range with its two margins is 1 + 2 edge widths long, and one starts every width, at a random offset. Two
        values `distance` apart are in a common one with probability 1 + 2 edge - distance, at most 1; the r
        measurements have independent starts. If items differ more in one measurement than in another, see `shares`.

        Examples
        --------
        >>> round(Cells(1.0, r=3).probability(0.1), 3), round(Cells(1.0, r=3, edge=0.1).probability(0.3), 3)
        (0.729, 0.729)
        """
        return float(self.shares(np.array([distance]))[0] ** self.r)

    def shares(self, distances: Float64) -> Float64:
        """The probability that two values, this many widths apart, share a range of their measurement.

        Examples
        --------
        >>> Cells(1.0, edge=0.25).shares(np.array([0.5, 1.0, 2.0])).tolist()
        [1.0, 0.5, 0.0]
        """
        return np.clip(1 + 2 * self.edge - np.abs(distances), 0.0, 1.0)

    def hash(self, items: Float64, count: int) -> Hashed:
        """The cells of items (a row each) under the first functions."""
        parts = [self.buckets_of(items, function) for function in range(count)]
        room = max((part.shape[1] for part in parts), default=1)
        buckets = np.full((count, len(items), room), NOWHERE, np.int64)
        for function, part in enumerate(parts):
            buckets[function, :, : part.shape[1]] = part
        return Hashed(buckets)

    def chosen(self, function: int, measurements: int) -> tuple[Int64, Float64]:
        """The measurements that a function selects, and where their ranges start, in widths.

        Examples
        --------
        >>> columns, starts = Cells(1.0, r=2).chosen(0, 99)
        >>> len(set(columns.tolist())), bool((0 <= starts).all() and (starts < 1).all())
        (2, True)
        """
        if self.widths.size not in (1, measurements):
            raise UsageError(f"{self.widths.size} widths for items of {measurements} measurements")
        if measurements < self.r:
            raise UsageError(f"r is {self.r}, but the items have only {measurements} measurements")
        random = np.random.default_rng([self.seed, function])
        return random.choice(measurements, self.r, replace=False), random.random(self.r)

    def buckets_of(self, items: Float64, function: int) -> Int64:
        """The cells of items under one function: items x choices, the item's own cell first, NOWHERE after the last.

        The number of choices is the largest of any item: one without the edge rule, at most 2^r with it.
        """
        items = np.asarray(items, np.float64)
        if items.ndim != 2:
            raise UsageError("items must be a matrix with a row for each item and a column for each measurement")
        columns, starts = self.chosen(function, items.shape[1])
        check_finite(items[:, columns], columns)
        with np.errstate(over="ignore"):
            places = items[:, columns] / self.widths[columns % self.widths.size] + starts
        _check_range(places, columns)
        ranges = np.floor(places)
        inside = places - ranges
        beside = np.where(inside < self.edge, -1, np.where(inside > 1 - self.edge, 1, 0))
        return _combine(ranges.astype(np.int64), beside)


LARGEST_MEASUREMENT = 1e100
"""A larger number is a mistake, and its square would be infinite."""


def check_finite(values: Float64, columns: Int64 | None = None) -> None:
    """Refuse values that are not finite or whose squares are not, naming row and column.

    Examples
    --------
    >>> check_finite(np.array([[1.0, 2.0], [3.0, np.nan]]))
    Traceback (most recent call last):
    lookalike.errors.BadDataError: row 1, column 1: nan is not a measurement; leave the row out, or fill it in
    """
    bad = ~(np.abs(values) <= LARGEST_MEASUREMENT)
    if bad.any():
        row, place = (int(one) for one in np.argwhere(bad)[0])
        column = place if columns is None else int(columns[place])
        what = "too large for" if np.isfinite(values[row, place]) else f"{values[row, place]:g} is not"
        raise BadDataError(f"row {row}, column {column}: {what} a measurement; leave the row out, or fill it in")


def _check_range(places: Float64, columns: Int64) -> None:
    large = np.abs(places) > LARGEST_CELL
    if large.any():
        row, place = (int(one) for one in np.argwhere(large)[0])
        raise BadDataError(f"row {row}, column {int(columns[place])}: too large for the width; use a larger width")


def _combine(ranges: Int64, beside: Int64) -> Int64:
    """One 64-bit number for each cell of an item: a hash of its ranges.

    Two cells get the same number with a probability of about 2^-64, and are then compared needlessly.
    """
    cells = [np.zeros(len(ranges), np.uint64)]
    inside = [np.ones(len(ranges), np.bool_)]
    for own, step in zip(ranges.T, beside.T):
        near = step != 0
        first = [_absorb(cell, own) for cell in cells]
        if not near.any():
            cells = first
            continue
        cells = first + [_absorb(cell, own + step) for cell in cells]
        inside = inside + [known & near for known in inside]
    buckets = np.stack([cell.view(np.int64) for cell in cells], axis=1)
    buckets[buckets == NOWHERE] = 0
    return _packed(buckets, np.stack(inside, axis=1))


def _absorb(cell: np.ndarray, number: Int64) -> np.ndarray:
    mixed = (cell ^ number.view(np.uint64)) * _ODD + np.uint64(1)
    return mixed ^ (mixed >> _SHIFT)


def _packed(buckets: Int64, inside: Bool) -> Int64:
    """Move the choices of each item to the front, and drop unused columns."""
    order = np.argsort(~inside, axis=1, kind="stable")
    buckets = np.take_along_axis(np.where(inside, buckets, NOWHERE), order, axis=1)
    return np.ascontiguousarray(buckets[:, : max(1, int(inside.sum(axis=1).max(initial=1)))])
