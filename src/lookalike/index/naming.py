"""Convert item numbers back to ids, for the tables that callers get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import fill_ids
from lookalike.errors import ResourceError
from lookalike.index.answers import answer
from lookalike.index.contract import Lookup
from lookalike.index.matches import Matches
from lookalike.index.reading import ReadItems, places_of
from lookalike.read import join_column
from lookalike.types import Float64, Int32, Int64, Source, to_arrow
from lookalike.types import compute as pc

FEW = 32
"""Up to this many ids are converted one by one, since a call to Arrow takes longer."""


def typed_ids(ids: pa.Array, integers: bool) -> pa.Array:
    """Ids as integers if all of them were given as integers.

    Examples
    --------
    >>> typed_ids(pa.array(["7"]), integers=True).to_pylist()
    [7]
    """
    if not integers:
        return ids
    return pc.cast(ids, pa.int64())


def given_ids(lookup: Lookup, numbers: Int64) -> pa.Array:
    """The ids of items, as they were given."""
    if lookup.integers and len(numbers) <= FEW:
        return to_arrow(np.array([int(one) for one in lookup.few_ids(numbers.tolist())], np.int64))
    return typed_ids(lookup.ids(numbers), lookup.integers)


def table_of(lookup: Lookup, left: pa.Array, right: Int64, similarity: Float64, ranks: pa.Array) -> pa.Table:
    """Matches as callers get them: left, right, similarity (or distance), rank."""
    if not len(right):
        return _no_matches(left.type, lookup.kind.measure.column, lookup.integers)
    ids = given_ids(lookup, right)
    names = ["left", "right", lookup.kind.measure.column, "rank"]
    return pa.Table.from_arrays([left, ids, to_arrow(similarity), ranks], names)


def table_of_one(lookup: Lookup, found: Sequence[tuple[float, int]]) -> pa.Table:
    """`table_of` for the matches (similarity and number) of a single item, best first."""
    column, integers, count = lookup.kind.measure.column, lookup.integers, len(found)
    if not count:
        return _no_matches(pa.int64(), column, integers)
    similarity, numbers = [one for one, _ in found], [number for _, number in found]
    if count <= FEW and (table := answer(column, integers, lookup.few_ids(numbers), similarity)) is not None:
        return table
    left, ranks = to_arrow(np.zeros(count, np.int64)), to_arrow(np.arange(1, count + 1))
    return table_of(lookup, left, np.array(numbers), np.array(similarity), ranks)


@cache
def _no_matches(left: pa.DataType, column: str, integers: bool) -> pa.Table:
    types = left, pa.int64() if integers else pa.large_string(), pa.float64(), pa.int64()
    return pa.Table.from_arrays([pa.nulls(0, kind) for kind in types], ["left", "right", column, "rank"])


class _Piece(NamedTuple):
    """The matches of a block."""

    source: Source
    first_row: int
    items: int
    """How many the block has."""
    names: pa.Array
    """The ids of the queried items, one for each match; null if they have none."""
    rows: Int32
    """The rows of the queried items in the block."""
    right: Int64
    similarity: Float64
    ranks: Int32

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        arrays = self.rows, self.right, self.similarity, self.ranks
        return int(self.names.nbytes + sum(some.nbytes for some in arrays))


class NamedMatches:
    """Collects matches block by block, with the names of the queried items."""

    def __init__(self, lookup: Lookup, numbered: bool) -> None:
        self._lookup, self._numbered = lookup, numbered
        self._pieces: list[_Piece] = []
        self._missing = self._seen = self._nbytes = 0

    def __len__(self) -> int:
        return sum(len(piece.rows) for piece in self._pieces)

    def add(self, items: ReadItems, found: Matches, ranks: Int64) -> None:
        """Add the matches of a block.

        Raises
        ------
        ResourceError
            If they no longer fit in memory.
        """
        given = pa.nulls(len(items)) if items.given_ids is None else items.given_ids
        self._missing += given.null_count
        self._seen += len(items)
        if not len(found.left):
            return
        rows, names = found.left.astype(np.int32), given.take(to_arrow(found.left))
        place = items.source, items.first_row, len(items)
        piece = _Piece(*place, names, rows, found.right, found.similarity, ranks.astype(np.int32))
        self._pieces.append(piece)
        self._nbytes += piece.nbytes
        budget = self._lookup.kind.settings.execution.budget
        if self._nbytes > 2 * budget.sets_bytes:
            raise ResourceError(
                f"the first {self._seen:,} items have {len(self):,} matches, and more do not fit in --memory "
                f"{budget.total_bytes >> 20}MiB; increase it, request fewer with -k, or query fewer items at a time"
            )

    def tables(self) -> Iterator[pa.Table]:
        """left, right, similarity (or distance), rank; in batches."""
        if not self._pieces:
            none = np.empty(0, np.int64)
            left = pa.nulls(0, pa.int64() if self._numbered else pa.large_string())
            yield table_of(self._lookup, left, none, np.empty(0), to_arrow(none))
            return
        ids = None
        if not self._missing:
            ids = join_column([piece.names for piece in self._pieces])
        for number, piece in enumerate(self._pieces):
            left = self._places(piece) if ids is None else ids.chunk(number)
            yield table_of(self._lookup, left, piece.right, piece.similarity, to_arrow(piece.ranks.astype(np.int64)))

    def _places(self, piece: _Piece) -> pa.Array:
        """The names of items: the id or, if there is none, the place."""
        first, rows = piece.first_row, to_arrow(piece.rows.astype(np.int64))
        if self._numbered:
            places = to_arrow(first + piece.rows.astype(np.int64))
        else:
            places = places_of(piece.source, first, piece.items).take(rows)
        return places if self._missing == self._seen else fill_ids(piece.names, places.cast(pa.large_string()))
