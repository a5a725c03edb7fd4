"""Sets turned round, against plain dictionaries; and what is found among them."""

import json
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from calling import caller
from lookalike.errors import BadDataError, ResourceError
from reference import exact

elements = st.integers(-3, 5) | st.sampled_from([2**63 - 1, -(2**63)])
words = st.sampled_from(["b", "a", "", "é", "ab"])
rows = st.lists(st.none() | st.lists(elements, max_size=5), max_size=8) | st.lists(
    st.none() | st.lists(words, max_size=5), max_size=8
)


def turned(given_rows):
    holders = defaultdict(list)
    for row, held in enumerate(given_rows):
        for element in set(held or ()):
            holders[element].append(row)
    return dict(sorted(holders.items()))


@given(rows)
def test_every_element_has_the_rows_that_hold_it(given_rows):
    found = la.transpose(given_rows, column="goods")
    assert found.column_names == ["id", "goods"]
    assert list(zip(found["id"].to_pylist(), found["goods"].to_pylist())) == list(turned(given_rows).items())


@given(st.lists(st.sets(st.integers(0, 7), max_size=6), min_size=1, max_size=12), st.integers(1, 3))
def test_neighbours_are_those_of_brute_force(baskets, k):
    found = la.neighbors(la.transpose(baskets), k=k, id="id", threads=1).to_pylist()
    holders = {element: set(held) for element, held in turned(baskets).items()}
    wanted = []
    for element, mine in holders.items():
        near = [(-exact("jaccard", mine, other), item) for item, other in holders.items() if item != element]
        near = sorted(one for one in near if one[0] < 0)[:k]
        wanted += [(element, item, pytest.approx(float(-value))) for value, item in near]
    assert [(row["left"], row["right"], row["similarity"]) for row in found] == wanted


@pytest.fixture
def cli(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return caller(capfd, monkeypatch)


BASKETS = [[10, 20, 30], [10, 20], [], [30], [20, 10, 20]]


def test_the_command_line_turns_files_round(cli, tmp_path):
    (tmp_path / "a.dat").write_text("".join(" ".join(map(str, one)) + "\n" for one in BASKETS[:2]))
    (tmp_path / "b.dat").write_text("".join(" ".join(map(str, one)) + "\n" for one in BASKETS[2:]))
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"goods": one}) + "\n" for one in BASKETS))
    pairs = cli("pairs", "a.dat", "b.dat", "--transpose", "--threshold", "0.2")
    assert pairs.rows() == [
        ["left", "right", "similarity"],
        ["10", "20", "1"],
        ["10", "30", "0.25"],
        ["20", "30", "0.25"],
    ]
    same = cli("pairs", "c.jsonl", "--column", "goods", "--transpose", "--threshold", "0.2")
    assert same.rows() == pairs.rows()
    near = cli("neighbors", "a.dat", "b.dat", "--transpose", "-k", 1).rows()
    assert [row[:2] for row in near[1:]] == [["10", "20"], ["20", "10"], ["30", "10"]]
    run = cli("neighbors", "a.dat", "--transpose", "-o", "n.csv", "--json").json()
    assert run["options"]["transpose"] is True
    assert cli("pairs", "a.dat", "--transpose", "--explain").code == 0


def test_rows_without_a_list_count(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": null}\n')
    (tmp_path / "b.jsonl").write_text('{"text": ["tea"]}\n{"text": null}\n{"text": ["tea"]}\n')
    assert la.transpose([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).to_pylist() == [{"id": "tea", "text": [2, 4]}]


def test_incompatible_options_are_refused(cli, tmp_path):
    (tmp_path / "a.dat").write_text("1 2\n2 x\n")
    (tmp_path / "a.txt").write_text("some words\n")
    for command in ("pairs", "neighbors"):
        for more in (["--against", "a.dat"], ["--id", "x"], ["--on-error", "skip"]):
            done = cli(command, "a.dat", "--transpose", *more)
            assert (done.code, more[0] in done.err) == (2, True)
        assert "a.dat:2" in cli(command, "a.dat", "--transpose").err
        assert "only lists and .dat" in cli(command, "a.txt", "--transpose").err


def test_lists_that_cannot_be_turned_round():
    with pytest.raises(BadDataError, match="double"):
        la.transpose([[0.5]])
    with pytest.raises(BadDataError, match="only lists"):
        la.transpose([None, "a text"])
    with pytest.raises(BadDataError, match="a null"):
        la.transpose([["a", None]])
    with pytest.raises(ResourceError, match="--memory"):
        la.transpose([list(range(1_100_000))], memory="512MiB")
