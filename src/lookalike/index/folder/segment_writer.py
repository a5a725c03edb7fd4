"""Write segments from batches and from the items of other segments. One band is sorted at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lookalike.index.batch import Batch, Content, id_keys, pieces_of
from lookalike.index.folder.bands import STEP, Band, empty_filter, sort_band, write_bands
from lookalike.index.folder.checked_file import CheckedWriter
from lookalike.index.folder.crowds import mark_crowded, write_crowd
from lookalike.index.folder.segment import Segment
from lookalike.index.refining import Refining
from lookalike.kernels.index import fill_filter
from lookalike.types import Bool, Int32, Int64, UInt64, text_arrays
from lookalike.types.frozen import frozen


class KeyedItems(Protocol):
    """Items of a new segment whose keys are still to be written."""

    def __len__(self) -> int: ...

    @property
    def members(self) -> int:
        """How many of them have keys."""

    def band(self, number: int) -> Band:
        """The keys of a band, and the item of each; equal keys in ascending order of items."""


@frozen
class BatchItems:
    """Items whose keys are in memory."""

    keys: UInt64
    there: Bool

    def __len__(self) -> int:
        return len(self.there)

    @property
    def members(self) -> int:
        """How many of them have keys."""
        return int(np.count_nonzero(self.there))

    def band(self, number: int) -> Band:
        """The keys of a band, and the item of each."""
        if self.there.all():
            return self.keys[number], np.arange(len(self), dtype=np.int32)
        members = np.flatnonzero(self.there).astype(np.int32)
        return self.keys[number][members], members


@frozen
class SegmentItems:
    """Some items of another segment, whose keys stay there until needed."""

    segment: Segment
    places: Int32
    """For each item of the segment its number among these; -1 for others."""
    count: int

    @classmethod
    def of(cls, segment: Segment, numbers: Int64) -> SegmentItems:
        """The items with these numbers, ascending."""
        places = np.full(len(segment), -1, np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return cls(segment, places, len(numbers))

    def __len__(self) -> int:
        return self.count

    @property
    def members(self) -> int:
        """How many of them have keys."""
        return len(self.band(0)[0]) if self.segment.bands else 0

    def band(self, number: int) -> Band:
        """The keys of a band, and the item of each."""
        keys, numbers = self.segment.band(number)
        found = self.places[numbers]
        kept = found >= 0
        return (keys, found) if kept.all() else (keys[kept], found[kept])


class SegmentWriter:
    """Collects items and writes them as a segment; their content is written immediately.

    Use it in a `with` block, and `finish` it. Now and then it calls `check`, which may raise an error to cancel it.
    """

    def __init__(
        self,
        path: Path,
        dtype: Any,
        refining: Refining | None = None,
        step: int = STEP,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.path, self._refining, self._step, self._check = path, refining, step, check
        self._file = CheckedWriter(path)
        self._file.begin("data", dtype)
        self._keyed: list[KeyedItems] = []
        self._ids: list[pa.Array] = []
        self._times: list[Int64] = []
        self._lengths: list[Int64] = []
        self._bands = 0
        self.key_bytes = 0
        """Keys that wait in memory."""

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *given: Any) -> None:
        self._file.__exit__(*given)

    def __len__(self) -> int:
        return sum(len(some) for some in self._keyed)

    def discard(self) -> None:
        """Remove what was written."""
        self._file.discard()

    def add(self, batch: Batch) -> None:
        """Add items."""
        self._keyed.append(BatchItems(batch.keys, batch.there))
        self._bands = len(batch.keys)
        self.key_bytes += batch.keys.nbytes
        self._put(batch.ids, batch.times, batch.content)

    def add_items(self, segment: Segment, numbers: Int64) -> None:
        """Add items (ascending) of another segment, piece by piece."""
        self._keyed.append(SegmentItems.of(segment, numbers))
        self._bands = segment.bands
        times = segment.times
        for piece in pieces_of(segment.sizes(numbers)):
            self._check()
            some = numbers[piece]
            content, _ = segment.contents(some)
            if some[-1] - some[0] == len(some) - 1:
                content = Content(content.offsets[some[0] : some[-1] + 2], content.data)
            else:
                content = content.take(some)
            self._put(segment.ids(some), times[some], content)

    def _put(self, ids: pa.Array, times: Int64, content: Content) -> None:
        self._file.extend("data", content.data[content.offsets[0] : content.offsets[-1]])
        self._lengths.append(np.diff(content.offsets))
        self._ids.append(ids)
        self._times.append(times)

    def finish(self) -> None:
        """Sort the bands and write the rest; everything is on disk when this returns."""
        file, count = self._file, len(self)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(self._lengths))])
        ids = pa.concat_arrays(self._ids)
        self._ids = []
        crowd = self._write_keys(ids)
        self._keyed = []
        if self._refining is not None and len(crowd):
            write_crowd(file, self._refining, Content(offsets, file.written("data")), crowd)
        file.write("offsets", offsets)
        letters, places = text_arrays(ids)
        file.write("id_offsets", places - places[0])
        file.write("id_data", letters[places[0] : places[-1]])
        file.write("times", np.concatenate(self._times))
        file.finish({"items": count, "bands": self._bands})

    def _write_keys(self, ids: pa.Array) -> Int64:
        """Write the keys; return the items of large buckets."""
        count, members = len(ids), sum(some.members for some in self._keyed)
        words, crowded = empty_filter(self._bands * members + count), np.zeros(count, np.bool_)

        def sorted_bands() -> Iterator[Band]:
            for number in range(self._bands):
                self._check()
                keys, numbers = sort_band(*self._band(number))
                fill_filter(keys, number, words)
                mark_crowded(keys, numbers, crowded)
                yield keys, numbers

        write_bands(self._file, "", sorted_bands(), self._step)
        keys, numbers = sort_band(id_keys(ids), np.arange(count, dtype=np.int32))
        fill_filter(keys, self._bands, words)
        write_bands(self._file, "id_", [(keys, numbers)], self._step)
        self._file.write("filter", words)
        return np.flatnonzero(crowded)

    def _band(self, number: int) -> Band:
        """The sorted keys of a band from everything added."""
        first, keys, members = 0, [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
        for some in self._keyed:
            found, items = some.band(number)
            keys.append(found)
            members.append(items + np.int32(first))
            first += len(some)
        return np.concatenate(keys), np.concatenate(members)
