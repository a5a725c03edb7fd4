"""Calling the command line, in this process and in others, and looking at what it left."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.cli.main import run

LOOKALIKE = Path(sys.executable).with_name("lookalike")
SMALL = (sys.executable, Path(__file__).with_name("small.py"))
"""The command with small pieces of work."""

FOX = "The quick brown fox jumps over the lazy dog tonight"
COPY = "the QUICK brown fox jumps over the lazy dog, tonight!"
BARE = "THE quick brown FOX jumps over the lazy dog tonight"
IDEAS = "colourless green ideas sleep furiously beneath the old bridge"
RIVER = "a river flows slowly past seven hills into the grey sea"


@dataclass(frozen=True)
class Done:
    """What a command ended with."""

    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def rows(self):
        """Standard output as a table: header, then rows."""
        return list(csv.reader(io.StringIO(self.out, newline=""), delimiter="\t"))


def environment(**more):
    """As a user's shell has it: standard output is buffered."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return plain | more


def start(*arguments, program=(LOOKALIKE,), **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | options
    return subprocess.Popen([*program, *map(str, arguments)], **options)


def process(*arguments, stdin=None, **options):
    """Run the command as a process of its own."""
    options = {"stdin": subprocess.DEVNULL if stdin is None else subprocess.PIPE} | options
    with start(*arguments, **options) as started:
        out, err = started.communicate(stdin, timeout=120)
    done = Done(started.returncode, (out or b"").decode(), (err or b"").decode())
    assert "Traceback" not in done.err, done.err
    return done


def wait_for(condition, seconds=30, process=None):
    """Wait until something holds; fail if it does not in time, or if the process that should see to it has ended."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        if process is not None and process.poll() is not None:
            assert condition(), f"ended with {process.returncode}: {process.stderr.read()}"
        time.sleep(0.01)


def caller(capfd, monkeypatch):
    """Run the command in this process, which is faster."""

    def call(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        done = Done(code, *capfd.readouterr())
        assert "Traceback" not in done.err
        return done

    return call


def jsonl(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def pack(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data)
    return pa.compress(data, "zstd", asbytes=True) if suffix == ".zst" else data


def unpack(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.input_stream(path, compression="zstd") as stream:
            return stream.read()
    return path.read_bytes()


def removed(folder, *columns):
    """Rows of removed.parquet: some of its columns."""
    with (folder / "removed.parquet").open("rb") as stored:
        found = pq.read_table(stored)
    assert found.column_names == ["id", "file", "row", "kept_id", "kept_file", "kept_row", "similarity"]
    return [tuple(row[name] for name in columns or ("id", "kept_id")) for row in found.to_pylist()]


def kept(folder):
    """Name below kept/ and bytes of every file there."""
    below = folder / "kept"
    return {path.relative_to(below).as_posix(): path.read_bytes() for path in below.rglob("*") if path.is_file()}


def names(folder):
    """Everything in a folder, hidden names included."""
    return sorted(path.name for path in folder.iterdir())


def read_rows(path, columns):
    """A file of results by its suffix: tuples; in text the third column is a fraction and a fourth a number."""
    if path.suffix == ".parquet":
        return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    if path.suffix == ".jsonl":
        return [tuple(json.loads(line).values()) for line in path.read_text().splitlines()]
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines, delimiter="," if path.suffix == ".csv" else "\t"))
    assert rows[0] == columns
    return [(left, right, float(value), *map(int, rank)) for left, right, value, *rank in rows[1:]]
