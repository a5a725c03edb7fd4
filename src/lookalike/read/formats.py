"""The format of a file, by its suffix. A new format needs a module with a source, and a line here."""

from __future__ import annotations

from collections.abc import Callable

from lookalike.read.csv import CsvSource
from lookalike.read.dat import DatSource
from lookalike.read.files import File
from lookalike.read.jsonl import JsonlSource
from lookalike.read.parquet import ParquetSource
from lookalike.read.txt import TxtSource
from lookalike.read.vectors import BvecsSource, FvecsSource, NpySource
from lookalike.types import ReadLimits, Source

FORMATS: dict[str, Callable[[File, str, ReadLimits], Source]] = {
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
"""By suffix, what makes a source from a file, encoding and limits. Any other file is one item (see `documents`)."""

UNCOMPRESSED_ONLY = {".parquet", ".npy", ".fvecs", ".bvecs"}
"""Formats that are compressed internally, or read at arbitrary positions."""
