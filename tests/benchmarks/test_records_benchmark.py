"""The benchmark of records: judging, labels, limits and tables, with tools made up here in place of the peers."""

import importlib
import json
import sys
import time
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = ("judging", "labels", "measure", "known_records", "record_results", "records", "peer_env")


@pytest.fixture(scope="module")
def bench():
    """The modules of the benchmark, which see each other by name; none stays behind for other tests."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    sys.path.remove(str(BENCHMARKS))
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


def components(links):
    """Records joined by links, the plain way."""
    groups = []
    for link in links:
        touched = [group for group in groups if group & set(link)]
        groups = [group for group in groups if group not in touched] + [set(link).union(*touched)]
    return groups


def shares(found, truth):
    right = len(found & truth)
    return {
        "links": len(found),
        "precision": right / max(1, len(found)),
        "recall": right / max(1, len(truth)),
        "f1": 2 * right / max(1, len(found) + len(truth)),
    }


entities = st.lists(st.integers(0, 2), min_size=1, max_size=12)
records = st.integers(0, 11)
links = st.lists(st.tuples(records, records, st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0])), max_size=30)


@example([0] * 6, [(0, 1, 1.0), (2, 3, 0.9), (4, 5, 0.9), (1, 2, 0.5), (3, 4, 0.25)], 0.0)  # pairs of pairs
@given(entities, links, st.sampled_from([0.0, 0.25, 0.3, 0.9, 1.0]))
def test_cuts_equal_those_from_counting_pairs_one_by_one(bench, of, scored, threshold):
    scored = [(a, b, p) for a, b, p in scored if a != b and max(a, b) < len(of)]
    entity = dict(enumerate(of))
    truth = {frozenset(pair) for pair in combinations(entity, 2) if entity[pair[0]] == entity[pair[1]]}
    assert bench.judging.count_within(of) == len(truth)
    linked = {frozenset((a, b)) for a, b, p in scored if p >= threshold}
    clustered = {frozenset(pair) for group in components(linked) for pair in combinations(group, 2)}
    for cuts, found in (
        (bench.judging.cut_links(scored, entity), linked),
        (bench.judging.cut_clusters(scored, entity), clustered),
    ):
        assert bench.judging.cut_at(cuts, threshold).judge(len(truth)) == shares(found, truth)
        best = bench.judging.best_cut(cuts, len(truth)).judge(len(truth))["f1"]
        assert best == max((cut.judge(len(truth))["f1"] for cut in cuts), default=0)
    where = {record: number for number, group in enumerate(components(linked)) for record in group}
    assert bench.judging.judge_clusters(where, entity) == shares(clustered, truth)


def test_pairs_of_two_tables_are_judged_left_first(bench):
    judged = bench.judging.judge_pairs({(0, 1), (1, 0), (2, 2), (5, 5)}, {(0, 1), (2, 2), (3, 4)})
    assert judged == {"links": 4, "precision": 0.5, "recall": 2 / 3, "f1": 4 / 7}


def test_labels_are_half_matches_and_some_of_the_others_are_hard(bench):
    people = importlib.import_module("people")
    left, right, same = people.make_tables(2000, 2000, 0.1)
    truth = set(zip(same["left"].to_pylist(), same["right"].to_pylist()))
    fields = bench.records.FIELDS
    drawn = bench.labels.draw_labels(left, right, truth, fields, most=80)
    pairs = list(zip(drawn["left"].to_pylist(), drawn["right"].to_pylist()))
    assert len(set(pairs)) == len(pairs) == 160
    assert [pair in truth for pair in pairs] == drawn["same"].to_pylist()
    assert sum(drawn["same"].to_pylist()) == 80
    columns = {field: (left[field].to_pylist(), right[field].to_pylist()) for field in fields}
    alike = [any(a[i] is not None and a[i] == b[j] for a, b in columns.values()) for i, j in pairs[80:]]
    assert 10 <= sum(alike) <= 50  # postcodes alone give ten; pairs drawn from all share few
    assert bench.labels.draw_labels(left, right, truth, fields, most=80).equals(drawn)
    assert bench.labels.draw_labels(left, right, truth, fields).num_rows == 200  # half of all matches, and as many


def test_a_command_is_stopped_at_its_limits(bench):
    started = time.perf_counter()
    limits = bench.records.Limits(seconds=1, memory_bytes=1 << 30)
    late = limits.run([sys.executable, "-c", "import time; time.sleep(60)"])
    code = "import time; held = bytearray(200 << 20); held[::4096] = b'x' * len(held[::4096]); time.sleep(60)"
    large = bench.measure.run_measured([sys.executable, "-c", code], memory_bytes=100 << 20)
    assert time.perf_counter() - started < 40
    assert (late.stopped, late.exit_code, limits.explain(late)) == ("time", 137, "more than 1 s")
    assert (large.stopped, large.exit_code) == ("memory", 137)
    assert large.peak_bytes > 100 << 20
    done = bench.measure.run_measured([sys.executable, "-c", "print(1)"], timeout=60, memory_bytes=1 << 30)
    assert (done.stopped, done.exit_code, done.stdout) == ("", 0, "1\n")


ADAPTER = """
import sys, time
import pyarrow as pa, pyarrow.parquet as pq
left, right, out = sys.argv[1:4]
if pq.read_metadata(left).num_rows > 100:
    {beyond}
