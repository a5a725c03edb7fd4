"""Files that are read together are what they are if each is read by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.read import open_inputs
from lookalike.read.documents import _read_texts
from lookalike.read.files import File, last_suffix, read_together, stamp
from lookalike.read.walking import AT_ONCE, known_stamps
from lookalike.types import Wanted
from lookalike.types.paths import kernels_open_files

pytestmark = pytest.mark.skipif(not kernels_open_files(), reason="kernels cannot open files on this system")

MARK = b"\xef\xbb\xbf"
UNUSUAL = [
    b"",
    "Noël 😀\n".encode(),
    MARK + b"marked",
    MARK,
    MARK[:2],
    b"\xff\xfe",
    b"cut \xe2\x82",
    b"\xac continued",
    b"\xed\xa0\x80 half of a pair",
    b"\xc0\x80 too long",
    b"\xf4\x90\x80\x80 too large",
    b"\x00 zero",
]


def file_of(path: Path) -> File:
    return File(path.name, path.name, str(path), path.stat().st_size, stamp(str(path)))


def write(folder: Path, texts: list[bytes]) -> list[File]:
    for number, text in enumerate(texts):
        (folder / f"{number:03}.txt").write_bytes(text)
    return [file_of(path) for path in sorted(folder.iterdir())]


def decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return not text.startswith(MARK)


@given(st.lists(st.sampled_from(UNUSUAL) | st.binary(max_size=5) | st.text(max_size=5).map(str.encode), max_size=5))
def test_texts(tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]) -> None:
    files = write(tmp_path_factory.mktemp("texts"), texts)
    found = _read_texts(files)
    assert (found is None) == (not all(map(decodes, texts)))
    assert found is None or found.to_pylist() == [text.decode() for text in texts]


def read_all(folder: Path) -> list[Any]:
    """Everything about the items of a folder, and the kept files."""
    (source,) = open_inputs([folder])
    about: list[Any] = []
    for block in source.blocks():
        items = block.items(Wanted("text", (), skip_errors=True))
        some = block.items(Wanted("text", (), skip_errors=True), np.arange(1, len(items), 2))
        about += [items.features.to_pylist(), items.rejected, items.decoded is None, some.features.to_pylist()]
        for held in (None, items.decoded):
            about += [(name, bytes(raw)) for name, raw in block.kept_rows(np.arange(len(items)) % 3 > 0, held).pieces()]
    return about


@pytest.mark.parametrize("texts", [UNUSUAL, [b"a", b"", "ä".encode() * 300] * 100, [b""] * 3, [b"alone"]])
def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[bytes]) -> None:
    write(tmp_path, texts)
    together = read_all(tmp_path)
    for module in ("files", "walking"):
        monkeypatch.setattr(f"lookalike.read.{module}.kernels_open_files", lambda: False)
    assert together == read_all(tmp_path)


@pytest.mark.parametrize("change", ["touched", "longer", "shorter", "removed"])
def test_a_file_that_changes_is_named(tmp_path: Path, change: str) -> None:
    write(tmp_path, [b"some text"] * 9)
    (source,) = open_inputs([tmp_path])
    (block,) = source.blocks()
    path = tmp_path / "005.txt"
    if change == "removed":
        path.unlink()
    elif change == "touched":
        os.utime(path, ns=(1, 1))
    else:
        path.write_bytes(b"some text longer" if change == "longer" else b"some")
    message = r"005\.txt: (changed|was removed) while it was read"
    with pytest.raises(BadDataError, match=message):
        block.items(Wanted("text", ()))
    with pytest.raises(BadDataError, match=message):
        block.kept_rows(np.ones(9, bool))


def test_a_link_is_read_and_a_pipe_is_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"text of the link")
    (tmp_path / "in" / "a.txt").write_bytes(b"text")
    (tmp_path / "in" / "b.txt").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "c.txt").symlink_to("nothing")
    os.mkfifo(tmp_path / "in" / "d.txt")
    (source,) = open_inputs([tmp_path / "in"])
    (block,) = source.blocks()
    assert block.items(Wanted("text", ())).features.to_pylist() == ["text", "text of the link"]


def test_a_link_into_the_output_is_refused(tmp_path: Path) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "out" / "a.txt").write_bytes(b"text")
    (tmp_path / "in" / "b.txt").symlink_to(tmp_path / "out" / "a.txt")
    with pytest.raises(UsageError, match=r"b\.txt: is in the output folder"):
        open_inputs([tmp_path / "in"], outputs=[tmp_path / "out"])


@pytest.mark.parametrize("inside", ["in/out", "."])
def test_files_in_the_output_are_refused(tmp_path: Path, inside: str) -> None:
    """The output is inside of the input, or the other way round."""
    (tmp_path / "in" / "out").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_bytes(b"text")
    if inside == ".":
        with pytest.raises(UsageError, match="is in the output folder"):
            open_inputs([tmp_path / "in"], outputs=[tmp_path])
    else:
        (tmp_path / "in" / "out" / "b.txt").write_bytes(b"text")
        (source,) = open_inputs([tmp_path / "in"], outputs=[tmp_path / inside])
        assert source.estimate_rows() == (1, True)


def test_what_must_be_read_one_by_one(tmp_path: Path) -> None:
    (file,) = write(tmp_path, [b"text"])
    assert read_together([file]) is not None
    assert read_together([file, File("a", "a", "a", 4)]) is None  # its time is not known
    assert read_together([file, File("a", "a", "a", 4, file.stamp, system=object())]) is None
    status = Path("/proc/self/status")
    assert read_together([File("status", "status", str(status), 0, stamp(str(status)))]) is None


def test_stamps_of_many_files(tmp_path: Path) -> None:
    (file,) = write(tmp_path, [b"text"])
    paths = [file.path, str(tmp_path)] * AT_ONCE
    assert list(known_stamps(paths)) == [file.stamp, None] * AT_ONCE


@given(st.text("aB1./é \n", max_size=8))
def test_the_last_suffix_is_that_of_python(path: str) -> None:
    assert last_suffix(path) == os.path.splitext(path)[1].lower()  # noqa: PTH122
