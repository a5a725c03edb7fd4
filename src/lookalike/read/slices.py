"""Common base of slices of tables, in a Parquet file or in memory.

It selects rows, checks the compared column and rejects bad rows. Subclasses define where the columns come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import (
    WrongKindError,
    as_features,
    check_column,
    check_length,
    decoded_bytes,
    escape_bad_utf8,
    find_bad_utf8,
    find_null_tokens,
    one_array,
    without_views,
)
from lookalike.types import Bool, Int64, ItemMemory, Items, Rejected, Wanted, to_arrow
from lookalike.types import compute as pc

TEXT_FACTOR = 3
"""Memory per byte of text that is repeated from a dictionary: the text, its sets, and the working space."""


class SlicedSource(Protocol):
    """What a slice needs from its source."""

    name: str
    rejected_rows: dict[int, Int64]
    """Bad rows, by block: found when a block is first read."""
    item_memory: ItemMemory | None
    """The memory that the texts of a slice may take."""

    def column_names(self) -> Sequence[str]:
        """The names of the columns."""


class Slice(ABC):
    """Consecutive rows of a table."""

    exclusive = False

    def __init__(self, source: SlicedSource, index: int, first_row: int, length: int, nbytes: int) -> None:
        self.source = source
        self.index = index
        self.first_row = first_row
        self.length = length
        self.nbytes = nbytes

    @abstractmethod
    def read(self, columns: tuple[str, ...] | None) -> pa.Table:
        """These columns of all its rows, or all columns."""

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """The requested columns, checked."""
        names = tuple(dict.fromkeys((wanted.features, *wanted.columns)))
        present = self.source.column_names()
        for name in names:
            check_column(name, self.source.name, present)
        decoded = self.read(names)
        table = without_views(decoded)
        chosen = np.arange(self.length)
        if rows is not None:
            chosen = self._item_rows()[rows]
            table = pc.take(table, to_arrow(chosen))
        features = self._features(table, wanted.features)
        columns = {name: escape_bad_utf8(one_array(table.column(name))) for name in wanted.columns}
        errors = _find_bad(features)
        bad = sorted(errors)
        if rows is None:
            self.source.rejected_rows[self.index] = chosen[bad]
        reusable = decoded if rows is None else None
        if not bad:
            return Items(features, columns, (), reusable)
        rejected = [self._rejected(int(chosen[row]), wanted, errors[row]) for row in bad]
        good = to_arrow(np.setdiff1d(np.arange(len(features)), bad, assume_unique=True))
        return Items(
            pc.take(features, good), {name: pc.take(one, good) for name, one in columns.items()}, rejected, reusable
        )

    def kept_rows(self, keep: Bool, decoded: pa.Table | None = None) -> pa.Table:
        """All columns of the kept rows; the slice itself if all are kept."""
        items = self._item_rows()
        check_length(keep, items)
        chosen = np.zeros(self.length, bool)
        chosen[items[np.asarray(keep, bool)]] = True
        table = self._whole(decoded)
        if chosen.all():
            return table
        return pc.cast_table(pc.filter(without_views(table), to_arrow(chosen)), table.schema)

    def _whole(self, decoded: pa.Table | None) -> pa.Table:
        """All columns, some of which may be decoded already."""
        names = self.source.column_names()
        if decoded is None or len(set(names)) < len(names):
            return self.read(None)
        missing = tuple(name for name in names if name not in decoded.column_names)
        rest = self.read(missing) if missing else None
        columns = [(decoded if name in decoded.column_names else rest).column(name) for name in names]  # type: ignore[union-attr]
        fields = [(decoded if name in decoded.column_names else rest).schema.field(name) for name in names]  # type: ignore[union-attr]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, decoded.schema.metadata))

    def _features(self, table: pa.Table, name: str) -> pa.Array:
        if self.source.item_memory is not None and pa.types.is_dictionary(table.schema.field(name).type):
            place = f"{self.source.name}: rows {self.first_row} to {self.first_row + self.length - 1}"
            nbytes, advice = decoded_bytes(table.column(name)), "write the file with fewer rows per row group"
            self.source.item_memory.check(place, nbytes, TEXT_FACTOR, "text in a dictionary,", advice)
        try:
            return as_features(table.column(name))
        except WrongKindError as error:
            raise BadDataError(f"{self.source.name}: column {name!r} {error}") from error

    def _item_rows(self) -> Int64:
        rows = np.arange(self.length)
        rejected = self.source.rejected_rows.get(self.index)
        return rows if rejected is None else np.setdiff1d(rows, rejected, assume_unique=True)

    def _rejected(self, row: int, wanted: Wanted, wrong: str) -> Rejected:
        """Report a bad row as skipped, or raise an error if bad rows must not be skipped."""
        error = f"column {wanted.features!r}: {wrong}"
        if not wanted.skip_errors:
            raise BadDataError(f"{self.source.name}: row {self.first_row + row}: {error}")
        return Rejected(self.source.name, self.first_row + row + 1, error, b"")


def _find_bad(features: pa.Array) -> dict[int, str]:
    """What is wrong with the rows that cannot be used."""
    nulls = dict.fromkeys(find_null_tokens(features), "a null in a list; remove nulls from the lists")
    return nulls | dict.fromkeys(find_bad_utf8(features), "not valid UTF-8")
