"""Read and digest all items: the first half of a job, whose second half joins their keys (`lookalike.spark.keys`).

A part of the input is read by one task, which writes the digests of its items to the work folder and sends their bucket
keys, partitioned by key, to the tasks that join them. Items are identified by part and row until all parts are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import digest_source_block
from lookalike.engine.digest import DigestSettings
from lookalike.engine.stores.digests import DigestedBlock, digest_table, piece_name
from lookalike.errors import BadDataError, UsageError
from lookalike.read.lines import LineSource
from lookalike.read.split import split_source
from lookalike.spark.cluster import payloads
from lookalike.spark.keys import Band, Sending, about_piece, send_keys
from lookalike.spark.pieces import has_failed_before, noting_failure, write_piece
from lookalike.types import ItemMemory, Source, Wanted

Made = TypeVar("Made")
BUCKETS = "buckets"
LINES = b"lines"
"""Metadata key of a piece of digests: how many lines its part has."""


class Part(NamedTuple):
    """A part of the input, read by one task."""

    number: int
    source_number: int
    source: Source
    wanted: Wanted


class Reading(NamedTuple):
    """What the tasks need besides their part."""

    sending: Sending
    digesting: DigestSettings
    memory: ItemMemory


def split_parts(sources: list[Source], wanted: Iterable[Wanted], part_bytes: int) -> list[Part]:
    """The parts of all sources, in input order."""
    found: list[Part] = []
    for number, (source, columns) in enumerate(zip(sources, wanted)):
        if source.name.startswith("memory:"):
            raise UsageError(f"{source.name}: only this process can read it; save it to a file, or use --engine local")
        for one in split_source(source, part_bytes):
            found.append(Part(len(found), number, one, columns))
    return found


def read_each(
    batches: Iterator[pa.RecordBatch],
    folder: Path,
    memory: ItemMemory,
    read: Callable[[Part], Made],
    send: Callable[[Part, Made], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """The common frame of tasks that read parts: errors are written to the folder, and reading stops at the first."""
    for part in payloads(batches):
        if has_failed_before(folder, part.number):
            continue
        with noting_failure(folder, part.number):
            part.source.item_memory = memory
            yield from send(part, with_lines_named(part.source, partial(read, part)))


def read_parts(batches: Iterator[pa.RecordBatch], *, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Digest parts: write their digests to pieces, and send their keys to the tasks that join them."""
    folder = Path(reading.sending.folder)

    def send(part: Part, blocks: list[DigestedBlock]) -> Iterator[pa.RecordBatch]:
        table = digest_table(blocks, 0)
        lines = str(getattr(part.source, "lines", 0))
        table = table.replace_schema_metadata({**table.schema.metadata, LINES: lines})
        written = write_piece(folder, piece_name(part.number), iter([table]), table.schema)
        yield about_piece(written, part.number % reading.sending.partitions)
        if blocks and reading.digesting.bands:
            yield from send_keys(part.number, _bands(blocks), reading.sending)

    return read_each(batches, folder, reading.memory, partial(_digest_blocks, digesting=reading.digesting), send)


def with_lines_named(source: Source, read: Callable[[], Made]) -> Made:
    """Read a part; if it has a bad line, count the lines before the part and read again to give the line number."""
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
    """The number of lines before the only span of a source."""
    count, position, (span,) = 0, 0, source.spans
    with source.file.open() as stored:
        while position < span.start and (more := stored.read(min(1 << 20, span.start - position))):
            count, position = count + more.count(b"\n"), position + len(more)
        # the line that contains the start belongs to the previous span
        before = position
        stored.seek(before - 1)
        at_start = stored.read(1) == b"\n"
    return count if at_start else count + 1


def _bands(blocks: list[DigestedBlock]) -> list[Band]:
    """The bucket keys of a part's items; empty items have none."""
    rows = np.flatnonzero(np.concatenate([block.digest.counts for block in blocks])).astype(np.int32)
    keys = np.concatenate([block.digest.keys for block in blocks], axis=1)[:, rows]
    return [Band(band, rows) for band in keys]
