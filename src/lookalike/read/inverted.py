"""Transposed sets: for every element, the rows that contain it. Baskets of products become products with baskets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, ResourceError
from lookalike.read.tables import TableSource
from lookalike.types import Int64, Source, Wanted, to_arrow, to_numpy
from lookalike.types import compute as pc

ELEMENT_BYTES = 64
"""Most memory that one element of a row takes while it is sorted."""
ID = "id"


def invert(sources: Sequence[Source], column: str, memory_bytes: int) -> pa.Table:
    """One row per distinct element of the lists in a column: `id` is the element, the list holds the rows with it.

    Rows are numbered from 0 over all sources. Elements are in ascending order, and so are the rows of each.

    Raises
    ------
    BadDataError
        If the column does not hold lists of strings or integers.
    ResourceError
        If the elements do not fit in memory.

    Examples
    --------
    >>> from lookalike.read.tables import open_data
    >>> invert([open_data([["milk", "tea"], ["tea", "tea"]], "text")], "text", 1 << 30).to_pylist()
    [{'id': 'milk', 'text': [0]}, {'id': 'tea', 'text': [0, 1]}]
    """
    values, rows = _flatten(sources, column, memory_bytes)
    encoded = pc.dictionary_encode(pa.concat_arrays(values))
    order = to_numpy(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    elements = rank[to_numpy(encoded.indices)]
    by_element = np.lexsort((rows, elements))
    elements, rows = elements[by_element], rows[by_element]
    again = (elements[1:] == elements[:-1]) & (rows[1:] == rows[:-1])  # a row may contain an element twice
    first = np.concatenate([np.ones(min(1, len(rows)), np.bool_), ~again])
    elements, rows = elements[first], rows[first]
    starts = np.searchsorted(elements, np.arange(len(order) + 1))
    holders = pa.LargeListArray.from_arrays(to_arrow(starts.astype(np.int64)), to_arrow(rows))
    return pa.table({ID: pc.take(encoded.dictionary, to_arrow(order)), column: holders})


def open_inverted(sources: Sequence[Source], column: str, memory_bytes: int) -> list[Source]:
    """The transposed sets of some sources, as a source."""
    return [TableSource(invert(sources, column, memory_bytes), column)]


def _flatten(sources: Sequence[Source], column: str, memory_bytes: int) -> tuple[list[pa.Array], Int64]:
    """All elements, and the row of each."""
    chunks, owners = [], [np.empty(0, np.int64)]
    row = count = 0
    for source in sources:
        for block in source.blocks():
            lists = block.items(Wanted(column)).features
            if lists.null_count == len(lists):
                row += len(lists)
                continue
            values = _values(lists, source.name, column)
            count += len(values)
            if ELEMENT_BYTES * count > memory_bytes:
                raise ResourceError(
                    f"{source.name}: transposing more than {count:,} elements needs more memory; increase --memory"
                )
            sizes = pc.coalesce(pc.list_value_length(lists), to_arrow(np.zeros(len(lists), np.int32)))
            owners.append(np.repeat(np.arange(row, row + len(lists)), to_numpy(pc.cast(sizes, pa.int64()))))
            chunks.append(values)
            row += len(lists)
    kinds = {chunk.type for chunk in chunks if len(chunk)}
    if len(kinds) > 1:
        both = " and of ".join(sorted(map(str, kinds)))
        raise BadDataError(f"column {column!r} has lists of {both}; convert them to one type")
    filled = [chunk for chunk in chunks if len(chunk)]
    return filled or [pa.nulls(0, pa.int64())], np.concatenate(owners)


def _values(lists: pa.Array, name: str, column: str) -> pa.Array:
    """The elements of all lists, concatenated."""
    kind = lists.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise BadDataError(f"{name}: column {column!r} is of type {kind}; only lists and .dat files can be transposed")
    values = pc.list_flatten(lists)
    if values.null_count:
        raise BadDataError(f"{name}: a list in column {column!r} contains a null; remove nulls from the lists")
    if pa.types.is_integer(values.type):
        return values if values.type == pa.uint64() else pc.cast(values, pa.int64())
    if len(values) and not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise BadDataError(
            f"{name}: column {column!r} has lists of {values.type}; only strings and integers can be transposed"
        )
    return pc.cast(values, pa.large_string())
