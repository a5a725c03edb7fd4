from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lookalike.errors import ResourceError, UsageError
from lookalike.write import OutputFolder, files, flushing, output_file, outputs, whole_file
from lookalike.write.ownership import LOCK_TEXT


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def record(name: str = "") -> str:
    """A run.json as lookalike writes it."""
    return json.dumps({"options": {"name": name}, "counts": {}})


def fill(folder: Path, name: str = "") -> None:
    (folder / "kept").mkdir()
    (folder / "kept/a.txt").write_text("a")
    (folder / "run.json").write_text(record(name))


def test_a_folder_appears_complete(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "new/out") as folder:
        fill(folder)
        assert not (tmp_path / "new/out").exists()
        assert folder.name == ".out.partial"
        assert folder.parent == tmp_path / "new"
    assert names(tmp_path) == ["new", "new/out", "new/out/kept", "new/out/kept/a.txt", "new/out/run.json"]
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "new/out").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_a_failed_run(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), OutputFolder(tmp_path / "out") as folder:  # noqa: PT012
        fill(folder)
        raise error
    assert names(tmp_path) == []


def test_an_existing_output_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("file", "folder", "link"):
        with pytest.raises(UsageError, match="already exists"):
            OutputFolder(tmp_path / name)
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="dangling: is a symbolic link to nothing"):
            OutputFolder(tmp_path / "dangling", overwrite=overwrite)


def test_overwrite_replaces_outputs_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with OutputFolder(out, overwrite=True) as folder:
        fill(folder, "first")
    with OutputFolder(out, overwrite=True) as folder:
        (folder / "run.json").write_text(record("second"))
        assert (out / "run.json").read_text() == record("first")
    assert names(tmp_path) == ["out", "out/run.json"]
    assert (out / "run.json").read_text() == record("second")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="is not an output"):
        OutputFolder(tmp_path / "mine", overwrite=True)
    with pytest.raises(UsageError, match="is a file"):
        OutputFolder(tmp_path / "mine/thesis.tex", overwrite=True)
    assert (tmp_path / "mine/thesis.tex").exists()


def test_a_failed_overwrite_leaves_the_old_output(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        fill(folder, "old")
    with pytest.raises(ValueError, match="no"), OutputFolder(tmp_path / "out", overwrite=True):
        raise ValueError("no")
    assert (tmp_path / "out/run.json").read_text() == record("old")
    assert names(tmp_path) == ["out", "out/kept", "out/kept/a.txt", "out/run.json"]


def test_the_old_output_is_restored_if_renaming_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        fill(folder, "old")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if ".partial" in self.name:
            raise OSError(errno.EIO, "broken")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ResourceError, match="out: the disk failed"), OutputFolder(tmp_path / "out", overwrite=True):
        pass
    assert (tmp_path / "out/run.json").read_text() == record("old")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_name_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already exists"), OutputFolder(tmp_path / "out"):  # noqa: PT012
        (tmp_path / "out").mkdir()
        (tmp_path / "out/theirs").write_text("theirs")
    assert names(tmp_path) == ["out", "out/theirs"]


def test_a_full_disk_says_where(tmp_path: Path) -> None:
    with (  # noqa: PT012
        pytest.raises(ResourceError, match=r"out: no space left on the disk \([\d,]+ MB free\)"),
        OutputFolder(tmp_path / "out") as folder,
    ):
        fill(folder)
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []
    with pytest.raises(ResourceError, match=r"a\.csv"), whole_file(tmp_path / "a.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a full device")
def test_a_full_disk_reported_by_arrow_is_recognised(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # by a file object: given a path, Arrow would remove the device after the error
    full_disk = pytest.raises(ResourceError, match="no space left on the disk")
    with full_disk, OutputFolder(tmp_path / "out"), pa.OSFile("/dev/full", "wb") as full:
        pq.write_table(pa.table({"a": range(10)}), full)


def test_everything_is_flushed_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    for module in (outputs, files, flushing):
        monkeypatch.setattr(module, "flush", lambda path: flushed.append((path.name, (tmp_path / "out").exists())))
    with OutputFolder(tmp_path / "out") as folder:
        fill(folder)
    before = [name for name, published in flushed if not published]
    assert sorted(before) == sorted(["a.txt", "kept", "run.json", folder.name])  # at the same time
    assert flushed[-1] == (tmp_path.name, True)


def test_files_of_an_output_are_flushed_once_with_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    for module in (outputs, files, flushing):
        monkeypatch.setattr(module, "flush", lambda path: flushed.append(path.name))
    with OutputFolder(tmp_path / "out") as folder:
        fill(folder)
        with whole_file(folder / "b.txt") as partial:
            partial.write_text("two")
        assert flushed == []
    assert flushed.count("b.txt") == 1
    with whole_file(tmp_path / "c.txt") as partial:  # a file of its own
        partial.write_text("three")
    assert flushed[-1] == tmp_path.name
    assert flushed[-2].startswith(".c.txt")


def test_an_error_while_flushing_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.ENOSPC, "no space", str(path))

    monkeypatch.setattr(flushing, "flush", fail)
    with pytest.raises(ResourceError, match="no space left"), OutputFolder(tmp_path / "out") as folder:
        fill(folder)
    assert not (tmp_path / "out").exists()


