"""Lists of pairs, read some at a time and any number of times, with their items numbered in order of appearance."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lookalike.engine.memory import BASE_BYTES, Budget
from lookalike.errors import ResourceError, UsageError
from lookalike.jobs.pairs import FoundPairs
from lookalike.jobs.reports.dedup_facts import plain_ids
from lookalike.types import Float64, Int32, Int64, to_numpy
from lookalike.types import compute as pc
from lookalike.types.parquet import read_batches, read_footer
from lookalike.write import TABLE_SUFFIXES

ROWS = 1 << 16
"""Pairs that are looked at together."""
CHUNK_BYTES = 8 << 20
"""JSON lines that are parsed together."""
ID_BYTES = 200
"""Memory for an id besides its text: a Python object, its entry in a table, and the numbers of its item."""
Tables = Callable[[], Iterator[pa.Table]]


class NumberedPairs(NamedTuple):
    """Some pairs: two numbers of items each, and their similarity or distance."""

    left: Int32
    right: Int32
    values: Float64


class ListedPairs(Protocol):
    """A list of pairs."""

    value_name: str
    """similarity or distance."""

    def batches(self) -> Iterator[NumberedPairs]:
        """All pairs, in order. Each time, items have the same numbers."""

    def names(self, numbers: Int64) -> list[Any]:
        """The ids of items that have appeared."""


class PairsOfRun:
    """The pairs of a run that has just finished, whose items have numbers already."""

    def __init__(self, found: FoundPairs, rows: int = ROWS) -> None:
        self._found, self._rows = found, rows
        self.value_name = found.settings.matching.measure.column
        self._number_of = np.full(len(found.corpus), -1, np.int32)
        """For each item, its number once it has appeared."""
        self._count = 0

    def batches(self) -> Iterator[NumberedPairs]:
        """All pairs, in order."""
        for pairs in self._found.pairs.sorted():
            for first in range(0, len(pairs), self._rows):
                some = pairs[first : first + self._rows]
                self._number(np.stack([some["left"], some["right"]], axis=1).ravel())
                left, right = self._number_of[some["left"]], self._number_of[some["right"]]
                yield NumberedPairs(left, right, np.ascontiguousarray(some["similarity"]))

    def _number(self, items: Int32) -> None:
        unseen = items[self._number_of[items] < 0]
        if len(unseen):
            fresh, firsts = np.unique(unseen, return_index=True)
            fresh = fresh[np.argsort(firsts)]
            self._number_of[fresh] = np.arange(self._count, self._count + len(fresh), dtype=np.int32)
            self._count += len(fresh)

    def names(self, numbers: Int64) -> list[Any]:
        """The ids of items."""
        items = np.flatnonzero(np.isin(self._number_of, numbers))
        items = items[np.argsort(self._number_of[items])]  # ascending numbers; returned in the order of the request
        ids: list[Any] = self._found.corpus.names(items).to_pylist()
        place = np.searchsorted(self._number_of[items], numbers)
        return [ids[one] for one in place.tolist()]


class PairsOfFile:
    """The pairs in a file that `lookalike pairs` wrote.

    Raises
    ------
    ResourceError
        While it is read, if the ids of its items do not fit in memory.
    """

    def __init__(self, path: Path, budget: Budget, rows: int = ROWS) -> None:
        self._path, self._budget = path, budget
        self._tables = open_pairs(path, rows)
        names = next(self._tables()).column_names
        value = next((name for name in ("similarity", "distance") if name in names), None)
        if value is None or not {"left", "right"} <= set(names):
            raise UsageError(f"{path}: has no columns left, right and similarity, so it is not a list of pairs")
        self.value_name = value
        self._number_of: dict[Any, int] = {}
        self._texts_bytes = 0

    def batches(self) -> Iterator[NumberedPairs]:
        """All pairs, in order."""
        for table in self._tables():
            if not len(table):
                continue
            left, right = (
                _codes(table.column("left")),
                _codes(pc.cast(table.column("right"), table.column("left").type)),
            )
            self._number_in_order(left, right)
            values = pc.cast(table.column(self.value_name), pa.float64()).combine_chunks()
            yield NumberedPairs(self._numbers(*left), self._numbers(*right), to_numpy(values))

    def _number_in_order(self, left: tuple[Int32, list[Any]], right: tuple[Int32, list[Any]]) -> None:
        """Number the ids that appear for the first time, pair by pair."""
        unseen: list[tuple[int, Any]] = []
        for side, (codes, ids) in enumerate((left, right)):
            if all(one in self._number_of for one in ids):
                continue
            _, firsts = np.unique(codes, return_index=True)
            unseen += [(2 * int(first) + side, one) for first, one in zip(firsts, ids) if one not in self._number_of]
        for _, one in sorted(unseen, key=lambda place: place[0]):
            if one not in self._number_of:
                self._number_of[one] = len(self._number_of)
                self._texts_bytes += len(one) if isinstance(one, str | bytes) else 0
        needed = BASE_BYTES + ID_BYTES * len(self._number_of) + self._texts_bytes
        if needed > self._budget.total_bytes:
            raise ResourceError(
                f"{self._path}: the ids of its first {len(self._number_of):,} items need {needed / 2**30:.1f} GiB; "
                f"--memory is {self._budget.total_bytes / 2**30:.1f} GiB. Increase it, or use pairs --report, which "
                "needs no ids"
            )

    def _numbers(self, codes: Int32, ids: list[Any]) -> Int32:
        return np.array([self._number_of[one] for one in ids], np.int32)[codes]

    def names(self, numbers: Int64) -> list[Any]:
        """The ids of items."""
        wanted = set(numbers.tolist())
        found = {number: one for one, number in self._number_of.items() if number in wanted}
        return [found[number] for number in numbers.tolist()]


def _codes(ids: pa.ChunkedArray) -> tuple[Int32, list[Any]]:
    """The distinct ids of a batch, and for each row the place of its id among them."""
    if pa.types.is_dictionary(ids.type):
        ids = pc.cast(ids, ids.type.value_type)
    coded = pc.dictionary_encode(plain_ids(ids), null_encoding="encode").combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    return to_numpy(coded.indices).astype(np.int32), coded.dictionary.to_pylist()


def open_pairs(path: Path, rows: int = ROWS) -> Tables:
    """The tables of a file, some rows at a time; at least one, which may be empty."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file or output folder")
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise UsageError(f"{path}: is neither an output folder nor a file of pairs ({', '.join(TABLE_SUFFIXES)})")
    if suffix == ".parquet":
        return lambda: _parquet(path, rows)
    return lambda: _lines(path) if suffix == ".jsonl" else _separated(path, "\t" if suffix == ".tsv" else ",")


