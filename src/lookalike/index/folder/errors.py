"""Errors about the files of an index, or its tables."""

from __future__ import annotations

from pathlib import Path

from lookalike.errors import BadDataError


class DamagedError(BadDataError):
    """A file or a table of the index is missing, cut off or changed."""

    def __init__(self, path: Path | str, what: str, copy: str = "the file") -> None:
        super().__init__(f"{path}: {what}; restore {copy} from a backup, or create the index again")
        self.path = path
        self.what = what
