"""Write a page, complete or not at all, and never over a file that is not a page of lookalike."""

from __future__ import annotations

from pathlib import Path

from lookalike.errors import UsageError
from lookalike.report.html import OURS
from lookalike.write import whole_file

PAGE = "report.html"
"""Its name in an output folder."""


def check_page(target: Path) -> None:
    """Refuse to replace a file that is not a page of lookalike.

    Examples
    --------
    >>> check_page(Path("no-such-page.html"))
    """
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UsageError(f"{target}: is not a file; move it, or name another page with -o")
    if target.is_file():
        with target.open("rb") as file:
            if OURS.encode() not in file.read(1 << 12):
                raise UsageError(f"{target}: was not written by lookalike; move it, or name another page with -o")


def write_page(target: Path, page: str) -> Path:
    """Write a page and return its path."""
    if not target.parent.is_dir():
        raise UsageError(f"{target}: there is no folder {target.parent}")
    try:
        with whole_file(target) as partial:
            partial.write_bytes(page.encode("utf-8"))
    except PermissionError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}; name another page with -o") from None
    return target
