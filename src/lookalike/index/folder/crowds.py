"""Crowds: the items of a segment's large buckets, found by their rare elements instead of one by one.

See `refining`. A segment stores the first elements of each item in a large bucket in the same way as bucket keys:
sorted, with a filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lookalike.candidates.prefix import OVERSIZE
from lookalike.engine.digest import KeyedSets
from lookalike.index.batch import Array, Content
from lookalike.index.folder.bands import Bands, Filter, Runs, make_filter, write_bands
from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.part import Found, distinct_pairs, joined_pairs, stretches
from lookalike.index.refining import Prefixes, Refining, rare_elements
from lookalike.kernels.crowds import collect_rare
from lookalike.types import Bool, Int32, Int64, Sets, UInt64, distinct
from lookalike.verify.measures import Measure

ASKED = 1 << 10
"""Items that are queried at a time."""


def mark_crowded(keys: UInt64, numbers: Array, marks: Bool) -> None:
    """Mark the items that are in a large bucket of a band; its keys are sorted.

    Examples
    --------
    >>> marks = np.zeros(202, np.bool_)
    >>> mark_crowded(np.array([3] + 201 * [5], np.uint64), np.arange(202), marks)
    >>> np.flatnonzero(marks)[:2].tolist()
    [1, 2]
    """
    large = distinct(keys[OVERSIZE:][keys[OVERSIZE:] == keys[:-OVERSIZE]])
    for low, high in zip(np.searchsorted(keys, large), np.searchsorted(keys, large, side="right")):
        marks[numbers[low:high]] = True


class _Written(NamedTuple):
    """The content of a segment that is being written."""

    content: Content
    file: CheckedWriter

    def contents(self, numbers: Int64) -> tuple[Content, Int64]:
        """The whole content; pages that were read before are freed."""
        self.file.release()
        return self.content, numbers

    def sizes(self, numbers: Int64) -> Int64:
        """How many values each item has."""
        return self.content.offsets[numbers + 1] - self.content.offsets[numbers]


def write_crowd(file: CheckedWriter, refining: Refining, content: Content, crowd: Int64) -> None:
    """Write the items of a crowd by their rare elements, for `Crowd` to read."""
    source = _Written(content, file)
    sizes = np.zeros(len(content.offsets) - 1, np.int32)
    counters = refining.count(source, crowd, sizes)
    pieces = refining.pieces(int(sizes.sum()))
    file.write("crowd_counters", counters)
    file.write("crowd_sizes", sizes)
    for piece in range(pieces):
        entries = refining.entries(source, crowd, counters, sizes, piece, pieces)
        write_bands(file, f"crowd{piece}_", [(entries.keys, entries.members)])
        file.write(f"crowd{piece}_places", entries.places)
        file.write(f"crowd{piece}_filter", make_filter(entries.keys))
    file.describe({"crowd": {"items": len(crowd), "pieces": pieces}})


class Crowd:
    """The items of the large buckets of a segment, by their rare elements."""

    def __init__(self, file: CheckedFile) -> None:
        self._file = file
        about = file.details["crowd"]
        self._count, self._pieces = int(about["items"]), int(about["pieces"])

    def __len__(self) -> int:
        return self._count

    @cached_property
    def counters(self) -> Array:
        """How often elements occur; see `Refining.count`."""
        return self._file.load("crowd_counters")

    @cached_property
    def sizes(self) -> Int32:
        """The set size of each item."""
        found: Int32 = self._file.load("crowd_sizes")
        return found

    @cached_property
    def bands(self) -> list[tuple[str, Bands, Array]]:
        """The entries of each piece, and the positions of their elements; not yet checked."""
        found = []
        for piece in range(self._pieces):
            prefix = f"crowd{piece}_"
            made = Bands(self._file, prefix, Filter(self._file, f"{prefix}filter"))
            found.append((f"{prefix}places", made, self._file.array(f"{prefix}places")))
        return found

    def find(self, asked: KeyedSets, measure: Measure, runs: Runs) -> Iterator[Found]:
        """Pairs that share a bucket: all pairs of small buckets, and those of large ones that share a rare element."""
        for first in range(0, len(runs), ASKED):
            some = runs.slice(first, first + ASKED)
            found = [*some.collect(OVERSIZE), *self._find_rare(asked.sets, first, measure, some)]
            if found:
                left, right = distinct_pairs(*joined_pairs(found))
                yield left + first, right

    def _find_rare(self, sets: Sets, first: int, measure: Measure, runs: Runs) -> Iterator[Found]:
        rows = np.flatnonzero((runs.ends - runs.starts > OVERSIZE).any(axis=0))
        if not len(rows):
            return
        prefixes = rare_elements(sets, rows + first, self.counters, measure)
        for piece in range(len(self.bands)):
            yield from self._find_entries(piece, rows, prefixes, sets.indptr[first:], measure, runs)

    def _find_entries(
        self, piece: int, rows: Int64, prefixes: Prefixes, indptr: Int64, measure: Measure, runs: Runs
    ) -> Iterator[Found]:
        """Pairs that share a large bucket and a rare element of a piece."""
        name, bands, places = self.bands[piece]
        entries = bands.runs(prefixes.keys[None, :], np.ones(len(prefixes.keys), np.bool_))
        if entries is None:
            return
        self._file.check(name, entries.starts[0], entries.ends[0])

        def collect(first: int, left: Int64, right: Int64) -> tuple[int, int]:
            found: tuple[int, int] = collect_rare(
                rows, prefixes.starts, prefixes.places, entries.starts, entries.ends, entries.numbers, places,
                self.sizes, indptr, runs.starts, runs.ends, runs.numbers, OVERSIZE, *measure.arguments, first, left,
                right,
            )  # fmt: skip
            return found

        yield from stretches(collect, len(rows))
