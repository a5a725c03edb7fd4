"""A field of all records: its distinct values, and the number of each record's value among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.types import Int32, Int64
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
    """person, text, code, phone, email, date, number or address."""
    codes: Int32
    """int32[records]."""
    values: pa.Array
    """large_string, normalised and distinct; none is null or empty."""

    def __len__(self) -> int:
        return len(self.codes)

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
