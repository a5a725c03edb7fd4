"""Items to be added to the index, and their encoding as bytes for the log."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.kernels.sets import hash_strings
from lookalike.types import Bool, Int64, UInt64, distinct, text_arrays, to_arrow, to_numpy

_COUNTS = struct.Struct("<QQQQQQQ")  # items, bands, bytes of ids and content, removed items, integers, counted
Array = npt.NDArray[Any]

PIECE_VALUES = 1 << 20
"""Values of content that are copied or compared at a time; more only if one item alone has more."""


def pieces_of(sizes: Int64, most: int = PIECE_VALUES) -> Iterator[slice]:
    """Consecutive rows whose sizes add up to at most `most`, or single rows that are larger.

    Examples
    --------
    >>> [(one.start, one.stop) for one in pieces_of(np.array([4, 4, 9, 1]), most=8)]
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(sizes)
    first = done = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, done + most, side="right")))
        yield slice(first, last)
        first, done = last, int(ends[last - 1])


@dataclass(frozen=True, slots=True)
class Content:
    """The stored content of items, for comparison: row i is data[offsets[i]:offsets[i + 1]].

    `data` is uint64 (the elements of sets, the words of vectors) or uint8 (UTF-8 text).
    """

    offsets: Int64
    data: Array

    def take(self, rows: Int64) -> Content:
        """Some rows, copied."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        data, moved = np.empty(offsets[-1], self.data.dtype), self.offsets[rows] - offsets[:-1]
        for piece in pieces_of(lengths):  # the positions of values take more memory than the values
            low, high = int(offsets[piece.start]), int(offsets[piece.stop])
            if piece.stop - piece.start == 1:
                first = int(moved[piece.start])
                data[low:high] = self.data[low + first : high + first]
            else:
                data[low:high] = self.data[np.arange(low, high) + np.repeat(moved[piece], lengths[piece])]
        return Content(offsets, data)

    @classmethod
    def joined(cls, parts: Sequence[Content]) -> Content:
        """Concatenate contents."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(offsets, np.concatenate([part.data[part.offsets[0] : part.offsets[-1]] for part in parts]))

    def as_texts(self) -> pa.Array:
        """Rows of bytes as texts, not copied."""
        return texts_of(self.offsets, self.data)


def texts_of(offsets: Int64, data: Array) -> pa.Array:
    """UTF-8 bytes and their offsets as an Arrow array, not copied."""
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def id_keys(ids: pa.Array) -> UInt64:
    """The key by which an id is looked up."""
    return hash_strings(*text_arrays(ids))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some items in stored form."""

    ids: pa.Array
    """large_string"""
    times: Int64
    """When each was added: microseconds since 1970."""
    content: Content
    keys: UInt64
    """uint64[bands, items]"""
    there: Bool
    """Items that are not empty; the others are in no bucket."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        return int(self.content.data.nbytes + self.keys.nbytes + 32 * len(self))

    def take(self, rows: Int64) -> Batch:
        """Some of the items."""
        if len(rows) == len(self):
            return self
        ids = self.ids.take(to_arrow(rows))
        keys = np.ascontiguousarray(self.keys[:, rows])
        return Batch(ids, self.times[rows], self.content.take(rows), keys, self.there[rows])

    def slice(self, low: int, high: int) -> Batch:
        """Consecutive items, not copied."""
        content = Content(self.content.offsets[low : high + 1], self.content.data)
        ids = self.ids.slice(low, high - low)
        return Batch(ids, self.times[low:high], content, self.keys[:, low:high], self.there[low:high])

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Concatenate batches."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            pa.concat_arrays([part.ids for part in parts]),
            np.concatenate([part.times for part in parts]),
            Content.joined([part.content for part in parts]),
            np.concatenate([part.keys for part in parts], axis=1),
            np.concatenate([part.there for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction: items (by number) to remove, and items to add."""

    removed: Int64
    batch: Batch | None
    integers: bool = True
    """Whether all ids were given as integers."""
    counted: int = 0
    """By how much the counter for items without an id advances."""

    def encode(self) -> bytes:
        """As bytes, for the log."""
        if self.batch is None:
            return _COUNTS.pack(0, 0, 0, 0, len(self.removed), self.integers, self.counted) + self.removed.tobytes()
        batch, content = self.batch, self.batch.content
        letters, places = text_arrays(batch.ids)
        text = letters[places[0] : places[-1]].tobytes()
        data = content.data[content.offsets[0] : content.offsets[-1]].tobytes()
        counts = len(batch), len(batch.keys), len(text), len(data), len(self.removed), self.integers, self.counted
        parts = [
            self.removed, batch.times, places - places[0], content.offsets - content.offsets[0], batch.keys,
            batch.there.astype(np.int64),
        ]  # fmt: skip
        return b"".join([_COUNTS.pack(*counts), *(part.tobytes() for part in parts), data, text])

    @classmethod
    def decode(cls, stored: bytes, dtype: npt.DTypeLike) -> Change:
        """From `encode`; `dtype` is that of the content."""
        items, bands, letters, size, gone, integers, counted = _COUNTS.unpack_from(stored)
        at = _COUNTS.size

        def numbers(count: int, kind: npt.DTypeLike = np.int64) -> Array:
            nonlocal at
            found = np.frombuffer(stored, kind, count, at)
            at += found.nbytes
            return found

        removed = numbers(gone)
        if not items:
            return cls(removed, None, bool(integers), counted)
        times, places, offsets = numbers(items), numbers(items + 1), numbers(items + 1)
        keys = numbers(bands * items, np.uint64).reshape(bands, items)
        there = numbers(items) != 0
        data = numbers(size // np.dtype(dtype).itemsize, dtype)
        ids = texts_of(places, numbers(letters, np.uint8))
        return cls(removed, Batch(ids, times, Content(offsets, data), keys, there), bool(integers), counted)


def no_items() -> Int64:
    """No item numbers."""
    return np.empty(0, np.int64)


def last_of_each(ids: pa.Array, first: bool = False) -> Bool:
    """Which rows are the last (or first) with their id.

    Examples
    --------
    >>> last_of_each(pa.array(["a", "b", "a"])).tolist()
    [False, True, True]
    """
    if len(ids) == 1:
        return np.ones(1, np.bool_)
    keys = id_keys(ids)
    ordered = np.sort(keys)
    repeated = distinct(ordered[1:][ordered[1:] == ordered[:-1]])
    found = np.ones(len(ids), np.bool_)
    if len(repeated):  # equal keys: compare the ids themselves
        rows = np.flatnonzero(repeated[np.searchsorted(repeated[:-1], keys)] == keys)
        codes = to_numpy(ids.take(to_arrow(rows)).dictionary_encode().indices)
        place = np.empty(int(codes.max()) + 1, np.int64)
        order = np.arange(len(codes))[::-1] if first else np.arange(len(codes))
        place[codes[order]] = order
        found[rows] = False
        found[rows[place]] = True
    return found
