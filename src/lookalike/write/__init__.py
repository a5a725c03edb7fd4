"""Write results to files, complete or not at all. Nothing here knows how they were found."""

from lookalike.types import KEPT
from lookalike.write.checksums import checksum
from lookalike.write.files import TABLE_SUFFIXES, disk_errors, free_bytes, output_file, whole_file
from lookalike.write.kept import LARGE_BYTES, open_kept
from lookalike.write.kept_file import Encoders, KeptFile, Saved
from lookalike.write.outputs import OutputFolder
from lookalike.write.ownership import count_kept
from lookalike.write.results import (
    decoded,
    write_json,
    write_rejected,
    write_table,
    write_tables,
    write_tsv,
)

__all__ = [
    "KEPT",
    "LARGE_BYTES",
    "TABLE_SUFFIXES",
    "Encoders",
    "KeptFile",
    "OutputFolder",
    "Saved",
    "checksum",
    "count_kept",
    "decoded",
    "disk_errors",
    "free_bytes",
    "open_kept",
    "output_file",
    "whole_file",
    "write_json",
    "write_rejected",
    "write_table",
    "write_tables",
    "write_tsv",
]
