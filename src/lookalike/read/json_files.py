"""A .json file that the user named but that is a table: as one document, its rows would never be compared."""

from __future__ import annotations

import json
import os

from lookalike.errors import UsageError
from lookalike.read.files import File
from lookalike.read.streams import resolve_byte_order

_LOOKED_AT = 1 << 16
"""How many bytes of a file are looked at."""
_DECOMPRESSED_BY = {"gzip": "gzip -dc", "zstd": "zstd -dc"}
_AS_ONE = "to compare it as one document, name its folder"


def refuse_json_table(file: File, encoding: str) -> None:
    """Refuse a .json file with an array, or with JSON lines; any other is one document."""
    text = _start_of(file, encoding)
    if text.startswith("["):
        raise UsageError(
            f"{file.name}: a JSON array cannot be read as a table; convert it to JSON lines: {_conversion(file)}; "
            f"{_AS_ONE}"
        )
    if sum(map(_is_object, text.split("\n", 2)[:2])) == 2:
        stem, rest = _split(file)
        raise UsageError(f"{file.name}: has a JSON object per line; rename it to {stem}.jsonl{rest}; {_AS_ONE}")


def _start_of(file: File, encoding: str) -> str:
    with file.reading(), file.open_decompressed() as opened:
        start: bytes = opened.read(_LOOKED_AT)
    return start.decode(resolve_byte_order(encoding, start), "replace").lstrip("\ufeff \t\r\n")


def _conversion(file: File) -> str:
    """A command that writes JSON lines."""
    target = f"{_split(file)[0]}.jsonl"
    if file.compression is None:
        return f"jq -c '.[]' {file.name} > {target}"
    return f"{_DECOMPRESSED_BY[file.compression]} {file.name} | jq -c '.[]' > {target}"


def _split(file: File) -> tuple[str, str]:
    """The name of a file without its folder and .json, and the suffix of its compression."""
    stem, last = os.path.splitext(file.kept_path)  # noqa: PTH122
    return (os.path.splitext(stem)[0], last) if file.compression else (stem, "")  # noqa: PTH122


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
