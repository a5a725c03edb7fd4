"""Kernels that read and write files, compared with Python's functions for one file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from lookalike.kernels.small_files import list_states, read_files, write_files
from lookalike.types.paths import kernels_open_files, path_block

pytestmark = pytest.mark.skipif(not kernels_open_files(), reason="kernels cannot open files on this system")

READ = os.O_RDONLY | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
SIZES = [0, 1, 7, 0, 4096, 100_000, 3]


def make_files(folder: Path) -> list[str]:
    """Files of several sizes, with times in the past and unusual names."""
    draw = np.random.default_rng(1)
    paths = []
    for number, size in enumerate(SIZES):
        path = folder / f"{number} 'ñ\udcff\n.txt"
        path.write_bytes(draw.bytes(size))
        os.utime(path, ns=(1, -(10**18) + 10**9 * number if number % 2 else 1_700_000_000_123_456_789 + number))
        paths.append(str(path))
    return paths


def open_handles() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def states_of(paths: list[str], permission: bool = True) -> list[tuple[int, ...]]:
    states = np.full((len(paths), 4), 99, np.int64)
    list_states(path_block(paths), permission, states)
    return [tuple(row) for row in states.tolist()]


def plain_state(path: str) -> tuple[int, ...]:
    try:
        found = os.lstat(path)
    except OSError:
        return -1, 0, 0, 0
    usual = stat.S_ISREG(found.st_mode) and os.access(path, os.R_OK)
    return found.st_mode, found.st_size, found.st_mtime_ns, int(usual)


def test_states(tmp_path):
    paths = make_files(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(paths[0])
    (tmp_path / "broken").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    paths += [str(tmp_path / name) for name in ("folder", "link", "broken", "pipe", "missing", "folder/x" * 1000)]
    paths += ["", "/dev/null", paths[1] + "/below a file"]
    found = states_of(paths)
    assert found == [plain_state(path) for path in paths]
    assert [row[3] for row in found] == [1] * len(SIZES) + [0] * (len(paths) - len(SIZES))
    assert states_of([]) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(tmp_path):
    (tmp_path / "secret").write_text("text")
    (tmp_path / "secret").chmod(0)
    paths = [str(tmp_path / "secret")]
    assert [row[3] for row in states_of(paths)] == [0]
    assert [row[3] for row in states_of(paths, permission=False)] == [1]


def read(paths: list[str], stamps: list[tuple[int, int]]) -> tuple[int, bytes]:
    """How many files were read, and their bytes."""
    edges = np.cumsum([0, *(size for size, _ in stamps)], dtype=np.int64)
    modified = np.array([when for _, when in stamps], np.int64)
    data = np.zeros(int(edges[-1]) + 1, np.uint8)
    number = read_files(path_block(paths), READ, edges, modified, data)
    return number, data[: edges[number]].tobytes()


def stamps_of(paths: list[str]) -> list[tuple[int, int]]:
    return [(found.st_size, found.st_mtime_ns) for found in map(os.stat, paths)]


def test_files_are_read(tmp_path):
    paths = make_files(tmp_path)
    assert read(paths, stamps_of(paths)) == (len(paths), b"".join(Path(path).read_bytes() for path in paths))
    assert read([], []) == (0, b"")


@pytest.mark.parametrize("change", ["longer", "shorter", "touched", "missing", "folder"])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_reading_ends_at_a_file_that_has_changed(tmp_path, change, place):
    paths = make_files(tmp_path)
    stamps = stamps_of(paths)
    size, when = stamps[place]
    path = Path(paths[place])
    if change in ("longer", "shorter"):
        path.write_bytes(b"x" * max(0, size + (1 if change == "longer" else -1)))
        os.utime(path, ns=(when, when))
        if change == "shorter" and not size:
            os.utime(path, ns=(when, when + 1))
    elif change == "touched":
        os.utime(path, ns=(when, when + 1))
    else:
        path.unlink()
        if change == "folder":
            path.mkdir()
    before = b"".join(Path(one).read_bytes() for one in paths[:place])
    handles = open_handles()
    assert read(paths, stamps) == (place, before)
    assert open_handles() == handles, "every file is closed"


def test_files_with_more_bytes_than_their_size():
    path = "/proc/self/status"
    assert read([path], [(0, Path(path).stat().st_mtime_ns)]) == (0, b"")


def write(paths: list[str], texts: list[bytes]) -> int:
    stops = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = stops - np.array([len(text) for text in texts], np.int64)
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    data.flags.writeable = False
    return int(write_files(path_block(paths), CREATE, data, starts, stops))


def test_files_are_written(tmp_path):
    draw = np.random.default_rng(2)
    texts = [draw.bytes(size) for size in SIZES]
    paths = [str(tmp_path / f"{number} ñ\udcff") for number in range(len(texts))]
    Path(paths[2]).write_bytes(b"longer than what replaces it")
    before = os.umask(0o027)
    try:
        assert write(paths, texts) == len(texts)
    finally:
        os.umask(before)
    assert [Path(path).read_bytes() for path in paths] == texts
    assert {stat.S_IMODE(Path(path).stat().st_mode) for path in paths[3:]} == {0o640}
    assert write([], []) == 0


@pytest.mark.parametrize("bad", [0, 2, 4])
def test_writing_ends_at_a_file_that_fails(tmp_path, bad):
    paths = [str(tmp_path / str(number)) for number in range(5)]
    Path(paths[bad]).mkdir()
    handles = open_handles()
    assert write(paths, [b"text"] * 5) == bad
    assert [Path(path).exists() for path in paths] == [number <= bad for number in range(5)]
    assert open_handles() == handles, "every file is closed"


def test_a_full_disk_is_noticed():
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    assert write(["/dev/null", "/dev/full", "/dev/null"], [b"text"] * 3) == 1
