"""How an index is: its size, and whether its files are intact and agree with each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.engine.digest import keys_of_sets
from lookalike.errors import BadDataError, UsageError
from lookalike.index.batch import id_keys
from lookalike.index.errors import DamagedError
from lookalike.index.index import FolderIndex
from lookalike.index.kind import Kind
from lookalike.index.log import FIRST, read_log
from lookalike.index.manifest import MANIFEST, Manifest
from lookalike.index.part import fetch_sets
from lookalike.index.segment import Segment
from lookalike.types import Int64

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
PIECE = 4096
"""Items whose keys are computed again at a time."""


def parse_age(text: str | float) -> float:
    """Seconds, from "90d", "12h", "30m", "2w" or a number of seconds.

    Examples
    --------
    >>> parse_age("1.5h"), parse_age(10)
    (5400.0, 10.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", str(text))
    if not match:
        raise UsageError(f"--older-than must be a time such as 90d, 12h or 30m, not {text!r}")
    return float(match[1]) * _UNITS[match[2] or "s"]


def describe_index(index: FolderIndex) -> dict[str, Any]:
    """Items, bytes, segments, log and the largest buckets."""
    folder, view = index.folder, index.folder.view
    files = {name: (folder.path / name).stat().st_size for name in [MANIFEST, *folder.manifest.files]}
    buckets = [0]
    for part in view.parts:
        if isinstance(part, Segment):
            buckets += part.largest_buckets().tolist()
    total = sum(files.values())
    return {
        "items": len(view),
        "removed": view.total - len(view),
        "bytes": total,
        "bytes_per_item": round(total / len(view), 1) if len(view) else None,
        "segments": len(folder.manifest.segments),
        "log": {"items": len(folder.table), "bytes": files[folder.manifest.log] - FIRST, "records": folder.records},
        "largest_bucket": max(buckets),
        "options": {**folder.manifest.options, "store": folder.manifest.store},
        "plan": folder.manifest.plan,
        "files": files,
    }


def check_index(path: Path) -> list[str]:
    """Everything that is wrong, each with the file that it is about.

    Examples
    --------
    >>> check_index(Path("no such folder"))
    Traceback (most recent call last):
    lookalike.errors.UsageError: no such folder: is not an index; create one with `lookalike index create`
    """
    try:
        manifest = Manifest.load(path)
        kind = Kind.of(manifest, path)
    except BadDataError as error:
        return [str(error)]
    wrong = []
    for name in manifest.segments:
        wrong += _attempt(lambda name=name: _check_segment(Segment(path / name), kind))
    wrong += _attempt(lambda: [None for _ in read_log(path / manifest.log)])
    if not wrong:
        wrong += _attempt(lambda: FolderIndex.open(path, read_only=True).close())
    if wrong and Manifest.load(path).generation != manifest.generation:
        return check_index(path)  # a writer has replaced the files meanwhile
    return wrong


def _attempt(check: Any) -> list[str]:
    try:
        check()
    except BadDataError as error:
        return [str(error)]
    return []


def _check_segment(segment: Segment, kind: Kind) -> None:
    """Checksums, the order of the keys, and that every item is in all its buckets and under its id."""
    segment.file.check_all()
    keys, numbers = segment.file.load("keys"), segment.file.load("numbers")
    if segment.bands != kind.plan.bands:
        raise DamagedError(segment.file.path, f"it has {segment.bands} bands instead of {kind.plan.bands}")
    if (keys[:, 1:] < keys[:, :-1]).any():
        raise DamagedError(segment.file.path, "its keys are not in order")
    for row in numbers:
        if (np.bincount(row, minlength=len(segment)) > 1).any():
            raise DamagedError(segment.file.path, "an item occurs twice in a band")
    stored, there = segment.keys_by_item()
    for first in range(0, len(segment), PIECE):
        _check_items(segment, kind, stored, there, np.arange(first, min(first + PIECE, len(segment))))


def _check_items(segment: Segment, kind: Kind, stored: Any, there: Any, some: Int64) -> None:
    sets, places = fetch_sets(segment, some, kind.digesting, kind.store == "text")
    if kind.store != "text":
        low, high = sets.indptr[some[0]], sets.indptr[some[-1] + 1]
        sets = type(sets)(sets.indptr[some[0] : some[-1] + 2] - low, sets.elements[low:high])
    keys, present = keys_of_sets(sets, kind.digesting)
    if (present != there[some]).any() or (keys[:, present] != stored[:, some[present]]).any():
        raise DamagedError(segment.file.path, "an item is not in all its buckets")
    left, right = segment.find_ids(id_keys(segment.ids(some)))
    if not np.isin(some, right[some[left] == right]).all():
        raise DamagedError(segment.file.path, "an item cannot be found by its id")
    assert len(places) == len(some)
