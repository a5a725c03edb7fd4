"""Files that tasks leave in the shared work folder: pieces of work, written atomically, and errors.

A task may run twice, concurrently or in sequence. Each attempt writes under a name of its own and renames the piece
when it is complete. Both have the same bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from lookalike import errors
from lookalike.errors import LookalikeError
from lookalike.write import checksum, disk_errors

SCHEMA = "name string, bytes long, crc32 long"
"""What a task returns about each piece that it has written."""
_FAILED = "failed"
"""A folder for errors alone: every task lists it before it begins."""


class Written(NamedTuple):
    """A piece that a task has written."""

    name: str
    nbytes: int
    crc32: int


def write_piece(folder: Path, name: str, tables: Iterator[pa.Table], schema: pa.Schema) -> Written:
    """Write tables to an Arrow file in a folder that exists."""
    partial = folder / f"{name}.{uuid.uuid4().hex}.partial"
    with disk_errors(folder):
        try:
            with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                for table in tables:
                    writer.write_table(table)
            written = Written(name, partial.stat().st_size, checksum(partial))
            partial.replace(folder / name)
        finally:
            partial.unlink(missing_ok=True)
    return written


def to_batch(written: list[Written]) -> pa.RecordBatch:
    """As rows that a task returns."""
    columns = list(zip(*written)) or [(), (), ()]
    kinds = [pa.string(), pa.int64(), pa.int64()]
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, kinds)], ["name", "bytes", "crc32"])


@contextmanager
def noting_failure(folder: Path, number: int) -> Iterator[None]:
    """Write an error of lookalike to the folder instead of raising it: Spark would retry a task that cannot succeed."""
    try:
        yield
    except LookalikeError as error:
        _note(folder, number, type(error).__name__, str(error))
    except MemoryError:
        _note(folder, number, "ResourceError", "a task ran out of memory; give executors more, or use fewer cores")


def _note(folder: Path, number: int, kind: str, message: str) -> None:
    noted = folder / _FAILED
    noted.mkdir(exist_ok=True)
    partial = noted / f"{number:09}.{uuid.uuid4().hex}.partial"
    partial.write_text(json.dumps({"kind": kind, "message": message}), "utf-8")
    partial.replace(noted / f"{number:09}.json")


def has_failed_before(folder: Path, number: int) -> bool:
    """Whether a task with a smaller number has failed: then this one is not needed."""
    return any(name < f"{number:09}" for name in _failures(folder))


def raise_failure(folder: Path) -> None:
    """Raise the error of the first failed task, if any: the error that a run on one machine would raise."""
    for name in sorted(_failures(folder))[:1]:
        found = json.loads((folder / _FAILED / name).read_text("utf-8"))
        raise getattr(errors, found["kind"])(found["message"])


def _failures(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder / _FAILED)  # noqa: PTH208
    except FileNotFoundError:
        return []
    return [name for name in names if name.endswith(".json")]
