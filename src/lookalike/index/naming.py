"""From numbers back to ids: the tables that callers get."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.index.contract import Lookup
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.index.reading import ReadItems
from lookalike.read import join_column
from lookalike.types import Float64, Int64, to_arrow


def typed_ids(ids: pa.Array, integers: bool) -> pa.Array:
    """Ids as integers if all of them were given so.

    Examples
    --------
    >>> typed_ids(pa.array(["7"]), integers=True).to_pylist()
    [7]
    """
    return ids.cast(pa.int64()) if integers else ids


class NamedMatches:
    """Collects matches block by block, with the names of the items asked."""

    def __init__(self, kind: Kind, numbered: bool) -> None:
        self._kind, self._numbered = kind, numbered
        self._names: list[pa.Array] = []
        self._places: list[pa.Array] = []
        self._missing = self._seen = 0
        self._right: list[Int64] = [np.empty(0, np.int64)]
        self._similarity: list[Float64] = [np.empty(0)]
        self._ranks: list[Int64] = [np.empty(0, np.int64)]

    def add(self, items: ReadItems, found: Matches, ranks: Int64) -> None:
        """Add the matches of a block."""
        given = pa.nulls(len(items)) if items.given_ids is None else items.given_ids
        self._missing += given.null_count
        self._seen += len(items)
        if not len(found.left):
            return
        rows = to_arrow(found.left)
        self._names.append(given.take(rows))
        places = (
            to_arrow(np.arange(items.first_row, items.first_row + len(items))) if self._numbered else items.places()
        )
        self._places.append(places.take(rows))
        self._right.append(found.right)
        self._similarity.append(found.similarity)
        self._ranks.append(ranks)

    def _left(self) -> pa.Array:
        """The names of the items asked: ids, or places if there is none; of one type."""
        if not self._names:
            return pa.array([], pa.int64() if self._numbered else pa.large_string())
        if self._missing == self._seen:
            return pa.concat_arrays(self._places)
        if not self._missing:
            return join_column(self._names).combine_chunks()
        from lookalike.engine.corpus import fill_ids

        places = pa.concat_arrays(self._places).cast(pa.large_string())
        return fill_ids(join_column(self._names).combine_chunks(), places)

    def table(self, lookup: Lookup) -> pa.Table:
        """left, right, similarity (or distance), rank."""
        right = lookup.ids(np.concatenate(self._right))
        return pa.table(
            {
                "left": self._left(),
                "right": typed_ids(right, lookup.integers),
                self._kind.measure.column: to_arrow(np.concatenate(self._similarity)),
                "rank": to_arrow(np.concatenate(self._ranks)),
            }
        )
