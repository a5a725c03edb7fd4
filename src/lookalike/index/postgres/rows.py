"""Convert batches of items to rows of a table in PostgreSQL's binary format, and back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.index.batch import Batch, Content, id_keys
from lookalike.types import Bool, Int64, UInt64, text_arrays

COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
COPY_END = struct.pack(">h", -1)
_BIGINT = 20
"""The number of the type of keys."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def mixed_keys(keys: UInt64) -> Int64:
    """uint64[bands, items] -> int64[items, bands]: mix the band into the keys, so that one list can hold them all.

    Keys of two bands may collide; the caller compares the bands again.
    """
    bands = np.arange(1, len(keys) + 1, dtype=np.uint64) * _SPREAD
    return np.ascontiguousarray((keys + bands[:, None]).T).view(np.int64)


def _unmixed(mixed: Int64) -> UInt64:
    bands = np.arange(1, mixed.shape[1] + 1, dtype=np.uint64) * _SPREAD
    return np.ascontiguousarray((mixed.view(np.uint64) - bands).T)


def _heads(batch: Batch, first: int, version: int) -> Any:
    """The fields of each row that have a fixed length."""
    names = ("number", "version", "added_at", "id_key")
    lengths, values = [(f"{name}_", ">i4") for name in names], [(name, ">i8") for name in names]
    heads = np.zeros(len(batch), [("fields", ">i2"), *(field for pair in zip(lengths, values) for field in pair)])
    heads["fields"] = 7
    heads["number"], heads["version"], heads["added_at"] = np.arange(first, first + len(batch)), version, batch.times
    heads["id_key"] = id_keys(batch.ids).view(np.int64)
    for name in names:
        heads[f"{name}_"] = 8
    return heads


def _key_arrays(batch: Batch) -> list[bytes]:
    """The keys of each item as an array of the database; items that are in no bucket have an empty one."""
    bands = len(batch.keys)
    one = np.dtype([("length", ">i4"), ("key", ">i8")])
    row = np.dtype([("length", ">i4"), ("head", ">i4", 5), ("keys", one, bands)])
    rows = np.zeros(len(batch), row)
    rows["length"] = row.itemsize - 4
    rows["head"] = (1, 0, _BIGINT, bands, 1)
    rows["keys"]["length"] = 8
    rows["keys"]["key"] = mixed_keys(batch.keys)
    whole, size = rows.tobytes(), row.itemsize
    empty = struct.pack(">iiii", 12, 0, 0, _BIGINT)
    return [whole[at * size : (at + 1) * size] if there else empty for at, there in enumerate(batch.there.tolist())]


def _fields(data: Any, offsets: Int64, itemsize: int) -> list[bytes]:
    """Values of variable length, each preceded by its length."""
    view = np.ascontiguousarray(data).data.cast("B") if len(data) else b""
    places = (offsets * itemsize).tolist()
    return [struct.pack(">i", high - low) + view[low:high] for low, high in pairwise(places)]


def encode_rows(batch: Batch, first: int, version: int) -> bytes:
    """Items as rows for COPY, without header and trailer; they are numbered from `first` on."""
    heads = _heads(batch, first, version)
    size, whole = heads.dtype.itemsize, heads.tobytes()
    letters, places = text_arrays(batch.ids)
    ids = _fields(letters, places, 1)
    contents = _fields(batch.content.data, batch.content.offsets, batch.content.data.dtype.itemsize)
    pieces = zip(range(0, len(whole), size), ids, _key_arrays(batch), contents)
    return b"".join(part for at, id, keys, content in pieces for part in (whole[at : at + size], id, keys, content))


def content_of(found: Sequence[bytes], dtype: Any) -> Content:
    """Stored values, concatenated; a ValueError if one of them was changed by somebody else."""
    size = np.dtype(dtype).itemsize
    if any(len(value) % size for value in found):
        raise ValueError("part of its content is missing")
    lengths = np.array([len(value) // size for value in found], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    data = b"".join(found)
    return Content(offsets, np.frombuffer(data, dtype) if data else np.empty(0, dtype))


def ids_of(found: Sequence[bytes]) -> pa.Array:
    """Ids as text."""
    return pa.array(found, pa.large_binary()).cast(pa.large_string())


def decode_rows(rows: Sequence[tuple[Any, ...]], bands: int, dtype: Any) -> tuple[Int64, Batch]:
    """Numbers and items from number, id, keys and content."""
    numbers = np.array([row[0] for row in rows], np.int64)
    keys, there = _decode_keys([row[2] for row in rows], bands)
    batch = Batch(
        ids_of([row[1] for row in rows]), np.zeros(len(rows), np.int64), content_of([row[3] for row in rows], dtype),
        keys, there,
    )  # fmt: skip
    return numbers, batch


def _decode_keys(found: Sequence[bytes], bands: int) -> tuple[UInt64, Bool]:
    size, empty = 20 + 12 * bands, 12
    if any(len(value) not in (size, empty) for value in found):
        raise ValueError(f"it has not {bands} keys")
    there = np.array([len(one) == size for one in found], np.bool_)
    stored = b"".join(one for one in found if len(one) == size)
    row = np.dtype([("head", ">i4", 5), ("keys", [("length", ">i4"), ("key", ">i8")], bands)])
    keys = np.zeros((bands, len(found)), np.uint64)
    if there.any():
        keys[:, there] = _unmixed(np.frombuffer(stored, row)["keys"]["key"].astype(np.int64))
    return keys, there
