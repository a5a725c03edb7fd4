"""The order of priority: reference items first, then by the keep rule, then as they came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import BadDataError
from lookalike.jobs.corpus import Corpus
from lookalike.types import Int64, to_arrow


def order_items(corpus: Corpus, rule: str, column: str | None, references: int) -> Int64:
    """All items by priority; the first `references` items are reference items and stay in front.

    Ties, and items without a value in the column, go by input order (the latter behind all others).
    """
    items = np.arange(references, len(corpus), dtype=np.int64)
    if rule == "last":
        items = items[::-1]
    elif rule in ("longest", "shortest"):
        lengths = corpus.lengths[items]
        items = items[np.argsort(-lengths if rule == "longest" else lengths, kind="stable")]
    elif column is not None:
        values = _comparable(corpus.columns[column].slice(references), column)
        table = pa.table({"value": values, "item": to_arrow(items)})
        direction = "descending" if rule == "max" else "ascending"
        keys = [("value", direction, "at_end"), ("item", "ascending", "at_end")]
        items = items[pc.sort_indices(table, sort_keys=keys).to_numpy()]
    return np.concatenate([np.arange(references, dtype=np.int64), items])


def _comparable(values: pa.ChunkedArray, column: str) -> pa.ChunkedArray:
    """Numbers as numbers, also where the file had them as text; dates and other text as they are."""
    if pa.types.is_null(values.type):
        raise BadDataError(f"column {column!r} of the keep rule has no value in any row")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        raise BadDataError(f"column {column!r} of the keep rule is {values.type}; it must be numbers, dates or text")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        values = pc.if_else(blank, pa.scalar(None, values.type), values)
        try:
            values = values.cast(pa.float64())
        except pa.ArrowInvalid:
            return values
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values
