"""The order of priority: reference items first, then by the keep rule, then as they came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import BadDataError
from lookalike.jobs.corpus import Corpus
from lookalike.types import Int32, to_arrow


def order_items(corpus: Corpus, rule: str, column: str | None, references: int) -> Int32:
    """The items that are not empty, by priority; the first `references` items are reference items and stay in front.

    Ties, and items without a value in the column, go by input order (the latter behind all others).
    """
    filled = np.flatnonzero(corpus.counts).astype(np.int32)
    fixed, items = np.split(filled, [np.searchsorted(filled, references)])
    if rule == "last":
        items = items[::-1]
    elif rule in ("longest", "shortest"):
        lengths = corpus.digests.numbers("length", np.int64)[items]
        items = items[np.argsort(-lengths if rule == "longest" else lengths, kind="stable")]
    elif column is not None:
        values = _comparable(corpus.digests.column(column).slice(references), column).take(to_arrow(items - references))
        table = pa.table({"value": values, "item": to_arrow(items)})
        direction = "descending" if rule == "max" else "ascending"
        keys = [("value", direction, "at_end"), ("item", "ascending", "at_end")]
        items = items[pc.sort_indices(table, sort_keys=keys).to_numpy()]
    return np.concatenate([fixed, items])


def _comparable(values: pa.ChunkedArray, column: str) -> pa.ChunkedArray:
    """Numbers as numbers, also where the file had them as text; dates and other text as they are."""
    if pa.types.is_null(values.type):
        raise BadDataError(f"column {column!r} of the keep rule has no value in any row")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise BadDataError(f"column {column!r} of the keep rule is {kind}; it must be numbers, dates or text")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = _numbers(values)
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values


def _numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is numbers, as numbers; a text that is none among them counts as no value. Other text stays.

    Whole numbers are tried first, since a float cannot tell large ones apart.
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    looks = pc.match_substring_regex(trimmed, r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$").fill_null(False)
    if 2 * (pc.sum(looks).as_py() or 0) < len(texts) - texts.null_count:
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, texts.type), texts)
    numbers = pc.if_else(looks, pc.replace_substring_regex(trimmed, r"^\+", ""), pa.scalar(None, texts.type))
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return numbers.cast(pa.float64())
