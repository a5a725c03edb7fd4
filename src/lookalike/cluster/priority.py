"""Order items by priority: reference items first, then by the keep rule, then in input order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.types import Int32, Int64, to_arrow, to_numpy
from lookalike.types import compute as pc


def order_by_rule(items: Int32, references: int, rule: str, lengths: Callable[[Int32], Int64]) -> Int32:
    """Order items (ascending) by first, last, longest or shortest; ties in input order.

    Examples
    --------
    >>> order_by_rule(np.arange(4, dtype=np.int32), 1, "longest", lambda items: items % 3).tolist()
    [0, 2, 1, 3]
    """
    fixed, rest = split_references(items, references)
    if rule == "last":
        rest = rest[::-1]
    elif rule in ("longest", "shortest"):
        measured = lengths(rest)
        rest = rest[np.argsort(-measured if rule == "longest" else measured, kind="stable")]
    return np.concatenate([fixed, rest])


def order_by_column(
    items: Int32,
    references: int,
    rule: str,
    values: pa.ChunkedArray,
    column: str,
    columns: Callable[[], Sequence[str]] = tuple,
) -> Int32:
    """Order items (ascending) by the largest (max) or smallest (min) value.

    `values` are those of the items that are not references; `columns` names the columns of the input for an error.
    Ties, and items without a value (after all others), are in input order.
    """
    if pa.types.is_null(values.type):
        seen = ", ".join(map(repr, columns()[:50]))
        found = f"; its columns are {seen}" if seen else ""
        raise BadDataError(f"column {column!r} of the keep rule has no value in any row of the input{found}")
    fixed, rest = split_references(items, references)
    table = pa.table({"value": _comparable(values, column), "item": to_arrow(rest)})
    direction = "descending" if rule == "max" else "ascending"
    keys = [("value", direction, "at_end"), ("item", "ascending", "at_end")]
    return np.concatenate([fixed, rest[to_numpy(pc.sort_indices(table, sort_keys=keys))]])


def split_references(items: Int32, references: int) -> tuple[Int32, Int32]:
    """Split items into reference items and others."""
    at = int(np.searchsorted(items, references))
    return items[:at], items[at:]


def _comparable(values: pa.ChunkedArray, column: str) -> pa.ChunkedArray:
    """Convert numbers that the file stores as text; leave dates and other text unchanged."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    kind = values.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise BadDataError(f"column {column!r} of the keep rule is {kind}; it must be numbers, dates or text")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = _numbers(values)
    if pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float32())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values


def _numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text to numbers if most values are numbers; the rest then count as missing. Other text is unchanged.

    Integers are tried first, since floats cannot distinguish large ones.
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    looks = pc.match_substring_regex(trimmed, r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$").fill_null(False)
    if 2 * (pc.sum(looks).as_py() or 0) < len(texts) - texts.null_count:
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, texts.type), texts)
    numbers = pc.if_else(looks, pc.replace_substring_regex(trimmed, r"^\+", ""), pa.scalar(None, texts.type))
    try:
        return pc.cast(numbers, pa.int64())
    except pa.ArrowInvalid:
        return pc.cast(numbers, pa.float64())
