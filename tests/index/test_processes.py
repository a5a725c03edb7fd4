"""Several processes: one writer, killed at any moment, and readers that see whole states."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lookalike as la
from corpora import corpus
from lookalike.index.folder import store
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.state_file import StateFile
from lookalike.index.stores import check_store

OPTIONS = {"threshold": 0.7, "shingle": "word:3"}
WRITER = """
import sys, lookalike as la
from lookalike.index.folder import store
store.LOG_RECORDS = 25  # segments are made, and merged, all the time
folder, first, count, texts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
texts = open(texts, encoding="utf-8").read().splitlines()
index = la.Index.open(folder)
for number in range(first, first + count):
    index.add([{"id": f"k{number}", "text": texts[number]}])
    if number % 5 == 4:
        index.remove([f"k{number - 2}"])
    print(number, flush=True)
    if number % 40 == 39:
        index.compact()
"""


def run_and_kill(folder, texts, first, seconds, draw):
    """The numbers that were acknowledged before the writer was killed."""
    command = [sys.executable, "-c", WRITER, folder, str(first), "300", texts]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        told = [int(child.stdout.readline())]
        time.sleep(draw.random() * seconds)
        child.send_signal(signal.SIGKILL)
        return told + [int(line) for line in child.stdout if line.endswith("\n")]


def expect_all(folder, told, texts):
    """What was acknowledged is there, but for the item whose removal was under way, and at most one item more."""
    gone = {number - 2 for number in told if number % 5 == 4}
    under_way = {number - 1 for number in told if number + 1 not in told and number % 5 == 3}
    wanted = {f"k{number}" for number in told if number not in gone}
    with la.Index.open(folder, read_only=True) as index:
        there = set(index._index.ids().to_pylist())
        assert wanted - there <= {f"k{number}" for number in under_way}
        assert not there & {f"k{number}" for number in gone}
        assert there - wanted <= {f"k{number + 1}" for number in told if number + 1 not in told}
        rows = [{"id": f"k{number}", "text": texts[number]} for number in told]
        found = index.query(rows, k=None).to_pylist()
    same = {row["left"] for row in found if row["left"] == row["right"] and row["similarity"] == 1}
    assert same == there & {f"k{number}" for number in told}


def kill_again_and_again(tmp_path, times, seconds):
    texts = corpus(300 * times, seed=times, copies=0, shortest=8, longest=20)
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    folder, draw, told = tmp_path / "index", random.Random(times), []
    la.Index.create(folder, **OPTIONS).close()
    for attempt in range(times):
        told += run_and_kill(folder, path, 300 * attempt, seconds, draw)
        assert check_store(folder) == []
        expect_all(folder, told, texts)
    return told


def test_killed_at_any_moment_it_loses_nothing(tmp_path):
    told = kill_again_and_again(tmp_path, 4, 0.6)
    assert len(told) > 8


def test_a_second_writer_gets_an_error_that_names_the_first(tmp_path):
    with la.Index.create(tmp_path / "index", ["a b c d e"]) as index:
        with pytest.raises(la.UsageError, match=rf"another process is writing to it \(process {os.getpid()} on "):
            la.Index.open(tmp_path / "index")
        with la.Index.open(tmp_path / "index", read_only=True) as reader:
            assert len(reader) == len(index) == 1
            with pytest.raises(la.UsageError, match="opened for reading only"):
                reader.add(["x"])
    la.Index.open(tmp_path / "index").close()


def test_readers_keep_their_state_until_they_refresh(place):
    with la.Index.create(place, ["a b c d e f"], threshold=0.5) as index:
        reader = la.Index.open(place, read_only=True)
        index.add(["a b c d e f g"])
        assert reader.query(["a b c d e f"]).num_rows == 1
        assert reader.refresh()
        assert reader.query(["a b c d e f"])["right"].to_pylist() == [0, 1]
        index.remove([0])
        index.compact()  # removes the files that the reader has open
        assert reader.query(["a b c d e f"])["right"].to_pylist() == [0, 1]
        assert reader.refresh()
        assert not reader.refresh()
        assert reader.query(["a b c d e f"])["right"].to_pylist() == [1]
        reader.close()


READER = """
import sys, time, json, lookalike as la
folder, seconds = sys.argv[1], float(sys.argv[2])
index, seen, end = la.Index.open(folder, read_only=True), [], time.time() + seconds
while time.time() < end or len(set(seen)) < 2:  # on a busy machine, one round can take that long
    ids = index._index.ids().to_pylist()
    assert len(ids) % 3 == 0, ids  # three are added at a time
    found = index.query(["alpha beta gamma delta"], k=None)
    assert found.num_rows == len(ids)
    seen.append(len(ids))
    index.refresh()
    again = la.Index.open(folder, read_only=True)
    assert len(again) % 3 == 0
    again.close()
