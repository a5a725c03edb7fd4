"""CSV and TSV with a header: RFC 4180 quoting, newlines within quotes included.

Rows are told apart by counting runs of quotes: a run of odd length opens or closes a quoted field if it
touches a delimiter or a line end, and a newline ends a row where the number of such runs before it is even.
Other quotes stand within an unquoted field and mean themselves. Arrow parses a block where opening and
closing runs alternate as they should: then it tells the rows apart in the same way. Any other block is read row
by row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from lookalike.errors import BadDataError
from lookalike.read.columns import BadRow, bad_byte, missing_column, one_array
from lookalike.read.files import File
from lookalike.read.lines import LineSource, Parsed, Rows
from lookalike.types import Bool, Int64, UInt8, Wanted

QUOTE, NEWLINE, RETURN = b'"'[0], b"\n"[0], b"\r"[0]

# Python refuses fields of more than 128 KiB unless told otherwise, for the whole process
csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))


class CsvSource(LineSource):
    """A file of separated values; every value is a string, stripped of surrounding spaces."""

    def __init__(self, file: File, encoding: str) -> None:
        super().__init__(file, encoding)
        self.delimiter = "\t" if file.suffix == ".tsv" else ","
        self._names: list[str] | None = None

    def column_names(self) -> Sequence[str]:
        """The names in the header."""
        self.layout()
        return self._names or []

    def head_end(self, data: bytes) -> int:
        """Where the header ends: the first row that is not blank."""
        rows = Rows(pa.py_buffer(data), self.row_ends(data))
        filled = self.item_rows(rows)
        if len(filled) == 0:
            return len(data)
        line = 1 + data.count(b"\n", 0, int(rows.starts[filled[0]]))
        try:
            self._names = split_row(rows.row(int(filled[0])), self.delimiter)
        except ValueError as error:
            raise BadDataError(f"{self.name}:{line}: in the header: {error}") from error
        return int(rows.ends[filled[0]])

    def rows_end(self, data: bytes) -> int:
        """Where the last row ends that is not within quotes."""
        if QUOTE not in data:
            return data.rfind(b"\n") + 1
        ends = row_ends(np.frombuffer(data, np.uint8), self.delimiter)
        return int(ends[-1]) if len(ends) else 0

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Newlines outside of quotes; what follows the last one is a row too."""
        ends = row_ends(np.frombuffer(data, np.uint8), self.delimiter)
        if len(data) and (len(ends) == 0 or ends[-1] != len(data)):
            ends = np.append(ends, len(data))
        return ends

    def item_rows(self, rows: Rows) -> Int64:
        """Rows that hold more than a line end."""
        data, starts = rows.values, rows.starts
        length = rows.ends - starts
        blank = (length == 1) & (data[starts] == NEWLINE)
        blank |= (length == 2) & (data[starts] == RETURN) & (data[rows.ends - 1] == NEWLINE)
        return np.flatnonzero(~blank)

    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:  # noqa: ARG002
        """All rows at once with Arrow."""
        places = {name: self._place(name) for name in (wanted.features, *wanted.columns)}
        if len(rows) == 0:
            nothing = pa.array([], pa.large_string())
            return Parsed(nothing, dict.fromkeys(wanted.columns, nothing))
        if not rows.is_utf8() or not is_well_quoted(rows.values, self.delimiter):
            return None
        table = self._read_csv(rows, [str(place) for place in places.values()])
        if table is None or table.num_rows != len(rows):
            return None
        found = {name: _strip(table.column(str(place))) for name, place in places.items()}
        return Parsed(found[wanted.features], {name: found[name] for name in wanted.columns})

    def _read_csv(self, rows: Rows, names: list[str]) -> pa.Table | None:
        fields = [str(place) for place in range(len(self.column_names()))]
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(rows.data),
                pyarrow.csv.ReadOptions(False, block_size=rows.data.size + 1, column_names=fields),
                pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.large_string()),
                    include_columns=[*dict.fromkeys(names)],
                ),
            )
        except (pa.ArrowException, OverflowError):
            return None

    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:  # noqa: ARG002
        """Each row with Python's parser."""
        names = self.column_names()
        good, bad = [], []
        for row in range(len(rows)):
            try:
                values = split_row(rows.row(row), self.delimiter)
                if len(values) != len(names):
                    raise ValueError(f"{len(values)} fields where the header has {len(names)}")
                good.append(values)
            except ValueError as error:
                bad.append(BadRow(row, str(error)))
        columns = {
            name: pa.array([values[self._place(name)] for values in good], pa.large_string())
            for name in (wanted.features, *wanted.columns)
        }
        return Parsed(columns[wanted.features], {name: columns[name] for name in wanted.columns}, bad)

    def _place(self, name: str) -> int:
        names = list(self.column_names())
        if names.count(name) > 1:
            raise BadDataError(f"{self.name}: the header names column {name!r} more than once")
        if name not in names:
            raise missing_column(name, self.name, names)
        return names.index(name)


