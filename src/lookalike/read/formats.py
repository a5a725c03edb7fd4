"""The format of a file, by its suffix. A new format needs a module with a source, and a line here.

A module is imported when the first file of its format is opened: all of them take 3 of the 200 ms of a small job.
"""

from __future__ import annotations

from importlib import import_module

from lookalike.read.files import File
from lookalike.types import ReadLimits, Source

FORMATS = {
    ".parquet": ("parquet.source", "ParquetSource"),
    ".jsonl": ("jsonl", "JsonlSource"),
    ".ndjson": ("jsonl", "JsonlSource"),
    ".csv": ("csv", "CsvSource"),
    ".tsv": ("csv", "CsvSource"),
    ".txt": ("txt", "TxtSource"),
    ".dat": ("dat", "DatSource"),
    ".npy": ("vectors", "NpySource"),
    ".fvecs": ("vectors", "FvecsSource"),
    ".bvecs": ("vectors", "BvecsSource"),
}
"""By suffix, the module of this folder and its source. Any other file is one item (see `documents`)."""

UNCOMPRESSED_ONLY = {".parquet", ".npy", ".fvecs", ".bvecs"}
"""Formats that are compressed internally, or read at arbitrary positions."""


def names_data(name: str) -> bool:
    """Whether a name ends in the suffix of a kind of input.

    Examples
    --------
    >>> names_data("news.jsonl.gz"), names_data("seen")
    (True, False)
    """
    return File(name, name, name).suffix in (*FORMATS, ".json", ".html", ".htm")


def open_source(file: File, encoding: str, limits: ReadLimits) -> Source:
    """A file whose suffix is that of a format."""
    module, name = FORMATS[file.suffix]
    source: Source = getattr(import_module(f"lookalike.read.{module}"), name)(file, encoding, limits)
    return source
