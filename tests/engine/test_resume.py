import errno
import json
import os
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from corpora import corpus
from cramped import cramp
from lookalike.engine import corpus as reading_corpus
from lookalike.engine.settings import Settings
from lookalike.engine.stores.work import WorkFolder
from lookalike.errors import ResourceError, UsageError
from lookalike.jobs import dedup
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.read import lines
from lookalike.types import ReadLimits

TEXTS = corpus(250, seed=21)


def parse(**options):
    """Settings with which the file below has many blocks, whose digests go to disk in many small pieces."""
    settings = cramp(Settings.parse(**options), piece_bytes=20_000)
    return replace(settings, execution=replace(settings.execution, limits=ReadLimits(block_bytes=4000)))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    rows = [json.dumps({"id": i, "text": t}) for i, t in enumerate(TEXTS)]
    rows[7] = "broken"
    path.write_text("".join(row + "\n" for row in rows))
    return path


def result(out):
    return pq.read_table(out / "removed.parquet").to_pylist(), (out / "kept/in.jsonl").read_bytes()


class Stop(KeyboardInterrupt):
    pass


def stop_after(monkeypatch, count):
    """Interrupt the run when so many pieces are on disk."""
    add = WorkFolder._add
    saved = []

    def counting(self, line):
        add(self, line)
        saved.append(line["name"])
        if len(saved) == count:
            raise Stop

    monkeypatch.setattr(WorkFolder, "_add", counting)
    return saved


@pytest.mark.parametrize("pieces", [1, 3, 6])
def test_an_interrupted_run_resumes_to_the_same_result(tmp_path, source, monkeypatch, pieces):
    settings = parse(threads=2, on_error="skip")
    dedup_to_folder([source], tmp_path / "calm", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, pieces)
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="threshold changed"):
        dedup_to_folder([source], tmp_path / "out", parse(threshold=0.7, on_error="skip"), resume=True)
    run = dedup_to_folder([source], tmp_path / "out", settings, resume=True)
    assert len(run["reused"]) == pieces
    assert result(tmp_path / "out") == result(tmp_path / "calm")
    assert (tmp_path / "out/rejected.jsonl").read_bytes() == (tmp_path / "calm/rejected.jsonl").read_bytes()
    assert not (tmp_path / "out/work").exists()


def test_every_stage_resumes_where_it_stopped(tmp_path, source, monkeypatch):
    """Sets go to disk and are compared in batches, and some of them in blocks."""
    settings = cramp(parse(threads=2, on_error="skip", method="lsh"), sets_bytes=40_000)
    longest = DedupOptions(keep="longest")
    other = tmp_path / "more.jsonl"
    other.write_bytes(source.read_bytes())
    with monkeypatch.context() as patch:
        names = stop_after(patch, -1)
        dedup_to_folder([source, other], tmp_path / "calm", settings, longest)
    kinds = [name.split("-")[0] for name in names]
    stages = ["digests", "read.arrow", "copies.arrow", "band", "sets", "graph", "settled"]
    stages += ["kept/in.jsonl", "kept/more.jsonl"]
    assert list(dict.fromkeys(kinds)) == stages
    expected = (tmp_path / "calm/removed.parquet").read_bytes(), (tmp_path / "calm/clusters.parquet").read_bytes()
    for stage in stages:
        pieces = kinds.index(stage) + 1
        out = tmp_path / f"out-{pieces}"
        with monkeypatch.context() as patch:
            stop_after(patch, pieces)
            with pytest.raises(Stop):
                dedup_to_folder([source, other], out, settings, longest)
        reading = []
        with monkeypatch.context() as patch:
            made = stop_after(patch, -1)
            note_what_is_parsed(patch, reading)
            run = dedup_to_folder([source, other], out, settings, longest, resume=True)
        # what is remembered of a batch is written again where it is not known what became of it
        assert not {name for name in run["reused"] if not name.startswith("graph")} & set(made)
        assert set(run["reused"]) <= set(names[:pieces])
        assert ("digests" in stage) == bool(reading.count("all"))
        assert ("digests" in stage) == bool(reading.count("block by block"))
        assert ((out / "removed.parquet").read_bytes(), (out / "clusters.parquet").read_bytes()) == expected
        assert result(out) == result(tmp_path / "calm")
        assert (out / "kept/more.jsonl").read_bytes() == (tmp_path / "calm/kept/more.jsonl").read_bytes()


