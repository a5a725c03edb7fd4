"""Send keys from the tasks that read items to the tasks that join them into buckets.

A row of this shuffle holds all keys of one part of the input for one partition. Items are identified by part and row.
No task holds a long run of equal keys (boilerplate) as a whole: a part sends one item to represent its items in such a
run, and writes the others, which are connected to that item, to a piece of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.candidates.buckets import group_keys, select
from lookalike.candidates.prefix import OVERSIZE
from lookalike.spark.pieces import Written, to_batch, write_piece
from lookalike.types import Bool, Buckets, Int32, Int64, UInt64, to_arrow, to_numpy, words_in

KEYS = "partition int, part int, counts binary, keys binary, rows binary"
LONG_RUN = OVERSIZE
"""A part sends at most this many equal keys; the local engine refines longer runs."""
ROW_BITS = 32
"""The number of lower bits of an item's identifier that hold its row in the part."""
_ABOUT_PIECE = -1
"""Instead of the number of a part: the row is about a piece that was written."""
_BIN_BITS = 16
_STARTS, _STARTS_LONG = 1, 2
"""Marks of the first member of a bucket: an ordinary one, or one that is, or stands for, a long run."""
_BUCKET_SCHEMA = pa.schema([("member", pa.int64()), ("head", pa.uint8())])


class Band(NamedTuple):
    """The keys of one band, and the row that has each."""

    keys: UInt64
    rows: Int32


class Sending(NamedTuple):
    """Where keys go."""

    folder: str
    kind: str
    """The prefix of the names of the pieces."""
    partitions: int
    long_run: int = LONG_RUN


def send_keys(part: int, bands: Sequence[Band], sending: Sending) -> Iterator[pa.RecordBatch]:
    """The keys of a part, one row per partition; keys are evenly distributed, and so are their ranges."""
    bands, runs = zip(*(_shorten(band, sending.long_run) for band in bands))
    if any(len(run) for run in runs):
        name = f"{sending.kind}-of-{part:06}.arrow"
        tables = (_table((part << ROW_BITS) | run.members.astype(np.int64), run.starts, _STARTS_LONG) for run in runs)
        yield about_piece(write_piece(Path(sending.folder), name, tables, _BUCKET_SCHEMA), part % sending.partitions)
    keys, rows = (np.concatenate(columns) for columns in zip(*bands))
    target = _partition(keys, sending.partitions)
    ends = np.cumsum([0, *(len(band.keys) for band in bands)])
    counted = [np.bincount(target[low:high], minlength=sending.partitions) for low, high in pairwise(ends)]
    sizes = np.stack(counted, axis=1).astype(np.int32)
    by_target = np.argsort(target, kind="stable")  # and by band, then row
    keys, rows = keys[by_target], rows[by_target]
    ends = np.cumsum(sizes.sum(axis=1))
    for partition, (first, last) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist())):
        if first < last:
            some = [keys[first:last].tobytes()], [rows[first:last].tobytes()]
            yield _batch([[partition], [part], [sizes[partition].tobytes()], *some])


def _partition(keys: UInt64, partitions: int) -> np.ndarray:
    return ((keys >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)).astype(np.uint16)


def _shorten(band: Band, long_run: int) -> tuple[Band, Buckets]:
    """A band in which one (negative) row represents each long run of equal keys; and these runs."""
    keys, rows = band
    bins = (keys >> np.uint64(64 - _BIN_BITS)).astype(np.int64)
    full = np.bincount(bins, minlength=1 << _BIN_BITS) > long_run
    at = np.flatnonzero(full[bins]) if full.any() else np.empty(0, np.int64)
    found = group_keys(keys[at])
    runs = select(found, found.sizes > long_run)
    members = at[runs.members]
    heads = members[runs.starts[:-1]]
    stay = np.ones(len(keys), np.bool_)
    stay[members], stay[heads] = False, True
    sent = rows.copy()
    sent[heads] = ~rows[heads]
    return Band(keys[stay], sent[stay]), Buckets(runs.starts, rows[members])


