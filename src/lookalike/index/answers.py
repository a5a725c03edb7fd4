"""Tables for the matches of one item, made without the cost of building an Arrow table for each.

A table takes Arrow 10 to 15 microseconds, as long as finding the matches; a slice of a table takes 2. So there is a
table with some unused rows: each answer is written to the next rows, which are never changed again, and is a slice.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.types import to_arrow

ROWS, LETTERS = 256, 1 << 13
"""Rows of a table, and bytes for ids that are not integers."""


class AnswerRows:
    """Some answers: left (always 0), right, similarity, rank.

    Examples
    --------
    >>> rows = AnswerRows("similarity", integers=False)
    >>> rows.add([b"a"], [1.0]).to_pylist()
    [{'left': 0, 'right': 'a', 'similarity': 1.0, 'rank': 1}]
    >>> rows.add([b"b", b"c"], [0.9, 0.8])["right"].to_pylist()
    ['b', 'c']
    """

    def __init__(self, column: str, integers: bool) -> None:
        self._used, self._letters_used = 0, 0
        self._right, self._ranks = np.zeros(ROWS, np.int64), np.zeros(ROWS, np.int64)
        self._similarity = np.zeros(ROWS)
        right = to_arrow(self._right)
        if not integers:
            self._offsets, letters = np.zeros(ROWS + 1, np.int64), np.zeros(LETTERS, np.uint8)
            stored, self._letters = [None, pa.py_buffer(self._offsets), pa.py_buffer(letters)], letters.data
            right = pa.Array.from_buffers(pa.large_string(), ROWS, stored)
        columns = [to_arrow(np.zeros(ROWS, np.int64)), right, to_arrow(self._similarity), to_arrow(self._ranks)]
        self._table = pa.Table.from_arrays(columns, ["left", "right", column, "rank"])
        self._integers = integers

    def add(self, ids: Sequence[bytes], similarity: Sequence[float]) -> pa.Table | None:
        """The table of some matches, best first; None if there is no space left."""
        at, count = self._used, len(ids)
        self._used = at + count  # first: code that interrupts this must not use the same rows
        if self._used > ROWS or not self._add_ids(ids, at):
            return None
        for number in range(count):
            self._similarity[at + number], self._ranks[at + number] = similarity[number], number + 1
        return self._table.slice(at, count)

    def _add_ids(self, ids: Sequence[bytes], at: int) -> bool:
        if self._integers:
            for number, id in enumerate(ids):
                self._right[at + number] = int(id)
            return True
        text, end = b"".join(ids), self._letters_used
        self._letters_used = end + len(text)
        if self._letters_used > LETTERS:
            return False
        self._letters[end : end + len(text)] = text
        for number, id in enumerate(ids):
            end += len(id)
            self._offsets[at + number + 1] = end
        return True


class _Answers(threading.local):
    """The rows that a thread fills, by the name of the column and the type of ids."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, bool], AnswerRows] = {}


_of_thread = _Answers()


def answer(column: str, integers: bool, ids: Sequence[bytes], similarity: Sequence[float]) -> pa.Table | None:
    """The table of the matches of one item, best first; None if there are too many for `AnswerRows`."""
    known = _of_thread.rows
    rows = known.get((column, integers))
    found = rows.add(ids, similarity) if rows is not None else None
    if found is None:
        rows = known[column, integers] = AnswerRows(column, integers)
        found = rows.add(ids, similarity)
    return found