print(json.dumps(seen))
"""


def test_readers_in_other_processes_see_consistent_states(place):
    index = la.Index.create(place, threshold=0.5, shingle="word:1")
    command = [sys.executable, "-c", READER, place, "2.5"]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    number = 0
    while any(reader.poll() is None for reader in readers):
        index.add([{"id": f"{number}-{n}", "text": "alpha beta gamma delta"} for n in range(3)])
        number += 1
        if number % 7 == 0:
            index.compact()
    seen = [json.loads(reader.communicate()[0]) for reader in readers]
    index.close()
    assert [reader.returncode for reader in readers] == [0, 0]
    assert all(one == sorted(one) and one[-1] > one[0] for one in seen), seen


def test_grouped_additions_survive_a_close(tmp_path):
    la.Index.create(tmp_path / "index").close()
    with la.Index.open(tmp_path / "index", durability="batch") as index:
        reader = la.Index.open(tmp_path / "index", read_only=True)
        for number in range(20):
            index.add([f"text number {number} of the lot"])
        assert not reader.refresh()  # not on disk yet
        index.sync()
        assert reader.refresh()
        assert len(reader) == 20
    with la.Index.open(tmp_path / "index") as index:
        assert len(index) == 20


def test_queued_single_items_count_as_added(tmp_path):
    la.Index.create(tmp_path / "index", [{"id": "a", "text": "old text"}], threshold=0.5, shingle="word:1").close()
    with la.Index.open(tmp_path / "index", durability="batch") as index:
        told = [index.add([{"id": id, "text": text}]) for id, text in (("a", "x y"), ("b", "x z"), ("a", "p q"))]
        usual = index.add([{"id": "c", "text": "r s"}], on_conflict="skip")
        assert (told[0].schema, told[0].drop(["id"])) == (usual.schema, usual.drop(["id"]))
        assert index.query(["p q"])["right"].to_pylist() == ["a"]
        with pytest.raises(la.BadDataError, match="surrogate"):
            index.add([{"id": "d", "text": "\ud800"}])
        index.add([{"id": "d", "text": "old text"}])
        assert index.add([{"id": "e", "text": "old text"}], if_new=True)["match"].to_pylist() == ["d"]
        for number in range(300):
            index.add([{"id": number, "text": f"text {number}"}])
        index.add([{"id": "f", "text": "f"}])
        assert (index.remove(["7", "f"]), len(index)) == (2, 4 + 299)
        assert index._index.ids().to_pylist()[:6] == ["b", "a", "c", "d", "0", "1"]
        index.add([{"id": "g", "text": "g"}])
    with la.Index.open(tmp_path / "index", read_only=True) as index:
        assert "g" in index
        assert index.check() == []


def test_items_that_wait_are_added_when_nobody_closes_the_index(tmp_path):
    la.Index.create(tmp_path / "index").close()
    script = """
import sys, lookalike as la
index = la.Index.open(sys.argv[1], durability="batch")
index.add([{"id": 1, "text": "a b c"}])
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "index"], check=True)
    with la.Index.open(tmp_path / "index", read_only=True) as index:
        assert index._index.ids().to_pylist() == [1]


