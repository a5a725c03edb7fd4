"""Which format a file has, by its suffix. A new format is a source in a file of its own and a line here."""

from __future__ import annotations

from collections.abc import Callable

from lookalike.read.csv import CsvSource
from lookalike.read.dat import DatSource
from lookalike.read.files import File
from lookalike.read.jsonl import JsonlSource
from lookalike.read.parquet import ParquetSource
from lookalike.read.txt import TxtSource
from lookalike.read.vectors import BvecsSource, FvecsSource, NpySource
from lookalike.types import Source

FORMATS: dict[str, Callable[[File, str], Source]] = {
    ".parquet": ParquetSource,
    ".jsonl": JsonlSource,
    ".ndjson": JsonlSource,
    ".csv": CsvSource,
    ".tsv": CsvSource,
    ".txt": TxtSource,
    ".dat": DatSource,
    ".npy": NpySource,
    ".fvecs": FvecsSource,
    ".bvecs": BvecsSource,
}
"""Suffix -> what makes a source of a file and an encoding. Every other file is one item (see `documents`)."""

UNCOMPRESSED_ONLY = {".parquet", ".npy", ".fvecs", ".bvecs"}
"""Formats that have a compression of their own, or are mapped into memory."""
