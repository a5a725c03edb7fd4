"""Reads labelled pairs: the ids of two records, and whether they are the same entity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.scoring.labels import Labels
from lookalike.linkage.tables import RecordTable, read_records
from lookalike.read import looks_like_paths, open_data, open_inputs
from lookalike.read.columns import joined_columns, one_array
from lookalike.types import Int64, to_numpy
from lookalike.types import compute as pc

COLUMNS = ("left", "right", "match")
YES = {"1", "1.0", "true", "t", "yes", "y", "match"}
NO = {"0", "0.0", "false", "f", "no", "n", "non-match"}


def read_labels(
    given: Any, left: RecordTable, right: RecordTable | None, note: Callable[[str], None], encoding: str = "utf-8"
) -> Labels:
    """The labels of a file, or of a table in memory: columns left, right, match, and weight, if there is one.

    Rows without a label are skipped. Errors name the row, counted from 1 without the header.
    """
    if looks_like_paths(given):
        sources = open_inputs([given] if isinstance(given, str | Path) else given, encoding=encoding)
        if len(sources) != 1:
            raise UsageError(f"--labels {given}: {len(sources)} files; name one")
        source = sources[0]
    else:
        source = open_data(given, COLUMNS[0])
        source.name = "labels"
    present = source.column_names()
    missing = [name for name in COLUMNS if present is not None and name not in present]
    if missing:
        shown = ", ".join(present or ()) or "none"
        needed = "it needs left, right (ids of records) and match (1 or 0)"
        columns = joined_columns(present or ()) or f"its columns are {shown}, but {needed}"
        raise BadDataError(f"--labels {source.name}: has no column '{missing[0]}'; {columns}")
    table = read_records(source, list(COLUMNS), ["weight"])
    place = f"--labels {source.name}"
    match = _read_matches(_texts(table, "match"), place)
    rows = np.flatnonzero(match >= 0)
    if not len(rows):
        raise BadDataError(f"{place}: no row has a label; fill in the column match with 1 or 0")
    if len(rows) < len(match):
        note(f"{place}: rows without a label are skipped ({len(match) - len(rows):,} of {len(match):,})")
    weight = _read_weights(table, rows, place)
    one = _find(_texts(table, "left"), left, "left", rows, place)
    other = _find(_texts(table, "right"), right or left, "right", rows, place)
    return _check(one, other + (len(left.ids) if right else 0), match[rows] == 1, weight, rows, place)


def _texts(table: pa.Table, name: str) -> pa.Array:
    values = table.column(name)
    if pa.types.is_floating(values.type):  # whole numbers with gaps are read as floats
        whole = pc.all(pc.equal(pc.trunc(values), values), min_count=0).as_py()
        values = pc.cast(values, pa.int64()) if whole else values
    return pc.cast(one_array(values), pa.large_string())


def _read_matches(values: pa.Array, place: str) -> Int64:
    """Each label as 1 or 0; -1 for no label."""
    found = np.full(len(values), -1, np.int64)
    for row, text in enumerate(values.to_pylist()):
        plain = (text or "").strip().lower()
        if plain in YES or plain in NO:
            found[row] = int(plain in YES)
        elif plain:
            raise BadDataError(f"{place}, row {row + 1}: match is '{text}'; write 1 (the same entity) or 0 (not)")
    return found


def _read_weights(table: pa.Table, rows: Int64, place: str) -> Any:
    values = one_array(table.column("weight"))
    if values.null_count == len(values):
        return np.ones(len(rows))
    try:
        weights = to_numpy(pc.fill_null(pc.cast(values, pa.float64()), 1.0))[rows]
    except pa.ArrowException:
        raise BadDataError(f"{place}: the column weight must hold numbers") from None
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        raise BadDataError(f"{place}, row {rows[bad[0]] + 1}: weight must be positive, not {weights[bad[0]]}")
    return np.array(weights, np.float64)


def _find(ids: pa.Array, table: RecordTable, side: str, rows: Int64, place: str) -> Int64:
    """The number of each labelled record. Spaces around an id are ignored, unless they are part of it."""
    known = pc.cast(table.ids, pa.large_string())
    places = [pc.index_in(some, value_set=known) for some in (ids, pc.utf8_trim_whitespace(ids))]
    found = to_numpy(pc.fill_null(pc.coalesce(*places), -1)).astype(np.int64)[rows]
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        row = int(rows[unknown[0]])
        raise BadDataError(f"{place}, row {row + 1}: no record of {table.name} has the id '{ids[row]}' (column {side})")
    return found


def _check(left: Int64, right: Int64, match: Any, weight: Any, rows: Sequence[int] | Int64, place: str) -> Labels:
    """Each pair once; refuses a record paired with itself, and pairs with both labels."""
    same = np.flatnonzero(left == right)
    if len(same):
        raise BadDataError(f"{place}, row {rows[int(same[0])] + 1}: left and right are the same record")
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((high, low))
    again = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    differ = np.flatnonzero(again & (match[order][1:] != match[order][:-1]))
    if len(differ):
        one, other = sorted(int(rows[order[differ[0] + step]]) + 1 for step in (0, 1))
        raise BadDataError(f"{place}, rows {one} and {other}: the same pair has both labels; remove one")
    kept = order[np.append(True, ~again)]
    return Labels(low[kept], high[kept], match[kept], weight[kept])
