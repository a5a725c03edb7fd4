"""Folders within folders within folders: as deep as anybody needs, and no deeper."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

MOST_LEVELS = 500
"""Folders below an input. Python's `os.walk` and `shutil.rmtree` fail at about 1,000, and the results of a run have as
many levels as its input."""
TOO_DEEP = f"more than {MOST_LEVELS} folders deep"


def walk_folders(
    top: str | os.PathLike[str], failed: Callable[[OSError], object]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`; folders that are too deep go to `failed`, like those that cannot be read."""
    above = os.fspath(top).rstrip(os.sep).count(os.sep)
    for parent, folders, files in os.walk(top, onerror=failed):
        if parent.count(os.sep) - above >= MOST_LEVELS:
            for name in folders:
                if name[0] != ".":
                    failed(OSError(errno.ENAMETOOLONG, TOO_DEEP, os.path.join(parent, name)))  # noqa: PTH118
            folders.clear()
        yield parent, folders, files
