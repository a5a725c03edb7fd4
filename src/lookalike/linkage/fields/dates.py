"""Dates: read in the forms that people use, written as ISO dates, and split into year, month and day.

Works on all values of a column at once. Knows the common orders and English month names, but no calendar: 31 February
is a date with a typing error, whose parts can still be compared.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from lookalike.types import Float64, Int32, strings_to_arrow, text_scalar, to_numpy
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

ORDERS = {"ymd": "year-month-day", "dmy": "day-month-year", "mdy": "month-day-year"}
"""The orders in which the three parts of a date may be written."""
PIVOT = "30"
"""Two-digit years below this belong to the 2000s, the others to the 1900s. Fixed, so that results never change."""

_TIME = r"(?:[t ,]+\d{1,2}:.*)?$"
_NUMERIC = r"^(?P<a>\d{1,2})[-/. ](?P<b>\d{1,2})[-/. ](?P<y>\d{4}|\d{2})" + _TIME
_COMPACT = {
    "ymd": r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})$",
    "dmy": r"^(?P<d>\d{2})(?P<m>\d{2})(?P<y>\d{4})$",
    "mdy": r"^(?P<m>\d{2})(?P<d>\d{2})(?P<y>\d{4})$",
}
_PLAIN = {
    "ymd": r"^(?P<y>\d{4})[-/. ](?P<m>\d{1,2})[-/. ](?P<d>\d{1,2})" + _TIME,
    "dmy": _NUMERIC.replace("<a>", "<d>").replace("<b>", "<m>"),
    "mdy": _NUMERIC.replace("<a>", "<m>").replace("<b>", "<d>"),
}
_NAMED = (
    r"^(?P<d>\d{1,2})(?:st|nd|rd|th)?[-/. ]+(?P<n>[a-z]{3,9})[-/., ]+(?P<y>\d{4}|\d{2})" + _TIME,
    r"^(?P<n>[a-z]{3,9})[. ]+(?P<d>\d{1,2})(?:st|nd|rd|th)?[, ]+(?P<y>\d{4})" + _TIME,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = r"^(?P<y>\d{4})$"
_YEAR_MONTH = r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})$"
WRITTEN = "|".join(
    re.sub(r"\?P<\w>", "?:", one) for one in (*_PLAIN.values(), *_COMPACT.values(), *_NAMED, _YEAR, _YEAR_MONTH)
)
"""What all dates look like, in lower case. One search for it excludes most texts in a fraction of the time."""
_ISO = r"^(?P<y>\d{4})(?:-(?P<m>\d\d))?(?:-(?P<d>\d\d))?$"
DATE = r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$"
"""An ISO date with a month and a day that exist."""
REAL = DATE.replace(r"\d{4}", r"(?:1[5-9]|20)\d\d", 1)
"""The same with a plausible year, from 1500 to 2099. Only such years make dates of numbers without separators."""


def _text(value: str) -> pa.Scalar:
    return text_scalar(value)


def _join(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _text("-"))


def _year(written: pa.Array) -> pa.Array:
    century = pc.if_else(pc.less(written, _text(PIVOT)), _text("20"), _text("19"))
    whole = pc.binary_join_element_wise(century, written, _text(""))
    return pc.if_else(pc.equal(pc.utf8_length(written), 2), whole, written)


def _two(part: pa.Array) -> pa.Array:
    return pc.utf8_lpad(part, 2, "0")


def _extract(values: pa.Array, pattern: str) -> pa.Array:
    """ISO dates from the groups y, m (or n, the month's name) and d of a pattern; null if it does not match."""
    groups = pc.extract_regex(values, pattern)
    if "<n>" in pattern:
        begins = pc.utf8_slice_codeunits(pc.struct_field(groups, "n"), 0, 3)
        month = pc.cast(pc.add(pc.index_in(begins, strings_to_arrow(_MONTHS)), 1), pa.large_string())
    else:
        month = pc.struct_field(groups, "m")
    return _join(_year(pc.struct_field(groups, "y")), _two(month), _two(pc.struct_field(groups, "d")))


def _count(dates: pa.Array, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(dates, pattern)).as_py() or 0)


def find_order(values: pa.Array) -> str:
    """The order in which the dates of a column are written, judging by all its values; "" if it remains ambiguous.

    Parameters
    ----------
    values : large_string
        Stripped and in lower case.

    Examples
    --------
    >>> find_order(pa.array(["03/04/1990", "23/04/1990"], pa.large_string()))
    'dmy'
    >>> find_order(pa.array(["03/04/1990"], pa.large_string()))
    ''
    """
    counts = {
        order: _count(_extract(values, _PLAIN[order]), DATE) + _count(_extract(values, _COMPACT[order]), REAL)
        for order in ORDERS
    }
    best = max(counts.values())
    leading = [order for order, count in counts.items() if count == best and best]
    return leading[0] if len(leading) == 1 else ""


def iso_dates(values: pa.Array, order: str) -> pa.Array:
    """Dates as yyyy-mm-dd, years as yyyy, months as yyyy-mm; null for any other value.

    Parameters
    ----------
    values : large_string
        Stripped and in lower case.
    order : str
        The order of dates that consist of digits only, or begin with a day or a month. Dates that begin with a year
        are read as such.

    Examples
    --------
    >>> written = pa.array(["3/4/90", "apr 3, 1990", "04031990", "1990", "easter"], pa.large_string())
    >>> iso_dates(written, "mdy").to_pylist()
    ['1990-03-04', '1990-04-03', '1990-04-03', '1990', None]
    """
    written = [
        _extract(values, _PLAIN["ymd"]),
        _extract(values, _PLAIN["mdy" if order == "mdy" else "dmy"]),
        *(_extract(values, pattern) for pattern in _NAMED),
        _extract(values, _COMPACT[order]),
    ]
    groups = pc.extract_regex(values, _YEAR_MONTH)
    month = _join(pc.struct_field(groups, "y"), _two(pc.struct_field(groups, "m")))
    return pc.coalesce(*written, month, pc.struct_field(pc.extract_regex(values, _YEAR), "y"))


@frozen
class Dates:
    """The year, month and day of each ISO date; 0 for a part that it does not have.

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
    """Days since the beginning of 1970 (for a month or year: of its first day); NaN if there is no such date."""

    @classmethod
    def parse(cls, values: pa.Array) -> Dates:
        """Split yyyy, yyyy-mm and yyyy-mm-dd (large_string)."""
        groups = pc.extract_regex(values, _ISO)
        year, month, day = (_whole(pc.struct_field(groups, part)) for part in "ymd")
        return cls(year, month, day, _count_days(year, month, day))


def _whole(part: pa.Array) -> Int32:
    filled = pc.if_else(pc.equal(pc.utf8_length(pc.fill_null(part, "")), 0), "0", part)
    return to_numpy(pc.cast(filled, pa.int32()))


def _count_days(year: Int32, month: Int32, day: Int32) -> Float64:
    month, day = np.maximum(month, 1), np.maximum(day, 1)
    months = (year.astype(np.int64) - 1970) * 12 + month - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64) + day - 1
    return np.where((year > 0) & (month <= 12) & (day <= 31), days, np.nan)
