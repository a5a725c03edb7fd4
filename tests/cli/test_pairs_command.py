"""`lookalike pairs`: files, order, measures."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import COPY, FOX, IDEAS, jsonl, names, read_rows

COLUMNS = ["left", "right", "similarity"]
ROWS = [("b", "a", 1.0), ("b", "d", 0.5), ("a", "d", 0.5), ("c", "e", 1.0)]


@pytest.fixture
def letters(tmp_path):
    """With shingles of one word: b = a, d shares half of them, c = e."""
    texts = {"b": "x y z", "a": "z y x", "c": "p q", "d": "x y w", "e": "q p"}
    (tmp_path / "letters.jsonl").write_bytes(jsonl(*[{"id": key, "text": text} for key, text in texts.items()]))
    return ["letters.jsonl", "--shingle", "word:1", "--method", "brute", "--threshold", "0.5"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_pairs_are_written_by_the_name_of_the_file(cli, letters, tmp_path, suffix):
    done = cli("pairs", *letters, "-o", f"pairs{suffix}", "--json")
    assert done.code == 0
    assert read_rows(tmp_path / f"pairs{suffix}", COLUMNS) == ROWS
    assert done.json()["counts"]["pairs"] == 4
    assert f"Results: pairs{suffix}" in done.err
    assert names(tmp_path) == ["letters.jsonl", f"pairs{suffix}"]


def test_the_columns_of_parquet_and_json(cli, letters, tmp_path):
    cli("pairs", *letters, "-o", "pairs.parquet")
    schema = pq.read_schema(tmp_path / "pairs.parquet")
    assert schema.names == COLUMNS
    assert schema.field("similarity").type == pa.float64()
    cli("pairs", *letters, "-o", "pairs.jsonl")
    assert list(json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])) == COLUMNS


def test_without_a_file_results_go_to_standard_output(cli, letters, tmp_path):
    done = cli("pairs", *letters)
    assert done.rows() == [COLUMNS, *[[left, right, f"{value:g}"] for left, right, value in ROWS]]
    assert names(tmp_path) == ["letters.jsonl"]


def test_an_existing_file_is_refused_and_replaced_on_demand(cli, letters, tmp_path):
    (tmp_path / "pairs.csv").write_text("mine")
    refused = cli("pairs", *letters, "-o", "pairs.csv")
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert (tmp_path / "pairs.csv").read_text() == "mine"
    assert cli("pairs", *letters, "-o", "pairs.csv", "--overwrite").code == 0
    assert read_rows(tmp_path / "pairs.csv", COLUMNS) == ROWS


@pytest.mark.parametrize("name", ["pairs", "pairs.pdf", "pairs.csv.gz"])
def test_other_file_names_are_usage_errors(cli, letters, name):
    done = cli("pairs", *letters, "-o", name)
    assert done.code == 2
    assert ".parquet" in done.err


def test_a_summary_needs_a_file_for_the_pairs(cli, letters):
    done = cli("pairs", *letters, "--json")
    assert (done.code, done.out) == (2, "")
    assert "-o" in done.err


def test_containment_has_each_direction_that_holds(cli, tmp_path):
    (tmp_path / "a.txt").write_text("one two three four\none two\ntwo ONE\n")
    done = cli("pairs", "a.txt", "--measure", "containment", "--method", "brute", "--shingle", "word:1")
    assert done.rows()[1:] == [
        ["a.txt:1", "a.txt:0", "1"],
        ["a.txt:1", "a.txt:2", "1"],
        ["a.txt:2", "a.txt:0", "1"],
        ["a.txt:2", "a.txt:1", "1"],
    ]
    half = cli(
        "pairs", "a.txt", "--measure", "containment", "--method", "brute", "--shingle", "word:1", "--threshold", "0.5"
    )
    assert [row for row in half.rows() if row[0] == "a.txt:0"] == [["a.txt:0", f"a.txt:{n}", "0.5"] for n in (1, 2)]


@pytest.mark.parametrize(("threshold", "count"), [("1", 3), ("2", 3), ("3", 2), ("4", 0)])
def test_the_threshold_of_overlap_is_a_count(cli, tmp_path, threshold, count):
    (tmp_path / "a.txt").write_text("a b c d\na b c x\nb c d\n")
    done = cli(
        "pairs", "a.txt", "--measure", "overlap", "--method", "brute", "--shingle", "word:1", "--threshold", threshold
    )
    assert len(done.rows()) - 1 == count
    assert [row[2] for row in done.rows()[1:]] == [value for value in ("3", "3", "2") if int(value) >= int(threshold)]


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_ids_with_tabs_quotes_and_newlines_can_be_read_back(cli, tmp_path, suffix):
    ids = ["a\tb", 'c"d', "e\nf", "g,h", "", " x ", "\r"]
    (tmp_path / "a.jsonl").write_bytes(jsonl(*[{"id": one, "text": FOX} for one in ids]))
    expected = [(left, right, 1.0) for n, left in enumerate(ids) for right in ids[n + 1 :]]
    assert cli("pairs", "a.jsonl", "-o", f"pairs{suffix}").code == 0
    assert read_rows(tmp_path / f"pairs{suffix}", COLUMNS) == expected
    assert [tuple(row[:2]) for row in cli("pairs", "a.jsonl").rows()[1:]] == [row[:2] for row in expected]


def test_pairs_across_files_come_in_input_order(cli, tmp_path):
    (tmp_path / "z.txt").write_text(f"{FOX}\n{IDEAS}\n")
    (tmp_path / "a.txt").write_text(f"{IDEAS}\n{COPY}\n")
    done = cli("pairs", "z.txt", "a.txt")
    assert [row[:2] for row in done.rows()[1:]] == [["z.txt:0", "a.txt:1"], ["z.txt:1", "a.txt:0"]]


def test_skipped_lines_are_named_or_set_aside(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"text": FOX}) + b"oops\n" + jsonl({"text": FOX}))
    done = cli("pairs", "a.jsonl", "--on-error", "skip")
    assert done.rows()[1:] == [["a.jsonl:0", "a.jsonl:1", "1"]]
    assert "a.jsonl:2" in done.err
    written = cli("pairs", "a.jsonl", "--on-error", "skip", "-o", "pairs.csv")
    assert "pairs.csv.rejected.jsonl" in written.err
    assert json.loads((tmp_path / "pairs.csv.rejected.jsonl").read_text())["raw"] == "oops"


def test_many_skipped_lines_are_not_all_named(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"oops\n" * 1000)
    done = cli("pairs", "a.jsonl", "--on-error", "skip")
    assert done.code == 0
    assert "a.jsonl:20 and 980 more" in done.err
    assert "a.jsonl:21" not in done.err
