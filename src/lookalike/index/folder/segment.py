"""Segments: items in a file that never changes, sorted by bucket key in every band.

A question goes through the filter (most keys are not there), then the fences (every 2,048th key of a band, in memory),
then one stretch of the band on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.prefix import OVERSIZE
from lookalike.index.batch import Array, Batch, Content, id_keys, texts_of
from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.part import Found, row_ends, stretches
from lookalike.kernels import index as kernels
from lookalike.types import Bool, Int64, UInt64, text_arrays, to_arrow

STEP = 2048
"""Keys between two fences: a stretch is 16 KiB, as is a block of the file."""
FILTER_BITS = 12
"""Bits of the filter per key: about 1 in 50 keys that are not there gets through."""


PIECE = 1 << 13
"""Items that are copied at a time."""


class SegmentWriter:
    """Collects batches and writes them as a segment; only the content goes to the file at once.

    Use it in a `with` block, and `finish` it.
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path = path
        self._file = CheckedWriter(path)
        self._file.begin("data", dtype)
        self._parts: list[Batch] = []
        self._lengths: list[Int64] = []

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *given: Any) -> None:
        self._file.__exit__(*given)

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def add(self, batch: Batch) -> None:
        """Add items."""
        content = batch.content
        self._file.extend("data", content.data[content.offsets[0] : content.offsets[-1]])
        self._lengths.append(np.diff(content.offsets))
        empty = Content(np.zeros(len(batch) + 1, np.int64), content.data[:0])
        self._parts.append(Batch(batch.ids, batch.times, empty, batch.keys, batch.there))

    def finish(self) -> None:
        """Sort the bands and write the rest; all of it is on disk when this returns."""
        batch = Batch.joined(self._parts)
        self._parts = []
        file = self._file
        file.write("offsets", np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(self._lengths))]))
        letters, places = text_arrays(batch.ids)
        file.write("id_offsets", places - places[0])
        file.write("id_data", letters[places[0] : places[-1]])
        file.write("times", batch.times)
        members = np.flatnonzero(batch.there).astype(np.int32)
        words = np.zeros(_filter_words(len(batch), len(batch.keys), len(members)), np.uint64)
        self._write_bands("", batch.keys[:, members], members, 0, words)
        everyone = np.arange(len(batch), dtype=np.int32)
        self._write_bands("id_", id_keys(batch.ids)[None, :], everyone, len(batch.keys), words)
        file.write("filter", words)
        file.finish({"items": len(batch), "bands": len(batch.keys)})

    def _write_bands(self, prefix: str, keys: UInt64, members: Array, first: int, words: UInt64) -> None:
        """Keys sorted in each band, their items, and the fences; keys are added to the filter."""
        numbers = np.empty(keys.shape, np.int32)
        sorted_keys = np.empty(keys.shape, np.uint64)
        for band, row in enumerate(keys):
            kernels.fill_filter(np.ascontiguousarray(row), first + band, words)
            order = np.argsort(row, kind="stable")
            sorted_keys[band], numbers[band] = row[order], members[order]
        self._file.write(f"{prefix}keys", sorted_keys)
        self._file.write(f"{prefix}numbers", numbers)
        self._file.write(f"{prefix}fences", np.ascontiguousarray(sorted_keys[:, ::STEP]))


