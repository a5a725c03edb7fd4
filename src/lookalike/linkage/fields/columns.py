"""A field of all records: its distinct values, and the number of each record's value among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.types import Bool, Int32, Int64
from lookalike.types.frozen import frozen


@frozen
class Column:
    """One field of all records: the number of each record's value among the distinct ones, or -1 if it has none.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("name", "person", np.array([1, -1, 0], np.int32), strings_to_arrow(["ann", "bob"]))
    >>> len(column), column.missing
    (3, 1)
    """

    name: str
    kind: str
    """person, place, text, code, phone, email, date, number or address."""
    codes: Int32
    """int32[records]."""
    values: pa.Array
    """large_string, normalised and distinct; none is null or empty."""
    apart: Bool | None = None
    """bool[records]: copies of other records, which do not make a value common; None if there are none."""

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, records: Int64) -> Column:
        """The field of some records."""
        return Column(self.name, self.kind, self.codes[records], self.values)

    def counts(self) -> Int64:
        """The number of records with each value, without copies."""
        counted = self.codes >= 0 if self.apart is None else (self.codes >= 0) & ~self.apart
        return np.bincount(self.codes[counted], minlength=len(self.values))

    @property
    def missing(self) -> int:
        """The number of records without a value."""
        return int(np.count_nonzero(self.codes < 0))


class WordGroups(NamedTuple):
    """The words of each value of a column, numbered and in order, and the nickname groups of each word."""

    indptr: Int64
    """The words of value v are words[indptr[v]:indptr[v + 1]]."""
    words: Int32
    starts: Int64
    """Word w belongs to groups[starts[w]:starts[w + 1]], ascending; to none if w is beyond the end of `starts`."""
    groups: Int32
