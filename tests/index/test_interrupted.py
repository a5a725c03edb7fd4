"""Changes that fail or are interrupted between the file and memory: nothing is acknowledged that is not on disk."""

import sqlite3
import subprocess
import sys

import pytest

import failing_disk
import lookalike as la
from lookalike.index.folder import checked_file
from lookalike.index.folder.acknowledged import Acknowledged
from lookalike.index.folder.state_file import StateFile
from lookalike.index.folder.store import Folder
from lookalike.index.stores import check_store
from lookalike.index.table import Table
from lookalike.index.view import View

OPTIONS = {"threshold": 0.5, "shingle": "word:1"}


def text(number):
    return f"a{number} b{number} c{number}"


def names(folder):
    with la.Index.open(folder, read_only=True) as index:
        return index._index.ids().to_pylist()


@pytest.mark.skipif(failing_disk.COMPILER is None, reason="needs a C compiler, to make a disk that fails")
@pytest.mark.parametrize("durability", ["each", "batch"])
def test_after_a_failed_fsync_nothing_is_acknowledged(tmp_path, durability):
    """Not even if the next fsync succeeds: the system may have forgotten what it could not write."""
    script = """
import os, sys, lookalike as la
index = la.Index.open(sys.argv[1], durability=sys.argv[2])
index.add([{"id": "before", "text": "x y z"}])
index.sync()
open(os.environ["FSYNC_FAILS_IF_EXISTS"], "w").close()
for step in range(4):
    try:
        index.add([{"id": f"after {step}", "text": f"p{step} q{step}"}])
        index.sync()
        print("acknowledged", step)
    except la.ResourceError as error:
        print("refused", "opened again" in str(error))
    if step == 1:
        os.unlink(os.environ["FSYNC_FAILS_IF_EXISTS"])
try:
    index.close()
except la.ResourceError:
    pass
with la.Index.open(sys.argv[1]) as again:
    again.add([{"id": "again", "text": "u v w"}])
    print("works again", "again" in again and "before" in again)
"""
    folder = tmp_path / "index"
    la.Index.create(folder, **OPTIONS).close()
    done = subprocess.run(
        [sys.executable, "-c", script, folder, durability],
        env=failing_disk.environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["refused True"] * 4 + ["works again True"]
    assert {"before", "again"} <= {*names(folder)}
    assert check_store(folder) == []


@pytest.mark.parametrize("target", [(Table, "add"), (View, "with_parts"), (Acknowledged, "write")])
def test_a_change_that_was_interrupted_ends_writing(tmp_path, monkeypatch, target):
    """It is in the file, but not, or not all of it, in memory: the next one would refer to wrong items."""
    folder = tmp_path / "index"
    with la.Index.create(folder, [{"id": f"i{n}", "text": text(n)} for n in range(5)], **OPTIONS) as index:

        def interrupt(*arguments, **options):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(*target, interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.add([{"id": "i2", "text": text(9)}])
        with pytest.raises(la.ResourceError, match="was interrupted and may have been stored"):
            index.add([{"id": "i9", "text": text(9)}])
        with pytest.raises(la.ResourceError, match="opened again"):
            index.compact()
        assert index.query([text(3)])["right"].to_pylist() == ["i3"]
    with la.Index.open(folder) as index:
        assert index._index.ids().to_pylist() == ["i0", "i1", "i3", "i4", "i2"]
        index.add([{"id": "i9", "text": text(19)}])
        index.remove(["i3"])
        assert index.query([text(9)])["right"].to_pylist() == ["i2"]
    assert names(folder) == ["i0", "i1", "i4", "i2", "i9"]
    assert check_store(folder) == []


def test_files_of_a_change_that_may_have_been_stored_stay(tmp_path, monkeypatch):
    """A large addition is a segment; the file that names it was written, but the process does not know."""
    folder = tmp_path / "index"
    with la.Index.create(folder, **OPTIONS) as index:
        index.add([{"id": "first", "text": text(0)}])
        rows = [{"id": f"i{n}", "text": " ".join(f"w{n}x{i}" for i in range(300))} for n in range(1200)]

        def interrupt(*arguments, **options):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Acknowledged, "write", interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.add(rows)
    assert names(folder) == ["first", *(f"i{n}" for n in range(1200))]
    assert check_store(folder) == []


def test_a_merge_that_was_interrupted_loses_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    with la.Index.create(folder, **OPTIONS) as index:
        for n in range(6):
            index.add([{"id": f"i{n}", "text": text(n)}])

        def interrupt(*arguments, **options):
            raise MemoryError

        with monkeypatch.context() as patched:
            patched.setattr(View, "replaced", interrupt)
            with pytest.raises(MemoryError):
                index.compact()
        assert len(index.query([text(n) for n in range(6)])) == 6
    assert names(folder) == [f"i{n}" for n in range(6)]
    assert check_store(folder) == []


def test_a_change_that_the_file_refuses_is_undone(tmp_path, monkeypatch):
    """A full disk, for example: SQLite goes back, and the next change is accepted."""
    folder = tmp_path / "index"
    with la.Index.create(folder, **OPTIONS) as index:

        def refuse(file, changes):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(StateFile, "store", refuse)
            with pytest.raises(la.ResourceError, match=r"no space left on the disk .* nothing was changed"):
                index.add([{"id": "lost", "text": text(0)}])
        index.add([{"id": "kept", "text": text(1)}])
    assert names(folder) == ["kept"]


def test_a_segment_is_on_disk_before_it_is_named(tmp_path, monkeypatch):
    """Its content and its name in the folder: after a power failure, the state must not refer to a lost file."""
    events, save, flush_file = [], StateFile.save, checked_file.flush_handle
    monkeypatch.setattr(checked_file, "flush_handle", lambda handle: (events.append("content"), flush_file(handle)))
    monkeypatch.setattr(checked_file, "flush", lambda path: events.append(path.name))

    def note_and_save(file, state, description):
        events.append("state")
        save(file, state, description=description)

    monkeypatch.setattr(StateFile, "save", note_and_save)
    with la.Index.create(tmp_path / "index", **OPTIONS) as index:
        index.add([{"id": f"i{n}", "text": " ".join(f"w{n}x{i}" for i in range(300))} for n in range(1200)])
        assert events[-3:] == ["content", "index", "state"]
        events.clear()
        index.remove(["i1"])
        assert events == ["state"]
        index.compact()
        assert events[1:] == ["content", "index", "state"]


def test_the_lock_is_released_even_if_closing_fails(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    index = la.Index.create(folder, **OPTIONS)

    def refuse(file):
        raise la.ResourceError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(StateFile, "sync", refuse)
        with pytest.raises(la.ResourceError, match="the disk is gone"):
            index.close()
    with la.Index.open(folder) as again:
        again.add([{"id": "a", "text": "b"}])


def test_an_index_that_cannot_be_opened_does_not_stay_locked(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    la.Index.create(folder, **OPTIONS).close()

    def refuse(folder):
        raise la.ResourceError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "_remove_unused", refuse)
        with pytest.raises(la.ResourceError, match="the disk is gone"):
            la.Index.open(folder)
    la.Index.open(folder).close()
