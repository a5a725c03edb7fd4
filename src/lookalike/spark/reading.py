"""Read and digest all items, and find who shares a bucket: one job, whose first half reads and whose second half joins.

A part of the input is read by one task, which leaves the digests of its items in the work folder and sends their bucket
keys, partitioned by key, to the tasks that join them. Items are named by part and row until all parts are counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.candidates.buckets import group_keys
from lookalike.engine.corpus import digest_source_block
from lookalike.engine.digest import DigestSettings
from lookalike.engine.stores.digests import DigestedBlock, digest_table, piece_name
from lookalike.errors import BadDataError
from lookalike.read.lines import LineSource
from lookalike.spark.cluster import payloads
from lookalike.spark.pieces import Written, has_failed_before, noting_failure, to_batch, write_piece
from lookalike.types import Bool, Buckets, Int32, Int64, ItemMemory, Source, UInt64, Wanted, to_arrow, to_numpy

Made = TypeVar("Made")
BUCKETS = "buckets-{:06}.arrow"
LINES = b"lines"
"""Where a piece of digests says how many lines its part has."""
ROW_BITS = 32
"""The lower bits of an item's name: its row in the part."""
KEYS = "partition int, part int, counts binary, keys binary, rows binary"
_ABOUT_PIECE = -1
"""In place of a part: the row tells about a piece that was written."""


class Part(NamedTuple):
    """A part of the input, read by one task."""

    number: int
    source_number: int
    source: Source
    wanted: Wanted


class Reading(NamedTuple):
    """What the tasks need to know besides their part."""

    folder: str
    digesting: DigestSettings
    partitions: int
    memory: ItemMemory


def read_parts(batches: Iterator[pa.RecordBatch], *, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Digest parts: their digests go to pieces, their keys to the tasks that join them."""
    folder = Path(reading.folder)
    for part in payloads(batches):
        if has_failed_before(folder, part.number):
            continue
        with noting_failure(folder, part.number):
            part.source.item_memory = reading.memory
            blocks = with_lines_named(part.source, partial(_digest_blocks, part, reading.digesting))
            table = digest_table(blocks, 0)
            lines = str(getattr(part.source, "lines", 0))
            table = table.replace_schema_metadata({**table.schema.metadata, LINES: lines})
            written = write_piece(folder, piece_name(part.number), iter([table]), table.schema)
            yield _about(written, part.number % reading.partitions)
            yield from _keys(part.number, blocks, reading)


def with_lines_named(source: Source, read: Callable[[], Made]) -> Made:
    """Read a part; if a line of it is bad, count the lines before the part, and read again to name it."""
    try:
        return read()
    except BadDataError:
        if not isinstance(source, LineSource) or not source.spans or source.spans[0].start == 0:
            raise
        source.lines_before = _count_lines(source)
        return read()


def _digest_blocks(part: Part, digesting: DigestSettings) -> list[DigestedBlock]:
    source, found = part.source, []
    for index, block in enumerate(source.blocks()):
        number = getattr(block, "index", index)
        found.append(digest_source_block(source, part.source_number, number, block, part.wanted, digesting)[0])
    return found


def _count_lines(source: LineSource) -> int:
    """How many lines precede the only span of a source."""
    count, position, (span,) = 0, 0, source.spans
    with source.file.open() as stored:
        while position < span.start and (more := stored.read(min(1 << 20, span.start - position))):
            count, position = count + more.count(b"\n"), position + len(more)
        # the line that the start falls into belongs to the span before
        before = position
        stored.seek(before - 1)
        at_start = stored.read(1) == b"\n"
    return count if at_start else count + 1


def _about(written: Written, partition: int) -> pa.RecordBatch:
    facts = json.dumps(written).encode()
    columns: list[Any] = [[partition], [_ABOUT_PIECE], [facts], [b""], [b""]]
    return _key_batch(columns)


def _key_batch(columns: list[Any]) -> pa.RecordBatch:
    kinds = [pa.int32(), pa.int32(), pa.binary(), pa.binary(), pa.binary()]
    names = ["partition", "part", "counts", "keys", "rows"]
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, kinds)], names)


def _keys(part: int, blocks: list[DigestedBlock], reading: Reading) -> Iterator[pa.RecordBatch]:
    """The bucket keys of a part's items, a row for each partition; keys are spread evenly, so their ranges are too."""
    bands, partitions = reading.digesting.bands, reading.partitions
    if not bands or not blocks:
        return
    counts = np.concatenate([block.digest.counts for block in blocks])
    rows = np.flatnonzero(counts).astype(np.int32)
    keys = np.concatenate([block.digest.keys for block in blocks], axis=1)[:, rows]
    target = ((keys >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)).astype(np.uint16)
    sizes = np.stack([np.bincount(band, minlength=partitions) for band in target], axis=1).astype(np.int32)
    by_target = np.argsort(target, axis=None, kind="stable")  # and by band, then row
    sorted_keys, sorted_rows = keys.reshape(-1)[by_target], rows[by_target % max(1, len(rows))]
    ends = np.cumsum(sizes.sum(axis=1))
    for partition, (first, last) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist())):
        if first < last:
            some = [sorted_keys[first:last].tobytes()], [sorted_rows[first:last].tobytes()]
            yield _key_batch([[partition], [part], [sizes[partition].tobytes()], *some])