def test_many_files_are_flushed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    flush_file_system = flushing.flush_file_system

    def note(folder: Path) -> bool:
        synced.append((tmp_path / "out").exists())
        return flush_file_system(folder)

    monkeypatch.setattr(flushing, "flush_file_system", note)
    with OutputFolder(tmp_path / "out", many_files=3) as folder:
        fill(folder)
    assert synced == [False]


def test_where_a_file_system_cannot_be_flushed_each_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    monkeypatch.setattr(flushing, "flush_file_system", lambda folder: False)
    monkeypatch.setattr(flushing, "flush", lambda path: flushed.append(path.name))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    flushing.flush_tree(tmp_path, many_files=1)
    assert sorted(flushed) == ["a.txt", "b.txt", "deep", tmp_path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can flush one file system")
def test_a_file_system_is_flushed_and_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert flushing.flush_file_system(tmp_path)
    with pytest.raises(FileNotFoundError):
        flushing.flush_file_system(tmp_path / "none")


def test_a_parent_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"), OutputFolder(tmp_path / "file/out"):
        pass


def test_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "deep/a.txt"
    with whole_file(path) as partial:
        partial.write_text("one")
        assert not path.exists()
    with pytest.raises(ValueError, match="no"), whole_file(path) as partial:  # noqa: PT012
        partial.write_text("two")
        raise ValueError("no")
    assert path.read_text() == "one"
    assert names(tmp_path) == ["deep", "deep/a.txt"]


def test_output_files_are_checked_beforehand(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to("absent.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert output_file(tmp_path / "new.CSV") == tmp_path / "new.CSV"
    assert output_file(tmp_path / "old.csv", overwrite=True) == tmp_path / "old.csv"
    for name, says in (
        ("old.csv", "already exists"),
        ("folder.csv", "is a folder"),
        ("link.csv", "already exists"),
        ("pipe.csv", "is not a file"),
        ("a.xls", "must end in .parquet"),
    ):
        with pytest.raises(UsageError, match=says):
            output_file(tmp_path / name)


def leave_unfinished(path: Path) -> None:
    """What a killed run leaves: a hidden folder with a piece of work, and a lock that nobody holds."""
    partial = path.parent / f".{path.name}.partial"
    (partial / "work").mkdir(parents=True)
    (partial / "work/digests-000000.arrow").write_text("piece")
    (partial / "lock").write_bytes(LOCK_TEXT)


def test_an_unfinished_run_is_continued_or_replaced_but_not_ignored(tmp_path: Path) -> None:
    leave_unfinished(tmp_path / "out")
    (tmp_path / ".out.partial/.removed.parquet.partial-x").write_text("half")
    with pytest.raises(UsageError, match="--resume"), OutputFolder(tmp_path / "out"):
        pass
    with OutputFolder(tmp_path / "out", resume=True) as folder:
        assert (folder / "work/digests-000000.arrow").read_text() == "piece"
        assert names(folder) == ["lock", "work", "work/digests-000000.arrow"]
        fill(folder)
    assert not (tmp_path / "out/lock").exists()
    leave_unfinished(tmp_path / "other")
    with OutputFolder(tmp_path / "other", overwrite=True) as folder:
        assert names(folder) == ["lock"]
        fill(folder)


def test_two_runs_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        fill(folder)
        for resume in (False, True):
            with pytest.raises(UsageError, match="another run"), OutputFolder(tmp_path / "out", resume=resume):
                pass
    assert (tmp_path / "out/run.json").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ResourceError])
def test_an_interrupted_run_leaves_its_pieces(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), OutputFolder(tmp_path / "out") as folder:  # noqa: PT012
        (folder / "work").mkdir()
        (folder / "work/digests-000000.arrow").write_text("piece")
        raise error
    assert (tmp_path / ".out.partial/work/digests-000000.arrow").exists()


def test_a_disk_that_is_full_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(ResourceError, match="no space left"), OutputFolder(tmp_path / "new/out"):
            pass
    assert names(tmp_path) == []


CALLS = ("mkdir", "open", "rename", "replace", "unlink", "rmdir", "fsync", "write", "close", "stat", "lstat")


def interrupt_at(monkeypatch: pytest.MonkeyPatch, number: int, after: bool) -> Callable[[], bool]:
    """Let the call of the system with this number be interrupted before or after it does its work; tells if it came."""
    made = [0]

    def interrupting(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*given: Any, **more: Any) -> Any:
            made[0] += 1
            if made[0] == number and not after:
                raise KeyboardInterrupt
            result = call(*given, **more)
            if made[0] == number and after:
                raise KeyboardInterrupt
            return result

        return instead

    for name in CALLS:
        monkeypatch.setattr(os, name, interrupting(getattr(os, name)))
    return lambda: made[0] >= number


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("failing", [False, True])
def test_an_interrupt_at_any_call_of_the_system_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: bool, after: bool
) -> None:
    def write(text: str) -> None:
        with OutputFolder(tmp_path / "out", overwrite=True) as folder:
            (folder / "run.json").write_text(json.dumps({"options": {}, "counts": {}, "text": text}))
            if failing and text:
                raise ValueError

    for number in range(1, 200):
        write("")
        with monkeypatch.context() as patch:
            came = interrupt_at(patch, number, after)
            with suppress(KeyboardInterrupt, ValueError):
                write("new")
            interrupted = came()
        assert names(tmp_path) == ["out", "out/run.json"], number
        assert json.loads((tmp_path / "out" / "run.json").read_text())["text"] in (("",) if failing else ("", "new"))
        if not interrupted:
            break
    assert 15 < number < 200
    assert json.loads((tmp_path / "out" / "run.json").read_text())["text"] == ("" if failing else "new")


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_any_call_of_the_system_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    for number in range(1, 100):
        with monkeypatch.context() as patch:
            came = interrupt_at(patch, number, after)
            with suppress(KeyboardInterrupt), whole_file(tmp_path / "a.txt") as partial:
                partial.write_text("all")
            interrupted = came()
        assert names(tmp_path) in ([], ["a.txt"]), number
        assert interrupted or names(tmp_path) == ["a.txt"]
        if (tmp_path / "a.txt").exists():
            assert (tmp_path / "a.txt").read_text() == "all"
            (tmp_path / "a.txt").unlink()
        if not interrupted:
            break
    assert 5 < number < 100


