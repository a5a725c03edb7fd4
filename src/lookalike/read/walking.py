"""The files below a folder: what is read, what is skipped with a note, and what cannot be read.

Knows names and permissions, not formats.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import UsageError
from lookalike.kernels.small_files import list_states
from lookalike.read.earlier import LINE_FILES, is_earlier_output, is_index_folder, read_record
from lookalike.types import KEPT
from lookalike.types.frozen import frozen
from lookalike.types.paths import kernels_open_files, path_block

MOST_LEVELS = 500
"""Folders below an input. Python's `os.walk` and `shutil.rmtree` fail at about 1,000, and the results of a run have as
many levels as its input."""
AT_ONCE = 1000
"""Paths that are looked up between two moments at which the user can interrupt."""
TOO_DEEP = f"more than {MOST_LEVELS} folders deep"
NO_INPUT = "is an index, not an input; query it with `lookalike index query`, or use it with `dedup --reference`"


def silent(_: str) -> None:
    """Report nothing."""


@frozen
class Finding:
    """How inputs are searched for."""

    outputs: Sequence[Path] = ()
    """Folders that the run writes to, resolved: files in them are not input."""
    skip_errors: bool = False
    """List what cannot be read instead of raising."""
    note: Callable[[str], None] = silent
    """Called with a message about each input that is skipped."""
    _folders: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Folders seen so far, with their real paths, which end with a separator."""

    def is_written(self, path: str | Path, is_link: bool | None = None) -> bool:
        """Whether a path is in a folder that the run writes to; `is_link`, if known, tells whether it is a link."""
        if not self.outputs:
            return False
        return (self._real_path(os.fspath(path), is_link) + os.sep).startswith(self._written)

    @cached_property
    def _written(self) -> tuple[str, ...]:
        return tuple(os.path.join(folder, "") for folder in self.outputs)

    def is_apart(self, folder: str) -> bool:
        """Whether the run writes to no folder that contains this one or is inside it."""
        real = os.path.join(os.path.realpath(folder), "")
        return not any(written.startswith(real) or real.startswith(written) for written in self._written)

    def _real_path(self, path: str, is_link: bool | None) -> str:
        """A path without symbolic links; each folder is resolved once."""
        folder, name = os.path.split(path)
        if name in ("", ".", "..") or (os.path.islink(path) if is_link is None else is_link):
            return os.path.realpath(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.join(os.path.realpath(folder), "")
        return self._folders[folder] + name

    def note_skipped(self, folder: str | Path) -> None:
        """Note that an earlier output is not read."""
        self.note(f"{folder}: skipped because it is an output of lookalike; to read it, name it as INPUT.")

    def note_index(self, folder: str | Path) -> None:
        """Note that an index is not read."""
        self.note(f"{folder}: skipped because it is an index of lookalike.")


class Found(NamedTuple):
    """A file, or a folder that cannot be read."""

    path: str
    whole: bool = True
    """Whether a plain text file is one item."""
    error: str = ""
    """Why a folder cannot be read."""


def skipped(folder: Path, how: Finding) -> bool:
    """Whether a folder inside an input is skipped because lookalike wrote it; reported, unless this run writes it."""
    is_output = is_earlier_output(folder)
    if not is_output and not is_index_folder(folder):
        return False
    if not how.is_written(folder):
        (how.note_skipped if is_output else how.note_index)(folder)
    return True


def walk(folder: str, how: Finding) -> Iterator[Found]:
    """The files below a folder, except hidden ones and earlier outputs. If the folder is an output, its kept rows.

    Raises
    ------
    UsageError
        If the folder itself cannot be read, or is an index.
    """
    top, real = Path(folder), Path(folder).resolve()
    failed: list[OSError] = []
    for parent, folders, files in walk_folders(folder, failed.append):
        here = Path(parent)
        try:
            if here == top and is_index_folder(here):
                raise UsageError(f"{top}: {NO_INPUT}")
            ours = here != top and skipped(here, how)
            record = None if ours else read_record(here)
        except OSError as error:
            failed.append(OSError(error.errno, error.strerror, parent))
            folders.clear()
            continue
        if ours:
            folders.clear()
        elif record is not None:
            yield from (Found(str(path), whole) for path, whole in kept_files(here, record, failed.append))
            folders.clear()
        else:
            beneath = real / here.relative_to(top)
            folders[:] = [name for name in folders if name[0] != "." and beneath / name not in how.outputs]
            within = "" if here == Path() else os.path.join(here, "")
            yield from (Found(within + name) for name in files if not name.startswith("."))
    yield from (_failure(one, top) for one in failed)


def _failure(error: OSError, top: Path) -> Found:
    place, why = Path(os.fsdecode(error.filename)), error.strerror or str(error)
    if place == top:
        raise UsageError(f"{top}: cannot be read: {why}") from error
    return Found(str(place), error=why)


class Stamp(NamedTuple):
    """The state of a regular file."""

    size: int
    modified_ns: int
    is_link: bool
    """Whether the path is a link to it."""


def regular_stamp(path: str) -> Stamp | None:
    """The state of a regular file; None for anything else, such as a broken link.

    Raises
    ------
    OSError
        If this cannot be determined, for example without permission to enter the folder.
    """
    try:
        found = os.lstat(path)
        is_link = stat.S_ISLNK(found.st_mode)
        if is_link:
            found = os.stat(path)
    except FileNotFoundError:
        return None
    return Stamp(found.st_size, found.st_mtime_ns, is_link) if stat.S_ISREG(found.st_mode) else None


def known_stamps(paths: Sequence[str]) -> Iterator[tuple[int, int] | None]:
    """Size and modification time of regular files that can be read; None for links and for everything else.

    Examples
    --------
    >>> list(known_stamps(["no such file"]))
    [None]
    """
    if not kernels_open_files():
        yield from repeat(None, len(paths))
        return
    for first in range(0, len(paths), AT_ONCE):
        some = paths[first : first + AT_ONCE]
        states = np.empty((len(some), 4), np.int64)
        list_states(path_block(some), True, states)
        yield from ((size, modified) if usual else None for _, size, modified, usual in states.tolist())


def match(pattern: str, how: Finding) -> Iterator[Found]:
    """What a glob matches, sorted, with folders that it should have searched but could not read.

    With `**`, earlier outputs are skipped and links to folders are not followed, as in a folder.
    """
    root, recursive = _literal_root(pattern), "**" in pattern

    @cache
    def in_earlier(folder: Path) -> bool:
        """Whether a folder below the root is an earlier output or inside one; asked once for all of its files."""
        if root not in folder.parents:
            return False
        own, outer = skipped(folder, how), in_earlier(folder.parent)
        return own or outer

    for name in sorted(_expand(pattern)):
        path = Path(name)
        if not recursive or not in_earlier(path.parent):
            yield Found(str(path))
    for parent in Path(pattern).parents:
        for name in sorted(filter(os.path.isdir, _expand(str(parent)))):
            if not os.access(name, os.R_OK | os.X_OK):
                yield Found(str(Path(name)), error="Permission denied")


def _expand(pattern: str) -> set[str]:
    """The paths that a glob matches. Python's own follows links below `**`, which can lead back to the same folder."""
    parts = Path(pattern).parts
    if "**" not in parts:
        return set(glob.glob(pattern))
    at = parts.index("**")
    found: set[str] = set()
    for top in _expand(str(Path(*parts[:at]))) if at else [""]:
        for here, folders, files in walk_folders(top or ".", _refuse_depth):
            folders[:] = [name for name in folders if name[0] != "."]
            folder = here if top else here[2:]
            if parts[at + 1 :]:
                found |= _expand(os.path.join(glob.escape(folder), *parts[at + 1 :]))
            else:
                found |= {os.path.join(folder, name) for name in ("", *folders, *files) if name[:1] != "."}
    return found - {""}


def _refuse_depth(error: OSError) -> None:
    """Folders without permission are reported by `match`; those that are too deep would not be searched."""
    if error.errno == errno.ENAMETOOLONG:
        raise UsageError(f"{error.filename}: {error.strerror}") from error


def _literal_root(pattern: str) -> Path:
    """The folder in which a glob starts to search."""
    return next(parent for parent in (*Path(pattern).parents,) if not glob.has_magic(str(parent)))


def kept_files(
    folder: Path, record: dict[str, Any], failed: Callable[[OSError], object]
) -> Iterator[tuple[Path, bool]]:
    """The files of an output folder that hold kept rows, and whether a plain text file is one item."""
    lines, kept = set(record.get(LINE_FILES, ())), folder / KEPT
    for parent, _, files in walk_folders(kept, failed):
        for name in files:
            path = Path(parent, name)
            yield path, path.relative_to(kept).as_posix() not in lines


def walk_folders(
    top: str | os.PathLike[str], failed: Callable[[OSError], object]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`; folders that are too deep go to `failed`, like those that cannot be read."""
    above = os.fspath(top).rstrip(os.sep).count(os.sep)
    for parent, folders, files in os.walk(top, onerror=failed):
        if parent.count(os.sep) - above >= MOST_LEVELS:
            for name in folders:
                if name[0] != ".":
                    failed(OSError(errno.ENAMETOOLONG, TOO_DEEP, os.path.join(parent, name)))
            folders.clear()
        yield parent, folders, files
