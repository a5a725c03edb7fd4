"""Dates in parts; typing errors can have made impossible dates of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.types import Float64, Int32, to_numpy

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

    @classmethod
    def parse(cls, values: pa.Array) -> Dates:
        """Take yyyy, yyyy-mm and yyyy-mm-dd apart (large_string)."""
        groups = pc.extract_regex(values, ISO)
        year, month, day = (_whole(pc.struct_field(groups, part)) for part in "ymd")
        return cls(year, month, day, _count_days(year, month, day))


def _whole(part: pa.Array) -> Int32:
    filled = pc.if_else(pc.equal(pc.utf8_length(pc.fill_null(part, "")), 0), "0", part)
    return to_numpy(filled.cast(pa.int32()))


def _count_days(year: Int32, month: Int32, day: Int32) -> Float64:
    month, day = np.maximum(month, 1), np.maximum(day, 1)
    months = (year.astype(np.int64) - 1970) * 12 + month - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64) + day - 1
    return np.where((year > 0) & (month <= 12) & (day <= 31), days, np.nan)
