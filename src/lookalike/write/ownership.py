"""What lookalike may replace or delete: only what it wrote itself. Symbolic links are never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.kernels.small_files import list_states
from lookalike.types import INDEX_FILE, KEPT, RUN_FILE, parse_record
from lookalike.types.paths import kernels_open_files, path_block

WRITTEN = "written"
"""Key in run.json: how many files and bytes the run wrote to kept/."""
LOCK_TEXT = b"lookalike\n"
"""Content of the lock file, by which a hidden folder is recognised as ours."""

_OUTPUT_NAMES = {
    KEPT,
    "graph",
    "model",
    RUN_FILE,
    "removed.parquet",
    "clusters.parquet",
    "links.parquet",
    "changes.parquet",
    "rejected.jsonl",
    "report.html",
}
_DESKTOP_NAMES = {".DS_Store", "Thumbs.db", "desktop.ini"}
"""Files that file managers leave in any folder."""
_GRAPH_NAMES = {"links.parquet", "items.parquet", "sources.json"}
_MODEL_NAMES = {"model.json", "report.json", "left.parquet", "right.parquet"}
_WORK_NAMES = ("manifest.jsonl*", "*.arrow", "*.arrow.partial", "stdin.jsonl", "lookalike-*")
_INDEX_NAMES = (f"{INDEX_FILE}*", "segment-*.bin", "acknowledged.bin", "writer.lock")
_NAMED = 3
"""How many files an error names."""


def count_kept(folder: Path) -> dict[str, Any]:
    """The number of files and bytes in kept/ of an output folder, for run.json: it reveals files added later."""
    sizes = _sizes(list(_paths(folder / KEPT)))
    return {WRITTEN: {"files": len(sizes), "bytes": sum(sizes)}}


def _sizes(paths: list[str]) -> list[int]:
    """The sizes of files: together, half the time of asking for one after the other in Python."""
    if kernels_open_files():
        states = np.empty((len(paths), 4), np.int64)
        list_states(path_block(paths), False, states)
        if (states[:, 0] >= 0).all():
            sizes: list[int] = states[:, 1].tolist()
            return sizes
    return [os.lstat(path).st_size for path in paths]


def check_replaceable(folder: Path) -> None:
    """Refuse to replace a folder that is neither empty nor an output of lookalike, or that has other files in it."""
    found = sorted(path.name for path in folder.iterdir())
    if not found:
        return
    record = _record(folder)
    if record is None:
        raise UsageError(f"{folder}: has no {RUN_FILE} of lookalike, so it is not an output; choose another name")
    foreign = [name for name in found if name not in _OUTPUT_NAMES | _DESKTOP_NAMES]
    for inner, ours in (("graph", _GRAPH_NAMES), ("model", _MODEL_NAMES)):
        names = sorted(path.name for path in (folder / inner).glob("*"))
        foreign += [f"{inner}/{name}" for name in names if name not in ours | _DESKTOP_NAMES]
    if foreign := foreign or _added(folder, record):
        raise UsageError(
            f"{folder}: has files that lookalike did not write: {_names(foreign)}; move them or choose another name"
        )


def check_work_folders(partial: Path, lock: str, others: Iterable[Path]) -> None:
    """Refuse hidden and work folders that are links or not ours, before anything is written or deleted there."""
    others = list(others)
    for folder in (partial, partial / KEPT, *others):
        _refuse_link(folder)
    if partial.exists() and not _is_ours(partial, lock):
        raise UsageError(
            f"{partial}: is needed for work files, but was not made by lookalike; move it or choose another output"
        )
    for folder in others:
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        foreign = [name for name in names if not any(fnmatchcase(name, ours) for ours in _WORK_NAMES)]
        if foreign:
            raise UsageError(
                f"{folder}: is needed for work files, but has files that lookalike did not write: {_names(foreign)}; "
                "move them or choose another --work"
            )


def _refuse_link(folder: Path) -> None:
    try:
        mode = folder.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a folder"
        raise UsageError(f"{folder}: is {what}, but is needed for work files; remove it or choose another output")


def _is_ours(partial: Path, lock: str) -> bool:
    """Whether a hidden folder has our lock file, or our run.json, or only files of an index, or nothing at all yet."""
    names = {path.name for path in partial.iterdir()}
    path = partial / lock
    if lock in names and not path.is_symlink() and path.is_file():
        try:
            with path.open("rb") as file:
                text = file.read(len(LOCK_TEXT))
        except PermissionError:  # Windows, while another run holds the lock
            return True
        return text == LOCK_TEXT or (not text and names == {lock})  # killed before it wrote the text
    return not names or (lock not in names and (_record(partial) is not None or _is_index(names)))


def _is_index(names: set[str]) -> bool:
    """Whether these are the files of a complete index whose process was killed before it was renamed."""
    return INDEX_FILE in names and all(any(fnmatchcase(name, ours) for ours in _INDEX_NAMES) for name in names)


def _record(folder: Path) -> dict[str, Any] | None:
    path = folder / RUN_FILE
    return parse_record(path.read_bytes()) if path.is_file() and not path.is_symlink() else None


def _added(folder: Path, record: dict[str, Any]) -> list[str]:
    """Files in kept/ that were added or changed since the run; those newer than run.json, if any are."""
    known = record.get(WRITTEN)
    if known is None or count_kept(folder)[WRITTEN] == known:
        return []
    finished = (folder / RUN_FILE).stat().st_mtime_ns
    files = _files(folder / KEPT)
    newer = [path for path in files if path.lstat().st_mtime_ns > finished]
    return [path.relative_to(folder).as_posix() for path in newer or files]


def _files(folder: Path) -> list[Path]:
    return sorted(map(Path, _paths(folder)))


def _paths(folder: Path) -> Iterator[str]:
    for parent, _, files in os.walk(folder):
        within = os.path.join(parent, "")
        yield from (within + name for name in files if name not in _DESKTOP_NAMES)


def _names(foreign: list[str]) -> str:
    more = f" and {len(foreign) - _NAMED:,} more" if len(foreign) > _NAMED else ""
    return ", ".join(foreign[:_NAMED]) + more
