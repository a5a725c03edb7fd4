"""Segments: items in a file that never changes, sorted by bucket key in every band.

A query passes the filter (most keys do not exist), then the fences (every 2,048th key of a band, in memory), and then
reads one stretch of the band on disk. Items of large buckets are found by their rare elements instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.candidates.prefix import OVERSIZE
from lookalike.engine.digest import KeyedSets
from lookalike.index.batch import Content, texts_of
from lookalike.index.folder.bands import ANY_SIZE, STEP, Band, Bands, Filter, Trim
from lookalike.index.folder.checked_file import CheckedFile
from lookalike.index.folder.crowds import Crowd
from lookalike.index.folder.pages import Pages
from lookalike.index.part import Found, StoredSets, joined_pairs, row_ends
from lookalike.index.question import Question
from lookalike.kernels.compile import bind
from lookalike.kernels.questions import DONE
from lookalike.kernels.single import MOST, ask_segment
from lookalike.types import Bool, Int64, UInt64, to_arrow
from lookalike.verify.measures import Measure

READS = 2
"""Places that are read for an existing key: in the keys and in the items."""
MOST_ASKED = 1 << 12
"""Items that are queried at a time."""


class Segment:
    """A segment, opened for reading; every block is checked when it is first read."""

    def __init__(self, path: Path, pages: Pages | None = None, step: int = STEP) -> None:
        self.file = CheckedFile(path)
        self.name = path.name
        self._pages = Pages(self.file.nbytes) if pages is None else pages
        self._pages.add(self.file)
        self._count, self.bands = int(self.file.details["items"]), int(self.file.details["bands"])
        self._offsets: Int64 = self.file.array("offsets")
        self._data = self.file.array("data")
        self._id_offsets: Int64 = self.file.array("id_offsets")
        self._id_data = self.file.array("id_data")
        rule_out = Filter(self.file, "filter")
        self._by_bucket = Bands(self.file, "", rule_out, step=step)
        self._by_id = Bands(self.file, "id_", rule_out, self.bands, step)
        begins = self.file.begin("offsets"), self.file.begin("data")
        self._sets = StoredSets(self._offsets, self._data, self.file.checks, begins, self.file.stopped_at)
        self.crowd = Crowd(self.file) if self.file.details.get("crowd") else None

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> Int64:
        """When each item was added."""
        found: Int64 = self.file.load("times")
        return found

    def find(self, asked: KeyedSets, measure: Measure) -> Iterator[Found]:
        """Pairs that share a bucket; in large buckets, some dissimilar pairs are omitted."""
        count, trim = len(asked.there), None
        if not self._pages.plenty and count > self._pages.at_once(READS * self.bands):
            trim = self._pages.trim  # these keys could touch the whole file: read the bands one by one
        for first in range(0, count, MOST_ASKED):
            self._pages.trim(READS * self.bands * min(count, MOST_ASKED))
            for left, right in self._find(asked.slice(first, min(first + MOST_ASKED, count)), measure, trim):
                yield left + first, right

    def ask(self, question: Question, arguments: tuple[int, int, int], gone: Bool, first: int) -> int | None:
        """Find the items that are similar to a text; None if a bucket is large, or memory is scarce."""
        plenty = self._pages.plenty
        if not plenty:
            if not self._pages.fit(READS * (self.bands + MOST)):
                return None
            self._pages.trim(READS * self.bands)
        kept, compared, why = self._ask(*arguments, gone, first, *question.of_segment)
        if not plenty:
            self._pages.trim(READS * compared)
        if why == DONE:
            return int(kept)
        self.file.stopped_at(why)
        return None

    @cached_property
    def _ask(self) -> Callable[..., tuple[int, int, int]]:
        """The kernel that answers a query of one text."""
        limit = ANY_SIZE if self.crowd is None else OVERSIZE
        return bind(ask_segment, *self._by_bucket.arguments, limit, self._offsets, self._data, *self._sets.begins)

    def _find(self, asked: KeyedSets, measure: Measure, trim: Trim | None) -> Iterator[Found]:
        if trim is None:
            limit, count = ANY_SIZE if self.crowd is None else OVERSIZE, len(asked.there)
            done = yield from self._by_bucket.pairs(asked.keys, asked.there, limit)
            if done < count:
                for left, right in self._find_runs(asked.slice(done, count), measure, None):
                    yield left + done, right
        else:
            yield from self._find_runs(asked, measure, trim)

    def _find_runs(self, asked: KeyedSets, measure: Measure, trim: Trim | None) -> Iterator[Found]:
        """Find the runs of all items first: for large buckets, and for little memory."""
        runs = self._by_bucket.runs(asked.keys, asked.there, OVERSIZE, trim)
        if runs is not None and runs.large and self.crowd is not None:
            yield from self.crowd.find(asked, measure, runs)
        elif runs is not None:
            yield from runs.collect() if trim is None else runs.collect_by_band(trim)

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""
        self._pages.trim(READS * len(keys))
        return joined_pairs(self._by_id.pairs(keys[None, :], np.ones(len(keys), np.bool_)))

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items."""
        self.file.check("id_offsets", numbers, numbers + 2)
        self.file.check("id_data", *row_ends(self._id_offsets, numbers))
        return texts_of(self._id_offsets, self._id_data).take(to_arrow(numbers))

    def id(self, number: int) -> bytes:
        """The id of one item, in UTF-8."""
        self.file.check_values("id_offsets", number, number + 2)
        start, end = self._id_offsets[number : number + 2].tolist()
        self.file.check_values("id_data", start, end)
        return self._id_data[start:end].tobytes()

    def contents(self, numbers: Int64) -> tuple[Content, Int64]:
        """The whole content, after checking that of these items."""
        self._pages.trim()
        self.file.check("offsets", numbers, numbers + 2)
        self.file.check("data", *row_ends(self._offsets, numbers))
        return Content(self._offsets, self._data), numbers

    def stored_sets(self, reads: int) -> StoredSets | None:
        """The sets of all items; None if the sets to be read may not fit in memory together."""
        if not self._pages.fit(READS * reads):
            return None
        self._pages.trim(READS * reads)
        return self._sets

    def sizes(self, numbers: Int64) -> Int64:
        """The length of the content of each item."""
        self.file.check("offsets", numbers, numbers + 2)
        starts, ends = row_ends(self._offsets, numbers)
        return ends - starts

    def content_bytes(self) -> int:
        """How many bytes the content of all items has."""
        return int(self._data.nbytes)

    def band(self, number: int) -> Band:
        """The sorted keys of a band, and the item of each."""
        self._pages.trim()
        keys, numbers = self._by_bucket.keys, self._by_bucket.numbers
        place = np.array([number]) * keys.shape[1]
        for name in ("keys", "numbers"):
            self.file.check(name, place, place + keys.shape[1])
        return keys[number], numbers[number]

    def keys_by_item(self) -> tuple[UInt64, Bool]:
        """uint64[bands, items]: the keys of all items, and which items have keys."""
        found, there = np.zeros((self.bands, self._count), np.uint64), np.zeros(self._count, np.bool_)
        for band in range(self.bands):
            keys, numbers = self.band(band)
            found[band, numbers] = keys
            there[numbers] = True
        return found, there

    @cached_property
    def bucket_sizes(self) -> tuple[Int64, int, int]:
        """How many buckets have 1 item, 2 or 3, 4 to 7, ...; the size of the largest; and how many are oversize."""
        classes, largest, oversize = np.zeros(64, np.int64), 0, 0
        for band in range(self.bands):
            row, _ = self.band(band)
            if len(row):
                sizes = np.diff(np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1], [True]])))
                classes += np.bincount(np.frexp(sizes.astype(np.float64))[1] - 1, minlength=64)
                largest = max(largest, int(sizes.max()))
                oversize += int(np.count_nonzero(sizes > OVERSIZE))
        return classes, largest, oversize