def join_keys(batches: Iterator[pa.RecordBatch], *, folder: str, bands: int) -> Iterator[pa.RecordBatch]:
    """Join the keys of one partition, band by band; the buckets become a piece."""
    written: list[Written] = []
    sent: list[tuple[int, Int32, UInt64, Int32]] = []
    partition = -1
    for batch in batches:
        partition = batch.column("partition")[0].as_py()
        for part, *columns in zip(*(batch.column(k) for k in range(1, 5))):
            counts, keys, rows = (one.as_buffer() for one in columns)
            if part.as_py() == _ABOUT_PIECE:
                written.append(Written(*json.loads(counts.to_pybytes())))
            else:
                arrays = np.frombuffer(counts, np.int32), np.frombuffer(keys, np.uint64), np.frombuffer(rows, np.int32)
                sent.append((part.as_py(), *arrays))
    if sent:
        tables = (_buckets_table(_join_band(sent, band)) for band in range(bands))
        name = BUCKETS.format(partition)
        written.append(write_piece(Path(folder), name, tables, _BUCKET_SCHEMA))
    yield to_batch(written)


class _NamedBuckets(NamedTuple):
    starts: Int64
    members: Int64


_BUCKET_SCHEMA = pa.schema([("member", pa.int64()), ("head", pa.uint8())])


def _join_band(sent: list[tuple[int, Int32, UInt64, Int32]], band: int) -> _NamedBuckets:
    """The buckets of one band: members are named by part and row."""
    sent.sort(key=lambda one: one[0])
    keys, names = [], []
    for part, counts, all_keys, all_rows in sent:
        some = slice(int(counts[:band].sum()), int(counts[: band + 1].sum()))
        keys.append(all_keys[some])
        names.append((part << ROW_BITS) | all_rows[some].astype(np.int64))
    found = group_keys(np.concatenate(keys))
    return _NamedBuckets(found.starts, np.concatenate(names)[found.members])


def _buckets_table(found: _NamedBuckets) -> pa.Table:
    heads = np.zeros(len(found.members), np.uint8)
    heads[found.starts[:-1]] = 1
    return pa.table([to_arrow(found.members), to_arrow(heads)], schema=_BUCKET_SCHEMA)


def load_buckets(table: pa.Table, part_starts: Int64, place_of: Int32) -> Buckets:
    """The buckets of a piece; members are places, and items without one are left out."""
    names, heads = (to_numpy(column.combine_chunks()) for column in table.columns)
    items = part_starts[names >> ROW_BITS] + (names & ((1 << ROW_BITS) - 1))
    places = place_of[items]
    bucket = np.cumsum(heads, dtype=np.int64)
    there = places >= 0
    bucket, places = bucket[there], places[there]
    by_place = np.lexsort((places, bucket))
    bucket, places = bucket[by_place], places[by_place]
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    sizes = np.diff(np.append(first, len(bucket)))
    several: Bool = np.repeat(sizes > 1, sizes)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[sizes > 1])])
    return Buckets(starts, places[several])
