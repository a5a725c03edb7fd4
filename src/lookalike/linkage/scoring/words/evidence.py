"""Measures what pairs of records have in common: several numbers for each field, from 0 (nothing) upwards.

Texts are compared by their rare words and trigrams (compare/texts.py). For other kinds, a level of agreement counts
more if few random pairs agree that well, and an equal value counts more if few records have it. A missing value is no
evidence: all its numbers are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.linkage.compare.custom import CustomComparer
from lookalike.linkage.compare.levels import Comparer, measure_records
from lookalike.linkage.compare.swapped_names import insert_exchanged
from lookalike.linkage.compare.texts import FEATURES, TextComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import Texts
from lookalike.types import Float32, Float64, Int8, Int32, Int64, Mapper

AnyComparer = Comparer | CustomComparer
MOST_CODES = 2.0
"""The rarity of shared codes is limited to that of two codes that occur in one record only."""
CONFLICTS = "conflicting numbers"
SMOOTH = 0.5
START = {
    "trigrams": 1.0, "words": 0.5, "words of the shorter": 0.5, CONFLICTS: -0.3, "codes": 0.5,
    "agreement": 0.8, "both known": -0.3,
}  # fmt: skip
"""Weights before anything is learned: roughly in the proportions of weights learned from tables with many matches."""
WHOLE = "whole record: "


@dataclass(frozen=True, slots=True)
class Feature:
    """One number that measures how well two records agree in a field."""

    field: int
    what: str
    helps: bool
    """Whether a greater number is evidence for a match; otherwise it is evidence against one."""
    worth: float = 1.0
    """The initial weight, as a share of the usual one."""

    @property
    def start(self) -> float:
        """The weight before anything is learned."""
        return self.worth * START[self.what.removeprefix(WHOLE)]


class WholeRecord:
    """Compares whole records, regardless of the field in which a word occurs."""

    def __init__(self, columns: Sequence[Column], texts: Texts) -> None:
        self._columns, self._texts = columns, texts

    def compare(self, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map) -> Float32:
        """The similarity of each pair: float32[pairs, FEATURES].

        What only one record has in a field may be evidence for a match, such as a model number that the other one has
        in its title. It is never evidence against one: without the field, the records may have more in common.
        """
        whole = self._texts.of(-1)
        assert whole is not None
        found = whole.compare(left, right, each)
        for place, others in self._texts.without.items():
            known = self._columns[place].codes >= 0
            some = np.flatnonzero(known[left] != known[right])
            less = others.compare(left[some], right[some], each)
            better = [np.minimum if one == CONFLICTS else np.maximum for one in FEATURES]
            found[some] = np.stack([side(a, b) for side, a, b in zip(better, found[some].T, less.T)], axis=1)
        return found


class FieldEvidence:
    """Measures how well pairs agree in one field."""

    def __init__(
        self,
        place: int,
        column: Column,
        texts: TextComparer | None,
        whole: WholeRecord | None,
        random: Int8,
        size: int,
    ) -> None:
        self._column, self._records, self._texts, self._whole = column, max(2, len(column)), texts, whole
        self._levels = _information(random, size, self._records)
        known = column.codes[column.codes >= 0]
        self._often = np.bincount(known, minlength=len(column.values)).astype(np.float64)
        self._numbers = measure_records(column) if column.kind == "number" else None
        told = _distinctness(self._often)
        rare = WHOLE, "agreement"  # these features already give rare values more weight
        self.features = [
            Feature(place, what, helps, 1.0 if what.startswith(rare) else told) for what, helps in self._list()
        ]

    def _list(self) -> list[tuple[str, bool]]:
        if self._column.kind == "text":
            every = [(one, one != CONFLICTS) for one in FEATURES]
            whole = [(WHOLE + one, helps) for one, helps in every] if self._whole is not None else []
            return [*every, *whole, ("both known", False)]
        words = [("trigrams", True), ("words of the shorter", True)] if self._texts is not None else []
        return [("agreement", True), *words, ("both known", False)]

    def measure(self, left: Int32 | Int64, right: Int32 | Int64, levels: Int8, each: Mapper = map) -> Float32:
        """The features of each pair: float32[pairs, features]; `levels` are those of the pairs in this field."""
        found = np.zeros((len(left), len(self.features)), np.float32)
        codes = self._column.codes
        texts = None if self._texts is None else self._texts.compare(left, right, each)
        if self._column.kind == "text":
            assert texts is not None
            found[:, :5] = self._bound(texts)
            if self._whole is not None:
                found[:, 5:10] = self._bound(self._whole.compare(left, right, each))
        else:
            found[:, 0] = self._agreement(left, right, levels)
            if texts is not None:
                found[:, 1:3] = texts[:, [0, 2]]
        found[:, -1] = (codes[left] >= 0) & (codes[right] >= 0)
        return found

    def _bound(self, texts: Float32) -> Float32:
        """Divide the rarity of shared codes by that of a code that occurs in one record only, up to a limit."""
        np.minimum(texts[:, 4] / np.float32(np.log(self._records)), np.float32(MOST_CODES), out=texts[:, 4])
        return texts

    def _agreement(self, left: Int32 | Int64, right: Int32 | Int64, levels: Int8) -> Float64:
        if self._numbers is not None:
            return _nearness(self._numbers, left, right)
        found = self._levels[levels]
        equal = np.flatnonzero(levels == 1)
        others = np.maximum(self._often[self._column.codes[left[equal]]] - 1, SMOOTH)
        found[equal] = -np.log(others / self._records) / np.log(self._records)
        return np.clip(found, 0, 1)


def _distinctness(often: Float64) -> float:
    """How well values distinguish records: 1 if all are different, 0 if all are equal; `often` counts each value.

    Examples
    --------
    >>> [round(_distinctness(np.array(one)), 2) for one in ([1.0, 1, 1, 1], [2.0, 2], [4.0])]
    [1.0, 0.5, 0.0]
    """
    total = often.sum()
    shares = often[often > 0] / max(1.0, total)
    return float(abs((shares * np.log(shares)).sum()) / np.log(max(2.0, total)))


def _information(random: Int8, size: int, records: int) -> Float64:
    """By level, how unlikely it is that a random pair agrees at least as well: 0 for certain, 1 for one in `records`.

    Examples
    --------
    >>> _information(np.array([1] + 9 * [2] + 90 * [3], np.int8), 3, 100).round(2).tolist()
    [0.0, 0.92, 0.48, 0.0]
    """
    seen = np.bincount(random, minlength=size + 1)[1 : size + 1] + SMOOTH
    return np.append(0.0, np.abs(np.log(np.cumsum(seen) / seen.sum())) / np.log(records))


def _nearness(numbers: Float64, left: Int32 | Int64, right: Int32 | Int64) -> Float64:
    """How few numbers lie between the two numbers of a pair, inclusive: 0 if all of them do, 1 if only one does.

    Examples
    --------
    >>> _nearness(np.array([1.0, 2.0, 100.0, np.nan]), np.array([0, 0, 0]), np.array([1, 2, 3])).round(2).tolist()
    [0.37, 0.0, 0.0]
    """
    known = np.sort(numbers[~np.isnan(numbers)])
    one, other = numbers[left], numbers[right]
    both = ~np.isnan(one + other)
    between = np.searchsorted(known, np.fmax(one, other), "right") - np.searchsorted(known, np.fmin(one, other), "left")
    return np.where(both, np.log(max(1, len(known)) / np.maximum(between, 1)) / np.log(max(2, len(known))), 0.0)


class Evidence:
    """Measures how well pairs agree in every field.

    The comparison of whole records, regardless of the field in which a word occurs, belongs to the first text field.

    Parameters
    ----------
    columns
        The fields.
    texts
        Their words and trigrams.
    random
        int8[pairs, fields], the levels of random pairs.
    level_names
        By field, the names of its levels.
    exchanged
        Pairs of fields whose values may be exchanged; they have a level for that case.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        texts: Texts,
        random: Int8,
        level_names: Sequence[Sequence[str]],
        exchanged: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.columns, self._exchanged = columns, exchanged
        texts.list_words()
        first = next((place for place, column in enumerate(columns) if column.kind == "text"), -1)
        whole = WholeRecord(columns, texts) if texts.of(-1) is not None else None
        self._fields = [
            FieldEvidence(
                place, column, texts.of(place), whole if place == first else None, random[:, place],
                len(level_names[place]),
            )
            for place, column in enumerate(columns)
        ]  # fmt: skip
        self.features = [feature for one in self._fields for feature in one.features]

    def measure(self, left: Int32 | Int64, right: Int32 | Int64, levels: Int8, each: Mapper = map) -> Float32:
        """The features of each pair: float32[pairs, features]; `levels` is int8[pairs, fields]."""
        parts = [one.measure(left, right, levels[:, place], each) for place, one in enumerate(self._fields)]
        return np.concatenate(parts, axis=1)

    def in_common(self, measured: Float32) -> Float64:
        """The share of words and trigrams that each pair has in common, or that of its numbers and codes if it is less.

        Products of a series share most words, but each has a number of its own. Books of an author share only the name.
        """
        parts = {what: START[what] for what in ("trigrams", "words", "words of the shorter")}
        shares = sum(part * self._of_texts(measured, what) for what, part in parts.items()) / sum(parts.values())
        return np.minimum(shares, 1 - np.nan_to_num(self.conflicts(measured))).astype(np.float64)

    def conflicts(self, measured: Float32) -> Float32:
        """The share of numbers and codes in texts that conflict in each pair; NaN if a record has none.

        Those in other fields, such as a count, may well differ between two records of an entity.
        """
        places = {what: [place for place, one in enumerate(self.features) if one.what == what]
                  for what in (CONFLICTS, "codes")}  # fmt: skip
        found, codes = (measured[:, some] for some in places.values())
        known = (found > 0) | (codes > 0)
        number = known.sum(axis=1)
        return np.where(number > 0, found.sum(axis=1) / np.maximum(number, 1), np.float32(np.nan)).astype(np.float32)

    def _of_texts(self, measured: Float32, what: str) -> Float32:
        """A feature of the texts of each pair: of the whole records, or of the only field that is a text."""
        names = [one.what for one in self.features]
        return measured[:, names.index(WHOLE + what if WHOLE + what in names else what)]

    def levels_of(
        self, left: Int32, right: Int32, comparer: Callable[[Column], AnyComparer] = Comparer, each: Mapper = map
    ) -> Int8:
        """The levels of pairs that are not candidates: int8[pairs, fields]; 0 where `measure` needs none.

        Candidates must have been compared by the same `comparer`, so that the levels have the same numbers.
        """
        levels = np.zeros((len(self.columns), len(left)), np.int8)
        for place, column in enumerate(self.columns):
            if column.kind not in ("text", "number"):
                comparer(column).compare(left, right, each, levels[place])
        insert_exchanged(self.columns, [(left, right)], [levels], each, known=self._exchanged)
        return levels.T