def note_what_is_parsed(monkeypatch, reading):
    items, wanted_of = lines.LineBlock.items, reading_corpus.wanted_of

    def noting(self, wanted, rows=None):
        reading.append("all" if rows is None else "some")
        return items(self, wanted, rows)

    def beginning(*given):
        reading.append("block by block")
        return wanted_of(*given)

    monkeypatch.setattr(lines.LineBlock, "items", noting)
    monkeypatch.setattr(reading_corpus, "wanted_of", beginning)


def test_work_can_go_to_another_folder(tmp_path, source, monkeypatch):
    settings = parse(on_error="skip")
    dedup_to_folder([source], tmp_path / "calm", settings)
    elsewhere = tmp_path / "fast disk"
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings, work_folder=elsewhere)
    assert len(list(elsewhere.rglob("*.arrow"))) == 3
    run = dedup_to_folder([source], tmp_path / "out", settings, work_folder=elsewhere, resume=True)
    assert len(run["reused"]) == 3
    assert result(tmp_path / "out") == result(tmp_path / "calm")
    assert list(elsewhere.iterdir()) == []


def test_unrecorded_files_in_the_work_folder_are_not_used(tmp_path, source, monkeypatch):
    """A killed run can leave files in its work folder that were not yet recorded as complete."""
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", parse(on_error="skip"))
    stale = tmp_path / ".out.partial/kept/stale.jsonl"
    stale.parent.mkdir(parents=True, exist_ok=True)
    stale.write_text("from who knows where")
    dedup_to_folder([source], tmp_path / "out", parse(on_error="skip"), resume=True)
    assert [path.name for path in (tmp_path / "out/kept").iterdir()] == ["in.jsonl"]


def test_a_folder_of_someone_else_in_the_place_of_the_work_is_refused(tmp_path, source):
    foreign = tmp_path / ".out.partial/kept/stale.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("from who knows where")
    with pytest.raises(UsageError, match="was not made by lookalike"):
        dedup_to_folder([source], tmp_path / "out", parse(on_error="skip"), resume=True)
    assert foreign.read_text() == "from who knows where"


def test_a_changed_input_is_refused(tmp_path, source, monkeypatch):
    settings = parse(on_error="skip")
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings)
    os.utime(source, (1, 1))
    with pytest.raises(UsageError, match="files changed"):
        dedup_to_folder([source], tmp_path / "out", settings, resume=True)


def test_a_lost_piece_is_computed_again(tmp_path, source, monkeypatch):
    settings = parse(on_error="skip")
    dedup_to_folder([source], tmp_path / "calm", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings)
    (tmp_path / ".out.partial/work/digests-000001.arrow").unlink()
    dedup_to_folder([source], tmp_path / "out", settings, resume=True)
    assert result(tmp_path / "out") == result(tmp_path / "calm")


def test_a_run_without_room_for_its_record_continues(tmp_path, source, monkeypatch):
    def full(path, _):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    settings = parse(on_error="skip")
    with monkeypatch.context() as patch:
        patch.setattr(dedup, "write_json", full)
        with pytest.raises(ResourceError, match="continue with --resume"):
            dedup_to_folder([source], tmp_path / "out", settings)
    assert sorted(path.name for path in (tmp_path / ".out.partial").iterdir()) == ["kept", "lock", "work"]
    assert len(dedup_to_folder([source], tmp_path / "out", settings, resume=True)["reused"]) > 5


def test_nothing_to_resume_is_a_new_run(tmp_path, source):
    settings = parse(on_error="skip")
    assert dedup_to_folder([source], tmp_path / "out", settings, resume=True)["reused"] == []
    with pytest.raises(UsageError, match="standard input"):
        dedup_to_folder(["-"], tmp_path / "else", settings, resume=True)
