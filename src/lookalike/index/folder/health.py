"""Check whether the files of an index are intact and consistent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.engine.digest import keys_of_sets
from lookalike.errors import BadDataError
from lookalike.index.batch import id_keys
from lookalike.index.folder.crowds import mark_crowded
from lookalike.index.folder.earlier import check_earlier
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.state_file import StateFile
from lookalike.index.folder.store import Folder
from lookalike.index.kind import Kind
from lookalike.index.part import fetch_sets
from lookalike.index.refining import Refining
from lookalike.types import INDEX_FILE, Int64

PIECE = 4096
"""Items whose keys are computed again at a time."""


def check_folder(path: Path) -> list[str]:
    """All problems, each with the file concerned.

    Examples
    --------
    >>> check_folder(Path("no such folder"))
    Traceback (most recent call last):
    lookalike.errors.UsageError: no such folder: is not an index; create one with `lookalike index create`
    """
    check_earlier(path, writing=False)
    try:
        file = StateFile(path, writing=False)
    except BadDataError as error:
        return [str(error)]
    with closing(file):
        try:
            with file.reading():
                wrong, state = file.problems(), file.read()
            kind = Kind.of(state.kind, str(path / INDEX_FILE))
        except BadDataError as error:
            return [str(error)]
        for name in [part.segment for part in state.parts if part.segment is not None]:
            wrong += _attempt(lambda name=name: _check_segment(Segment(path / name), kind))
        if not wrong:
            wrong += _attempt(lambda: Folder(path, writing=False).close())
        with file.reading():
            replaced = wrong and file.read().generation != state.generation
    return check_folder(path) if replaced else wrong  # a writer has replaced segments meanwhile


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
    _check_crowd(segment, kind)


def _check_crowd(segment: Segment, kind: Kind) -> None:
    """Check that all items of large buckets are found by their rare elements."""
    crowd, refining = segment.crowd, Refining.of(kind)
    if crowd is None or refining is None:
        return
    marks = np.zeros(len(segment), np.bool_)
    for keys, numbers in zip(segment.file.load("keys"), segment.file.load("numbers")):
        mark_crowded(keys, numbers, marks)
    items = np.flatnonzero(marks)
    for piece, (name, bands, places) in enumerate(crowd.bands):
        found = refining.entries(segment, items, crowd.counters, crowd.sizes, piece, len(crowd.bands))
        same = np.array_equal(found.keys, bands.keys[0]) and np.array_equal(found.members, bands.numbers[0])
        if not (same and np.array_equal(found.places, places)):
            raise DamagedError(segment.file.path, f"the rare elements of its items are not those in {name!r}")


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