def test_a_full_disk_leaves_the_index_unchanged(tmp_path):
    """The file size limit of the process stands for the disk."""
    script = """
import resource, signal, sys, lookalike as la
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
index = la.Index.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for number in range(100):
    try:
        index.add([f"text {number} " + " ".join(f"w{number}x{i}" for i in range(200))])
    except la.ResourceError:
        break
print(number, len(index))
"""
    la.Index.create(tmp_path / "index", shingle="word:1").close()
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "index"], capture_output=True, text=True, check=True
    )
    count, left = map(int, done.stdout.split())
    assert 0 < count == left < 100
    assert check_store(tmp_path / "index") == []
    with la.Index.open(tmp_path / "index") as index:
        assert len(index) == count


def test_nothing_is_added_to_an_index_that_was_removed(tmp_path):
    with la.Index.create(tmp_path / "index", ["a b c d e f"]) as index:
        shutil.rmtree(tmp_path / "index")
        with pytest.raises(la.ResourceError, match="was removed while it was open"):
            index.add(["g h i j k l"])
        assert index.query(["a b c d e f"]).num_rows == 1


@pytest.mark.parametrize("if_new", [False, True])
def test_a_large_addition_to_a_full_disk_names_the_index(tmp_path, if_new):
    script = """
import resource, signal, sys, lookalike as la
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
index = la.Index.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    index.add([f"{number} " + " ".join(f"w{number}x{i}" for i in range(200)) for number in range(1000)], if_new=IF_NEW)
except la.ResourceError as error:
    print(error)
"""
    la.Index.create(tmp_path / "index", shingle="word:1").close()
    code = script.replace("IF_NEW", str(if_new))
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "index"], capture_output=True, text=True, check=True)
    assert f"{tmp_path / 'index'}: no space left" in done.stdout
    assert check_store(tmp_path / "index") == []


def test_without_room_for_a_segment_additions_go_on(tmp_path, monkeypatch):
    """A change is safe in the log; that no segment can be made of it must not undo it."""
    monkeypatch.setattr(store, "LOG_RECORDS", 10)
    finish, full = SegmentWriter.finish, [True]

    def finish_unless_full(writer):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        finish(writer)

    monkeypatch.setattr(SegmentWriter, "finish", finish_unless_full)
    with la.Index.create(tmp_path / "index", shingle="word:1") as index:
        for number in range(50):
            told = index.add([{"id": f"i{number}", "text": " ".join(f"w{number}x{i}" for i in range(200))}])
            assert told["added"].to_pylist() == [True]
        index.store.settle()
        stats = index.stats()
        assert (stats["items"], stats["segments"], stats["log"]["items"]) == (50, 0, 50)
        assert f"{tmp_path / 'index'}: no space left" in stats["problem"]
        with pytest.raises(la.ResourceError, match="no space left"):
            index.compact()
        full.clear()
        index.store.settle()
        stats = index.stats()
        assert (stats["items"], stats["segments"], stats["log"]["items"], stats["problem"]) == (50, 1, 0, None)
        assert index.query([" ".join(f"w7x{i}" for i in range(200))])["right"].to_pylist() == ["i7"]
        assert index.check() == []
    assert len(list((tmp_path / "index").glob("segment-*.bin"))) == 1


