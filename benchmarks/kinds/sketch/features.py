"""Candidates and their features: how well pairs of records agree, on one scale, nats of surprise.

Fields are read and compared by the package. Records that are equal in every field of their table are one, with a count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engine.run import open_run
from lookalike.linkage.blocking.find import default_budget, find_pairs
from lookalike.linkage.compare.levels import Comparer, measure_records
from lookalike.linkage.compare.swapped_names import insert_exchanged, name_exchanged
from lookalike.linkage.compare.texts import FEATURES, TextComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.notes import Notes
from lookalike.linkage.partners import WORDY, Texts, propose_pairs
from lookalike.linkage.read_fields import FieldsRead
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable

BETWEEN, LEFT, RIGHT, RANDOM = range(4)
"""What a pair is: of two tables (or of the only one); within the left or the right one; drawn at random."""
WHOLE, WHOLE_ALONE, FIELD = 20, 50, 10
"""Partners that the whole record proposes, of two tables and of one, and those that a field proposes."""
BUDGET = 30
"""Pairs per record that blocking keys propose at most."""
DRAWN = 100_000


@dataclass
class Pairs:
    """Candidate pairs of distinct records, and random ones, with their features. Left records come first."""

    left: np.ndarray
    right: np.ndarray
    what: np.ndarray
    split: int
    records: int
    alone: bool
    features: np.ndarray
    """float64[pairs, features], nats of surprise; those that speak against a match are from 0 to 1."""
    names: list[str]
    signs: np.ndarray
    fields: np.ndarray
    """The field of each feature; the whole record is the last one."""
    known: np.ndarray
    """bool[pairs, fields]: whether both records have a value."""
    entropy: list[float]
    """How much the value of each field says about a record, in nats."""
    texts: list[list[str]]
    """The values of each field that consists of words, by record."""
    members: list[list[int]]
    """The rows of each record; those of the right table follow those of the left one."""

    @property
    def all_pairs(self) -> float:
        """The number of all pairs of records that could match."""
        rights = self.records - self.split
        return self.records * (self.records - 1) / 2 if self.alone else float(self.split * rights)

    def united(self) -> Pairs:
        """The records of both tables as those of one."""
        what = np.where(self.what < RANDOM, BETWEEN, self.what)
        return Pairs(**self.__dict__ | {"what": what, "split": self.records, "alone": True})


def read_pairs(left: pa.Table, right: pa.Table | None, fields: str) -> Pairs:
    """The candidate pairs of one table or two."""
    settings = LinkSettings.parse(fields, threads=1, id="id")
    tables = [RecordTable.of(t, settings, s).table for t, s in ((left, "left"), (right, "right")) if t is not None]
    with open_run(settings) as run:
        one, other = tables[0], tables[1] if right is not None else None
        read = FieldsRead.read(one, other, run, Notes(run.progress), learns=True)
    alone, split = right is None, len(read.columns[0]) if right is None else read.sizes.left
    first, numbers = _distinct_records(read.columns, split)
    members: list[list[int]] = [[] for _ in first]
    for row, number in zip(read.order.rows.tolist(), numbers.tolist()):
        members[number].append(row)
    columns = [column.take(first) for column in read.columns]
    return _measure(columns, int((first < split).sum()), alone, members)


def _distinct_records(columns: list[Column], split: int) -> tuple[np.ndarray, np.ndarray]:
    """The first of equal records of a table, in order, and the number of each record among them."""
    sides = (np.arange(len(columns[0])) >= split).astype(np.int64)
    values = np.stack([sides, *(column.codes.astype(np.int64) for column in columns)], 1)
    _, first, inverse = np.unique(values, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]


def _propose(columns: list[Column], texts: Texts, split: int, alone: bool) -> np.ndarray:
    """Pairs of records of two tables and within each, as left << 32 | right."""
    records = len(columns[0])
    left, right, every = (0, split), (split, records), (0, records)
    sides = [(every, every)] if alone else [(left, right), (right, left), (left, left), (right, right)]
    found = find_pairs(columns, records, most_pairs=min(default_budget(records), BUDGET * records))
    keys = [found.left.astype(np.int64) << 32 | found.right]
    for place, comparer in texts.sources():
        whole = place < 0 or len(columns) == 1
        count = (WHOLE_ALONE if alone else WHOLE) if whole else FIELD
        keys += [propose_pairs(comparer, [side], count) for side in sides if side[0][1] > side[0][0]]
    return np.unique(np.concatenate(keys))


def _draw(split: int, records: int, alone: bool, keys: np.ndarray) -> np.ndarray:
    """Random pairs that are no candidates."""
    draw = np.random.default_rng(0)
    one = draw.integers(0, split, DRAWN)
    other = draw.integers(0, records, DRAWN) if alone else draw.integers(split, max(records, split + 1), DRAWN)
    low, high = np.minimum(one, other), np.maximum(one, other)
    drawn = np.sort((low << 32 | high)[low < high])
    return drawn[~np.isin(drawn, keys)]


def _measure(columns: list[Column], split: int, alone: bool, members: list[list[int]]) -> Pairs:
    """The features of all pairs."""
    texts, records = Texts(columns), len(columns[0])
    keys = _propose(columns, texts, split, alone)
    drawn = _draw(split, records, alone, keys)
    every = np.concatenate([keys, drawn])
    left, right = (every >> 32).astype(np.int32), (every & 0xFFFFFFFF).astype(np.int32)
    what = np.where(left < split, np.where(right < split, BETWEEN if alone else LEFT, BETWEEN), RIGHT)
    what[len(keys) :] = RANDOM
    levels = np.zeros((len(columns), len(left)), np.int8)
    sizes = []
    for place, column in enumerate(columns):
        comparer = Comparer(column)
        comparer.compare(left, right, map, levels[place])
        sizes.append(len(comparer.levels))
    for place in name_exchanged(columns, insert_exchanged(columns, [(left, right)], [levels])):
        sizes[place] += 1
    rights = records - split
    within = split * (split - 1) / 2 + (0 if alone else rights * (rights - 1) / 2)
    features = _Features(left, right, what == RANDOM, (what < RANDOM) & ((what > BETWEEN) | alone), within)
    for place, column in enumerate(columns):
        features.add_field(place, column, levels[place], sizes[place], texts.of(place))
    whole = texts.of(-1)
    if whole is not None:
        measured = whole.compare(left, right)
        for place, others in texts.without.items():
            one_lacks = (columns[place].codes[left] < 0) != (columns[place].codes[right] < 0)
            fewer = others.compare(left[one_lacks], right[one_lacks])
            for number, name in enumerate(FEATURES):
                better = np.minimum if name == "conflicting numbers" else np.maximum
                measured[one_lacks, number] = better(measured[one_lacks, number], fewer[:, number])
        features.add_texts(len(columns), measured, whole, records)
        features.add_beyond(len(columns))
    known = np.stack([(c.codes[left] >= 0) & (c.codes[right] >= 0) for c in columns], 1)
    wordy = [np.array([*column.values.to_pylist(), ""])[column.codes].tolist() for column in columns
             if column.kind in WORDY]  # fmt: skip
    return Pairs(
        left.astype(np.int64), right.astype(np.int64), what, split, records, alone, np.stack(features.columns, 1),
        features.names, np.array(features.signs), np.array(features.fields), known, [_entropy(c) for c in columns],
        wordy, members,
    )  # fmt: skip


def _entropy(column: Column) -> float:
    counts = column.counts()
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(-(shares * np.log(shares)).sum()) * (1 - column.missing / len(column))


class _Features:
    """Collects features; `drawn` and `within` are the pairs on which agreement by chance is measured."""

    def __init__(
        self, left: np.ndarray, right: np.ndarray, drawn: np.ndarray, within: np.ndarray, total: float
    ) -> None:
        self._left, self._right, self._drawn, self._within, self._total = left, right, drawn, within, max(2.0, total)
        self.columns: list[np.ndarray] = []
        self.names: list[str] = []
        self.signs: list[int] = []
        self.fields: list[int] = []

    def add(self, field: int, name: str, values: np.ndarray, sign: int = 1) -> None:
        """Add a feature."""
        self.columns.append(values.astype(np.float64))
        self.names.append(name)
        self.signs.append(sign)
        self.fields.append(field)

    def add_field(self, place: int, column: Column, levels: np.ndarray, size: int, texts: TextComparer | None) -> None:
        """The features of one field."""
        records = len(column)
        if column.kind == "number":
            self.add(place, "close", self._nearness(measure_records(column)))
        else:
            if column.kind != "text":
                self.add(place, "level", self._surprise(np.where((levels > 0) & (levels < size), size + 1 - levels, 0)))
            if texts is not None:
                self.add_texts(place, texts.compare(self._left, self._right), texts, records)
            if column.kind != "text":
                self.add(place, "differs", levels == size, -1)
        often = np.append(np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)), 0)
        others = np.maximum(often[column.codes[self._left]] - 1, 0.5)
        self.add(place, "equal", np.where(levels == 1, np.maximum(-np.log(others / records), 0), 0))
        self.add(place, "both", (column.codes[self._left] >= 0) & (column.codes[self._right] >= 0), -1)

    def add_texts(self, place: int, measured: np.ndarray, texts: TextComparer, records: int) -> None:
        """The features of a text."""
        for number, name in enumerate(("trigrams", "words", "shorter")):
            self.add(place, name, self._surprise(measured[:, number]))
        self.add(place, "conflict", measured[:, 3], -1)
        self.add(place, "codes", np.minimum(measured[:, 4], 2 * np.log(records)))
        _, _, starts, _, _, rarity = texts.words
        sums = np.append(0, np.cumsum(rarity, dtype=np.float64))
        total = np.append(sums[starts[1:]] - sums[starts[:-1]], 0)[texts.column.codes]
        self.add(place, "information", measured[:, 2] * np.minimum(total[self._left], total[self._right]))

    def add_beyond(self, whole: int) -> None:
        """What the whole record says and no field does: values that stand in other columns."""
        names = ("trigrams", "words", "shorter", "codes")
        here = [place for place, field in enumerate(self.fields) if field < whole and self.signs[place] > 0]
        best = np.max([self.columns[place] for place in here if self.names[place] != "information"], axis=0)
        for place in [p for p, field in enumerate(self.fields) if field == whole and self.names[p] in names]:
            self.add(whole + 1, "beyond", np.maximum(0, self.columns[place] - best))

    def _surprise(self, values: np.ndarray) -> np.ndarray:
        """-log of how often records that are no match are at least this similar: the nearest, or random ones."""
        near, drawn = np.sort(values[self._within]), np.sort(values[self._drawn])
        least = values - 1e-6
        share = np.maximum(
            (len(near) - np.searchsorted(near, least)) / self._total,
            (len(drawn) - np.searchsorted(drawn, least)) / max(1, len(drawn)),
        )
        return np.where(values > 0, -np.log(np.maximum(share, 1 / self._total)), 0)

    def _nearness(self, numbers: np.ndarray) -> np.ndarray:
        """-log of the share of numbers that lie between the two of a pair."""
        known = np.sort(numbers[~np.isnan(numbers)])
        one, other = numbers[self._left], numbers[self._right]
        low, high = np.fmin(one, other), np.fmax(one, other)
        between = np.searchsorted(known, high, "right") - np.searchsorted(known, low, "left")
        return np.where(np.isnan(one + other), 0, -np.log(np.maximum(between, 1) / max(1, len(known))))
