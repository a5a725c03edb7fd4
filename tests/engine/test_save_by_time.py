"""Work is saved by time: in every stage a run that takes long leaves pieces, and goes on from any of them."""

import json
import math
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from corpora import corpus
from cramped import cramp
from linking import make_people
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.stores.work import WorkFolder
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.linkage.job import link_files
from lookalike.linkage.settings import LinkSettings
from lookalike.types import ReadLimits
from lookalike.write.outputs import MANIFEST

TEXTS = corpus(250, seed=22)
PART = ["part-numbered", "part-pairs", "part-keepers"]
EXACT = ["digests", "read", "copies", "sets", *PART, "graph", "settled", "kept/in.jsonl"]
OUTPUTS = ("removed.parquet", "clusters.parquet", "kept/in.jsonl", "graph/links.parquet", "graph/items.parquet")


class Stop(KeyboardInterrupt):
    pass


def saving(settings, seconds=0.0):
    """The same settings with small blocks, and a piece whenever one can be made."""
    limits = ReadLimits(block_bytes=20_000)
    return replace(settings, execution=replace(settings.execution, limits=limits, save_seconds=seconds))


def stop_after(monkeypatch, count):
    add, saved = WorkFolder._add, []

    def counting(self, line):
        add(self, line)
        saved.append(line["name"])
        if len(saved) == count:
            raise Stop

    monkeypatch.setattr(WorkFolder, "_add", counting)
    return saved


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("by time") / "in.jsonl"
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(TEXTS)))
    return path


def kind_of(name):
    return "-".join(part for part in name.removesuffix(".arrow").split("-") if not part.isdigit())


def firsts_of_each_kind(names):
    """After how many pieces there is the first of each kind."""
    kinds = [kind_of(name) for name in names]
    return [kinds.index(kind) + 1 for kind in dict.fromkeys(kinds)]


@pytest.mark.parametrize(
    ("method", "threads", "expected"),
    [
        ("lsh", 2, ["digests", "read", "copies", "band", "sets", "part-keepers", "graph", "settled", "kept/in.jsonl"]),
        ("exact", 1, EXACT),
    ],
)
def test_dedup_resumes_from_every_kind_of_piece(tmp_path, source, monkeypatch, method, threads, expected):
    settings = saving(Settings.parse(threads=threads, method=method))
    dedup_to_folder([source], tmp_path / "calm", saving(settings, math.inf))
    wanted = [(tmp_path / "calm" / name).read_bytes() for name in OUTPUTS]
    with monkeypatch.context() as patch:
        names = stop_after(patch, -1)
        dedup_to_folder([source], tmp_path / "slow", settings)
    assert list(dict.fromkeys(map(kind_of, names))) == expected
    for pieces in firsts_of_each_kind(names):
        out = tmp_path / f"out-{pieces}"
        with monkeypatch.context() as patch:
            stop_after(patch, pieces)
            with pytest.raises(Stop):
                dedup_to_folder([source], out, settings)
        record = dedup_to_folder([source], out, saving(settings, math.inf), resume=True)
        assert record["reused"]
        assert [(out / name).read_bytes() for name in OUTPUTS] == wanted


def test_overlaps_with_equal_sets_are_known_to_a_resumed_run(tmp_path, source, monkeypatch):
    settings = saving(Settings.parse(threads=1, measure="overlap", threshold=12))
    with monkeypatch.context() as patch:
        names = stop_after(patch, -1)
        dedup_to_folder([source], tmp_path / "calm", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, len(names))
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings)
    record = dedup_to_folder([source], tmp_path / "out", settings, resume=True)
    assert any(name.startswith("settled") for name in record["reused"])
    assert (tmp_path / "out/removed.parquet").read_bytes() == (tmp_path / "calm/removed.parquet").read_bytes()


def test_pieces_that_were_dropped_are_not_listed(tmp_path, source, monkeypatch):
    settings = saving(Settings.parse(threads=1, method="exact"))
    with monkeypatch.context() as patch:
        names = stop_after(patch, -1)
        dedup_to_folder([source], tmp_path / "slow", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, len(names))
        with pytest.raises(Stop):
            dedup_to_folder([source], tmp_path / "out", settings)
    work = tmp_path / ".out.partial/work"
    listed = {line["name"]: line for line in map(json.loads, (work / MANIFEST).read_text().splitlines()[1:])}
    assert any(line.get("dropped") for line in listed.values())
    there = {name for name, line in listed.items() if not line.get("dropped") and not line.get("output")}
    assert there == {path.name for path in work.glob("*.arrow")}


def test_a_short_run_writes_no_pieces(tmp_path, source, monkeypatch):
    names = stop_after(monkeypatch, -1)
    dedup_to_folder([source], tmp_path / "out", saving(Settings.parse(threads=2), 60))
    assert names == []


def test_the_first_piece_includes_earlier_work(tmp_path, source, monkeypatch):
    """Bands and batches that were done before anything was due are saved with the first that is."""
    settings = cramp(saving(Settings.parse(threads=1, method="lsh"), math.inf), sets_bytes=1 << 30)
    late = property(lambda self: self.has("band-00000.arrow") or calls.append(1) or len(calls) > 8)
    calls = []
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "due", late)
        names = stop_after(patch, -1)
        dedup_to_folder([source], tmp_path / "out", settings)
    bands = [name for name in names if name.startswith("band")]
    assert bands[0] == "band-00000.arrow"
    assert bands == sorted(bands)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    one, other, _ = make_people(700, 600, 0.3, seed=9)
    for table, name in ((one, "a"), (other, "b")):
        pq.write_table(table, folder / f"{name}.parquet")
    return [folder / "a.parquet"], [folder / "b.parquet"]


def test_link_resumes_from_every_piece(tmp_path, people, monkeypatch):
    def link(out, seconds, resume=False):
        settings = saving(LinkSettings.parse("name,address,phone", threads=2), seconds)
        return link_files(*people, out, settings, Progress(), resume=resume)

    link(tmp_path / "calm", 60)
    with monkeypatch.context() as patch:
        names = stop_after(patch, -1)
        link(tmp_path / "slow", 0.0)
    assert list(dict.fromkeys(map(kind_of, names))) == ["step", "candidates", "levels"]
    out = tmp_path / "out"
    for name in names:  # stopped after every piece, and each time no piece is made again
        with monkeypatch.context() as patch:
            saved = stop_after(patch, 1)
            with pytest.raises(Stop):
                link(out, 0.0, resume=name != names[0])
        assert saved == [name]
    assert names[-1] in link(out, 0.0, resume=True)["reused"]
    for name in ("links", "clusters"):
        assert pq.read_table(out / f"{name}.parquet").equals(pq.read_table(tmp_path / f"calm/{name}.parquet"))


def test_short_links_write_no_pieces(tmp_path, people, monkeypatch):
    names = stop_after(monkeypatch, -1)
    settings = saving(LinkSettings.parse("name,address,phone", threads=2), 60)
    link_files(*people, tmp_path / "out", settings, Progress())
    assert names == []
