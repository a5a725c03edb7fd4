"""Cut a source into parts that other machines can read separately. Knows where rows start, not what is in them."""

from __future__ import annotations

import copy
from dataclasses import replace

from lookalike.read.documents import DocumentsSource
from lookalike.read.lines import LineSource
from lookalike.read.parquet.source import ParquetSource
from lookalike.read.streams import Span
from lookalike.types import Source


def split_source(source: Source, part_bytes: int) -> list[Source]:
    r"""The parts of a source, in order. Together they have all its rows, in blocks with the same numbers.

    Lines stored as UTF-8 are cut near any position, Parquet files between row groups, and files that are an item
    each anywhere. Other sources, such as compressed text and CSV, are one part. The source itself is then read in
    blocks that do not cross parts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lookalike.read import open_inputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("first\nsecond\nthird\n")
    ...     (source,) = open_inputs([f"{folder}/a.txt"])
    ...     len(split_source(source, 8)), len(list(source.blocks()))
    (3, 3)
    """
    if isinstance(source, LineSource):
        return _split_lines(source, part_bytes)
    if isinstance(source, ParquetSource):
        return _split_groups(source, part_bytes)
    if isinstance(source, DocumentsSource):
        return _split_files(source, part_bytes)
    return [source]


def _split_lines(source: LineSource, part_bytes: int) -> list[Source]:
    if not source.is_splittable or source.nbytes <= part_bytes:
        return [source]
    count = -(-source.nbytes // part_bytes)
    cuts = [source.nbytes * number // count for number in range(count + 1)]
    source.spans = tuple(Span(number, cuts[number], cuts[number + 1]) for number in range(count))
    parts: list[Source] = []
    for span in source.spans:
        part = copy.copy(source)
        part.spans, part.rejected_rows = (span,), {}
        part.nbytes = span.stop - span.start
        parts.append(part)
    return parts


def _split_groups(source: ParquetSource, part_bytes: int) -> list[Source]:
    footer = source.footer()
    groups = len(footer.group_rows)
    parts: list[Source] = []
    start = taken = 0
    for group, nbytes in enumerate(footer.group_bytes.tolist()):
        taken += nbytes
        if taken >= part_bytes or group == groups - 1:
            parts.append(source.part(range(start, group + 1)))
            parts[-1].nbytes = source.nbytes * (group + 1 - start) // groups
            start, taken = group + 1, 0
    return parts if len(parts) > 1 else [source]


def _split_files(source: DocumentsSource, part_bytes: int) -> list[Source]:
    """Runs of whole blocks."""
    blocks = list(source.blocks())
    parts: list[Source] = []
    start = first_file = files = nbytes = 0
    for number, block in enumerate(blocks):
        files, nbytes = files + len(block.files), nbytes + block.nbytes  # type: ignore[attr-defined]
        if nbytes >= part_bytes or number == len(blocks) - 1:
            chosen = [replace(file, keep_alive=None) for file in source.files[first_file : first_file + files]]
            part = DocumentsSource(source.name, chosen, source.encoding, source.limits)
            part.first_block = start
            parts.append(part)
            start, first_file, files, nbytes = number + 1, first_file + files, 0, 0
    return parts if len(parts) > 1 else [source]
