"""Earlier output as input: the folder of a run stands for the rows that it kept; an index cannot be an input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookalike.types import (
    EARLIER_INDEX_FILE,
    INDEX_APPLICATION,
    INDEX_FILE,
    KEPT,
    RUN_FILE,
    Source,
    parse_record,
)

INDEX_FILES = (INDEX_FILE, EARLIER_INDEX_FILE)
"""The files by which an index is recognised."""
INDEX_HEAD = 1 << 20
"""How much of them is read for this."""
LINE_FILES = "line_files"
"""Key in run.json: the plain text files below kept/ with one item per line; any other such file is one item."""


def line_files(sources: Sequence[Source]) -> list[str]:
    """The paths below kept/ of plain text that is read line by line; no other format can be read in two ways.

    Examples
    --------
    >>> line_files([])
    []
    """
    lines = [source for source in sources if source.layout().kind == "lines"]
    return [source.kept_path for source in lines if ".txt" in Path(source.kept_path.lower()).suffixes]


def read_record(folder: Path) -> dict[str, Any] | None:
    """The content of run.json, if the folder is an output of dedup."""
    if not (folder / RUN_FILE).is_file() or not (folder / KEPT).is_dir():
        return None
    return parse_record((folder / RUN_FILE).read_bytes())


def is_earlier_output(folder: Path) -> bool:
    """Whether the folder is an output of dedup or link."""
    if not (folder / RUN_FILE).is_file() or not ((folder / KEPT).is_dir() or (folder / "links.parquet").is_file()):
        return False
    return parse_record((folder / RUN_FILE).read_bytes()) is not None


def is_index_folder(folder: Path) -> bool:
    """Whether the folder is an index, possibly a damaged one or one of an earlier format.

    Examples
    --------
    >>> is_index_folder(Path("/"))
    False
    """
    for name in INDEX_FILES:
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                return names_an_index(name, file.read(INDEX_HEAD)) or any(folder.glob("segment-*.bin"))
    return False


def names_an_index(name: str, head: bytes) -> bool:
    """Whether lookalike wrote the file of this name that starts like this, and so an index.

    Examples
    --------
    >>> names_an_index("index.json", b'{"title": "Pages of a site"}')
    False
    """
    if name == EARLIER_INDEX_FILE:
        return b'"known_answers"' in head and b'"generation"' in head
    return head.startswith(b"SQLite format 3\0") and head[68:72] == INDEX_APPLICATION.to_bytes(4, "big")
