"""What must hold whatever a command was given: the promises of docs/reliability.md."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from fuzzing.cases import FOLDERS, Case
from fuzzing.running import MEMORY_BYTES, Ended

PROCESSOR_SECONDS = 20.0
CODES = (0, 2, 3, 4)
LISTED = ("pairs", "neighbors", "faces", "fingerprints", "index query")
"""Commands that print a table if they are not given a file for it."""
State = dict[str, str]


def state_of(place: Path) -> State:
    """Everything in a folder: what each path is, files by a hash of their bytes."""
    found: State = {}
    for folder, folders, files in os.walk(os.fsencode(place)):
        for name in folders:
            path = os.path.join(folder, name)  # noqa: PTH118
            found[os.fsdecode(os.path.relpath(path, os.fsencode(place)))] = "folder"
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118
            found[os.fsdecode(os.path.relpath(path, os.fsencode(place)))] = _content(path)
    return found


def _content(path: bytes) -> str:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return os.fsdecode(os.readlink(path)) if os.path.islink(path) else "no file"  # noqa: PTH114, PTH115
    with open(path, "rb") as stored:  # noqa: PTH123
        return hashlib.sha256(stored.read()).hexdigest()


def broken_promises(case: Case, place: Path, ended: Ended, before: State, after: State) -> Iterator[str]:
    """The promises that a command broke."""
    if ended.killed or ended.peak_bytes > MEMORY_BYTES:
        yield f"{ended.killed or 'too much memory'}: {ended.peak_bytes >> 20} MiB"
        return
    if ended.code not in CODES and not _was_interrupted(case, ended):
        yield f"exit code {ended.code}"
    if ended.processor_seconds > PROCESSOR_SECONDS:
        yield f"took {ended.processor_seconds:.0f} s"
    yield from _check_said(case, ended)
    yield from _check_left(case, ended, before, after)
    whole = any(one in after and one not in before for one in _written(case))
    if ended.code == 0 or (whole and _was_interrupted(case, ended)):
        try:
            yield from _check_results(case, place, ended)
        except Exception as error:
            yield f"output that cannot be read: {error!r}"


def _was_interrupted(case: Case, ended: Ended) -> bool:
    return case.signal_after is not None and ended.code == 128 + case.signal_after[1]


def _check_said(case: Case, ended: Ended) -> Iterator[str]:
    try:
        said = ended.err.decode()
    except UnicodeDecodeError:
        yield "messages are not UTF-8"
        return
    if "Traceback" in said or "Fatal Python error" in said or "Warning:" in said:
        yield "traceback or warning"
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", said):
        yield "raw control characters"
    if said and not said.endswith("\n"):
        yield "a line without an end"
    errors = [line for line in said.split("\n") if line.startswith("lookalike: ")]
    expected = 0 if ended.code == 0 else 1
    if len(errors) != expected and not said.startswith("Usage:"):
        yield f"{len(errors)} lines of error"
    if "lookalike: standard output: " in said and not case.full:
        yield "an error that does not name its place"
    if ended.code and not said.rstrip("\n").split("\n")[-1].startswith("lookalike: "):
        yield "the error is not the last line"
    if "--quiet" in case.arguments and len(said.splitlines()) > expected:
        yield "not quiet"


def _written(case: Case) -> list[str]:
    return [os.path.normpath(one) for one in case.outputs if one]


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in folders)


def _check_left(case: Case, ended: Ended, before: State, after: State) -> Iterator[str]:
    """Only outputs are new or changed; after an error not even they are; nothing temporary is left."""
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    resumable = b"--resume" in ended.err or case.kill_after is not None
    written = _written(case)
    allowed = [f"{case.changed}/writer.lock"] if case.changed else []
    if ended.code == 0 or case.full or _was_interrupted(case, ended):  # results may be there, but not the summary
        allowed += written + [f"{one}.rejected.jsonl" for one in written]
        if "--report" in case.arguments:
            allowed += [str(Path(one).with_suffix(".report.html")) for one in written]
        allowed += [case.changed] if case.changed else []
        allowed += [str(parent) for one in written for parent in Path(one).parents if str(parent) != "."]
    if resumable:
        allowed += [f"{Path(one).parent / f'.{Path(one).name}.partial'}" for one in written]
    wrong = [path for path in changed if not _is_below(path, allowed)]
    if wrong:
        yield f"changed or left behind: {wrong[:5]}"


def _check_results(case: Case, place: Path, ended: Ended) -> Iterator[str]:
    if case.full:  # nothing was to be printed
        return
    if not case.outputs or "--explain" in case.arguments or "-h" in case.arguments:
        if ended.out and "--json" in case.arguments:
            json.loads(ended.out)
        elif case.command in LISTED and "--explain" not in case.arguments and "-h" not in case.arguments:
            yield from _check_rows(ended.out.decode(), "\t")
        return
    if "--json" in case.arguments and ended.code == 0:
        json.loads(ended.out)
    path = place / case.outputs[-1]
    if case.command == "index create":
        if not (path / "index.sqlite").read_bytes().startswith(b"SQLite format 3"):
            yield "an index without its state"
    elif case.command in FOLDERS and not any(one.startswith("--review") for one in case.arguments):
        yield from _check_folder(path, case.command)
    elif case.command == "report":
        if not path.read_text().rstrip().endswith("</html>"):
            yield "a page without an end"
    elif path.suffix == ".parquet":
        pq.read_table(path).validate(full=True)
    elif path.suffix == ".jsonl":
        [json.loads(line) for line in path.read_text().split("\n") if line]
    elif path.suffix in (".csv", ".tsv"):
        yield from _check_rows(path.read_bytes().decode(), "," if path.suffix == ".csv" else "\t")
    elif not path.stat().st_size:
        yield "empty output"


def _check_rows(text: str, separator: str) -> Iterator[str]:
    """Two columns of ids, or ids and whether they were added."""
    csv.field_size_limit(1 << 30)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    if (
        not rows
        or rows[0][:2] not in (["left", "right"], ["id", "added"])
        or {len(row) for row in rows} != {len(rows[0])}
    ):
        yield "rows of different lengths, or no header"


def _check_folder(path: Path, command: str) -> Iterator[str]:
    record = json.loads((path / "run.json").read_text())
    tables = ("links", "clusters") if command == "link" else ("removed", "clusters")
    for name in tables:
        pq.read_table(path / f"{name}.parquet").validate(full=True)
    counts = record["counts"]
    if command == "dedup" and counts["items"] != counts["kept"] + counts["removed"]:
        yield f"items are lost: {counts}"
    if command == "dedup" and counts["removed"] != pq.read_metadata(path / "removed.parquet").num_rows:
        yield "removed.parquet does not fit run.json"
    if counts.get("rejected") and len((path / "rejected.jsonl").read_bytes().splitlines()) != counts["rejected"]:
        yield "rejected.jsonl does not fit run.json"
