"""The decisions about the rows of a run: a file to which lines are appended, of which the last about a row counts."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.types import Int64
from lookalike.write import disk_errors

Line = dict[str, Any]
Name = tuple[Any, Any]
"""What a decision is about, whatever the order of the groups: a file and a row, or the ids of two records."""
Columns = tuple[str, str]


class Decisions:
    """The decisions in a file, and how many each group has.

    Parameters
    ----------
    path
        The file; it need not exist.
    named
        The columns of a line that say what it is about.
    """

    def __init__(self, path: Path, named: Columns) -> None:
        self.path, self._named = path, named
        self._lines: dict[Name, Line] = {}
        self._counts: Counter[int] = Counter()
        self._writing = threading.Lock()

    def __len__(self) -> int:
        return len(self._lines)

    def of(self, name: Name) -> str | None:
        """The decision about something."""
        line = self._lines.get(name)
        return line["decision"] if line else None

    def count(self, group: int) -> int:
        """How many decisions a group has."""
        return self._counts[group]

    def decide(self, group: int, line: Line) -> None:
        """Record a decision, or withdraw it; it is on disk when this returns."""
        name = self._name(line)
        with self._writing:
            append_line(self.path, json.dumps(line).encode())
            self._counts[group] -= name in self._lines
            self._note(name, line)
            self._counts[group] += name in self._lines

    def load(self, rows: pa.Table, starts: Int64, columns: Sequence[Columns]) -> None:
        """Load earlier decisions; a line truncated by a full disk is ignored.

        Parameters
        ----------
        rows
            The rows of the run; those of a group are adjacent.
        starts
            Where each group begins, and the end.
        columns
            The pairs of columns that a decision can be about.
        """
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                found = json.loads(line)
                found["decision"]
                self._note(self._name(found), found)
        decided = {(name, group) for pair in columns for name, group in self._places(rows, starts, pair)}
        self._counts = Counter(group for _, group in decided)

    def _places(self, rows: pa.Table, starts: Int64, columns: Columns) -> Iterator[tuple[Name, int]]:
        """The decisions about some columns, and their groups: of millions of rows, few are looked at."""
        left, right = columns
        there = np.flatnonzero(_are_among(rows[right], [name[1] for name in self._lines]))
        few = rows.select(list(columns)).take(pa.array(there))
        groups = (np.searchsorted(starts, there, "right") - 1).tolist()
        for name, group in zip(zip(few[left].to_pylist(), few[right].to_pylist()), groups):
            if name in self._lines:
                yield name, group

    def _name(self, line: Mapping[str, Any]) -> Name:
        left, right = self._named
        return line[left], line[right]

    def _note(self, name: Name, line: Line) -> None:
        if line["decision"] is None:
            self._lines.pop(name, None)
        else:
            self._lines[name] = line


def _are_among(column: pa.ChunkedArray, values: Sequence[Any]) -> Any:
    """Which values of a column are among some that may be of other types."""
    kind: Callable[[Any], bool] = (
        (lambda value: type(value) is int and abs(value) < 1 << 63)
        if pa.types.is_integer(column.type)
        else (lambda value: isinstance(value, str))
    )
    among = pa.array([value for value in values if kind(value)]).cast(column.type, safe=False)
    return pc.is_in(column, value_set=among).combine_chunks().to_numpy(zero_copy_only=False)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file, completely or not at all; an earlier line that was cut short is ended first."""
    with disk_errors(path), path.open("ab+", buffering=0) as file:  # a buffer would be written again when it is closed
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        whole = (b"\n" if file.read(1) not in (b"", b"\n") else b"") + line + b"\n"
        try:
            if file.write(whole) != len(whole):
                raise OSError(errno.ENOSPC, "No space left on device")
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise
