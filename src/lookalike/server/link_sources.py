"""Which file each record of a link comes from, as far as the run has noted it.

Knows the folder `model` that link writes, and nothing of the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SIDES = ("left", "right")


def table_path(folder: Path, side: str) -> Path:
    """The records of a table; a table that was linked with itself has one file for both sides."""
    path = folder / "model" / f"{side}.parquet"
    return path if path.is_file() else path.with_name("left.parquet")


def add_files(folder: Path, links: pa.Table) -> pa.Table:
    """Links with the columns left_file and right_file, or as they are if their files are not known."""
    try:
        noted = json.loads((folder / "model" / "model.json").read_text("utf-8"))["files"]
        columns = [_files(folder, side, noted, links[side]) for side in SIDES]
    except (OSError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException):
        return links  # a run of an earlier version, or its records are no longer there
    for side, column in zip(SIDES, columns):
        links = links.append_column(f"{side}_file", column)
    return links


def _files(folder: Path, side: str, noted: dict[str, Any], ids: pa.ChunkedArray) -> pa.Array:
    path = table_path(folder, side)
    files = noted[path.stem]
    first = pq.read_schema(path).names[0]
    records = pq.read_table(path, columns=[first]).column(0).combine_chunks().cast(ids.type)
    places = pc.index_in(ids.combine_chunks(), value_set=records)
    ends = np.cumsum([count for _, count in files])
    if not len(ends) or ends[-1] != len(records) or places.null_count:
        raise ValueError(f"{path}: the files of its records are not known")
    owners = np.searchsorted(ends, places.to_numpy(zero_copy_only=False), "right")
    return pa.array([name for name, _ in files]).take(pa.array(owners))