def _parquet(path: Path, rows: int) -> Iterator[pa.Table]:
    with pa.memory_map(str(path)) as file:
        metadata, schema = read_footer(file)
    yield pa.Table.from_batches([], schema)
    wanted = [name for name in ("left", "right", "similarity", "distance") if name in schema.names]
    with pa.OSFile(str(path), "rb") as file:
        for group in range(metadata.num_row_groups):
            for batch in read_batches(file, metadata, group, rows, wanted, CHUNK_BYTES):
                yield pa.Table.from_batches([batch])


def _lines(path: Path) -> Iterator[pa.Table]:
    import pyarrow.json

    yield pa.table({name: pa.nulls(0, pa.string()) for name in _first_names(path)})
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield pyarrow.json.read_json(io.BytesIO(chunk + file.readline()))


def _first_names(path: Path) -> list[str]:
    """The names in the first line; those of pairs if there are no lines, as when nothing is similar."""
    import pyarrow.json

    with path.open("rb") as file:
        line = file.readline()
    return pyarrow.json.read_json(io.BytesIO(line)).column_names if line else ["left", "right", "similarity"]


def _separated(path: Path, delimiter: str) -> Iterator[pa.Table]:
    import pyarrow.csv

    options = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    kinds = dict.fromkeys(("left", "right"), pa.string()) | dict.fromkeys(("similarity", "distance"), pa.float64())
    with pyarrow.csv.open_csv(
        path, parse_options=options, convert_options=pyarrow.csv.ConvertOptions(column_types=kinds)
    ) as reader:
        yield pa.Table.from_batches([], reader.schema)
        for batch in reader:
            yield pa.Table.from_batches([batch])