def test_a_run_interrupted_while_it_waits_for_the_disk_leaves_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt, match="continue with --resume"), OutputFolder(tmp_path / "out") as folder:  # noqa: PT012
        (folder / "run.json").write_text(record())
        (folder / "work").mkdir()
        (folder / "work/digests-000000.arrow").write_text("piece")
    assert names(tmp_path) == [
        ".out.partial",
        ".out.partial/lock",
        ".out.partial/work",
        ".out.partial/work/digests-000000.arrow",
    ]


@pytest.mark.parametrize("call", ["rmdir", "rename"])
def test_an_interrupt_after_everything_is_on_disk_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, calls = getattr(os, call), [0]

    def stop(*given: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:
            raise KeyboardInterrupt
        return real(*given, **more)

    with pytest.raises(KeyboardInterrupt), OutputFolder(tmp_path / "out") as folder:  # noqa: PT012
        (folder / "run.json").write_text(record())
        (folder / "work").mkdir()
        (folder / "work/digests-000000.arrow").write_text("piece")
        monkeypatch.setattr(os, call, stop)
    assert names(tmp_path) == ["out", "out/run.json"]


@pytest.mark.parametrize("failing", [False, True])
def test_the_parents_of_a_work_folder_go_with_it(tmp_path: Path, failing: bool) -> None:
    output = OutputFolder(tmp_path / "out", work=tmp_path / "new" / "work")
    with suppress(ValueError), output as folder:
        (folder / "run.json").write_text(record())
        output.spool.mkdir(parents=True)
        if failing:
            raise ValueError
    assert names(tmp_path) == ([] if failing else ["out", "out/run.json"])
