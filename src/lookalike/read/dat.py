"""Sets of integers separated by spaces, one set per line; a blank line is the empty set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.kernels.integers import parse_integers
from lookalike.read.columns import BadRow, missing_column
from lookalike.read.lines import LineSource, Parsed, Rows, line_ends
from lookalike.read.long import LongRow
from lookalike.read.txt import COLUMN
from lookalike.types import Int64, Wanted, to_arrow
from lookalike.types import compute as pc

_SHOWN = 20
"""Bytes of a bad line quoted in its error."""


class DatSource(LineSource):
    """A file of sets."""

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Rows are lines."""
        return line_ends(data)

    def item_rows(self, rows: Rows) -> Int64:
        """Every line is an item."""
        return np.arange(len(rows))

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:
        """All lines at once, or None if one is bad."""
        parsed = self.parse_each(rows, wanted, hint)
        return None if parsed.bad else parsed

    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:  # noqa: ARG002
        """The lines that hold integers and nothing else."""
        for name in (wanted.features, *wanted.columns):
            if name != COLUMN:
                raise missing_column(name, self.name, [COLUMN])
        lists, wrong = parse_sets(rows)
        bad = [BadRow(int(row), _describe(rows.row(int(row)), int(wrong[row]))) for row in np.flatnonzero(wrong)]
        if bad:
            lists = pc.take(lists, to_arrow(np.flatnonzero(wrong == 0)))
        return Parsed(lists, dict.fromkeys(wanted.columns, lists), bad)

    def parse_long(self, row: LongRow, wanted: Wanted, first: bool) -> Parsed | None:  # noqa: ARG002
        """A very large set."""
        rows = Rows(pa.py_buffer(row.data), np.array([len(row.data)], np.int64))
        parsed = self.parse_each(rows, wanted, None)
        if parsed.bad:
            raise ValueError(parsed.bad[0].error)
        return parsed


def parse_sets(rows: Rows) -> tuple[pa.Array, Int64]:
    """The numbers of each line; and for each line 0, or the position of its first error (from 1)."""
    values = np.empty(rows.data.size // 2 + len(rows) + 1, np.int64)
    offsets, wrong = np.empty(len(rows) + 1, np.int64), np.empty(len(rows), np.int64)
    count = parse_integers(rows.values, rows.ends, values, offsets, wrong)
    return pa.LargeListArray.from_arrays(to_arrow(offsets), to_arrow(values[:count])), wrong


def _describe(line: bytes, place: int) -> str:
    shown = line[place - 1 : place - 1 + _SHOWN].decode("utf-8", "backslashreplace").strip()
    return f"not 64-bit integers separated by spaces: {shown!r} at character {place}"