def about_piece(written: Written, partition: int) -> pa.RecordBatch:
    """A row that informs the driver, through a joining task, of a piece that was written."""
    columns: list[Any] = [[partition], [_ABOUT_PIECE], [json.dumps(written).encode()], [b""], [b""]]
    return _batch(columns)


def _batch(columns: list[Any]) -> pa.RecordBatch:
    kinds = [pa.int32(), pa.int32(), pa.binary(), pa.binary(), pa.binary()]
    names = ["partition", "part", "counts", "keys", "rows"]
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, kinds)], names)


class _Sent(NamedTuple):
    part: int
    counts: Int32
    keys: UInt64
    rows: Int32


def join_keys(batches: Iterator[pa.RecordBatch], *, sending: Sending, bands: int) -> Iterator[pa.RecordBatch]:
    """Join the keys of one partition, band by band, and write the buckets as a piece."""
    written: list[Written] = []
    sent: list[_Sent] = []
    partition = -1
    for batch in batches:
        partition = batch.column("partition")[0].as_py()
        for part, *columns in zip(*(batch.column(k) for k in range(1, 5))):
            counts, keys, rows = (one.as_buffer() for one in columns)
            if part.as_py() == _ABOUT_PIECE:
                written.append(Written(*json.loads(counts.to_pybytes())))
            else:
                arrays = words_in(counts, np.int32), words_in(keys, np.uint64), words_in(rows, np.int32)
                sent.append(_Sent(part.as_py(), *arrays))
    if sent:
        sent.sort(key=lambda one: one.part)
        tables = (_join_band(sent, band) for band in range(bands))
        name = f"{sending.kind}-{partition:06}.arrow"
        written.append(write_piece(Path(sending.folder), name, tables, _BUCKET_SCHEMA))
    yield to_batch(written)


def _join_band(sent: list[_Sent], band: int) -> pa.Table:
    """The buckets of one band."""
    cuts = [(int(one.counts[:band].sum()), int(one.counts[: band + 1].sum())) for one in sent]
    rows = [one.rows[low:high].astype(np.int64) for one, (low, high) in zip(sent, cuts)]
    names = np.concatenate([(one.part << ROW_BITS) | np.where(some < 0, ~some, some) for one, some in zip(sent, rows)])
    found = group_keys(np.concatenate([one.keys[low:high] for one, (low, high) in zip(sent, cuts)]))
    standing = np.concatenate(rows)[found.members] < 0
    long = np.logical_or.reduceat(standing, found.starts[:-1]) if len(found) else np.empty(0, np.bool_)
    return _table(names[found.members], found.starts, np.where(long, _STARTS_LONG, _STARTS))


def _table(names: Int64, starts: Int64, marks: Any) -> pa.Table:
    heads = np.zeros(len(names), np.uint8)
    heads[starts[:-1]] = marks
    return pa.table([to_arrow(names), to_arrow(heads)], schema=_BUCKET_SCHEMA)


def load_buckets(table: pa.Table, part_starts: Int64, place_of: Int32) -> tuple[Buckets, Bool]:
    """The buckets of a piece, and which of them belong to long runs.

    Members are places. Copies have the place of the first item with their tokens, so an item may represent a run even
    if it is a copy. Each place appears once, and buckets of a single place are dropped.
    """
    names, heads = (to_numpy(column.combine_chunks()) for column in table.columns)
    items = part_starts[names >> ROW_BITS] + (names & ((1 << ROW_BITS) - 1))
    bucket, places = np.cumsum(heads > 0, dtype=np.int64), place_of[items]
    by_place = np.lexsort((places, bucket))
    bucket, places = bucket[by_place], places[by_place]
    once = (np.diff(bucket, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0)
    bucket, places = bucket[once], places[once]
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    sizes = np.diff(np.append(first, len(bucket)))
    several: Bool = sizes > 1
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[several])])
    return Buckets(starts, places[np.repeat(several, sizes)]), (heads[heads > 0] == _STARTS_LONG)[several]
