"""Write the kept rows: first each part of the input separately, then each file from its parts.

A file that is a single part is written directly. Files get their final names when they are complete.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import Corpus
from lookalike.spark.cluster import Cluster, payloads
from lookalike.spark.parts import InputParts
from lookalike.spark.pieces import Written, noting_failure, to_batch, write_piece
from lookalike.types import KEPT, Bool, Int64, Source, UInt8
from lookalike.write import open_kept

KEPT_PIECE = "kept-{:06}.arrow"
_LINES = pa.schema([("lines", pa.large_binary())])


class KeptPart(NamedTuple):
    """A part of the input, and which of its rows are kept."""

    number: int
    source: Source
    block_starts: Int64
    keep: UInt8
    """A bit for each row."""
    whole: bool
    """Whether the part is the whole source."""


class KeptSource(NamedTuple):
    """A source whose parts have been written."""

    source: Source
    parts: range


def write_kept(
    cluster: Cluster, parts: InputParts, corpus: Corpus, keep: Bool, first_source: int, folder: Path
) -> None:
    """Write the kept rows of every source from `first_source` on."""
    by_source = parts.by_source(first_source)
    given = []
    for part in (part for some in by_source.values() for part in some):
        cuts = parts.block_starts[part.number]
        bits = np.packbits(keep[int(cuts[0]) : int(cuts[-1])])
        whole = len(by_source[part.source_number]) == 1
        given.append(KeptPart(part.number, parts.sendable(part, corpus), cuts - cuts[0], bits, whole))
    if not given:
        return
    work, out = str(cluster.folder), str(folder.resolve())
    sizes = [part.source.nbytes for part in given]
    cluster.run(cluster.tasks(given), partial(write_parts, folder=work, out=out), sizes)
    made_of_parts = [
        KeptSource(corpus.sources[number], range(some[0].number, some[-1].number + 1))
        for number, some in by_source.items()
        if len(some) > 1 and corpus.sources[number].layout().kind != "files"
    ]
    if made_of_parts:
        cluster.run(cluster.tasks(made_of_parts), partial(join_parts, folder=work, out=out))


def write_parts(batches: Iterator[pa.RecordBatch], *, folder: str, out: str) -> Iterator[pa.RecordBatch]:
    """Write the kept rows of parts to their files, or to pieces from which the files are assembled."""
    work = Path(folder)
    for part in payloads(batches):
        with noting_failure(work, part.number):
            rows = _kept_rows(part)
            kind = part.source.layout().kind
            if part.whole or kind == "files":
                _write_whole(work, Path(out), part.source, rows)
                yield to_batch([write_piece(work, KEPT_PIECE.format(part.number), iter([]), _LINES)])
            else:
                yield to_batch([_write_rows(work, part, kind, rows)])


def _kept_rows(part: KeptPart) -> Iterator[Any]:
    keep = np.unpackbits(part.keep)[: int(part.block_starts[-1])].astype(np.bool_)
    for block, first, last in zip(part.source.blocks(), part.block_starts[:-1], part.block_starts[1:]):
        yield block.kept_rows(keep[int(first) : int(last)])


def _write_rows(work: Path, part: KeptPart, kind: str, rows: Iterator[Any]) -> Written:
    name = KEPT_PIECE.format(part.number)
    if kind == "table":
        schema = part.source.layout().schema
        assert schema is not None
        return write_piece(work, name, rows, schema)
    tables = (pa.table([pa.array([lines], pa.large_binary())], schema=_LINES) for lines in rows)
    return write_piece(work, name, tables, _LINES)


def join_parts(batches: Iterator[pa.RecordBatch], *, folder: str, out: str) -> Iterator[pa.RecordBatch]:
    """Assemble files from the pieces of their parts."""
    work = Path(folder)
    for number, given in enumerate(payloads(batches)):
        with noting_failure(work, number):
            _write_whole(work, Path(out), given.source, _rows_of(work, given))
    yield to_batch([])


def _rows_of(work: Path, given: KeptSource) -> Iterator[Any]:
    for part in given.parts:
        with pa.memory_map(str(work / KEPT_PIECE.format(part))) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                if batch.schema.equals(_LINES):
                    yield batch.column(0)[0].as_buffer()
                else:
                    yield pa.Table.from_batches([batch])


def _write_whole(work: Path, out: Path, source: Source, rows: Iterator[Any]) -> None:
    """Write a file (or several, for a source of files) in a separate folder, and move it into place."""
    with _attempt(work) as folder:
        with open_kept(folder, source) as writer:
            for stored in rows:
                writer.write(stored)
        for found in (folder / KEPT).rglob("*"):
            if found.is_file():
                target = out / found.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                found.replace(target)


@contextmanager
def _attempt(work: Path) -> Iterator[Path]:
    """A folder that no other attempt at the same task uses."""
    folder = work / f"attempt-{uuid.uuid4().hex}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
