"""Inputs that are not read.

A folder or file inside an input folder that may not be read has no items and is listed among the bad lines. Files in a
folder that are plainly not text, such as images, are left out. A .json file that the user named but that is a table is
refused: as one document, its rows would never be compared.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.read.files import File, heads_of
from lookalike.read.streams import resolve_byte_order
from lookalike.types import Block, Bool, Int64, ItemMemory, Items, Layout, Rejected, StoredFiles, UInt8, Wanted
from lookalike.types.frozen import mutable

HEAD_BYTES = 512
"""How much of a file shows whether it is text."""
BINARY = (
    b"%PDF-",
    b"PK\3\4",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"\x1f\x8b",
    b"BZh91AY&SY",
    b"\x28\xb5\x2f\xfd",
)
"""How files start that may have no NUL near their start: PDF, ZIP, images, and what is compressed."""
_IS_CONTROL = np.isin(np.arange(256), (*range(1, 9), *range(14, 27)))
"""Bytes that are in hardly any text; a file that has some is plainly not text if it is not UTF-8 either."""
_AT_ONCE = 1000
_LOOKED_AT = 1 << 16
"""How many bytes of a file are looked at."""
_DECOMPRESSED_BY = {"gzip": "gzip -dc", "zstd": "zstd -dc"}
_AS_ONE = "to compare it as one document, name its folder"


@mutable
class UnreadableSource:
    """A folder or file that `--on-error skip` omits entirely."""

    name: str
    kept_path: str
    """Nothing is written there."""
    file: File
    error: str
    nbytes: int = 0
    item_memory: ItemMemory | None = None
    rejected_rows: dict[int, Int64] = field(default_factory=dict)

    def column_names(self) -> Sequence[str] | None:
        """Unknown."""
        return None

    def estimate_rows(self) -> tuple[int, bool]:
        """None."""
        return 0, True

    def blocks(self) -> Iterator[Block]:
        """One block, which reports the error."""
        yield UnreadableBlock(self)

    def layout(self) -> Layout:
        """Nothing is written."""
        return Layout("files")

    def locate(self, row: int) -> tuple[str, int]:
        """It has no rows."""
        raise IndexError(row)


@mutable
class UnreadableBlock:
    """No items, and one error."""

    source: UnreadableSource
    nbytes: int = 0
    exclusive: bool = False

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:  # noqa: ARG002
        """No items; what could not be read is rejected."""
        source = self.source
        if not wanted.skip_errors:
            raise BadDataError(f"{source.name}: {source.error}")
        columns = {name: pa.nulls(0, pa.large_string()) for name in wanted.columns}
        return Items(pa.nulls(0, pa.large_string()), columns, [Rejected(source.name, 0, source.error, b"")])

    def kept_rows(self, keep: Bool, decoded: Any = None) -> StoredFiles:  # noqa: ARG002
        """None."""
        nowhere = np.zeros(0, np.int64)
        return StoredFiles([], np.zeros(1, np.uint8), nowhere, nowhere)


def find_binary(files: Sequence[File], encoding: str) -> list[int]:
    r"""The numbers of the files that are plainly not text: by how they start, or by the bytes near their start.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a")
    ...     with open(path, "wb") as out:
    ...         _ = out.write(b"\x89PNG")
    ...     find_binary([File("a", "a", path)], "utf-8")
    [0]
    """
    binary = [
        _are_binary(heads_of(files[low : low + _AT_ONCE], HEAD_BYTES), encoding)
        for low in range(0, len(files), _AT_ONCE)
    ]
    return np.flatnonzero(np.concatenate([np.zeros(0, bool), *binary])).tolist()


def _are_binary(heads: UInt8, encoding: str) -> Bool:
    binary = np.zeros(len(heads), bool)
    if "a".encode(encoding) == b"a":  # in UTF-16, every other byte of a plain text is NUL
        marked = (heads[:, :2] == (0xFF, 0xFE)).all(axis=1) | (heads[:, :2] == (0xFE, 0xFF)).all(axis=1)
        binary = (heads == 0).any(axis=1) & ~marked
    for start in BINARY:
        binary |= (heads[:, : len(start)] == np.frombuffer(start, np.uint8)).all(axis=1)
    if encoding == "utf-8":
        doubtful = ~binary & (heads >= 0x80).any(axis=1) & _IS_CONTROL[heads].any(axis=1)
        for number in np.flatnonzero(doubtful).tolist():
            binary[number] = not _starts_as_utf8(heads[number].tobytes())
    return binary


def _starts_as_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


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
