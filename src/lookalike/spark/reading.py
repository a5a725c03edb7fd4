"""Read and digest all items: the first half of a job, whose second half joins their keys (`lookalike.spark.keys`).

A part of the input is read by one task, which leaves the digests of its items in the work folder and sends their bucket
keys, partitioned by key, to the tasks that join them. Items are named by part and row until all parts are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import digest_source_block
from lookalike.engine.digest import DigestSettings
from lookalike.engine.stores.digests import DigestedBlock, digest_table, piece_name
from lookalike.errors import BadDataError
from lookalike.read.lines import LineSource
from lookalike.spark.cluster import payloads
from lookalike.spark.keys import Band, Sending, about_piece, send_keys
from lookalike.spark.pieces import has_failed_before, noting_failure, write_piece
from lookalike.types import ItemMemory, Source, Wanted

Made = TypeVar("Made")
BUCKETS = "buckets"
LINES = b"lines"
"""Where a piece of digests says how many lines its part has."""


class Part(NamedTuple):
    """A part of the input, read by one task."""

    number: int
    source_number: int
    source: Source
    wanted: Wanted


class Reading(NamedTuple):
    """What the tasks need to know besides their part."""

    sending: Sending
    digesting: DigestSettings
    memory: ItemMemory


def read_parts(batches: Iterator[pa.RecordBatch], *, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Digest parts: their digests go to pieces, their keys to the tasks that join them."""
    folder = Path(reading.sending.folder)
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
            yield about_piece(written, part.number % reading.sending.partitions)
            if blocks and reading.digesting.bands:
                yield from send_keys(part.number, _bands(blocks), reading.sending)


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


def _bands(blocks: list[DigestedBlock]) -> list[Band]:
    """The bucket keys of a part's items; empty items have none."""
    rows = np.flatnonzero(np.concatenate([block.digest.counts for block in blocks])).astype(np.int32)
    keys = np.concatenate([block.digest.keys for block in blocks], axis=1)[:, rows]
    return [Band(band, rows) for band in keys]
