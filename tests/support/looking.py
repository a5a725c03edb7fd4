"""Ways to look at a source, for the tests of this room."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard

from lookalike.read import join_column
from lookalike.types import ReadLimits, Rejected, Source, Wanted

SMALL = ReadLimits(block_bytes=64, block_rows=3, block_files=3)
"""Blocks of a few rows, so that every test crosses their borders."""
COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}


def features(source: Source, column: str = "text", **options: Any) -> list[Any]:
    """What is compared, over all blocks."""
    return [value for block in source.blocks() for value in block.items(Wanted(column, **options)).features.to_pylist()]


def column(source: Source, name: str, compared: str = "text") -> pa.ChunkedArray:
    """Another column, over all blocks."""
    return join_column(block.items(Wanted(compared, (name,))).columns[name] for block in source.blocks())


def rejected(source: Source, column: str = "text") -> list[Rejected]:
    """What is set aside, over all blocks."""
    wanted = Wanted(column, skip_errors=True)
    return [one for block in source.blocks() for one in block.items(wanted).rejected]


def stored(source: Source, keep: Callable[[int], bool] = lambda row: True) -> list[Any]:
    """What the writer gets where the rows with these numbers are kept; every block is parsed first."""
    lengths = [len(block.items(Wanted("text", skip_errors=True))) for block in source.blocks()]
    found, row = [], 0
    for length, block in zip(lengths, source.blocks(), strict=True):
        found.append(block.kept_rows(np.array([keep(row + number) for number in range(length)], bool)))
        row += length
    return found


def stored_bytes(source: Source, keep: Callable[[int], bool] = lambda row: True) -> bytes:
    """The bytes of a kept file before compression."""
    rows = b"".join(stored(source, keep))
    return source.layout().prefix + rows


def write(path: Path, data: bytes) -> Path:
    """Write a file, compressed as its name says."""
    path.write_bytes(COMPRESS.get(path.suffix, bytes)(data))
    return path