def test_a_damaged_segment_does_not_keep_others_from_being_added(tmp_path, monkeypatch):
    """It cannot be merged; what is added is stored all the same, and no addition reports an error."""
    monkeypatch.setattr(store, "LOG_RECORDS", 10)
    folder = tmp_path / "index"
    with la.Index.create(folder, [f"x{n} y{n} z{n}" for n in range(2000)], shingle="word:1") as index:
        index.store.settle()
    path = next(folder.glob("segment-*.bin"))
    content = bytearray(path.read_bytes())
    content[100] ^= 1  # in a set, which is read when the segment is merged, and not when it is opened
    path.write_bytes(content)
    with la.Index.open(folder) as index:
        for number in range(300):
            index.add([{"id": f"i{number}", "text": f"w{number} v{number}"}], on_conflict="error")
        for number in range(4):  # enough for a merge with the first
            index.add([{"id": f"j{number} {n}", "text": f"u{number}{n} t{n}"} for n in range(2000)])
            index.store.settle()
        assert len(index) == 10300
        stats = index.store.outline()
        assert stats["segments"] > 1
        assert path.name in index.store.problem


def test_what_keeps_segments_from_being_merged_is_said_at_the_end(tmp_path, monkeypatch, cli):
    """A command that adds items succeeds, and says that the disk is too full to tidy up."""

    def refuse(writer):
        raise OSError(errno.ENOSPC, "No space left on device")

    la.Index.create(tmp_path / "index", shingle="word:1").close()
    (tmp_path / "items.jsonl").write_text("".join(f'{{"id": "{n}", "text": "a{n}"}}\n' for n in range(30)))
    monkeypatch.setattr(SegmentWriter, "finish", refuse)
    monkeypatch.setattr(store, "LOG_ITEMS", 20)
    done = cli("index", "add", "index", "items.jsonl")
    assert done.code == 0
    assert "30 items, 30 added" in done.err
    assert "Segments could not be merged" in done.err
    assert "no space left" in done.err


def test_remains_of_a_create_that_was_killed_at_its_very_end(tmp_path):
    """All is written, and the lock is gone, but the folder has no name yet."""
    for name, foreign in (("index", False), ("other", True)):
        hidden = tmp_path / f".{name}.partial"
        la.Index.create(hidden, ["a b c"]).close()
        if foreign:
            (hidden / "letter.txt").write_text("not ours")
            with pytest.raises(la.UsageError, match="was not made by lookalike"):
                la.Index.create(tmp_path / name, ["d e f"])
            assert (hidden / "letter.txt").exists()
        else:
            la.Index.create(tmp_path / name, ["d e f", "g h i"]).close()
            assert not hidden.exists()
            assert check_store(tmp_path / name) == []


def test_remains_of_a_killed_writer_are_removed(tmp_path):
    folder = tmp_path / "index"
    la.Index.create(folder, ["a b c"]).close()
    Path(folder, "segment-000077-000.bin").write_bytes(b"half")
    la.Index.open(folder).close()
    assert not Path(folder, "segment-000077-000.bin").exists()


def test_segments_that_are_replaced_while_a_reader_opens_them(tmp_path, monkeypatch):
    """The state that it has read names a segment that is gone; it starts again."""
    folder = tmp_path / "index"
    index = la.Index.create(folder, ["a b c d e f"])
    index.compact()
    reader = la.Index.open(folder, read_only=True)
    read, replaced = StateFile.read, []

    def read_and_replace(file):
        state = read(file)
        if not file._writing and len(replaced) < 2:
            replaced.append(len(index))
            index.add([f"g h i j k l {len(replaced)}"])
            index.compact()
        return state

    monkeypatch.setattr(StateFile, "read", read_and_replace)
    with la.Index.open(folder, read_only=True) as again:
        assert len(again) == len(replaced) + 1 == 3
    assert reader.refresh()
    assert len(reader) == 3
    index.close()


def test_a_lock_that_is_a_link_is_refused_by_name(tmp_path):
    with la.Index.create(tmp_path / "index", **OPTIONS):
        pass
    (tmp_path / "index" / "writer.lock").unlink()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "index" / "writer.lock").symlink_to(tmp_path / "mine")
    with (
        pytest.raises(la.UsageError, match=r"writer\.lock: is a symbolic link.*remove it"),
        la.Index.open(tmp_path / "index") as index,
    ):
        index.add([{"id": "a", "text": "one two three four"}])
    assert (tmp_path / "mine").read_text() == "mine"
