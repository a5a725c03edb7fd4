"""Compare texts by rare words and trigrams: the fewer records contain one, the more it counts.

Knows only the values of one field. Other modules decide which pairs are compared and how similarities are weighted.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lookalike.kernels import texts as kernels
from lookalike.kernels.text_pairs import SOFT_PAIRS, compare_texts
from lookalike.linkage.compare.levels import spans_of
from lookalike.linkage.compare.values import Strings
from lookalike.linkage.fields.columns import Column
from lookalike.types import Float32, Int32, Int64, Mapper, Span, distinct

FEATURES = ("trigrams", "words", "words of the shorter", "conflicting numbers", "codes")
"""The columns of `TextComparer.compare`."""
POSTINGS = 30_000_000
"""The most postings to read to find the partners of all records by one field; each record has an equal share."""
THOROUGH = 100_000_000
"""The same for listed records: a few records of a large table, whose best partners must not be missed."""
LEAST_POSTINGS = 2_000


class Grams(NamedTuple):
    """The trigrams of each value of a field."""

    number: int
    """The number of different trigrams."""
    indptr: Int64
    """The trigrams of value v are ids[indptr[v]:indptr[v + 1]]."""
    ids: Int32
    counts: Float32
    """How often the value contains each of them."""


def _number_elements(seen: Int64, most: int) -> tuple[Int64, Int32]:
    """The elements that occur, in order, and the number of each of `seen` among them; all are below `most`.

    With small numbers, the tables that are indexed by element fit in the cache.
    """
    if len(seen) < most // 64:  # then sorting takes less time than a table of all possible elements
        used = distinct(seen)
        return used, np.searchsorted(used, seen).astype(np.int32)
    found, numbers = np.zeros(most, np.bool_), np.empty(most, np.int32)  # untouched pages cost nothing
    found[seen] = True
    used = np.flatnonzero(found)
    numbers[used] = np.arange(len(used), dtype=np.int32)
    return used, numbers[seen]


class TextComparer:
    """The words and trigrams of a field, weighted by their rarity.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["sony pslx350h turntable", "turntable pslx350h", "sony pslx300 turntable", "cable"])
    >>> comparer = TextComparer(Column("title", "text", np.arange(4, dtype=np.int32), values))
    >>> found = comparer.compare(np.array([0, 0]), np.array([1, 2]))
    >>> found[:, 2].round(1).tolist()[0], found[:, 3].tolist()  # of the shorter one's words; conflicting numbers
    (1.0, [0.0, 1.0])
    """

    def __init__(self, column: Column, grams: Grams | None = None) -> None:
        self.column, self.codes = column, column.codes
        self._strings = Strings(column.values)
        self._records = np.bincount(self.codes[self.codes >= 0], minlength=len(column.values)).astype(np.int64)
        self._known = max(1, int(self._records.sum()))
        self._listed = self._list_grams() if grams is None else grams
        number, indptr, ids, counts = self._listed
        weights = np.empty(len(ids), np.float32)
        rarity = self._rarity(self._count(number, indptr, ids), 1) + np.float32(1)
        kernels.weigh_grams(indptr, ids, counts, rarity, weights)
        self._grams = indptr, ids, weights

    def take(self, records: Int64) -> TextComparer:
        """A comparer of some records; the fewer of these contain a trigram or word, the more it counts."""
        return TextComparer(self.column.take(records), self._listed)

    def _rarity(self, often: Int64, more: int) -> Float32:
        """By element, ln((records + 1) / (records with the element + `more`))."""
        return np.log((self._known + 1) / (np.maximum(often, 1 - more) + more)).astype(np.float32)

    def _list_grams(self) -> Grams:
        chars, offsets = self._strings.chars, self._strings.offsets
        room = int(offsets[-1] - offsets[0])
        indptr, ids, counts = np.empty(len(offsets), np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
        kernels.list_grams(chars, offsets, np.empty(kernels.GRAMS, np.int32), indptr, ids, counts)
        used, small = _number_elements(ids[: indptr[-1]], kernels.GRAMS)
        return Grams(len(used), indptr, small, counts[: len(small)].copy())

    def _count(self, number: int, indptr: Int64, ids: Int32, records: Int64 | None = None) -> Int64:
        """The number of records with each of so many elements; `records` with each value, if not all are meant."""
        often = np.zeros(number, np.int64)
        kernels.count_elements(indptr, ids, self._records if records is None else records, often)
        return often

    @cached_property
    def words(self) -> tuple[int, int, Int64, Int32, Int64, Float32]:
        """The number of distinct words; the first with a digit; the words of each value, their starts and rarity."""
        chars, offsets = self._strings.chars, self._strings.offsets
        spaces = int(np.count_nonzero(chars[offsets[0] : offsets[-1]] == ord(" ")))
        room = 2 * (spaces + len(offsets))
        known = np.zeros(kernels.WORDS, np.bool_)
        indptr, ids, starts = np.empty(len(offsets), np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        kernels.mark_words(chars, offsets, known)  # adjacent words may be written as one of these elsewhere
        kernels.list_words(chars, offsets, known, indptr, ids, starts)
        used, small = _number_elements(ids[: indptr[-1]], kernels.WORDS)
        digits = int(np.searchsorted(used, kernels.DIGIT))
        rarity = self._rarity(self._count(len(used), indptr, small), 0)[small]
        return len(used), digits, indptr, small, starts[: len(small)].copy(), rarity

    def compare(self, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map) -> Float32:
        """The similarity of each pair of records: float32[pairs, FEATURES], 0 if a value is missing."""
        out = np.empty((len(left), len(FEATURES)), np.float32)
        left, right = np.ascontiguousarray(left, np.int32), np.ascontiguousarray(right, np.int32)
        size, digits, *words = self.words
        given = self._strings.chars, self._strings.offsets, self._grams, tuple(words), digits

        def work(span: Span) -> None:
            dense, marks = np.zeros(self._listed.number, np.float32), np.zeros(size, np.uint8)
            unshared = np.empty((2, 3, SOFT_PAIRS), np.int64)
            compare_texts(self.codes, left, right, *span, out, *given, dense, marks, *unshared)

        list(each(work, spans_of(len(left))))
        return out

    def partners(self, askers: Span | Int64, asked: Span, count: int, each: Mapper = map) -> Int32:
        """The most similar records among `asked` for each of `askers`: int32[askers, count], -1 for none.

        If askers are a list of records instead of a span, a record can be among its own partners.
        """
        starts, records, impacts = self._postings(asked)
        codes, postings = self.codes, THOROUGH if isinstance(askers, np.ndarray) else POSTINGS
        if isinstance(askers, np.ndarray):  # treated as additional records with the same values
            askers, codes = (len(codes), len(codes) + len(askers)), np.append(codes, codes[askers])
        start, longest = askers[0], int(np.diff(self._listed.indptr).max(initial=0))
        out = np.empty((askers[1] - start, count), np.int32)
        budget = max(LEAST_POSTINGS, postings // max(1, len(out)))

        def work(span: Span) -> None:
            sums, touched = np.zeros(len(codes), np.float32), np.empty(len(codes), np.int32)
            kernels.find_partners(
                codes, span[0] + start, span[1] + start, *self._grams, starts, records, impacts, budget,
                np.empty(longest, np.int64), sums, touched, np.empty(count, np.float32), out[slice(*span)],
            )  # fmt: skip

        list(each(work, spans_of(len(out), max(256, len(out) // 64))))
        return out

    def _postings(self, asked: Span) -> tuple[Any, ...]:
        indptr, ids, weights = self._grams
        here = self.codes[slice(*asked)]
        records = np.bincount(here[here >= 0], minlength=len(self.column.values)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(self._count(self._listed.number, indptr, ids, records))])
        total = int(starts[-1])
        numbers, impacts = np.empty(total, np.int32), np.empty(total, np.float32)
        kernels.list_postings(self.codes, *asked, indptr, ids, weights, starts[:-1].copy(), numbers, impacts)
        return starts, numbers, impacts
