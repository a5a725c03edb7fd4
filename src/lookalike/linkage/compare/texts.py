"""Compare texts by rare words and trigrams: the fewer records contain one, the more it counts.

Knows only the values of one field. Other modules decide which pairs are compared and how similarities are weighted.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lookalike.kernels import texts as kernels
from lookalike.linkage.compare.levels import spans_of
from lookalike.linkage.compare.values import Strings
from lookalike.linkage.fields.columns import Column
from lookalike.types import Float32, Int32, Int64, Mapper, Span, distinct

FEATURES = ("trigrams", "words", "words of the shorter", "conflicting numbers", "codes")
"""The columns of `TextComparer.compare`."""
CHUNK = 1 << 15
"""Pairs that a thread compares at a time."""
POSTINGS = 30_000_000
"""The most postings to read to find the partners of all records by one field; each record has an equal share."""
THOROUGH = 100_000_000
"""The same for listed records: a few records of a large table, whose best partners must not be missed."""
LEAST_POSTINGS = 2_000


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

    def __init__(self, column: Column) -> None:
        self.column, self.codes = column, column.codes
        self._strings = Strings(column.values)
        self._records = np.bincount(self.codes[self.codes >= 0], minlength=len(column.values)).astype(np.int64)
        self._known = max(1, int(self._records.sum()))
        self._number, *grams = self._list_grams()
        self._grams = tuple(grams)

    def _rarity(self, often: Int64, more: int) -> Float32:
        """By element, ln((records + 1) / (records with the element + `more`))."""
        return np.log((self._known + 1) / (often + more)).astype(np.float32)

    def _list_grams(self) -> tuple[int, Int64, Int32, Float32]:
        """The number of distinct trigrams; the trigrams of each value, and their weights."""
        chars, offsets = self._strings.chars, self._strings.offsets
        room = int(offsets[-1] - offsets[0])
        indptr, ids, counts = np.empty(len(offsets), np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
        kernels.list_grams(chars, offsets, indptr, ids, counts)
        _, small, often = self._number_elements(indptr, ids, kernels.GRAMS)
        counts = counts[: len(small)].copy()
        kernels.weigh_grams(indptr, small, self._rarity(often, 1) + np.float32(1), counts)
        return len(often), indptr, small, counts

    def _number_elements(self, indptr: Int64, ids: Int64, most: int) -> tuple[Int64, Int32, Int64]:
        """The elements that occur, in order; the number of each of `ids` among them; the number of records with each.

        With small numbers, the tables that are indexed by element fit in the cache.
        """
        seen = ids[: indptr[-1]]
        if len(seen) < most // 64:  # then sorting takes less time than a table of all possible elements
            used = distinct(seen)
            small = np.searchsorted(used, seen).astype(np.int32)
        else:
            found, numbers = np.zeros(most, np.bool_), np.empty(most, np.int32)  # untouched pages cost nothing
            found[seen] = True
            used = np.flatnonzero(found)
            numbers[used] = np.arange(len(used), dtype=np.int32)
            small = numbers[seen]
        often = np.zeros(len(used), np.int64)
        kernels.count_elements(indptr, small, self._records, often)
        return used, small, often

    @cached_property
    def words(self) -> tuple[int, int, Int64, Int32, Int64, Float32]:
        """The number of distinct words; the first with a digit; the words of each value, their starts and rarity."""
        chars, offsets = self._strings.chars, self._strings.offsets
        spaces = int(np.count_nonzero(chars[offsets[0] : offsets[-1]] == ord(" ")))
        room = 2 * (spaces + len(offsets))
        known = np.zeros(kernels.WORDS, np.bool_)
        indptr, ids, starts = np.empty(len(offsets), np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        for _ in range(2):  # the second pass knows adjacent words that are written as one word elsewhere
            kernels.list_words(chars, offsets, known, indptr, ids, starts)
            known[ids[: indptr[-1]]] = True
        used, small, often = self._number_elements(indptr, ids, kernels.WORDS)
        digits = int(np.searchsorted(used, kernels.DIGIT))
        return len(used), digits, indptr, small, starts[: len(small)].copy(), self._rarity(often, 0)[small]

    def compare(self, left: Int32 | Int64, right: Int32 | Int64, each: Mapper = map) -> Float32:
        """The similarity of each pair of records: float32[pairs, FEATURES], 0 if a value is missing."""
        out = np.empty((len(left), len(FEATURES)), np.float32)
        left, right = np.ascontiguousarray(left, np.int32), np.ascontiguousarray(right, np.int32)
        size, digits, *words = self.words
        given = self._strings.chars, self._strings.offsets, self._grams, tuple(words), self._number, size, digits

        def work(span: Span) -> None:
            kernels.compare_texts(self.codes, left, right, *span, out, *given)

        list(each(work, spans_of(len(left), CHUNK)))
        return out

    def partners(self, askers: Span | Int64, asked: Span, count: int, each: Mapper = map) -> Int32:
        """The most similar records among `asked` for each of `askers`: int32[askers, count], -1 for none.

        If askers are a list of records instead of a span, a record can be among its own partners.
        """
        starts, records, impacts = self._postings(asked)
        codes, postings = self.codes, THOROUGH if isinstance(askers, np.ndarray) else POSTINGS
        if isinstance(askers, np.ndarray):  # treated as additional records with the same values
            askers, codes = (len(codes), len(codes) + len(askers)), np.append(codes, codes[askers])
        start = askers[0]
        out = np.empty((askers[1] - start, count), np.int32)
        budget = max(LEAST_POSTINGS, postings // max(1, len(out)))

        def work(span: Span) -> None:
            kernels.find_partners(
                codes, span[0] + start, span[1] + start, *self._grams, starts, records, impacts, len(codes), budget,
                out[slice(*span)],
            )  # fmt: skip

        list(each(work, spans_of(len(out), max(256, len(out) // 64))))
        return out

    def _postings(self, asked: Span) -> tuple[Any, ...]:
        indptr, ids, weights = self._grams
        here = self.codes[slice(*asked)]
        records = np.bincount(here[here >= 0], minlength=len(self.column.values)).astype(np.int64)
        often = np.zeros(self._number, np.int64)
        kernels.count_elements(indptr, ids, records, often)
        starts = np.concatenate([[0], np.cumsum(often)])
        total = int(starts[-1])
        numbers, impacts = np.empty(total, np.int32), np.empty(total, np.float32)
        kernels.list_postings(self.codes, *asked, indptr, ids, weights, starts[:-1].copy(), numbers, impacts)
        return starts, numbers, impacts
