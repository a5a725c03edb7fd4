"""The bands of a segment: sorted keys, the item of each, a filter, and fences that point to one stretch on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.part import Found, distinct_pairs, first_room, joined_pairs, stretches
from lookalike.kernels import index as kernels
from lookalike.kernels.questions import CROWDED, collect_shared
from lookalike.types import Bool, Int32, Int64, UInt64
from lookalike.types.frozen import frozen

STEP = 2048
"""Keys between two fences: a stretch is 16 KiB, as is a block of the file."""
FILTER_BITS = 12
"""Bits of the filter per key: about 1 in 50 keys that are not there gets through."""
MOST_PAIRS = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
SPOOLED_BYTES = 1 << 20
"""If item numbers take more than this, they are kept on disk until all keys are written."""
ANY_SIZE = np.iinfo(np.int64).max


Trim = Callable[[], None]
"""Releases memory if too much is in use."""
Band = tuple[UInt64, Int32]
"""The keys of a band, and the item of each."""


def sort_band(keys: UInt64, members: Int32) -> Band:
    """Sort keys (stably) with their items."""
    order = np.argsort(keys, kind="stable")
    return keys[order], members[order]


def write_bands(file: CheckedWriter, prefix: str, bands: Iterable[Band], step: int = STEP) -> None:
    """Write sorted keys, their items, and every `step`-th key as a fence; only one band is in memory."""
    fences: list[UInt64] = []
    with tempfile.SpooledTemporaryFile(SPOOLED_BYTES, dir=str(file.path.parent)) as spool:
        file.begin(f"{prefix}keys", np.uint64)
        for keys, numbers in bands:
            file.extend(f"{prefix}keys", keys)
            spool.write(np.ascontiguousarray(numbers, np.int32).data)
            fences.append(keys[::step].copy())
        file.reshape(f"{prefix}keys", len(fences))
        file.begin(f"{prefix}numbers", np.int32)
        spool.seek(0)
        while piece := spool.read(SPOOLED_BYTES):
            file.extend(f"{prefix}numbers", np.frombuffer(piece, np.int32))
        file.reshape(f"{prefix}numbers", len(fences))
    file.write(f"{prefix}fences", np.stack(fences) if fences else np.empty((0, 0), np.uint64))


def empty_filter(keys: int) -> UInt64:
    """A filter for this many keys, to be filled band by band."""
    return np.zeros(max(1, keys * FILTER_BITS // 64), np.uint64)


def make_filter(keys: UInt64) -> UInt64:
    """A filter for the keys of one band."""
    words = empty_filter(len(keys))
    kernels.fill_filter(keys, 0, words)
    return words


class Filter:
    """A filter, read when it is first needed."""

    def __init__(self, file: CheckedFile, name: str) -> None:
        self._file, self._name = file, name

    @cached_property
    def words(self) -> UInt64:
        """Its bits."""
        found: UInt64 = self._file.load(self._name)
        return found


@frozen
class Runs:
    """Where the keys of items are in their bands: numbers[band, starts[band, i]:ends[band, i]] share that of item i."""

    starts: Int64
    ends: Int64
    numbers: Int32
    large: int
    """How many of them have more items than the limit."""

    def __len__(self) -> int:
        return int(self.starts.shape[1])

    def slice(self, first: int, last: int) -> Runs:
        """The runs of consecutive items."""
        starts, ends = (np.ascontiguousarray(some[:, first:last]) for some in (self.starts, self.ends))
        return Runs(starts, ends, self.numbers, self.large)

    def collect(self, limit: int = ANY_SIZE) -> Iterator[Found]:
        """Pairs that share a key, except in runs of more items than `limit`."""

        def collect(first: int, left: Int64, right: Int64) -> tuple[int, int]:
            found: tuple[int, int] = kernels.collect_found(
                first, self.starts, self.ends, self.numbers, limit, left, right
            )
            return found

        yield from stretches(collect, len(self))

    def collect_by_band(self, trim: Trim) -> Iterator[Found]:
        """Pairs that share a key; bands are read one by one, and `trim` is called before each."""
        found: list[Found] = []
        for band in range(len(self.starts)):
            trim()
            one = slice(band, band + 1)
            found += Runs(self.starts[one], self.ends[one], self.numbers[one], 0).collect()
            if sum(len(left) for left, _ in found) > MOST_PAIRS:
                found = [distinct_pairs(*joined_pairs(found))]
        if found:
            yield distinct_pairs(*joined_pairs(found))


class Bands:
    """The sorted keys of some bands, the first of which has a number in the filter; `step` keys between two fences."""

    def __init__(self, file: CheckedFile, prefix: str, rule_out: Filter, first: int = 0, step: int = STEP) -> None:
        self._file, self._prefix, self._filter, self._first, self._step = file, prefix, rule_out, first, step
        self.keys: UInt64 = file.array(f"{prefix}keys")
        self.numbers: Int32 = file.array(f"{prefix}numbers")
        self._fences: UInt64 = file.load(f"{prefix}fences")
        self._places = file.begin(f"{prefix}keys"), file.begin(f"{prefix}numbers")

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `kernels.single.ask_segment` about bands."""
        return (
            self._filter.words, self._fences, self._step, self.keys, self.numbers, self._file.checks, *self._places,
        )  # fmt: skip

    def pairs(self, asked: UInt64, there: Bool, limit: int = ANY_SIZE) -> Generator[Found, None, int]:
        """Distinct pairs that share a key, ordered by queried item.

        Also returns how many items are done: those before the first one with a bucket of more items than `limit`.
        """
        asked = np.ascontiguousarray(asked)
        first, total = 0, asked.shape[1]
        room = first_room(total)
        while first < total:
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            stopped, filled, why = collect_shared(
                asked, there, self._first, self._filter.words, self._fences, self._step, self.keys, self.numbers,
                self._file.checks, *self._places, limit, first, left, right,
            )  # fmt: skip
            if filled:
                yield left[:filled], right[:filled]
            if why == CROWDED:
                return int(stopped)
            self._file.stopped_at(why)
            if stopped == first:
                room *= 2
            first = stopped
        return int(total)

    def runs(self, asked: UInt64, there: Bool, limit: int = ANY_SIZE, trim: Trim | None = None) -> Runs | None:
        """Where some keys are; None if none of them exists. Counts the runs of more items than `limit`.

        With `trim`, bands are read one by one, and it is called before each.
        """
        asked = np.ascontiguousarray(asked)
        starts, ends = np.empty(asked.shape, np.int64), np.empty(asked.shape, np.int64)
        count = self.keys.shape[1]
        kernels.locate_keys(
            asked, there, self._first, self._filter.words, self._fences, self._step, count, starts, ends
        )
        if not ends.any():
            return None
        large, bands = 0, len(asked)
        for step in [slice(0, bands)] if trim is None else [slice(band, band + 1) for band in range(bands)]:
            if trim is not None:
                trim()
            self._check(step, starts[step], ends[step])
            large += kernels.narrow_runs(asked[step], self.keys[step], limit, starts[step], ends[step])
        return Runs(starts, ends, self.numbers, large)

    def _check(self, bands: slice, starts: Int64, ends: Int64) -> None:
        """Check the stretches of some bands."""
        some = ends > 0
        before = (np.nonzero(some)[0] + bands.start) * self.keys.shape[1]
        for name in ("keys", "numbers"):
            self._file.check(f"{self._prefix}{name}", starts[some] + before, ends[some] + before)
