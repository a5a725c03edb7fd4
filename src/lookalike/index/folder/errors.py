"""Errors about the files of an index."""

from __future__ import annotations

from pathlib import Path

from lookalike.errors import BadDataError


class DamagedError(BadDataError):
    """A file of the index is missing, cut off or changed."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}; restore the file from a backup, or create the index again")
        self.path = path
        self.what = what
