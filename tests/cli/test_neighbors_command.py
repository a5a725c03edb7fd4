"""`lookalike neighbors`: files, order, ranks, other collections."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import FOX, jsonl, names, read_rows

COLUMNS = ["left", "right", "similarity", "rank"]
ROWS = [
    ("b", "a", 1.0, 1),
    ("b", "d", 0.5, 2),
    ("a", "b", 1.0, 1),
    ("a", "d", 0.5, 2),
    ("c", "e", 1.0, 1),
    ("d", "b", 0.5, 1),
    ("d", "a", 0.5, 2),
    ("e", "c", 1.0, 1),
]


@pytest.fixture
def letters(tmp_path):
    """With shingles of one word: b = a, d shares half of them, c = e; n is empty."""
    texts = {"b": "x y z", "a": "z y x", "c": "p q", "d": "x y w", "e": "q p", "n": ""}
    (tmp_path / "letters.jsonl").write_bytes(jsonl(*[{"id": key, "text": text} for key, text in texts.items()]))
    return ["letters.jsonl", "--shingle", "word:1"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_neighbours_are_written_by_the_name_of_the_file(cli, letters, tmp_path, suffix):
    done = cli("neighbors", *letters, "-o", f"near{suffix}", "--json")
    assert done.code == 0
    assert read_rows(tmp_path / f"near{suffix}", COLUMNS) == ROWS
    run = done.json()
    assert run["counts"] == {
        "items": 6, "empty": 1, "against": 0, "with_neighbors": 5, "neighbors": 8, "rejected": 0,
    }  # fmt: skip
    assert (run["options"]["k"], run["options"]["threshold"], run["options"]["method"]) == (10, None, "exact")
    assert "none is missed" in done.err
    assert f"Results: near{suffix}" in done.err
    assert names(tmp_path) == ["letters.jsonl", f"near{suffix}"]


def test_the_columns_of_parquet(cli, letters, tmp_path):
    cli("neighbors", *letters, "-o", "near.parquet")
    schema = pq.read_schema(tmp_path / "near.parquet")
    assert schema.names == COLUMNS
    assert (schema.field("similarity").type, schema.field("rank").type) == (pa.float64(), pa.int64())


def test_without_a_file_results_go_to_standard_output(cli, letters, tmp_path):
    done = cli("neighbors", *letters, "-k", "1", "--quiet")
    assert done.rows() == [COLUMNS, *[[a, b, f"{value:g}", "1"] for a, b, value, rank in ROWS if rank == 1]]
    assert done.err == ""
    assert names(tmp_path) == ["letters.jsonl"]


def test_a_threshold_leaves_the_others_out(cli, letters):
    done = cli("neighbors", *letters, "--threshold", "0.55")
    assert [row[:2] for row in done.rows()[1:]] == [["b", "a"], ["a", "b"], ["c", "e"], ["e", "c"]]
    assert "jaccard 0.55 or more" in done.err


def test_the_threads_do_not_matter(cli, tmp_path):
    (tmp_path / "a.dat").write_text("".join(f"{n % 7} {n % 5} {n % 3} {100 + n % 11}\n" for n in range(500)))
    found = {cli("neighbors", "a.dat", "-k", "4", "--threads", threads).out for threads in (1, 2, 3)}
    assert len(found) == 1
    assert len(found.pop().splitlines()) == 2001


@pytest.mark.parametrize(("measure", "value"), [("containment", "0.5"), ("overlap", "2")])
def test_other_measures(cli, tmp_path, measure, value):
    (tmp_path / "a.dat").write_text("1 2 3 4\n1 2\n1 2 9 8 7 6\n")
    done = cli("neighbors", "a.dat", "--measure", measure)
    assert [row[1:3] for row in done.rows() if row[0] == "a.dat:0"] == [["a.dat:1", value], ["a.dat:2", value]]


def test_neighbours_in_another_collection(cli, letters, tmp_path):
    (tmp_path / "other.csv").write_text('id,text\nq1,"y x"\nq2,"z y x"\nq3,"p"\nq4,\n')
    done = cli("neighbors", *letters, "--against", "other.csv", "-k", "2", "-o", "near.csv", "--json")
    assert done.code == 0, done.err
    third = pytest.approx(2 / 3)
    assert read_rows(tmp_path / "near.csv", COLUMNS) == [
        ("b", "q2", 1.0, 1), ("b", "q1", third, 2), ("a", "q2", 1.0, 1), ("a", "q1", third, 2), ("c", "q3", 0.5, 1),
        ("d", "q1", third, 1), ("d", "q2", 0.5, 2), ("e", "q3", 0.5, 1),
    ]  # fmt: skip
    assert (done.json()["counts"]["items"], done.json()["counts"]["against"]) == (6, 4)
    assert done.json()["options"]["against"] == ["other.csv"]


def test_a_file_against_itself_has_its_copies(cli, tmp_path):
    (tmp_path / "a.dat").write_text("1 2\n1 2\n")
    assert [row[:2] for row in cli("neighbors", "a.dat", "--against", "a.dat").rows()[1:]] == [
        ["a.dat:0", "a.dat:0"], ["a.dat:0", "a.dat:1"], ["a.dat:1", "a.dat:0"], ["a.dat:1", "a.dat:1"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-k", "0"], "-k must be at least 1"),
        (["--threshold", "1.5"], "threshold must be"),
        (["--measure", "euclid"], "measure must be one of"),
        (["--method", "lsh"], "No such option '--method'"),
        (["--recall", "0.9"], "No such option '--recall'"),
        (["--hashes", "64"], "No such option '--hashes'"),
        (["--seed", "2"], "No such option '--seed'"),
        (["--against", "missing.dat"], "missing.dat: no such file"),
        (["--json"], "-o"),
        (["-o", "near.pdf"], ".parquet"),
    ],
)
def test_wrong_usage_is_refused_at_once(cli, letters, arguments, said):
    done = cli("neighbors", *letters, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_standard_input_cannot_be_both_sides(cli, letters):
    done = cli("neighbors", "-", "--against", "-", stdin=b"")
    assert done.code == 2
    assert "standard input" in done.err


def test_an_existing_file_is_refused_and_replaced_on_demand(cli, letters, tmp_path):
    (tmp_path / "near.csv").write_text("mine")
    assert cli("neighbors", *letters, "-o", "near.csv").code == 2
    assert (tmp_path / "near.csv").read_text() == "mine"
    assert cli("neighbors", *letters, "-o", "near.csv", "--overwrite").code == 0
    assert read_rows(tmp_path / "near.csv", COLUMNS) == ROWS


def test_bad_lines_stop_or_are_set_aside(cli, tmp_path):
    (tmp_path / "a.dat").write_text("1 2\n1 x\n1 2\n")
    assert cli("neighbors", "a.dat").code == 3
    done = cli("neighbors", "a.dat", "--on-error", "skip")
    assert done.rows()[1:] == [["a.dat:0", "a.dat:1", "1", "1"], ["a.dat:1", "a.dat:0", "1", "1"]]
    assert "a.dat:2" in done.err


def test_nothing_in_the_input(cli, tmp_path):
    (tmp_path / "a.dat").write_text("")
    assert cli("neighbors", "a.dat").rows() == [COLUMNS]
    (tmp_path / "b.dat").write_text("\n\n")
    assert cli("neighbors", "b.dat", "--against", "a.dat").rows() == [COLUMNS]


def test_input_that_does_not_fit_is_refused_before_the_search(cli, tmp_path):
    rows = [{"text": " ".join(f"w{n}" for n in range(start, start + 100_000))} for start in (0, 7)] * 14
    (tmp_path / "a.jsonl").write_bytes(jsonl(*rows))
    done = cli("neighbors", "a.jsonl", "--memory", "512MiB")
    assert done.code == 4
    assert "--memory" in done.err
    assert "--against" in done.err


def test_input_that_certainly_does_not_fit_is_refused_before_it_is_read(cli, tmp_path):
    line = jsonl({"text": " ".join(f"w{n:x}" for n in range(200_000))})
    (tmp_path / "a.jsonl").write_bytes(line * 45)
    done = cli("neighbors", "a.jsonl", "--memory", "512MiB")
    assert done.code == 4
    assert "45 items need about 1." in done.err
    assert "  reading" not in done.err


def test_the_id_column_of_both(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"key": 7, "text": FOX}))
    (tmp_path / "b.jsonl").write_bytes(jsonl({"key": 8, "text": FOX}))
    done = cli("neighbors", "a.jsonl", "--against", "b.jsonl", "--id", "key")
    assert done.rows()[1:] == [["7", "8", "1", "1"]]
