"""Copies of an index that is in use."""

import itertools
import shutil
import threading

import pytest

import lookalike as la
from lookalike.engine.progress import Progress
from lookalike.index.folder import snapshot
from lookalike.index.stores import check_store

TEXTS = [f"alpha{n} beta{n} gamma{n} delta{n}" for n in range(60)]
OPTIONS = {"threshold": 0.5, "shingle": "word:1"}


def items(folder):
    with la.Index.open(folder, read_only=True) as index:
        found = index.query(TEXTS, k=None)
        return index._index.ids().to_pylist(), found.to_pylist()


def test_a_copy_is_an_index_of_its_own(tmp_path):
    """With its segments, its log and without what was removed; later changes do not reach it, nor the original."""
    with la.Index.create(tmp_path / "index", TEXTS[:40], **OPTIONS) as index:
        index.store.settle()
        index.add(TEXTS[40:50])
        index.remove([3, 41])
        index.snapshot(tmp_path / "copy")
        before = items(tmp_path / "index")
        index.add(TEXTS[50:])
    assert items(tmp_path / "copy") == before
    assert before[0] == [n for n in range(50) if n not in (3, 41)]
    assert check_store(tmp_path / "copy") == []
    with la.Index.open(tmp_path / "copy") as copied:
        copied.add([{"id": "only here", "text": "x y z"}])
    assert "only here" not in items(tmp_path / "index")[0]
    shutil.rmtree(tmp_path / "index")
    assert "only here" in items(tmp_path / "copy")[0]


def test_what_waits_for_others_is_copied_too(tmp_path):
    la.Index.create(tmp_path / "index", **OPTIONS).close()
    with la.Index.open(tmp_path / "index", durability="batch") as index:
        for text in TEXTS[:5]:
            index.add([text])
        index.snapshot(tmp_path / "copy")
    assert items(tmp_path / "copy")[0] == [0, 1, 2, 3, 4]


def test_every_copy_is_one_state(tmp_path):
    """While another thread adds pairs of items, and merges them: each copy has both of a pair, and all before it."""
    done, copies = threading.Event(), 0

    def add():
        for n in itertools.count():
            index.add([{"id": f"{n}-{side}", "text": f"{side}{n} x{n}"} for side in "ab"])
            if n % 7 == 6:
                index.compact()
            if n >= 200 and copies > 3:
                break
        done.set()

    with la.Index.create(tmp_path / "index", **OPTIONS) as index:
        adding = threading.Thread(target=add)
        adding.start()
        while not done.is_set():
            index.snapshot(tmp_path / f"copy-{copies}")
            copies += 1
        adding.join()
    sizes = []
    for number in range(copies):
        names = items(tmp_path / f"copy-{number}")[0]
        assert names == [f"{n}-{side}" for n in range(len(names) // 2) for side in "ab"]
        sizes.append(len(names))
    assert sizes == sorted(sizes)
    assert len({*sizes}) > 2


def test_segments_that_are_replaced_while_they_are_opened(tmp_path, monkeypatch):
    read, replaced = snapshot.StateFile.read, []
    with la.Index.create(tmp_path / "index", TEXTS[:5], **OPTIONS) as index:
        index.compact()

        def read_and_replace(file):
            state = read(file)
            if len(replaced) < 2:
                replaced.append(state.generation)
                index.add([f"new {len(replaced)}"])
                index.compact()
            return state

        monkeypatch.setattr(snapshot.StateFile, "read", read_and_replace)
        index.snapshot(tmp_path / "copy")
    monkeypatch.undo()
    assert len(replaced) == 2
    assert len(items(tmp_path / "copy")[0]) == 7


def test_a_damaged_segment_is_named_and_no_copy_appears(tmp_path):
    with la.Index.create(tmp_path / "index", TEXTS, **OPTIONS) as index:
        index.compact()
    path = next((tmp_path / "index").glob("segment-*.bin"))
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(la.BadDataError, match=rf"{path.name}: the bytes from 0 on are damaged"):
        snapshot.snapshot_folder(tmp_path / "index", tmp_path / "copy", Progress())
    assert [found.name for found in tmp_path.iterdir()] == ["index"]


def test_where_a_copy_cannot_be(tmp_path):
    with la.Index.create(tmp_path / "index", TEXTS[:3], **OPTIONS) as index:
        with pytest.raises(la.UsageError, match="inside the index"):
            index.snapshot(tmp_path / "index" / "copy")
        with pytest.raises(la.UsageError, match="already exists"):
            index.snapshot(tmp_path)
        with pytest.raises(la.UsageError, match="a snapshot is a folder"):
            index.snapshot("postgresql://u@h/db?table=t")
    with pytest.raises(la.UsageError, match="is not an index"):
        snapshot.snapshot_folder(tmp_path / "nothing", tmp_path / "copy", Progress())