def _filter_words(items: int, bands: int, members: int) -> int:
    return max(1, (items + bands * members) * FILTER_BITS // 64)


class _Bands:
    """The sorted keys of some bands."""

    def __init__(self, file: CheckedFile, prefix: str, first: int) -> None:
        self._file, self._prefix, self._first = file, prefix, first
        self.keys: UInt64 = file.array(f"{prefix}keys")
        self.numbers: Array = file.array(f"{prefix}numbers")
        self.fences: UInt64 = file.load(f"{prefix}fences")

    def find(self, asked: UInt64, there: Bool, words: UInt64) -> Iterator[Found]:
        """Pairs that share a key."""
        asked = np.ascontiguousarray(asked)
        starts, ends = np.empty(asked.shape, np.int64), np.empty(asked.shape, np.int64)
        count = self.keys.shape[1]
        kernels.locate_keys(asked, there, self._first, words, self.fences, STEP, count, starts, ends)
        bands, _ = np.nonzero(ends)
        if not len(bands):
            return
        some = ends > 0
        for name in ("keys", "numbers"):
            self._file.check(f"{self._prefix}{name}", starts[some] + bands * count, ends[some] + bands * count)

        def collect(first: int, left: Int64, right: Int64) -> tuple[int, int]:
            found: tuple[int, int] = kernels.collect_found(
                asked, first, starts, ends, self.keys, self.numbers, left, right
            )
            return found

        yield from stretches(collect, asked.shape[1])


class Segment:
    """A segment, opened for reading; every block is checked when it is first read."""

    def __init__(self, path: Path) -> None:
        self.file = CheckedFile(path)
        self.name = path.name
        self._count, self.bands = int(self.file.details["items"]), int(self.file.details["bands"])
        self._offsets: Int64 = self.file.array("offsets")
        self._data = self.file.array("data")
        self._id_offsets: Int64 = self.file.array("id_offsets")
        self._id_data = self.file.array("id_data")
        self._by_bucket = _Bands(self.file, "", 0)
        self._by_id = _Bands(self.file, "id_", self.bands)
        self._filter: UInt64 | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def _words(self) -> UInt64:
        if self._filter is None:
            self._filter = self.file.load("filter")
        return self._filter

    @property
    def times(self) -> Int64:
        """When each item was added."""
        found: Int64 = self.file.load("times")
        return found

    def find(self, keys: UInt64, there: Bool) -> Iterator[Found]:
        """Pairs that share a bucket."""
        yield from self._by_bucket.find(keys, there, self._words)

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""
        found = list(self._by_id.find(keys[None, :], np.ones(len(keys), np.bool_), self._words))
        none = [np.empty(0, np.int64)]
        left, right = none + [pair[0] for pair in found], none + [pair[1] for pair in found]
        return np.concatenate(left), np.concatenate(right)

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items."""
        self.file.check("id_offsets", numbers, numbers + 2)
        self.file.check("id_data", *row_ends(self._id_offsets, numbers))
        return texts_of(self._id_offsets, self._id_data).take(to_arrow(numbers))

    def contents(self, numbers: Int64) -> tuple[Content, Int64]:
        """The whole content, in which that of these items has been checked."""
        self.file.check("offsets", numbers, numbers + 2)
        self.file.check("data", *row_ends(self._offsets, numbers))
        return Content(self._offsets, self._data), numbers

    def sizes(self, numbers: Int64) -> Int64:
        """How long the content of items is."""
        self.file.check("offsets", numbers, numbers + 2)
        starts, ends = row_ends(self._offsets, numbers)
        return ends - starts

    def batches(self, numbers: Int64) -> Iterator[Batch]:
        """Everything about some items, a piece at a time."""
        keys, there = self.keys_by_item()
        times = self.times
        for first in range(0, len(numbers), PIECE):
            some = numbers[first : first + PIECE]
            content, places = self.contents(some)
            kept = np.ascontiguousarray(keys[:, some])
            yield Batch(self.ids(some), times[some], content.take(places), kept, there[some])

    def keys_by_item(self) -> tuple[UInt64, Bool]:
        """uint64[bands, items]: the keys of all items, and which items have keys."""
        keys, numbers = self.file.load("keys"), self.file.load("numbers")
        found, there = np.zeros((self.bands, self._count), np.uint64), np.zeros(self._count, np.bool_)
        for band in range(self.bands):
            found[band, numbers[band]] = keys[band]
            there[numbers[band]] = True
        return found, there

    @cached_property
    def bucket_sizes(self) -> tuple[Int64, int, int]:
        """How many buckets have 1 item, 2 or 3, 4 to 7, ...; the size of the largest; and how many are oversize."""
        classes, largest, oversize = np.zeros(64, np.int64), 0, 0
        for row in self.file.load("keys"):
            if len(row):
                sizes = np.diff(np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1], [True]])))
                classes += np.bincount(np.frexp(sizes.astype(np.float64))[1] - 1, minlength=64)
                largest = max(largest, int(sizes.max()))
                oversize += int(np.count_nonzero(sizes > OVERSIZE))
        return classes, largest, oversize
