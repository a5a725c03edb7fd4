"""The work folder: the finished pieces of a run, after the last of which a killed run can resume.

A piece is a named Arrow file. It is written under a temporary name, flushed and renamed, and only then recorded in
`manifest.jsonl` with its length and checksum. Before a piece is deleted, it is recorded as dropped. The first line of
the manifest identifies the run (options and inputs): pieces of another run are never used.

Stages save pieces at intervals: a piece is *due* some seconds after the last one, or after the start.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.write.checksums import checksum
from lookalike.write.files import disk_errors
from lookalike.write.flushing import flush, flush_handle
from lookalike.write.kept_file import Saved
from lookalike.write.outputs import MANIFEST, whole_lines

SAVE_SECONDS = 5.0
"""After so long, what was done since the last piece is saved as another one."""


class WorkFolder:
    """The pieces of one run, including those of a killed run with the same identity."""

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        resume: bool,
        output: Path | None = None,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        self.folder = folder
        self._save_seconds = save_seconds
        self._saved_at = time.monotonic()
        self._output = output or folder
        self._identity = dict(identity)
        self._pieces: dict[str, dict[str, Any]] = {}
        self.reused: list[str] = []
        """Names of the complete pieces that a killed run left."""
        if resume and (folder / MANIFEST).exists():
            self._take_over()
        else:
            shutil.rmtree(folder, ignore_errors=True)

    def _take_over(self) -> None:
        lines = whole_lines(self.folder / MANIFEST)
        if not lines:
            (self.folder / MANIFEST).unlink()
            return
        identity = json.loads(json.dumps(self._identity))
        differing = [name for name in {*identity, *lines[0]} if identity.get(name) != lines[0].get(name)]
        if differing:
            raise UsageError(
                f"--resume: {', '.join(sorted(differing))} changed since the run was killed; use the same options and "
                "inputs, or start over with --overwrite"
            )
        listed = {line["name"]: line for line in lines[1:]}
        for line in listed.values():
            path = self._path(line)
            if line.get("dropped"):
                path.unlink(missing_ok=True)
            elif _is_there(path, line):
                self._pieces[line["name"]] = line
                self.reused.append(line["name"])
        self._rewrite()

    def _rewrite(self) -> None:
        """Rewrite the manifest with the valid pieces: a line cut off by a kill must not run into the next."""
        fresh = self.folder / f"{MANIFEST}.partial"
        lines = [self._identity, *self._pieces.values()]
        with disk_errors(self.folder):
            fresh.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            fresh.replace(self.folder / MANIFEST)

    def _note(self, line: dict[str, Any]) -> None:
        with disk_errors(self.folder), (self.folder / MANIFEST).open("ab") as manifest:
            manifest.write(json.dumps(line).encode() + b"\n")
            manifest.flush()
            flush_handle(manifest.fileno())

    def _path(self, line: Mapping[str, Any]) -> Path:
        return (self._output if line.get("output") else self.folder) / str(line["name"])

    @property
    def in_use(self) -> bool:
        """Whether the run has saved or reused any piece."""
        return bool(self._pieces)

    @property
    def due(self) -> bool:
        """Whether it is time to save the work done since the last piece."""
        return time.monotonic() - self._saved_at >= self._save_seconds

    @property
    def wanted(self) -> bool:
        """Whether the result of a stage should be saved: if the run has saved something before, or takes long."""
        return self.in_use or self.due

    def has(self, name: str) -> bool:
        """Whether this piece, or file of the output, is complete."""
        return name in self._pieces and "saved" not in self._pieces[name]

    def begun(self, name: str) -> Saved | None:
        """How far a killed run got with this file of the output, which is complete up to that point."""
        line = self._pieces.get(name, {})
        return Saved(**line["saved"]) if "saved" in line else None

    def keep_begun(self, name: str, saved: Saved) -> None:
        """Record how much of a file of the output is written: a resumed run can continue there."""
        self._begin()
        path, before = self._output / name, self._pieces.get(name, {"bytes": 0, "crc32": 0})
        with disk_errors(path):
            flush(path)
            crc32 = checksum(path, before["crc32"], before["bytes"], saved.nbytes)
        state = saved._asdict()
        self._add({"name": name, "bytes": saved.nbytes, "crc32": crc32, "output": True, "saved": state})

    def keep(self, name: str) -> None:
        """Record that a file of the output is complete: a resumed run need not write it again."""
        self._begin()
        path = self._output / name
        with disk_errors(path):
            flush(path)
            self._add({"name": name, "bytes": path.stat().st_size, "crc32": checksum(path), "output": True})

    def save(self, name: str, table: pa.Table) -> None:
        """Write a piece atomically."""
        with self.writing(name, table.schema) as piece:
            piece.write_table(table)

    @contextmanager
    def writing(self, name: str, schema: pa.Schema) -> Iterator[pa.ipc.RecordBatchFileWriter]:
        """Write a piece incrementally; it becomes valid when the `with` block ends without an error."""
        self._begin()
        path, partial = self.folder / name, self.folder / f"{name}.partial"
        with disk_errors(self.folder):
            with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                yield writer
            flush(partial)
            line = {"name": name, "bytes": partial.stat().st_size, "crc32": checksum(partial)}
            partial.rename(path)
        self._add(line)

    def adopt(self, name: str, nbytes: int, crc32: int) -> None:
        """Record a piece that another process has written to the folder, flushed and named."""
        self._begin()
        self._add({"name": name, "bytes": nbytes, "crc32": crc32})

    def _begin(self) -> None:
        """Create the folder with the first piece: small runs need none."""
        if not (self.folder / MANIFEST).exists():
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._note(self._identity)

    def _add(self, line: dict[str, Any]) -> None:
        self._note(line)
        self._pieces[line["name"]] = line
        self._saved_at = time.monotonic()

    def drop(self, name: str) -> None:
        """Delete a piece that is no longer needed."""
        if self._pieces.pop(name, None):
            self._note({"name": name, "dropped": True})
            (self.folder / name).unlink(missing_ok=True)

    def drop_all(self, prefix: str, but: str = "") -> None:
        """Delete all pieces whose names have this prefix, except one."""
        for name in [name for name in self._pieces if name.startswith(prefix) and name != but]:
            self.drop(name)

    def load(self, name: str) -> pa.Table:
        """A piece, memory-mapped: only the parts that are used are read."""
        with pa.memory_map(str(self.folder / name)) as file:
            return pa.ipc.open_file(file).read_all()


def _is_there(path: Path, line: Mapping[str, Any]) -> bool:
    """Whether a piece is unchanged; an unfinished file may have grown since."""
    if not path.exists():
        return False
    size, expected = path.stat().st_size, line["bytes"]
    as_long = size >= expected if "saved" in line else size == expected
    return bool(as_long and checksum(path, last=expected) == line["crc32"])
