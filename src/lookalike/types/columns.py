"""A field of records as distinct values and codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.types import Int32, Int64


@dataclass(frozen=True, slots=True)
class Column:
    """One field of all records: each record's value by number among the distinct ones, -1 where there is none.

    Examples
    --------
    >>> column = Column("name", "person", np.array([1, -1, 0], np.int32), strings_to_arrow(["ann", "bob"]))
    >>> len(column), column.missing
    (3, 1)
    """

    name: str
    kind: str
    """person, text, code, phone, email, date, number or address."""
    codes: Int32
    """int32, one for each record."""
    values: pa.Array
    """large_string, normalised and distinct; none is null or empty."""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> int:
        """How many records have no value."""
        return int(np.count_nonzero(self.codes < 0))


class WordGroups(NamedTuple):
    """The words of each value of a column in order, by number, and the groups that words are in: of nicknames."""

    indptr: Int64
    """Value v has words[indptr[v]:indptr[v + 1]]."""
    words: Int32
    starts: Int64
    """Word w is in groups[starts[w]:starts[w + 1]], ascending; in none if w is no place of `starts`."""
    groups: Int32
