"""Number the elements of sets by ascending frequency, as the exact join needs them.

Nothing here knows measures or pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from lookalike.errors import ResourceError
from lookalike.kernels import numbering as kernels
from lookalike.types import Bool, Int64, Mapper, Numbered, Sets, UInt32, UInt64, distinct

PARTITION_ELEMENTS = 3 << 15
"""The approximate size of a partition: its elements fill a table of 2^17 slots (1.5 MB, in the cache) to 3/4."""

MOST_PARTITION_BITS = 12
"""More partitions at once cost more (a cursor, a cache line and a page each) than smaller tables save."""

MOST_TOKENS = 2**32 - 1
"""Numbers are 32 bits wide."""

TASKS_PER_THREAD = 4
"""Pieces of work per thread, so that a thread that finishes early finds more to do."""


def number_elements(
    sets: Sets,
    *,
    threads: int = 1,
    each: Mapper = map,
    partition: int = PARTITION_ELEMENTS,
    most: int = MOST_TOKENS,
) -> tuple[Numbered, Int64]:
    """The sets in order of size with their elements numbered by frequency, and the row of each in `sets`.

    Elements that occur in fewer sets get smaller numbers. Elements that occur equally often are numbered in the order
    of their first occurrence, set by set, so that elements of one set have adjacent numbers.

    Parameters
    ----------
    sets
        None of them empty.
    threads
        Determines how many pieces the work is cut into; the result is the same for any number.
    each
        Runs the pieces.
    partition, most
        The size of a partition, and the most distinct elements.

    Examples
    --------
    >>> sets = Sets(np.array([0, 3, 5]), np.array([3, 5, 8, 5, 9], np.uint64))
    >>> numbered, rows = number_elements(sets)
    >>> numbered.tokens.tolist(), rows.tolist(), numbered.distinct, numbered.singles
    ([2, 3, 0, 1, 3], [1, 0], 4, 3)
    """
    if not len(sets):
        return Numbered(np.zeros(1, np.int64), np.empty(0, np.uint32), 0, 0), np.empty(0, np.int64)
    table = _Partitions(sets, threads, each, partition)
    table.fill()
    distinct, singles = table.number(most)
    rows = np.argsort(sets.sizes, kind="stable").astype(np.int64, copy=False)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sets.sizes[rows])])
    places = np.empty(len(sets), np.int64)
    places[rows] = indptr[:-1]
    return Numbered(indptr, table.collect(places, distinct, singles), distinct, singles), rows


class _Partitions:
    """The elements of sets, partitioned by their top bits, and the steps to numbers (kernels/numbering.py)."""

    def __init__(self, sets: Sets, threads: int, each: Mapper, partition: int) -> None:
        self.sets = sets
        self.each = each
        wanted = (len(sets.elements) // partition).bit_length()
        self.bits = min(max(1, wanted), MOST_PARTITION_BITS)
        tasks = TASKS_PER_THREAD * threads if threads > 1 else 1
        self.rows = _cut_rows(sets.indptr, tasks)
        self.chunks = len(self.rows) - 1
        self.ranges = _cut_evenly(1 << self.bits, tasks)
        self.spread: UInt64 = np.empty(len(sets.elements), np.uint64)
        self.words: UInt32 = self.spread.view(np.uint32)
        self.bounds: Int64 = np.zeros((self.chunks + 1, 1 << self.bits), np.int64)
        self.fresh: Int64 = np.empty_like(self.bounds)

    def run(self, step: Callable[..., Any], given: Any) -> None:
        """Run one step for each argument, and wait."""
        for _ in self.each(step, given):
            pass

    def stretch(self, chunk: int) -> tuple[UInt64, int, int, int]:
        """The arguments that describe the elements of a chunk to the kernels."""
        begin, end = self.sets.indptr[self.rows[chunk]], self.sets.indptr[self.rows[chunk + 1]]
        return self.sets.elements, int(begin), int(end), self.bits

    def fill(self) -> None:
        """Spread the elements over the partitions."""
        counts = np.zeros((self.chunks, 1 << self.bits), np.int64)
        self.run(lambda c: kernels.count_partitions(*self.stretch(c), counts[c]), range(self.chunks))
        starts = np.cumsum(counts.sum(0))
        self.bounds[0, 1:] = starts[:-1]
        self.bounds[1:] = self.bounds[0] + np.cumsum(counts, 0)
        self.run(
            lambda c: kernels.spread_elements(*self.stretch(c), self.bounds[c].copy(), self.spread),
            range(self.chunks),
        )

    def number(self, most: int) -> tuple[int, int]:
        """Replace elements by numbers; return how many there are, and how many occur once."""
        used: Bool = np.zeros(len(self.sets) + 1, np.bool_)
        tables = self.words, self.bounds, self.fresh
        self.run(lambda r: kernels.number_partitions(*r, self.bits, self.spread, *tables, used), self.ranges)
        distinct = int(self.fresh[-1].sum())
        if distinct > most:
            raise ResourceError(
                f"{distinct:,} different elements are more than an exact join can number ({most:,}); "
                "use --method lsh, or join the collection in parts"
            )
        class_of = (np.cumsum(used) - 1).astype(np.uint32)
        counts = np.zeros((self.chunks, int(used.sum())), np.int64)
        self.run(lambda c: kernels.count_classes(c, *tables, class_of, counts[c]), range(self.chunks))
        numbers = _starts_by_class(counts)
        self.run(lambda c: kernels.assign_numbers(*self.stretch(c), c, *tables, numbers[c]), range(self.chunks))
        self.run(lambda r: kernels.replace_ids(*r, self.words, self.bounds), self.ranges)
        return distinct, int(counts[:, 0].sum()) if used[1] else 0

    def collect(self, places: Int64, distinct: int, singles: int) -> UInt32:
        """The numbers of each set, ascending, at its new position."""
        tokens: UInt32 = np.empty(len(self.sets.elements), np.uint32)
        passes = max(1, ((distinct - 1).bit_length() + 7) // 8)
        given = self.sets.indptr, self.sets.elements
        found = self.words, self.bounds, singles, passes, places, tokens
        self.run(
            lambda c: kernels.collect_tokens(*given, (self.rows[c], self.rows[c + 1]), self.bits, c, *found),
            range(self.chunks),
        )
        return tokens


def _starts_by_class(counts: Int64) -> Int64:
    """The first number of each class in each chunk (chunks x classes): ordered by class, then by chunk."""
    by_class = counts.T.ravel()
    starts = np.cumsum(by_class) - by_class
    return np.ascontiguousarray(starts.reshape(counts.shape[::-1]).T)


def _cut_rows(indptr: Int64, pieces: int) -> list[int]:
    """Where to cut the sets into pieces of about equally many elements: ascending rows, from 0 to the last."""
    wanted = np.linspace(0, indptr[-1], pieces + 1)
    return distinct(np.searchsorted(indptr, wanted)).tolist()  # type: ignore[no-any-return]


def _cut_evenly(count: int, pieces: int) -> list[tuple[int, int]]:
    """Consecutive ranges that cover 0 to count - 1."""
    cuts = np.linspace(0, count, min(pieces, count) + 1).astype(np.int64).tolist()
    return list(pairwise(cuts))
