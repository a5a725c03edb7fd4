"""The output folder of an earlier run as input: it stands for the rows that it kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lookalike.types import KEPT, RUN_FILE, Source

LINE_FILES = "line_files"
"""Key in run.json: the plain text files below kept/ with one item per line; any other such file is one item."""


def line_files(sources: Sequence[Source]) -> list[str]:
    """The paths below kept/ of plain text read line by line; plain text is the only format with two readings.

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


def parse_record(content: bytes) -> dict[str, Any] | None:
    """The content of run.json, if lookalike wrote it.

    Examples
    --------
    >>> parse_record(b'{"name": "trial 7"}') is None
    True
    """
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"options", "counts"} <= found.keys() else None


def kept_files(folder: Path, record: dict[str, Any]) -> Iterator[tuple[Path, bool]]:
    """The files of an output folder that hold kept rows, and whether a plain text file is one item."""
    lines = set(record.get(LINE_FILES, ()))
    for path in (folder / KEPT).rglob("*"):
        yield path, path.relative_to(folder / KEPT).as_posix() not in lines
