"""Plain text, one item per line; a blank line is an empty item. Also the lines of a small file that an option names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.read.columns import BadRow, find_bad_utf8, missing_column
from lookalike.read.lines import LineSource, Parsed, Rows, line_ends
from lookalike.read.long import LongRow, text_at
from lookalike.types import Int64, Wanted, to_arrow
from lookalike.types import compute as pc

COLUMN = "text"
"""The name of the only column of plain text."""


class TxtSource(LineSource):
    """A file of lines."""

    def row_ends(self, data: bytes | pa.Buffer) -> Int64:
        """Rows are lines."""
        return line_ends(data)

    def item_rows(self, rows: Rows) -> Int64:
        """Every line is an item."""
        return np.arange(len(rows))

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def _check_names(self, wanted: Wanted) -> None:
        for name in (wanted.features, *wanted.columns):
            if name != COLUMN:
                raise missing_column(name, self.name, [COLUMN])

    def parse_fast(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed | None:  # noqa: ARG002
        """All lines at once."""
        self._check_names(wanted)
        text = line_texts(rows)
        return None if find_bad_utf8(text) else Parsed(text, dict.fromkeys(wanted.columns, text))

    def parse_long(self, row: LongRow, wanted: Wanted, first: bool) -> Parsed | None:  # noqa: ARG002
        """One line, not copied."""
        self._check_names(wanted)
        text = text_at(row.data, 0, row.text_end)
        return Parsed(text, dict.fromkeys(wanted.columns, text))

    def parse_each(self, rows: Rows, wanted: Wanted, hint: object) -> Parsed:  # noqa: ARG002
        """Reject the lines that are not UTF-8."""
        text = line_texts(rows)
        bad = find_bad_utf8(text)
        good = pc.take(text, to_arrow(np.setdiff1d(np.arange(len(rows)), bad, assume_unique=True)))
        return Parsed(good, dict.fromkeys(wanted.columns, good), [BadRow(row, "not valid UTF-8") for row in bad])


def line_texts(rows: Rows) -> pa.Array:
    r"""The lines without their ends (`\n` or `\r\n`), as large_string; copied in one pass, not checked."""
    if len(rows) == 0:
        return pa.nulls(0, pa.large_string())
    data, starts = rows.values, rows.starts
    last = rows.ends.copy()
    for byte in b"\n\r":
        ended = (last > starts) & (data[last - 1] == byte)
        # a carriage return belongs to the line end only before a newline
        last = last - (ended if byte == ord("\n") else ended & (last < rows.ends))
    # each row is two runs of bytes, its text and its line end: take the even ones
    offsets = np.empty(2 * len(rows) + 1, np.int64)
    offsets[0:-1:2], offsets[1::2], offsets[-1] = starts, last, rows.ends[-1]
    runs = pa.Array.from_buffers(pa.large_binary(), 2 * len(rows), [None, pa.py_buffer(offsets), rows.data])
    return pc.take(runs, to_arrow(np.arange(0, 2 * len(rows), 2))).view(pa.large_string())


def read_small_lines(path: Path, option: str) -> list[str]:
    r"""All lines of a file in UTF-8, without their ends; errors name the option.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ids.txt")
    ...     _ = path.write_text("a1\na2\n")
    ...     read_small_lines(path, "--ids")
    ['a1', 'a2']
    """
    try:
        if not path.is_char_device():  # some of them never end
            return path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise UsageError(f"{option} {path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{option} {path}: this is a folder; name a file") from None
    except UnicodeDecodeError as error:
        raise BadDataError(f"{option} {path}: not UTF-8 ({error}); save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    raise UsageError(f"{option} {path}: this is a device; name a file")
