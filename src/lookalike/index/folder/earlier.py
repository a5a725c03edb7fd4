"""Convert indexes of format 1: a manifest `index.json`, a log of its own and a file of removed items. Segments stay."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import BadDataError, UsageError
from lookalike.index.batch import Change
from lookalike.index.folder.checked_file import CheckedFile
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.state import PartName, State, StoredChange
from lookalike.index.folder.state_file import check_format, create_state
from lookalike.types import EARLIER_INDEX_FILE, INDEX_FILE, Int64
from lookalike.version import __version__
from lookalike.write.flushing import flush

FORMAT = 1
_LOG_MAGIC, _LOG_FIRST = b"lookalog", 4096
_HEAD, _KNOWN, _RECORD = struct.Struct("<8sII"), struct.Struct("<QI"), struct.Struct("<4sIQI")


def check_earlier(folder: Path, *, writing: bool) -> None:
    """Refuse to read an index of format 1, which the next command that writes converts.

    Raises
    ------
    UsageError
        It names such a command.
    """
    if not writing and _is_earlier(folder):
        raise UsageError(
            f"{folder}: the index has the format of an earlier version; `lookalike index compact {folder}` converts it"
        )


def find_index(folder: Path) -> None:
    """Refuse a folder that is not an index, of whatever format, before a file is created in it."""
    if not _is_earlier(folder):
        check_format(folder)


def convert_earlier(folder: Path) -> None:
    """Turn an index of format 1 into one of today's; all of it, or nothing. The caller holds the lock."""
    if _is_earlier(folder):
        manifest = _read_manifest(folder / EARLIER_INDEX_FILE)
        lengths = [int(CheckedFile(folder / name).details["items"]) for name in manifest["segments"]]
        firsts = np.cumsum([0, *lengths])
        dtype = np.dtype(np.uint8 if manifest["store"] == "text" else np.uint64)
        counts, changes = _Counts(manifest), []
        if manifest["removed"]:
            removed = CheckedFile(folder / manifest["removed"]).load("numbers")
            changes += _by_part(Change(removed, None), firsts)
        for content in _read_log(folder / manifest["log"]):
            change = Change.decode(content, dtype)
            counts.add(change)
            changes += _by_part(change, firsts)
        create_state(folder, _state(manifest, counts, len(lengths), len(changes)), _numbered(changes))
        flush(folder)
    if (folder / INDEX_FILE).is_file():
        for pattern in (EARLIER_INDEX_FILE, f".{EARLIER_INDEX_FILE}.partial-*", "log-*.bin", "removed-*.bin"):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)


class _Counts:
    """What the log adds to the counts of the manifest."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.added, self.integers = int(manifest["added"]), bool(manifest["integers"])

    def add(self, change: Change) -> None:
        if change.batch is not None:
            self.added += change.counted
            self.integers &= change.integers


def _state(manifest: dict[str, Any], counts: _Counts, segments: int, changes: int) -> State:
    kind = {name: manifest[name] for name in ("options", "store", "vectors", "decided", "plan", "known_answers")}
    parts = [PartName(number + 1, name) for number, name in enumerate(manifest["segments"])]
    return State(
        kind,
        (*parts, PartName(segments + 1, None)),
        tuple(manifest["runs"]),
        following=segments + 2,
        last=changes,
        rows=changes,
        added=counts.added,
        integers=counts.integers,
    )


def _by_part(change: Change, firsts: Int64) -> list[tuple[int, bytes]]:
    """A change of items that are numbered across all parts, by the part that it concerns."""
    removed = np.sort(change.removed)
    edges = np.searchsorted(removed, [*firsts, np.iinfo(np.int64).max]).tolist()
    pieces = []
    for place, first in enumerate(firsts.tolist()):
        last = place == len(firsts) - 1
        rows = removed[edges[place] : edges[place + 1]] - first
        if len(rows) or (last and change.batch is not None):
            piece = Change(rows, change.batch if last else None, change.integers, change.counted)
            pieces.append((place + 1, piece.encode()))
    return pieces


def _numbered(changes: list[tuple[int, bytes]]) -> Iterator[StoredChange]:
    for number, (part, content) in enumerate(changes, 1):
        yield StoredChange(number, part, content)


def _is_earlier(folder: Path) -> bool:
    if (folder / INDEX_FILE).exists():
        return False
    try:
        content = (folder / EARLIER_INDEX_FILE).read_bytes()
    except OSError:
        return False
    return b'"known_answers"' in content and b'"generation"' in content


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        version, checksum = int(content["format"]), content.pop("checksum")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedError(path, "the file is damaged") from None
    if version != FORMAT:
        raise BadDataError(
            f"{path}: the index has format {version}, which lookalike {__version__} cannot convert; use the version "
            f"that wrote it ({content.get('lookalike')}), or create the index again"
        )
    if checksum != zlib.crc32(json.dumps(content, sort_keys=True).encode()):
        raise DamagedError(path, "the file is damaged")
    found: dict[str, Any] = content
    return found


def _read_log(path: Path) -> Iterator[bytes]:
    """The records of a log; what follows the part that is known to be on disk counts if it is complete."""
    try:
        log = path.read_bytes()
    except FileNotFoundError:
        raise DamagedError(path, "the file is missing") from None
    if len(log) < _LOG_FIRST or _HEAD.unpack_from(log)[0] != _LOG_MAGIC:
        raise DamagedError(path, "the head of the log is damaged")
    known, checksum = _KNOWN.unpack_from(log, _HEAD.size)
    if checksum != zlib.crc32(struct.pack("<Q", known)) or len(log) < known:
        raise DamagedError(path, "the log is damaged or cut off")
    at = _LOG_FIRST
    while (content := _record(log, at)) is not None:
        yield content
        at += _RECORD.size + len(content)
    if at < known:
        raise DamagedError(path, f"the record at byte {at:,} is damaged")


def _record(log: bytes, at: int) -> bytes | None:
    if len(log) < at + _RECORD.size:
        return None
    mark, checksum, length, _ = _RECORD.unpack_from(log, at)
    content = log[at + _RECORD.size : at + _RECORD.size + length]
    return content if mark == b"item" and len(content) == length and zlib.crc32(content) == checksum else None
