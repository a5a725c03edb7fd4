"""Methods of `pairs` on the command line: what they say, and what goes with what."""

import json
import re

import pytest

from calling import jsonl, names
from lookalike.candidates import exact
from lookalike.engine import settings

SETS = "1 2 3 4\n1 2 3 5\n\n7 8\n8 7\n1 2 3 4 5 6\n"


def test_the_named_indexes_are_those_that_exist():
    assert set(settings.INDEXES) == set(exact.INDEXES)


@pytest.fixture
def sets(tmp_path):
    (tmp_path / "a.dat").write_text(SETS)
    (tmp_path / "b.dat").write_text("3 2 1\n9\n7 8\n")
    return ["a.dat", "--threshold", "0.5"]


@pytest.mark.parametrize("method", ["exact", "merge", "brute", "auto"])
def test_every_method_lists_the_same(cli, sets, method):
    done = cli("pairs", *sets, "--method", method, "--recall", "1" if method == "auto" else "0.99")
    assert done.code == 0, done.err
    assert done.rows()[1:] == [
        ["a.dat:0", "a.dat:1", "0.6"],
        ["a.dat:0", "a.dat:5", "0.6666666666666666"],
        ["a.dat:1", "a.dat:5", "0.6666666666666666"],
        ["a.dat:3", "a.dat:4", "1"],
    ]
    assert "nothing is missed (recall 1)" in done.err


@pytest.mark.parametrize("method", ["exact", "merge", "brute"])
def test_another_collection_is_on_the_right(cli, sets, method):
    done = cli("pairs", *sets, "--against", "b.dat", "--method", method, "--quiet")
    assert done.rows()[1:] == [
        ["a.dat:0", "b.dat:0", "0.75"],
        ["a.dat:1", "b.dat:0", "0.75"],
        ["a.dat:3", "b.dat:2", "1"],
        ["a.dat:4", "b.dat:2", "1"],
        ["a.dat:5", "b.dat:0", "0.5"],
    ]


@pytest.mark.parametrize("method", ["exact", "merge", "brute", "lsh"])
def test_an_empty_collection_has_no_pairs_with_another(cli, sets, tmp_path, method):
    (tmp_path / "none.dat").write_text("")
    for one, other in (("none.dat", "a.dat"), ("a.dat", "none.dat"), ("none.dat", "none.dat")):
        done = cli("pairs", one, "--against", other, "--threshold", "0.5", "--method", method, "--quiet")
        assert done.code == 0, done.err
        assert done.rows() == [["left", "right", "similarity"]]


@pytest.mark.parametrize("index", ["length", "prefix", "position", "suffix", "best"])
def test_every_index_gives_the_same_pairs_and_counts_what_each_filter_left(cli, sets, index):
    done = cli("pairs", *sets, "--method", "exact", "--index", index, "--stats")
    assert len(done.rows()) == 5
    assert "pairs whose sizes allow it" in done.err
    assert "4 similar" in done.err
    assert re.search(r"^Among distinct sets:$(?s:.*)^  pairs that are similar +3$", done.err, re.MULTILINE)


def test_explain_prints_costs_and_does_nothing(cli, sets, tmp_path):
    done = cli("pairs", *sets, "--explain", "-o", "pairs.csv")
    assert done.code == 0
    assert "Brute force is the fastest for about 6 items" in done.out
    (tmp_path / "many.dat").write_text("".join(f"{n} {n + 1} {n + 2}\n" for n in range(200)))
    assert "predicted to be the fastest for about 200 sets" in cli("pairs", "many.dat", "--explain").out
    assert names(tmp_path) == ["a.dat", "b.dat", "many.dat"]
    told = cli("pairs", *sets, "--explain", "--json", "-o", "x.csv").json()
    assert set(told) == {"method", "predicted_seconds", "why"}


def test_ignoring_common_shingles_is_reported(cli, tmp_path):
    rows = [{"id": f"n{i}", "text": f"common {'rare' if i < 2 else i}"} for i in range(30)]
    (tmp_path / "in.jsonl").write_bytes(jsonl(*rows))
    asked = ["pairs", "in.jsonl", "--shingle", "word:1", "--threshold", "1/3", "--method", "merge", "-o"]
    assert cli(*asked, "all.jsonl").code == 0
    done = cli(*asked, "some.jsonl", "--common", "0.5", "--json")
    assert "omit --common to find them" in done.err
    assert done.json()["options"]["common"] == "1/2"
    listed = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()]
    assert listed == [{"left": "n0", "right": "n1", "similarity": 1.0}]
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 435


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--index", "best", "--common", "0.1"], "--method merge"),
        (["--index", "prefix"], "--method exact"),
        (["--method", "exact", "--index", "suffixes"], "--index"),
        (["--method", "merge", "--common", "0"], "--common"),
        (["--method", "merge", "--common", "x"], "number"),
        (["--method", "fastest"], "--method"),
    ],
)
def test_incompatible_options_are_refused(cli, sets, options, says):
    done = cli("pairs", *sets, *options)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


@pytest.mark.parametrize("method", ["merge", "fast"])
def test_dedup_offers_its_own_methods(cli, sets, method):
    done = cli("dedup", *sets, "-o", "out", "--method", method)
    assert (done.code, done.err) == (2, f"lookalike: --method must be one of auto, lsh, exact, brute, not {method!r}\n")
    assert "merge" not in cli("dedup", "-h").out
    assert "merge" in cli("pairs", "-h").out
