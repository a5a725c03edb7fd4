"""A disk that fails: the message names the file, and the exit code is 4."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from calling import FOX, environment, process
from lookalike.read import files as files_module

FAILURE = OSError(errno.EIO, os.strerror(errno.EIO))


def path_of(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def failing(function, part):
    """A function of the module os that fails for files with this part of a path."""

    def call(handle, *more):
        if part in path_of(handle):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return function(handle, *more)

    return call


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the paths of open files")


@pytest.mark.parametrize(
    ("command", "part", "place"),
    [
        ("dedup news.jsonl -o out", "removed.parquet", "out: the disk failed ({folder}/.out.partial/removed.parquet: "),
        ("pairs news.jsonl -o pairs.csv", ".pairs.csv", "pairs.csv: the disk failed (.pairs.csv.partial-"),
        ("link news.jsonl -o links --fields text", "links.parquet", "links: the disk failed ({folder}/.links.partial"),
    ],
)
def test_what_cannot_be_flushed(cli, news, tmp_path, monkeypatch, command, part, place):
    monkeypatch.setattr(os, "fsync", failing(os.fsync, part))
    done = cli(*command.split())
    assert done.code == 4
    error = done.err.splitlines()[-1]
    assert place.format(folder=tmp_path) in error
    assert error.endswith("Input/output error); check the disk, or choose another location")
    assert [path.name for path in tmp_path.iterdir()] == ["news.jsonl"]


def test_a_kept_file_that_cannot_be_written(cli, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text(FOX)
    monkeypatch.setattr("lookalike.write.kept.kernels_open_files", lambda: False)
    monkeypatch.setattr(os, "write", failing(os.write, "kept/a.txt"))
    done = cli("dedup", "in", "-o", "out")
    assert done.code == 4
    assert f"out: the disk failed ({tmp_path}/.out.partial/kept/a.txt: Input/output error)" in done.err


def test_an_input_that_cannot_be_read(cli, tmp_path, monkeypatch):
    """It is not among the lines that --on-error skip leaves out: the next file would fail, too."""
    (tmp_path / "in").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "in" / name).write_text(FOX)
    monkeypatch.setattr(files_module, "kernels_open_files", lambda: False)
    monkeypatch.setattr(os, "read", failing(os.read, "in/b.md"))
    for more in ((), ("--on-error", "skip")):
        done = cli("pairs", "in", *more)
        assert done.code == 4
        assert done.err.endswith("in/b.md: cannot be read: Input/output error; check the disk or the network\n")


def test_a_finished_run_that_cannot_be_read(cli, news, monkeypatch):
    cli("dedup", news, "-o", "out")

    def fail(_):
        raise FAILURE

    monkeypatch.setattr(Path, "read_bytes", fail)
    done = cli("report", "out")
    assert (done.code, done.err) == (
        4,
        "lookalike: out/run.json: the disk failed (Input/output error); check the disk, or choose another location\n",
    )


def test_an_error_without_a_place_is_not_about_standard_output(cli, news, monkeypatch):
    def fail(*_, **__):
        raise FAILURE

    monkeypatch.setattr("lookalike.jobs.pairs.find_similar_pairs", fail)
    done = cli("pairs", news, "--quiet")
    assert (done.code, done.err) == (4, "lookalike: a file or device: Input/output error\n")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["pairs", "tune"])
def test_standard_output_is_named_if_it_failed(news, command, unbuffered):
    with Path("/dev/full").open("wb") as full:
        inputs = [news] if command == "pairs" else []
        done = process(command, *inputs, stdout=full, env=environment(PYTHONUNBUFFERED=unbuffered))
    assert (done.code, done.err.splitlines()[-1]) == (4, "lookalike: standard output: No space left on device")
