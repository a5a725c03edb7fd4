"""Dates in parts, compared many pairs at a time; typing errors can have made impossible dates of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.types import Bool, Float64, Int32, Int64, to_numpy

ISO = r"^(?P<y>\d{4})(?:-(?P<m>\d\d))?(?:-(?P<d>\d\d))?$"


@dataclass(frozen=True, slots=True)
class Dates:
    """The year, month and day of each value; 0 where a value does not tell.

    Examples
    --------
    >>> dates = Dates.parse(pa.array(["1990-04-03", "1990-03-04", "1990", "easter"], pa.large_string()))
    >>> dates.year.tolist(), dates.month.tolist()
    ([1990, 1990, 1990, 0], [4, 3, 0, 0])
    """

    year: Int32
    month: Int32
    day: Int32
    days: Float64
    """Since the beginning of 1970, of months and years their first day; NaN where there is no such date."""
    digits: Any
    """What is left of a value without hyphens, as str objects."""

    @classmethod
    def parse(cls, values: pa.Array) -> Dates:
        """Take yyyy, yyyy-mm and yyyy-mm-dd apart (large_string)."""
        groups = pc.extract_regex(values, ISO)
        digits = np.empty(len(values), object)
        digits[:] = pc.replace_substring(values, "-", "").to_pylist()
        year, month, day = (_whole(pc.struct_field(groups, part)) for part in "ymd")
        return cls(year, month, day, _count_days(year, month, day), digits)

    def swapped(self, left: Int32, right: Int32) -> Bool:
        """Is the one's day the other's month and the other way round, in the same year?"""
        same = (self.year[left] == self.year[right]) & (self.day[left] > 0) & (self.day[right] > 0)
        crossed = (self.day[left] == self.month[right]) & (self.month[left] == self.day[right])
        return np.asarray(same & crossed)

    def count_equal_parts(self, left: Int32, right: Int32) -> Int64:
        """In how many of year, month and day two dates agree."""
        parts = (self.year, self.month, self.day)
        return np.asarray(np.sum([(part[left] == part[right]) & (part[left] > 0) for part in parts], axis=0))

    def near(self, left: Int32, right: Int32) -> Bool:
        """At most 31 days apart; a year where both are years only, none where only one is."""
        days, years = self.days, self.year
        with_months = (self.month[left] > 0).astype(np.int8) + (self.month[right] > 0)
        apart = np.abs(years[left] - years[right])
        known = (years[left] > 0) & (years[right] > 0)
        by_days = np.abs(days[left] - days[right]) <= 31
        return np.asarray(known & np.select([with_months == 2, with_months == 1], [by_days, apart == 0], apart <= 1))


def _whole(part: pa.Array) -> Int32:
    filled = pc.if_else(pc.equal(pc.utf8_length(pc.fill_null(part, "")), 0), "0", part)
    return to_numpy(filled.cast(pa.int32()))


def _count_days(year: Int32, month: Int32, day: Int32) -> Float64:
    month, day = np.maximum(month, 1), np.maximum(day, 1)
    months = (year.astype(np.int64) - 1970) * 12 + month - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64) + day - 1
    return np.where((year > 0) & (month <= 12) & (day <= 31), days, np.nan)
