"""CSV and TSV with a header: RFC 4180 quoting, including newlines inside quotes.

Rows are separated by the rules of Arrow and Python, so that a row can be kept unchanged: a quote at the start of a
field opens it, an odd number of quotes closes it, any other quote is a plain character, and a newline outside quotes
ends a row.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv

from lookalike.errors import BadDataError
from lookalike.kernels import rows as kernels
from lookalike.read.columns import BadRow, bad_byte, missing_column, one_array
from lookalike.read.files import File
from lookalike.read.lines import LineSource, Parsed, Rows
from lookalike.read.long import LongRow
from lookalike.types import READ_LIMITS, Bool, Int64, ReadLimits, UInt8, Wanted
from lookalike.types import compute as pc

_OPEN_QUOTE = "not valid CSV: a quote is not closed"
QUOTE, NEWLINE, RETURN = b'"'[0], b"\n"[0], b"\r"[0]

# by default, Python refuses fields of more than 128 KiB; the limit applies to the whole process
csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))


class CsvSource(LineSource):
    """A file of separated values; every value is a string, stripped of surrounding whitespace."""

    has_head = True

    def __init__(self, file: File, encoding: str, limits: ReadLimits = READ_LIMITS) -> None:
        super().__init__(file, encoding, limits)
        self.delimiter = "\t" if file.suffix == ".tsv" else ","
        self._names: list[str] | None = None

    def column_names(self) -> Sequence[str]:
        """The names in the header."""
        self.layout()
        return self._names or []

    def head_end(self, data: bytes, line: int) -> int:
        """Where the header ends, which is the first row that is not blank; 0 if all are."""
        rows = Rows(pa.py_buffer(data), self.row_ends(data))
        filled = self.item_rows(rows)
        if len(filled) == 0:
            return 0
        line += data.count(b"\n", 0, int(rows.starts[filled[0]]))
        try:
            names = split_row(rows.row(int(filled[0])), self.delimiter)
            if any("\r" in name for name in names):
                raise ValueError("lines end in carriage returns; save the file with newlines")
            self._names = names
        except ValueError as error:
            raise BadDataError(f"{self.name}:{line}: in the header: {error}") from error
        return int(rows.ends[filled[0]])

    def find_end(self) -> Callable[[bytes], int]:
        """Quotes are tracked across the pieces of a row."""
        state = np.array([0, 0, 0, NEWLINE], np.int64)
        return lambda piece: int(kernels.end_of_csv_row(np.frombuffer(piece, np.uint8), ord(self.delimiter), state))

    def rows_end(self, data: bytes) -> int:
        """Where the last complete row ends."""
        if QUOTE not in data:
            return data.rfind(b"\n") + 1
        ends = row_ends(np.frombuffer(data, np.uint8), self.delimiter)
        return int(ends[-1]) if len(ends) else 0

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Newlines outside quotes; text after the last one is a row too."""
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
        if len(rows) == 0:
            nothing = pa.nulls(0, pa.large_string())
            return Parsed(nothing, dict.fromkeys(wanted.columns, nothing))
        places = {name: self._place(name) for name in (wanted.features, *wanted.columns)}
        if not rows.is_utf8() or self._is_open(rows) or has_lone_return(rows.values):
            return None
        if rows.row(0).startswith(codecs.BOM_UTF8):
            return None  # Arrow would take it for the byte order mark of a file
        table = self._read_csv(rows, [str(place) for place in places.values()])
        if table is None or table.num_rows != len(rows):
            return None
        found = {name: _strip(table.column(str(place))) for name, place in places.items()}
        return Parsed(found[wanted.features], {name: found[name] for name in wanted.columns})

    def parse_long(self, row: LongRow, wanted: Wanted, first: bool) -> Parsed | None:  # noqa: ARG002
        """One row: its long fields are unquoted in place, the rest goes through Python's parser."""
        end = row.text_end

        def find_fields(data: UInt8, least: int, spans: Int64) -> int:
            count = int(kernels.find_csv_fields(data[:end], ord(self.delimiter), least, spans))
            if count < 0:
                raise ValueError(_OPEN_QUOTE)
            return count

        short = row.shorten(find_fields)
        if short is None:
            return None
        values = self._check_count(split_row(short, self.delimiter))
        row.unescape(
            lambda data, start, stop: strip_span(row.data, start, int(kernels.unescape_csv(data, start, stop)))
        )
        found = {}
        for name in (wanted.features, *wanted.columns):
            value = values[self._place(name)]
            text = row.text_of(value)
            found[name] = pa.array([value], pa.large_string()) if text is None else text
        return Parsed(found[wanted.features], {name: found[name] for name in wanted.columns})

    def _check_count(self, values: list[str]) -> list[str]:
        if len(values) != len(self.column_names()):
            raise ValueError(f"expected {len(self.column_names())} fields as in the header, found {len(values)}")
        return values

    def _is_open(self, rows: Rows) -> bool:
        """Whether the last row ends inside quotes, which parsers accept."""
        return len(quote_switches(rows.values, self.delimiter)) % 2 == 1

    def _read_csv(self, rows: Rows, names: list[str]) -> pa.Table | None:
        fields = [str(place) for place in range(len(self.column_names()))]
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(rows.data),
                pyarrow.csv.ReadOptions(use_threads=False, block_size=rows.data.size + 1, column_names=fields),
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
        good, bad = [], []
        for row in range(len(rows)):
            try:
                values = split_row(rows.row(row), self.delimiter)
                if row == len(rows) - 1 and self._is_open(rows):
                    raise ValueError(_OPEN_QUOTE)
                good.append(self._check_count(values))
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
            raise BadDataError(f"{self.name}: the header has column {name!r} more than once; rename one of them")
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
        text = row.decode("utf-8").removesuffix("\n").removesuffix("\r")
        # Python and Arrow end a row at a lone carriage return: hide it from them
        hidden = next(mark for mark in map(chr, range(0xE000, 0xF8FF)) if mark not in text) if "\r" in text else "\r"
        lines = io.StringIO(text.replace("\r", hidden), newline="")
        found = list(csv.reader(lines, delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise ValueError(bad_byte(error)) from error
    except csv.Error as error:
        raise ValueError(f"not valid CSV: {error}") from error
    if len(found) != 1:
        raise ValueError(f"not valid CSV: {len(found)} rows in one")
    return [value.replace(hidden, "\r").strip() for value in found[0]]


def strip_span(row: bytearray, start: int, end: int) -> tuple[int, int]:
    """Where row[start:end] starts and ends without the whitespace around it.

    Examples
    --------
    >>> strip_span(bytearray(b"  a b "), 0, 6)
    (2, 5)
    """
    size = 64
    while head := row[start : min(end, start + size)].decode("utf-8", "ignore"):
        spaces = len(head) - len(head.lstrip())
        start += len(head[:spaces].encode())
        if spaces < len(head):
            break
    while start < end and (tail := row[max(start, end - size) : end].decode("utf-8", "ignore")):
        kept = len(tail.rstrip())
        end -= len(tail[kept:].encode())
        if kept:
            break
    return start, end


def quote_switches(data: UInt8, delimiter: str) -> Int64:
    r"""Where quoting starts and ends, alternately; an escaped quote ends it and starts it again.

    Examples
    --------
    >>> quote_switches(np.frombuffer(b'"a ""b",c', np.uint8), ",").tolist()
    [0, 3, 4, 6]
    >>> quote_switches(np.frombuffer(b'5" disk,"c"', np.uint8), ",").tolist()
    [8, 10]
    """
    quotes = np.flatnonzero(data == QUOTE)
    begins = np.zeros(256, bool)
    begins[[NEWLINE, ord(delimiter), QUOTE]] = True
    before = data[np.maximum(quotes - 1, 0)]
    can_begin = begins[before] | (quotes == 0)
    if can_begin[0::2].all():
        return quotes
    return _exact_switches(quotes, begins[before] & (before != QUOTE) | (quotes == 0))


def _exact_switches(quotes: Int64, at_start: Bool) -> Int64:
    """The same if some quotes are plain characters: each run of quotes depends on the text before it.

    A run switches only if its length is odd and, outside quotes, only at the start of a field.
    """
    first = np.flatnonzero(np.diff(quotes, prepend=-2) != 1)
    odd = first[np.diff(first, append=len(quotes)) % 2 == 1]
    switches, quoted = np.zeros(len(odd), bool), False
    for run, can_open in enumerate(at_start[odd].tolist()):
        switches[run] = quoted or can_open
        quoted ^= bool(switches[run])
    return np.compress(switches, quotes[odd])


def row_ends(data: UInt8, delimiter: str) -> Int64:
    r"""Where rows end: after newlines outside quotes.

    Examples
    --------
    >>> row_ends(np.frombuffer(b'a,"b\nc"\nd,5" disk\n', np.uint8), ",").tolist()
    [8, 18]
    """
    newlines = np.flatnonzero(data == NEWLINE)
    switches = quote_switches(data, delimiter)
    if len(switches):
        newlines = newlines[np.searchsorted(switches, newlines) % 2 == 0]
    return newlines + 1


def has_lone_return(data: UInt8) -> bool:
    """Whether a carriage return is followed by anything but a newline."""
    returns = np.flatnonzero(data == RETURN)
    return bool((data[np.minimum(returns + 1, len(data) - 1)] != NEWLINE).any())


def _strip(column: pa.ChunkedArray) -> pa.Array:
    return pc.utf8_trim_whitespace(one_array(column))
