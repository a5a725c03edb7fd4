"""Sets of integers, one a line, with spaces between; a blank line is the empty set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.kernels.integers import count_numbers, parse_numbers
from lookalike.read.columns import BadRow, missing_column
from lookalike.read.lines import LineSource, Parsed, Rows, line_ends
from lookalike.read.txt import COLUMN
from lookalike.types import Bool, Int64, Wanted, to_arrow

GAPS = b" \t\r\n"
LARGEST_SHOWN = 40
"""So many bytes of what is no integer are shown."""


class DatSource(LineSource):
    """A file of sets."""

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Rows are lines."""
        return line_ends(data)

    def item_rows(self, rows: Rows) -> Int64:
        """Every line is an item."""
        return np.arange(len(rows))

    def column_names(self) -> Sequence[str]:
        """One column, called as that of plain text."""
        return [COLUMN]

    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:  # noqa: ARG002
        """All lines at once."""
        for name in (wanted.features, *wanted.columns):
            if name != COLUMN:
                raise missing_column(name, self.name, [COLUMN])
        sets, bad = _parse(rows)
        return None if bad.any() else Parsed(sets, dict.fromkeys(wanted.columns, sets))

    def parse_long(self, row: bytearray, wanted: Wanted, first: bool) -> Parsed | None:  # noqa: ARG002
        """A long line is parsed as any other: it has no long value."""
        return None

    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:  # noqa: ARG002
        """Only the lines that hold integers."""
        sets, bad = _parse(rows)
        good = sets.take(to_arrow(np.flatnonzero(~bad)))
        wrong = [BadRow(row, _what_is_wrong(rows.row(row))) for row in np.flatnonzero(bad).tolist()]
        return Parsed(good, dict.fromkeys(wanted.columns, good), wrong)


def _parse(rows: Rows) -> tuple[pa.Array, Bool]:
    """The sets as lists of integers, and which lines are bad (their lists are empty)."""
    values: Int64 = np.empty(count_numbers(rows.values), np.int64)
    offsets: Int64 = np.empty(len(rows) + 1, np.int64)
    bad: Bool = np.empty(len(rows), np.bool_)
    parse_numbers(rows.values, rows.ends, values, offsets, bad)
    lists = pa.large_list(pa.int64())
    stored = pa.Array.from_buffers(lists, len(rows), [None, pa.py_buffer(offsets)], children=[to_arrow(values)])
    return stored, bad


def _what_is_wrong(row: bytes) -> str:
    r"""The first part of a line that is no integer.

    Examples
    --------
    >>> _what_is_wrong(b"1 2 x3\n"), _what_is_wrong(b"-1 99999999999999999999\n")
    ("'x3' is not an integer", "'99999999999999999999' does not fit into 64 bits")
    """
    for part in row.translate(bytes.maketrans(GAPS, b" " * len(GAPS))).split(b" "):
        shown = repr(part[:LARGEST_SHOWN].decode("utf-8", "backslashreplace"))
        digits = part.removeprefix(b"-")
        if part and not digits.isdigit():
            return f"{shown} is not an integer"
        if len(digits) > LARGEST_SHOWN or (part and not -(1 << 63) <= int(part) < 1 << 63):
            return f"{shown} does not fit into 64 bits"
    return "not a set of integers"
