"""Levels of agreement that a user defined: cut-offs on a similarity, or a function of two arrays of values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.linkage.compare.levels import measure_records
from lookalike.linkage.compare.texts import TextComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.spec import Comparator, Field
from lookalike.types import Float64, Int8, Int32, Int64, Mapper, to_arrow
from lookalike.types import compute as pc

CHUNK = 1 << 17
"""Pairs of values that a function is given at a time."""
TEXTS = ("text", "person", "place", "address")


class CustomComparer:
    """Compares pairs of records in a field with a user-defined comparison; see `Comparer`.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("size", "number", np.arange(4, dtype=np.int32), strings_to_arrow(["10", "9", "5", "x"]))
    >>> comparer = CustomComparer(column, Field("size", kind="number", levels={"close": 0.8}))
    >>> comparer.compare(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 3])).tolist(), comparer.levels
    ([1, 2, 3, 0], ('equal', 'close', 'different'))
    """

    def __init__(self, column: Column, field: Field) -> None:
        self._column, self._field = column, field
        self.codes = column.codes
        self.levels = field.level_names
        if field.compare is None and column.kind not in (*TEXTS, "number"):
            raise UsageError(
                f"field {field.name}: levels= alone is for texts and numbers, not kind {column.kind}; give compare= too"
            )

    def compare(self, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map, out: Int8 | None = None) -> Int8:
        """The level of agreement of each pair of records; 0 if there is no evidence."""
        levels = np.empty(len(left), np.int8) if out is None else out
        one, other = self.codes[left].astype(np.int64), self.codes[right].astype(np.int64)
        known = np.flatnonzero((one >= 0) & (other >= 0))
        levels[:] = 0
        # Each pair of values is compared once, for the first records that have it.
        keys, first, places = np.unique(one[known] << 32 | other[known], return_index=True, return_inverse=True)
        found = np.empty(len(keys), np.int8)
        for start in range(0, len(keys), CHUNK):
            some = slice(start, start + CHUNK)
            records = known[first[some]]
            found[some] = self._compare_values(keys[some], np.asarray(left)[records], np.asarray(right)[records], each)
        levels[known] = found[places]
        return levels

    def _compare_values(self, keys: Int64, left: Int64, right: Int64, each: Mapper) -> Int8:
        field = self._field
        if field.compare is None:
            similar = self._similarity(left, right, each)
        else:
            values = [pc.take(self._column.values, to_arrow(part)) for part in (keys >> 32, keys & 0xFFFFFFFF)]
            told = _call(field.compare, values, field.name)
            if not isinstance(field.levels, Mapping):
                return _as_levels(told, len(self.levels), field.name)
            similar = _as_similarity(told, field.name)
        assert isinstance(field.levels, Mapping)
        cuts = np.array(list(field.levels.values()))
        levels = 2 + (similar[:, None] < cuts).sum(axis=1)
        levels[keys >> 32 == keys & 0xFFFFFFFF] = 1
        return np.where(np.isnan(similar), 0, levels).astype(np.int8)

    def _similarity(self, left: Int64, right: Int64, each: Mapper) -> Float64:
        if self._column.kind in TEXTS:
            found = TextComparer(self._column).compare(left, right, each)[:, 0]
            return np.clip(found.astype(np.float64), 0, 1)
        numbers = measure_records(self._column)
        one, other = numbers[left], numbers[right]
        largest = np.maximum(np.abs(one), np.abs(other))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(one == other, 1.0, np.clip(1 - np.abs(one - other) / largest, 0, 1))


def _call(compare: Comparator, values: list[pa.Array], name: str) -> pa.Array:
    told = compare(*values)
    try:
        found = told if isinstance(told, pa.Array | pa.ChunkedArray) else pa.array(told)
    except (pa.ArrowException, TypeError) as error:
        raise UsageError(f"field {name}: compare= must return an array of numbers ({error})") from None
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    if len(found) != len(values[0]):
        raise UsageError(f"field {name}: compare= was given {len(values[0])} pairs and returned {len(found)} numbers")
    return found


def _as_similarity(told: pa.Array, name: str) -> Float64:
    kinds = pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null
    if not any(fits(told.type) for fits in kinds):
        raise UsageError(f"field {name}: compare= must return similarities from 0 to 1, not {told.type}")
    found = np.asarray(pc.fill_null(pc.cast(told, pa.float64()), float("nan")))
    wrong = found[(found < 0) | (found > 1)]
    if len(wrong):
        raise UsageError(f"field {name}: compare= must return similarities from 0 to 1, not {wrong[0]}")
    return found


def _as_levels(told: pa.Array, levels: int, name: str) -> Int8:
    if not pa.types.is_integer(told.type):
        raise UsageError(
            f"field {name}: compare= must return numbers of levels, 0 to {levels}, not {told.type}; for similarities, "
            "give levels= with cut-offs"
        )
    found = np.asarray(pc.fill_null(pc.cast(told, pa.int64()), 0))
    wrong = found[(found < 0) | (found > levels)]
    if len(wrong):
        raise UsageError(f"field {name}: compare= must return numbers of levels, 0 to {levels}, not {wrong[0]}")
    return found.astype(np.int8)
