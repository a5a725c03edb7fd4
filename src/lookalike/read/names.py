"""Paths below `kept/`: one per input file, unique, and never outside the folder."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath


def kept_paths(wished: Sequence[str], path_of: Callable[[int], str]) -> list[str]:
    """Decide where the surviving rows of each file go.

    Parameters
    ----------
    wished
        The file's own name, or its path within the folder that was given.
    path_of
        The absolute path of a file by its number, which distinguishes files of the same name.

    Examples
    --------
    >>> kept_paths(["a.csv", "b.csv"], ["/x/a.csv", "/y/b.csv"].__getitem__)
    ['a.csv', 'b.csv']
    >>> kept_paths(["a.csv", "a.csv", "c.csv"], ["/x/1/a.csv", "/x/2/a.csv", "/x/c.csv"].__getitem__)
    ['1/a.csv', '2/a.csv', 'c.csv']
    """
    names = [clean_path(name) for name in wished]
    counted = Counter(names)
    shared = [row for row, name in enumerate(names) if counted[name] > 1]
    if shared:
        parts = [PurePosixPath(clean_path(path_of(row))).parts for row in shared]
        depth = len(posixpath.commonpath(["/".join(one[:-1]) for one in parts]).split("/"))
        depth = depth if all(one[:depth] == parts[0][:depth] and one[:-1] for one in parts) else 0
        for row, one in zip(shared, parts):
            names[row] = "/".join(one[depth:])
    return _numbered(names)


def clean_path(path: str) -> str:
    """Remove everything from a path that leads out of the folder it is placed in.

    Examples
    --------
    >>> clean_path("/a/../b.txt"), clean_path("memory://x/y.csv")
    ('a/b.txt', 'memory/x/y.csv')
    """
    if "/" not in path and path not in ("", ".", ".."):  # most paths of a folder with thousands of files
        return path
    parts = [part for part in path.replace("://", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or "file"


def _numbered(names: list[str]) -> list[str]:
    """Append numbers to names that are taken, or that are also the folder of another file."""
    parents = map(PurePosixPath, {name.rpartition("/")[0] for name in names})
    folders = {str(folder) for parent in parents for folder in (parent, *parent.parents)}
    taken: set[str] = set()
    wished = set(names)
    for row, name in enumerate(names):
        number, free = 2, name
        while free in taken or free in folders or (free != name and free in wished):
            path = PurePosixPath(name)
            stem, dot, suffixes = path.name.partition(".")
            free = str(path.with_name(f"{stem}-{number}{dot}{suffixes}")) if stem else f"{name}-{number}"
            number += 1
        taken.add(free)
        names[row] = free
    return names
