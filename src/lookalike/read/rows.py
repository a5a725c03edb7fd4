"""Fetch items of sources by the file and row that results name. Reads one block at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from lookalike.read.documents import DocumentsSource
from lookalike.types import Block, Int64, Source, Wanted

Place = tuple[str, int]
"""A file and the number of an item in it, as in removed.parquet."""
KnownBlocks = Mapping[tuple[int, int], tuple[int, Sequence[int]]]
"""By source and block: the number of items, and the rows that are not items."""


def fetch_items(
    sources: Sequence[Source], places: Iterable[Place], wanted: Wanted, known: KnownBlocks | None = None
) -> dict[Place, Any]:
    """The compared column of the items at these places, as Python values; places that do not exist are omitted.

    Parameters
    ----------
    known
        Records of the blocks of the sources, so that blocks without a wanted item need not be parsed.

    Examples
    --------
    >>> from lookalike.read import open_data
    >>> fetch_items([open_data(["zero", "one", "two"], "text")], [("data", 2), ("data", 7)], Wanted("text"))
    {('data', 2): 'two'}
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for file, row in places:
        rows[file].add(row)
    found: dict[Place, Any] = {}
    for number, source in enumerate(sources):
        if isinstance(source, DocumentsSource):
            found |= _fetch_documents(source, rows, wanted)
        elif source.name in rows:
            asked = np.array(sorted(rows.pop(source.name)), np.int64)
            values = _fetch_rows(source, number, asked, wanted, known or {})
            found |= {(source.name, row): value for row, value in values.items()}
    return found


def _fetch_documents(source: DocumentsSource, rows: Mapping[str, set[int]], wanted: Wanted) -> dict[Place, Any]:
    """Fetch files that are one item each; only these are opened."""
    files = [file for file in source.files if file.name in rows]
    if not files:
        return {}
    some = DocumentsSource(source.name, files, source.encoding, source.limits)
    strict = Wanted(wanted.features)
    texts = chain.from_iterable(block.items(strict).features.to_pylist() for block in some.blocks())
    return {(file.name, 0): text for file, text in zip(files, texts)}


def _fetch_rows(source: Source, number: int, rows: Int64, wanted: Wanted, known: KnownBlocks) -> dict[int, Any]:
    found: dict[int, Any] = {}
    first = 0
    for index, block in enumerate(source.blocks()):
        about = known.get((number, index))
        if about is not None:
            items = about[0]
            source.rejected_rows[index] = np.array(about[1], np.int64)
        else:
            items = _count_items(block, wanted)
        low, high = np.searchsorted(rows, [first, first + items]).tolist()
        if low < high:
            values = block.items(wanted, rows[low:high] - first).features.to_pylist()
            found.update(zip(rows[low:high].tolist(), values))
        first += items
        if high == len(rows):
            break
    return found


def _count_items(block: Block, wanted: Wanted) -> int:
    return len(block.items(wanted))
