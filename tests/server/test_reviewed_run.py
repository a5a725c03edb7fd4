"""Runs under review: large groups, pages beyond their end, and decisions that are counted."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.server.reviewing.decisions import Decisions
from lookalike.server.reviewing.reviewed_run import TEXT_CHARACTERS, ReviewedRun
from serving import Serving

MEMBERS = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The output of dedup, with a large group and a small one, which is the more doubtful."""
    from calling import process

    folder = tmp_path_factory.mktemp("reviewed")
    (folder / "in.txt").write_text("one two three four five six\n" * 3 + "a b c d e f g\n" * 2)
    assert process("dedup", folder / "in.txt", "-o", folder / "out").code == 0
    table = pq.read_table(folder / "out" / "removed.parquet")
    large, second, small = table.to_pylist()
    many = [large | {"id": f"m{number}", "row": 10 + number} for number in range(MEMBERS)]
    rows = [large, second, small | {"similarity": 0.9}, *many]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), folder / "out" / "removed.parquet")
    return folder / "out"


@pytest.fixture
def run(folder):
    path = folder.with_name("out.decisions.jsonl")
    path.unlink(missing_ok=True)
    return ReviewedRun.open(folder)


def fastest(work):
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def test_the_summary_of_a_large_group_takes_little_longer_than_that_of_a_small_one(run):
    (large, small) = run.groups("size", None, 0, 10)["groups"]
    assert (large["size"], small["size"]) == (MEMBERS + 3, 2)
    ratio = fastest(lambda: run.outline(large["group"])) / fastest(lambda: run.outline(small["group"]))
    assert ratio < 50  # one look at each of the members takes 5,000 times as long


def test_the_orders_of_groups(run):
    assert [one["size"] for one in run.groups("doubt", None, 0, 10)["groups"]] == [2, MEMBERS + 3]
    assert [one["size"] for one in run.groups("size", None, 0, 10)["groups"]] == [MEMBERS + 3, 2]
    assert run.groups("size", None, 1, 10)["groups"][0]["size"] == 2
    assert run.groups("size", None, 10**12, 10) == {"total": 2, "groups": []}
    assert run.groups("size", "no such file", 0, 10) == {"total": 0, "groups": []}


@pytest.mark.parametrize(("first", "count", "listed"), [(0, 0, 0), (10**12, 20, 0), (MEMBERS + 1, 20, 1), (7, 3, 3)])
def test_any_page_of_a_group(run, first, count, listed):
    (large, _) = run.groups("size", None, 0, 10)["groups"]
    found = run.group(large["group"], first, count)
    assert [member["row"] for member in found["members"]] == list(range(first, first + listed))
    assert (found["size"], found["keeper"]["text"]) == (MEMBERS + 3, "one two three four five six")


def test_decisions_are_counted_by_group(run, folder):
    (large, small) = (one["group"] for one in run.groups("size", None, 0, 10)["groups"])

    def counts(one):
        counted = [one.outline(group)["decided"] for group in (large, small)]
        assert one.summary()["decided"] == sum(counted)
        return counted

    run.decide(large, 5, "keep")
    run.decide(large, 5, "remove")
    run.decide(large, -1, "unsure")
    run.decide(small, 0, "keep")
    assert counts(run) == [2, 1]
    run.decide(small, 0, None)
    run.decide(small, 0, None)
    assert counts(run) == counts(ReviewedRun.open(folder)) == [2, 0]
    assert ReviewedRun.open(folder).group(large, 5, 1)["members"][0]["decision"] == "remove"


def test_lines_that_are_no_decisions_are_ignored(tmp_path):
    path = tmp_path / "decisions.jsonl"
    good = {"file": "f", "row": 1, "decision": "keep"}
    odd = [{**good, "row": row} for row in ([1], {}, None, "1", 1.5, 10**30)] + [
        {"file": ["f"]},
        [],
        7,
        {**good, "file": 3},
    ]
    path.write_text("\n".join(map(json.dumps, [*odd, good])) + "\n{")
    rows = pa.table({"file": ["f", "f"], "row": [0, 1]})
    decisions = Decisions(path, ("file", "row"))
    decisions.load(rows, pa.array([0, 1, 2]).to_numpy(), [("file", "row")])
    assert [decisions.count(group) for group in (0, 1)] == [0, 1]
    assert decisions.of(("f", 1)) == "keep"


def test_of_a_long_text_the_beginning_is_shown(tmp_path):
    from calling import process

    (tmp_path / "in.txt").write_text(("word " * (TEXT_CHARACTERS // 4) + "\n") * 2)
    assert process("dedup", tmp_path / "in.txt", "-o", tmp_path / "out").code == 0
    with Serving("--run", tmp_path / "out") as server:
        found = server.call("GET", "/v1/review/groups/0").json()
        assert (len(found["keeper"]["text"]), found["keeper"]["cut"]) == (TEXT_CHARACTERS, True)
        assert (len(found["members"][0]["text"]), found["members"][0]["cut"]) == (TEXT_CHARACTERS, True)
