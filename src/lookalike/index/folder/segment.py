"""Segments: items in a file that never changes, sorted by bucket key in every band.

A question goes through the filter (most keys are not there), then the fences (every 2,048th key of a band, in memory),
then one stretch of the band on disk. Items of large buckets are found by their rare elements instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.prefix import OVERSIZE
from lookalike.engine.digest import KeyedSets
from lookalike.index.batch import Batch, Content, id_keys, texts_of
from lookalike.index.folder.bands import STEP, Bands, Filter, make_filter, sort_bands, write_bands
from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.folder.crowds import Crowd, Refining, crowded, write_crowd
from lookalike.index.part import Found, joined_pairs, row_ends
from lookalike.types import Bool, Int64, UInt64, text_arrays, to_arrow
from lookalike.verify.measures import Measure

PIECE = 1 << 13
"""Items that are copied at a time."""


class SegmentWriter:
    """Collects batches and writes them as a segment; only the content goes to the file at once.

    Use it in a `with` block, and `finish` it.
    """

    def __init__(self, path: Path, dtype: Any, refining: Refining | None = None, step: int = STEP) -> None:
        self.path, self._refining, self._step = path, refining, step
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
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(self._lengths))])
        crowd = self._write_bands(batch)
        if self._refining is not None and len(crowd):
            write_crowd(file, self._refining, Content(offsets, file.written("data")), crowd)
        file.write("offsets", offsets)
        letters, places = text_arrays(batch.ids)
        file.write("id_offsets", places - places[0])
        file.write("id_data", letters[places[0] : places[-1]])
        file.write("times", batch.times)
        file.finish({"items": len(batch), "bands": len(batch.keys)})

    def _write_bands(self, batch: Batch) -> Int64:
        """Returns the items of large buckets."""
        members = np.flatnonzero(batch.there).astype(np.int32)
        keys, numbers = sort_bands(batch.keys[:, members], members)
        ids, everyone = sort_bands(id_keys(batch.ids)[None, :], np.arange(len(batch), dtype=np.int32))
        write_bands(self._file, "", keys, numbers, self._step)
        write_bands(self._file, "id_", ids, everyone, self._step)
        self._file.write("filter", make_filter(keys, ids))
        return crowded(keys, numbers)


class Segment:
    """A segment, opened for reading; every block is checked when it is first read."""

    def __init__(self, path: Path, step: int = STEP) -> None:
        self.file = CheckedFile(path)
        self.name = path.name
        self._count, self.bands = int(self.file.details["items"]), int(self.file.details["bands"])
        self._offsets: Int64 = self.file.array("offsets")
        self._data = self.file.array("data")
        self._id_offsets: Int64 = self.file.array("id_offsets")
        self._id_data = self.file.array("id_data")
        rule_out = Filter(self.file, "filter")
        self._by_bucket = Bands(self.file, "", rule_out, step=step)
        self._by_id = Bands(self.file, "id_", rule_out, self.bands, step)
        self.crowd = Crowd(self.file) if self.file.details.get("crowd") else None

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> Int64:
        """When each item was added."""
        found: Int64 = self.file.load("times")
        return found

    def find(self, asked: KeyedSets, measure: Measure) -> Iterator[Found]:
        """Pairs that share a bucket, without some that are not similar if the bucket is large."""
        runs = self._by_bucket.runs(asked.keys, asked.there, OVERSIZE)
        if runs is not None and runs.large and self.crowd is not None:
            yield from self.crowd.find(asked, measure, runs)
        elif runs is not None:
            yield from runs.collect()

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""
        runs = self._by_id.runs(keys[None, :], np.ones(len(keys), np.bool_))
        return joined_pairs([] if runs is None else runs.collect())

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