def split_row(row: bytes, delimiter: str) -> list[str]:
    r"""The fields of one row, stripped; a ValueError says what is wrong with it.

    Examples
    --------
    >>> split_row(b'1, "5"" disk, new"\r\n', ","), split_row(b'1,"5"" disk, new"\r\n', ",")
    (['1', '"5"" disk', 'new"'], ['1', '5" disk, new'])
    """
    try:
        text = row.decode("utf-8")
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except UnicodeDecodeError as error:
        raise ValueError(bad_byte(error)) from error
    except csv.Error as error:
        raise ValueError(f"not valid CSV: {error}") from error
    if len(found) != 1:
        raise ValueError("not valid CSV: a quote that opens or closes nothing")
    return [value.strip() for value in found[0]]


@dataclass(frozen=True, slots=True)
class QuoteRuns:
    """The runs of an odd number of quotes that touch a delimiter or line end."""

    starts: Int64
    opening: Bool
    """Whether a delimiter or line end stands before."""
    closing: Bool
    """Whether one stands after."""
    strays: int
    """Odd runs that touch neither."""


def quote_runs(data: UInt8, delimiter: str) -> QuoteRuns:
    """Find the quotes that can open or close a field."""
    quotes = np.flatnonzero(data == QUOTE)
    if len(quotes) == 0:
        none = np.zeros(0, bool)
        return QuoteRuns(quotes, none, none, 0)
    first = np.flatnonzero(np.diff(quotes, prepend=-2) != 1)
    length = np.diff(first, append=len(quotes))
    starts, length = quotes[first][length % 2 == 1], length[length % 2 == 1]
    edge = np.zeros(256, bool)
    edge[[NEWLINE, RETURN, ord(delimiter)]] = True
    after = starts + length
    opening = (starts == 0) | edge[data[np.maximum(starts - 1, 0)]]
    closing = (after == len(data)) | edge[data[np.minimum(after, len(data) - 1)]]
    touching = opening | closing
    strays = len(starts) - int(touching.sum())
    return QuoteRuns(starts[touching], opening[touching], closing[touching], strays)


def row_ends(data: UInt8, delimiter: str) -> Int64:
    r"""Where rows end: after newlines that are not within quotes.

    Examples
    --------
    >>> row_ends(np.frombuffer(b'a,"b\nc"\nd,5" disk\n', np.uint8), ",").tolist()
    [8, 18]
    """
    newlines = np.flatnonzero(data == NEWLINE)
    runs = quote_runs(data, delimiter)
    if len(runs.starts):
        newlines = newlines[np.searchsorted(runs.starts, newlines) % 2 == 0]
    return newlines + 1


def is_well_quoted(data: UInt8, delimiter: str) -> bool:
    """Whether runs that open and runs that close take turns, with no stray quote between."""
    runs = quote_runs(data, delimiter)
    even = len(runs.starts) % 2 == 0
    return runs.strays == 0 and even and bool(runs.opening[0::2].all() and runs.closing[1::2].all())


def _strip(column: pa.ChunkedArray) -> pa.Array:
    return pc.utf8_trim_whitespace(one_array(column))
