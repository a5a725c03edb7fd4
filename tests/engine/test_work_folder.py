from pathlib import Path

import pyarrow as pa
import pytest

from lookalike.engine.stores.work import WorkFolder
from lookalike.errors import UsageError
from lookalike.write.outputs import MANIFEST

IDENTITY = {"threshold": 0.8, "files": [["a", 1, 2]]}


def table(value: int) -> pa.Table:
    return pa.table({"a": [value] * 1000})


def filled(folder: Path) -> WorkFolder:
    work = WorkFolder(folder, IDENTITY, resume=False)
    work.save("one.arrow", table(1))
    work.save("two.arrow", table(2))
    return work


def test_pieces_are_returned_unchanged(tmp_path: Path) -> None:
    filled(tmp_path / "work")
    again = WorkFolder(tmp_path / "work", IDENTITY, resume=True)
    assert again.reused == ["one.arrow", "two.arrow"]
    assert again.load("two.arrow").equals(table(2))


def test_small_runs_make_no_folder(tmp_path: Path) -> None:
    WorkFolder(tmp_path / "work", IDENTITY, resume=False)
    assert not (tmp_path / "work").exists()


def test_a_new_run_uses_nothing_of_the_old(tmp_path: Path) -> None:
    filled(tmp_path / "work")
    assert not WorkFolder(tmp_path / "work", IDENTITY, resume=False).has("one.arrow")


def test_changed_options_or_inputs_are_refused_by_name(tmp_path: Path) -> None:
    filled(tmp_path / "work")
    for changed, name in (({**IDENTITY, "threshold": 0.9}, "threshold"), ({**IDENTITY, "files": []}, "files")):
        with pytest.raises(UsageError, match=f"{name} changed"):
            WorkFolder(tmp_path / "work", changed, resume=True)


def test_damaged_missing_and_unlisted_pieces_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    filled(folder)
    damaged = bytearray((folder / "one.arrow").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "one.arrow").write_bytes(damaged)
    (folder / "two.arrow").unlink()
    (folder / "three.arrow").write_bytes(b"not in the manifest")
    assert WorkFolder(folder, IDENTITY, resume=True).reused == []


@pytest.mark.parametrize("kept", range(0, 400, 7))
def test_a_manifest_cut_off_anywhere_is_understood(tmp_path: Path, kept: int) -> None:
    folder = tmp_path / "work"
    filled(folder)
    whole = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_bytes(whole[:kept])
    work = WorkFolder(folder, IDENTITY, resume=True)
    assert len(work.reused) == max(0, whole[:kept].count(b"\n") - 1)
    work.save("four.arrow", table(4))
    assert "four.arrow" in WorkFolder(folder, IDENTITY, resume=True).reused


@pytest.mark.parametrize("line", [b"[]", b"7", b'{"name": "one.arrow"}', b"[" * 100_000, b"\xff"])
def test_a_damaged_line_of_the_manifest_ends_it(tmp_path: Path, line: bytes) -> None:
    filled(tmp_path / "work")
    manifest = tmp_path / "work" / MANIFEST
    lines = manifest.read_bytes().splitlines()
    manifest.write_bytes(b"\n".join([*lines[:2], line, *lines[2:], b""]))
    assert WorkFolder(tmp_path / "work", IDENTITY, resume=True).reused == ["one.arrow"]
    manifest.write_bytes(line + b"\n")
    if not line.startswith(b"{"):
        assert WorkFolder(tmp_path / "work", IDENTITY, resume=True).reused == []
