"""The sizes of an index in a folder, for `stats` and the page. Nothing here reads more than file sizes and keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.index.folder.segment import Segment
from lookalike.index.view import View
from lookalike.types import INDEX_FILE

if TYPE_CHECKING:
    from lookalike.index.folder.reader import FolderReader


def bucket_sizes(view: View) -> dict[int, int]:
    """The number of buckets by size class, each segment counted separately; the log is not included."""
    classes = np.zeros(64, np.int64)
    for segment in _segments(view):
        classes += segment.bucket_sizes[0]
    return {1 << power: int(classes[power]) for power in range(int(np.flatnonzero(classes).max(initial=-1)) + 1)}


def describe(folder: FolderReader) -> dict[str, Any]:
    """Items, bytes, segments, log and the largest buckets."""
    view, segments = folder.view, _segments(folder.view)
    log = sum(_size(folder.path / f"{INDEX_FILE}{suffix}") for suffix in ("", "-wal"))
    files = {INDEX_FILE: log, **{segment.name: segment.file.nbytes for segment in segments}}
    total = sum(files.values())
    return {
        "items": len(view),
        "removed": view.removed,
        "bytes": total,
        "bytes_per_item": round(total / len(view), 1) if len(view) else None,
        "segments": len(segments),
        "log": {"items": view.total - sum(map(len, segments)), "bytes": log, "records": folder.saved.rows},
        "largest_bucket": max((segment.bucket_sizes[1] for segment in segments), default=0),
        "oversize_buckets": sum(segment.bucket_sizes[2] for segment in segments),
        "refined_items": sum(len(segment.crowd or ()) for segment in segments),
        "options": {**folder.saved.kind["options"], "store": folder.saved.kind["store"]},
        "plan": folder.saved.kind["plan"],
        "files": files,
        "problem": folder.problem,
    }


def _segments(view: View) -> list[Segment]:
    return [part for part in view.parts if isinstance(part, Segment)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
