"""Batch jobs read an index as reference, and add what they kept to one."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from lookalike.index.folder.changes import FolderChanges

OPTIONS = {"threshold": 0.7, "recall": 0.9, "shingle": "word:2"}
FLAGS = ["--threshold", "0.7", "--recall", "0.9", "--shingle", "word:2", "--method", "lsh"]
TEXTS = corpus(260, seed=6, shortest=8, longest=30)
ITEMS = [{"id": f"i{n}", "text": text} for n, text in enumerate(TEXTS[:110])]
STREAM = [{"id": f"s{n}", "text": text} for n, text in enumerate([*TEXTS[90:], "", "..."])]


def reasons(result):
    return result.removed.select(["id", "kept_id", "similarity"]).to_pylist()


def all_ids(index):
    return index._index.ids().to_pylist()


@pytest.mark.parametrize("method", ["lsh", "exact"])
@pytest.mark.parametrize("store", ["sets", "text"])
def test_an_index_as_reference_is_as_good_as_its_items(place, store, method):
    with la.Index.create(place, ITEMS[:60], store=store, **OPTIONS) as index:
        index.compact()
        index.add([*ITEMS[60:], {"id": "gone", "text": STREAM[-3]["text"]}])
        index.remove(["gone"])
    found = la.dedup(STREAM, reference=place, method=method, **OPTIONS)
    wanted = la.dedup(STREAM, reference=ITEMS, method=method, **OPTIONS)
    assert len(reasons(wanted)) > 20
    assert any(row["kept_id"].startswith("i") for row in reasons(wanted))
    assert reasons(found) == reasons(wanted)
    assert found.kept.equals(wanted.kept)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_an_open_index_together_with_keep_rules(tmp_path, keep):
    with la.Index.create(tmp_path / "index", ITEMS, **OPTIONS) as index:
        found = la.dedup(STREAM, reference=index, keep=keep, policy="connected", **OPTIONS)
    assert reasons(found) == reasons(la.dedup(STREAM, reference=ITEMS, keep=keep, policy="connected", **OPTIONS))


@pytest.mark.parametrize(("measure", "threshold"), [("cosine", 0.9), ("euclidean", 1.5), ("hamming", 12)])
def test_vectors_and_bit_strings_as_reference(place, measure, threshold):
    draw = np.random.default_rng(2)
    if measure == "hamming":
        rows = draw.random((200, 100)) < 0.5
        rows[100:, 8:] = rows[:100, 8:]
    else:
        rows = draw.normal(size=(200, 12)).astype(np.float32)
        rows[100:] = rows[:100] + draw.normal(size=(100, 12)) * 0.2
        rows[7] = 0
    options = {"measure": measure, "threshold": threshold, "method": "lsh"}
    with la.Index.create(place, measure=measure, threshold=threshold) as index:
        first = la.dedup(rows[:120], into=index, **options)
        assert len(index) == first.kept.num_rows >= 100
        column = index._index.kind.measure.column
        found = la.dedup(rows[100:], reference=index, **options)
    wanted = la.dedup(rows[100:], reference=first.kept, **options)
    assert len(found.removed) >= 20
    assert found.kept.equals(wanted.kept)
    assert found.removed[column].to_pylist() == wanted.removed[column].to_pylist()


ROWS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=7).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=40)
@given(items=ROWS, stream=ROWS)
def test_all_ways_to_add_new_items_keep_what_dedup_keeps(tmp_path_factory, items, stream):
    """One by one, at once, and by a batch job: the same items are kept, and then in the index."""
    options = {"threshold": 0.5, "shingle": "word:1", "recall": 0.999}
    known = [{"id": f"i{n}", "text": text} for n, text in enumerate(items)]
    rows = [{"id": f"s{n}", "text": text} for n, text in enumerate(stream)]
    folder = tmp_path_factory.mktemp("new")
    with (
        la.Index.create(folder / "a", known, **options) as one_by_one,
        la.Index.create(folder / "b", known, **options) as batch,
    ):
        added = [row["id"] for row in rows if one_by_one.add([row], if_new=True)["added"][0].as_py()]
        kept = la.dedup(rows, reference=batch, into=batch, method="lsh", **options).kept["id"].to_pylist()
        assert kept == added
        assert all_ids(batch) == all_ids(one_by_one)
        asked = one_by_one.query([*known, *rows], k=None)
        assert batch.query([*known, *rows], k=None).equals(asked)
        assert batch.check() == []


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "items.jsonl", ITEMS)
    write(tmp_path / "stream.jsonl", STREAM)
    with la.Index.create(tmp_path / "seen", ITEMS, **OPTIONS):
        return tmp_path


def test_the_command_reads_and_adds(cli, files):
    done = cli("dedup", "stream.jsonl", "-o", "one", "--reference", "seen", "--into", "seen", *FLAGS)
    assert done.code == 0
    cli("dedup", "stream.jsonl", "-o", "two", "--reference", "items.jsonl", *FLAGS)
    assert (files / "one/kept/stream.jsonl").read_bytes() == (files / "two/kept/stream.jsonl").read_bytes()
    run = json.loads((files / "one/run.json").read_text())
    assert run["options"]["into"] == run["into"]["index"] == "seen"
    assert f"Added to seen: {run['counts']['kept']} items." in done.err
    with la.Index.open(files / "seen") as index:
        assert len(index) == len(ITEMS) + run["counts"]["kept"]
        assert index.stats()["log"]["items"] == 0
    again = cli("dedup", "stream.jsonl", "-o", "three", "--reference", "seen", "--into", "seen", "--json", *FLAGS)
    assert again.json()["counts"]["kept"] == 2  # empty items resemble nothing


def test_options_must_agree(cli, files):
    for flags, wanted in (
        (["--shingle", "word:2", "--recall", "0.9"], "use --threshold 0.7"),
        ([*FLAGS, "--seed", "7", "--bag"], "use no --bag --seed 1"),
        ([*FLAGS, "--length-ratio", "0.5"], "--length-ratio does not work with an index"),
    ):
        for option in ("--reference", "--into"):
            done = cli("dedup", "stream.jsonl", "-o", "out", option, "seen", *flags)
            assert done.code == 2
            assert wanted in done.err
            assert len(done.err.strip().splitlines()) == 1
    absent = cli("dedup", "stream.jsonl", "-o", "out", "--into", "nowhere", *FLAGS)
    assert (absent.code, "nowhere: is not an index" in absent.err) == (2, True)
    with la.Index.open(files / "seen"):
        assert "another process is writing" in cli("dedup", "stream.jsonl", "-o", "out", "--into", "seen", *FLAGS).err


def test_a_run_that_fails_adds_nothing(cli, files):
    (files / "stream.jsonl").write_text((files / "stream.jsonl").read_text() + "{not json\n")
    assert cli("dedup", "stream.jsonl", "-o", "out", "--into", "seen", *FLAGS).code == 3
    with la.Index.open(files / "seen") as index:
        assert all_ids(index) == [row["id"] for row in ITEMS]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_and_resumed_run_adds_once(cli, files, moment):
    """Killed before the items are in the index, or after that and before the output has its name."""
    script = f"""