known = [row for row in pq.read_table(sys.argv[4]).to_pylist() if row["same"]]
pq.write_table(pa.table({{"left": [row["left"] for row in known], "right": [row["right"] for row in known]}}), out)
"""


GREEDY = "held = b'x' * (800 << 20); time.sleep(60)"


@pytest.fixture
def made_up(bench, tmp_path, monkeypatch):
    """Peers that link what the labels say, and with more than 100 people take much memory, fail, or go on."""
    records = bench.records
    folder = tmp_path / "adapters"
    folder.mkdir()
    for name, beyond in (("greedy", GREEDY), ("broken", "sys.exit('out of order')"), ("good", "pass")):
        (folder / f"records_{name}.py").write_text(ADAPTER.format(beyond=beyond))
    monkeypatch.setattr(records, "HERE", tmp_path)
    peers = {name: records.Tool((name,), labels=True) for name in ("greedy", "broken", "good")}
    monkeypatch.setattr(records, "PEERS", peers)
    monkeypatch.setattr(bench.peer_env, "python_of", lambda own="": Path(sys.executable))
    return records


def test_a_tool_that_takes_too_much_or_fails_is_not_run_again(made_up, capsys):
    limits = made_up.Limits(seconds=60, memory_bytes=600 << 20)
    versions = {"greedy": "1", "broken": "2", "good": "3"}
    results = list(made_up.compare_on_people(versions, [400, 100, 200], limits))
    told = {(result.tool, result.size): result for result in results}
    assert set(told) == {(tool, size) for tool in versions for size in (100, 200)} | {("good", 400)}
    assert told["greedy", 200].failure == "more than 0.6 GiB"
    assert told["broken", 200].failure == "failed with exit code 1: out of order"
    for size, matches in ((100, 10), (200, 20), (400, 40)):
        result = told["good", size]
        assert (result.labels, result.links, result.precision, result.recall) == (matches, matches // 2, 1, 0.5)
        assert result.seconds > 0
    assert told["greedy", 100].f1 == pytest.approx(2 / 3)
    assert "greedy: not asked for 400 people" in capsys.readouterr().err


def test_results_that_are_not_measured_again_are_kept(bench, tmp_path):
    Result = bench.record_results.Result
    quality = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "seconds": 1.25, "peak_bytes": 3 << 20}
    facts = {"seconds": 600, "memory_gib": 8, "machine": bench.measure.describe_machine()}
    old = [Result("people", size, tool, **quality) for size in (1000, 10_000) for tool in ("lookalike", "dedupe")]
    old += [
        Result("fake_1000", 1000, "lookalike", way=way, settings="default", **quality) for way in ("clusters", "links")
    ]
    bench.record_results.write_report(tmp_path, facts, old)
    new = [Result("people", 1000, "dedupe", failure="more than 600 s", labels=400)]
    busy = {**facts, "machine": {**facts["machine"], "load_at_start": 99.0}}
    bench.record_results.write_report(tmp_path, busy, new)
    kept = json.loads((tmp_path / "records.json").read_text())["results"]
    assert [(row["data"], row["size"], row["tool"]) for row in kept] == [
        ("people", 1000, "lookalike"),
        ("people", 1000, "dedupe"),
        ("people", 10_000, "lookalike"),  # dedupe did not get there this time
        ("fake_1000", 1000, "lookalike"),
        ("fake_1000", 1000, "lookalike"),
    ]
    text = (tmp_path / "records.md").read_text("utf-8")
    assert "| lookalike | 1,000 x 1,000 | 1.2 | 3 MiB | 0.5000 | 0.2500 | 0.3333 | none |" in text
    assert "| dedupe | 1,000 x 1,000 | more than 600 s | – | – | – | – | 400 |" in text
    lines = text.splitlines()
    order = [line.split(" | ")[0] for line in lines if line.startswith(("| links", "| clusters"))]
    assert order == ["| links", "| clusters"]
    other = {**facts, "machine": {**facts["machine"], "cpu": "another"}}
    bench.record_results.write_report(tmp_path, other, new)
    assert len(json.loads((tmp_path / "records.json").read_text())["results"]) == 1


def test_known_records_are_read_and_judged(bench, tmp_path):
    source = tmp_path / "some.csv"
    source.write_text("rec_id, given_name, born\nrec-7-org, ann , 1990\nrec-7-dup-0, , 1991\nrec-70-org, bob,\n")
    table = bench.known_records.read_known(source)
    assert table.column_names == ["rec_id", "given_name", "born"]
    assert table["given_name"].to_pylist() == ["ann", None, "bob"]
    assert table["born"].to_pylist() == ["1990", "1991", None]
    entity = bench.known_records.entities(table, bench.known_records.SETS["febrl3"])
    assert entity == {"rec-7-org": "7", "rec-7-dup-0": "7", "rec-70-org": "70"}
    out = tmp_path / "out"
    out.mkdir()
    ids = list(entity)
    pq.write_table(pa.table({"left": ids[:2], "right": ids[1:]}), out / "links.parquet")
    pq.write_table(pa.table({"id": ids, "cluster": np.zeros(3, np.int64)}), out / "clusters.parquet")
    judged = bench.known_records.judge_output(out, entity)
    assert judged["links"] == {"links": 2, "precision": 0.5, "recall": 1, "f1": 2 / 3}
    assert judged["clusters"] == {"links": 3, "precision": 1 / 3, "recall": 1, "f1": 0.5}


def test_every_tool_has_an_adapter_and_pinned_versions(bench):
    pinned = {
        name: dict(
            line.split("==") for line in bench.peer_env.constraints_of(name).read_text().splitlines() if "==" in line
        )
        for name in bench.records.PEERS
    }
    for name, tool in bench.records.PEERS.items():
        assert (BENCHMARKS / "adapters" / f"records_{name}.py").exists()
        assert set(tool.packages) <= set(pinned[name])
    assert pinned["recordlinkage"]["pandas"].startswith("2.")
    assert pinned["splink"]["pandas"].startswith("3.")
