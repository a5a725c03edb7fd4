"""Earlier output as input: the folder of a run stands for the rows that it kept; an index cannot be an input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookalike.types import INDEX_FILE, KEPT, RUN_FILE, Source, parse_record

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
    """Whether the folder is an index, possibly a damaged one; other folders may contain an index.json as well.

    Examples
    --------
    >>> is_index_folder(Path("/"))
    False
    """
    manifest = folder / INDEX_FILE
    if not manifest.is_file():
        return False
    return names_an_index(manifest.read_bytes()) or any(folder.glob("log-*.bin"))


def names_an_index(manifest: bytes) -> bool:
    """Whether lookalike wrote this index.json.

    Examples
    --------
    >>> names_an_index(b'{"title": "Pages of a site"}')
    False
    """
    return b'"known_answers"' in manifest and b'"generation"' in manifest
