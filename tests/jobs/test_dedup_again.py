"""A finished run asked again gives what a new run would give, without reading the text."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import corpus
from cramped import cramp
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, UsageError
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.jobs.dedup_again import dedup_again
from lookalike.read import lines

TEXTS = corpus(400, seed=31)
TEXTS += [TEXTS[5] + " !", TEXTS[6].upper(), "", "   "]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("again")
    rows = [{"id": f"n{i}", "text": text, "score": i * 7919 % 101} for i, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    (tmp_path / "ref.jsonl").write_text("".join(json.dumps({"text": row["text"]}) + "\n" for row in rows[:300:3]))
    return tmp_path / "in.jsonl"


def result(out):
    tables = [pq.read_table(out / f"{name}.parquet") for name in ("removed", "clusters")]
    run = json.loads((out / "run.json").read_text())
    counts = {name: run["counts"][name] for name in ("items", "empty", "kept", "removed", "identical", "reference")}
    kinds = [alarm["kind"] for alarm in run["alarms"] if alarm["kind"] != "oversize_buckets"]
    return *tables, (out / "kept/in.jsonl").read_bytes(), counts, kinds


@pytest.fixture(scope="module")
def finished(source):
    """Runs with some settings and options; each is made once."""
    made = {}

    def run(settings, options):
        name = f"{sorted(settings.items())} {sorted(options.items())}"
        if name not in made:
            made[name] = source.with_name(f"run{len(made)}")
            reference = [source.with_name("ref.jsonl")]
            dedup_to_folder(
                [source], made[name], Settings.parse(**settings), DedupOptions(**options), reference=reference
            )
        return made[name]

    return run


@pytest.mark.parametrize(("size", "options"), [
    (-1, {}),
    (2, {}),
    (10_000, {}),
    (2, {"measure": "dice"}),
    (2, {"measure": "containment"}),
    (2, {"bag": True}),
])  # fmt: skip
@pytest.mark.parametrize("asked", [
    {},
    {"threshold": 0.9},
    {"threshold": "0.85", "keep": "longest"},
    {"keep": "last"},
    {"keep": "max:score"},
    {"policy": "connected"},
    {"policy": "connected", "keep": "shortest", "threshold": 0.95},
])  # fmt: skip
def test_dedup_from_equals_a_new_run(tmp_path, finished, size, options, asked):
    """By brute force, all pairs are candidates at every threshold: both runs must agree."""
    common = {"method": "brute", "on_error": "skip", "threads": 2, **options}
    # all pairs are saved, or all buckets, or some of both
    before = finished({**common, "threshold": 0.7}, {"pairs_per_set": size})
    dedup_again(before, tmp_path / "again", **asked)
    again = {"keep": "first", "policy": "direct", "threshold": 0.7, **asked}
    new = finished({**common, "threshold": again.pop("threshold")}, again)
    assert result(tmp_path / "again") == result(new)
    assert len(result(new)[0]) > 50


@pytest.mark.parametrize("size", [-1, 1, 10_000])
def test_by_bands_the_same_query_has_the_same_answer(tmp_path, source, size):
    settings = Settings.parse(on_error="skip", recall=0.7, hashes=64)
    saved = DedupOptions(pairs_per_set=size)
    dedup_to_folder([source], tmp_path / "out", settings, saved)
    dedup_again(tmp_path / "out", tmp_path / "again")
    assert result(tmp_path / "again") == result(tmp_path / "out")
    tight = cramp(settings, sets_bytes=30_000)  # parts are cut into blocks
    dedup_to_folder([source], tmp_path / "cramped", tight, saved)
    dedup_again(tmp_path / "cramped", tmp_path / "again2")
    assert result(tmp_path / "again2") == result(tmp_path / "cramped") == result(tmp_path / "out")


def test_overlaps_are_saved_too(tmp_path, source):
    common = {"method": "brute", "measure": "overlap", "on_error": "skip"}
    dedup_to_folder([source], tmp_path / "out", Settings.parse(**common, threshold=20))
    dedup_again(tmp_path / "out", tmp_path / "again", threshold=60)
    dedup_to_folder([source], tmp_path / "new", Settings.parse(**common, threshold=60))
    assert result(tmp_path / "again") == result(tmp_path / "new")
    assert 0 < len(result(tmp_path / "new")[0]) < len(result(tmp_path / "out")[0])


def test_no_text_is_read_if_pairs_are_saved(tmp_path, source, monkeypatch):
    dedup_to_folder([source], tmp_path / "out", Settings.parse(on_error="skip"), DedupOptions(pairs_per_set=10_000))

    def unexpected(*_):
        raise AssertionError("the text was parsed")

    monkeypatch.setattr(lines.LineBlock, "items", unexpected)
    run = dedup_again(tmp_path / "out", tmp_path / "again", threshold=0.95, keep="longest")
    assert run["counts"]["removed"] > 0
    assert run["options"]["threshold"] == 0.95
    assert run["options"]["from"] == str(tmp_path / "out")


def test_impossible_reruns_are_refused(tmp_path, source):
    source = Path(shutil.copy(source, tmp_path))
    dedup_to_folder([source], tmp_path / "out", Settings.parse(on_error="skip"))
    with pytest.raises(UsageError, match=r"was run at 0.8"):
        dedup_again(tmp_path / "out", tmp_path / "again", threshold=0.79)
    with pytest.raises(UsageError, match="is not an output"):
        dedup_again(tmp_path, tmp_path / "again")
    dedup_again(tmp_path / "out", tmp_path / "again")
    with pytest.raises(UsageError, match="contains no pair graph"):
        dedup_again(tmp_path / "again", tmp_path / "third")
    source.write_text(source.read_text() + json.dumps({"id": "new", "text": "new"}) + "\n")
    with pytest.raises(UsageError, match="has changed"):
        dedup_again(tmp_path / "out", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_the_saved_graph_does_not_depend_on_memory(tmp_path):
    rng = np.random.default_rng(5)
    texts = [" ".join(f"{one // 4}w{k}" if k < 30 else f"{one}x{k}" for k in range(33)) for one in range(80)]
    rows = [texts[k] for k in rng.permutation(80)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
    found = set()
    for number, nbytes in enumerate((1 << 30, 20_000, 8_000)):
        settings = cramp(Settings.parse(method="lsh", threshold=0.6), sets_bytes=nbytes)
        dedup_to_folder([tmp_path / "a.jsonl"], tmp_path / f"out{number}", settings)
        found.add((tmp_path / f"out{number}/graph/links.parquet").read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize(("method", "members"), [("lsh", 60), ("lsh", 300), ("exact", 60), ("brute", 60)])
def test_the_saved_graph_of_large_parts_does_not_depend_on_memory(tmp_path, method, members):
    """Two large parts, with ordinary or oversize buckets, are cut into blocks if there is little memory."""
    texts = [
        f"{'common ' * (one % 3)}" + " ".join(f"{one % 2}w{k}" for k in range(40)) + f" x{one}"
        for one in range(members)
    ]
    texts += [" ".join(f"{one // 2}y{k}" for k in range(20 + one % 2)) for one in range(60)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = set()
    for number, nbytes in enumerate((1 << 30, 60_000, 16_000)):
        settings = Settings.parse(method=method, threshold=0.6)
        settings = cramp(settings, sets_bytes=nbytes, whole_bytes=16_000)
        out = tmp_path / f"out{number}"
        dedup_to_folder([tmp_path / "a.jsonl"], out, settings)
        found.add(((out / "graph/links.parquet").read_bytes(), (out / "graph/items.parquet").read_bytes()))
        dedup_again(out, tmp_path / f"again{number}", threshold=0.7)
        assert pq.read_table(tmp_path / f"again{number}/removed.parquet") == pq.read_table(
            tmp_path / "again0/removed.parquet"
        )
    assert len(found) == 1


@pytest.mark.parametrize("name", ["links.parquet", "items.parquet", "sources.json"])
def test_a_damaged_graph_is_refused(tmp_path, source, name):
    """Numbers in it are used as places in arrays: one wrong byte could read or write anywhere."""
    dedup_to_folder([source], tmp_path / "out", Settings.parse(on_error="skip"))
    path = tmp_path / "out/graph" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadDataError, match=f"graph/{name} has changed since the run"):
        dedup_again(tmp_path / "out", tmp_path / "again")
    path.unlink()
    kind, says = (UsageError, "contains no pair graph") if name == "sources.json" else (BadDataError, f"graph/{name}")
    with pytest.raises(kind, match=says):
        dedup_again(tmp_path / "out", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_run_without_items_can_be_repeated(tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "none.parquet")
    dedup_to_folder([tmp_path / "none.parquet"], tmp_path / "out", Settings.parse(method="lsh"), DedupOptions())
    assert dedup_again(tmp_path / "out", tmp_path / "again", threshold=0.9)["counts"]["items"] == 0