import os, signal, sys
from lookalike.index.folder.changes import FolderChanges
finish = FolderChanges.finish
def stop(self, **given):
    if {moment == "after"}:
        finish(self, **given)
    os.kill(os.getpid(), signal.SIGKILL)
FolderChanges.finish = stop
from lookalike.cli.main import main
main()
"""
    command = ["dedup", "stream.jsonl", "-o", "out", "--reference", "seen", "--into", "seen", *FLAGS]
    killed = subprocess.run([sys.executable, "-c", script, *command], cwd=files, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (files / "out").exists()
    if moment == "after":
        refused = cli(*command)
        assert (refused.code, "continue it with --resume" in refused.err) == (2, True)
        assert cli(*command, "--keep", "last", "--resume").code == 2
    assert cli(*command, "--resume").code == 0
    kept = [json.loads(line)["id"] for line in (files / "out/kept/stream.jsonl").read_text().splitlines()]
    assert kept == la.dedup(STREAM, reference=ITEMS, method="lsh", **OPTIONS).kept["id"].to_pylist()
    with la.Index.open(files / "seen") as index:
        assert all_ids(index) == [*(row["id"] for row in ITEMS), *kept]
    assert sorted(path.name for path in (files / "out").iterdir()) == [
        "clusters.parquet", "kept", "removed.parquet", "run.json"
    ]  # fmt: skip


def test_an_index_that_cannot_be_written_leaves_no_output(files, monkeypatch):
    def fail(self, **given):
        raise la.ResourceError("the disk is full")

    monkeypatch.setattr(FolderChanges, "finish", fail)
    with pytest.raises(la.ResourceError, match="the disk is full"):
        la.dedup(files / "stream.jsonl", into=files / "seen", out=files / "out", **OPTIONS)
    assert not (files / "out").exists()
    monkeypatch.undo()
    la.dedup(files / "stream.jsonl", into=files / "seen", out=files / "out", **OPTIONS)
    with la.Index.open(files / "seen") as index:
        assert len(index) > len(ITEMS)


def test_items_without_ids_are_numbered_or_named_by_their_place(place, tmp_path):
    with la.Index.create(place, ["a b c d e f"], **OPTIONS) as index:
        la.dedup(["g h i j k", "g h i j k", "l m n o p"], into=index, **OPTIONS)
        assert all_ids(index) == [0, 1, 2]
        (tmp_path / "more.txt").write_text("q r s t\nu v w x\n")
        la.dedup(tmp_path / "more.txt", into=index, out=tmp_path / "out", **OPTIONS)
        assert all_ids(index)[-1] == f"{tmp_path / 'more.txt'}:1"
