"""`lookalike faces` and `lookalike fingerprints`: files, columns, order, mistakes."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.lookup.read_templates import write_template
from lookalike.lookup.simulated import draw_prints, recapture

COLUMNS = ["left", "right", "score", "rank"]


def write_people(path, people, names, header="name,town,a,b,c,d,e,f"):
    rows = [f"{name},X,{','.join(map(str, row))}" for name, row in zip(names, people.tolist())]
    path.write_text("\n".join([header, *rows]) + "\n", encoding="latin-1")


@pytest.fixture
def people(tmp_path):
    """Thirty people, and two probes: 7 and 21 measured again."""
    gallery = np.random.default_rng(1).normal(100, 10, (30, 6)).round(2)
    write_people(tmp_path / "gallery.csv", gallery, [f"Zoë {n}" for n in range(30)])
    write_people(tmp_path / "probes.csv", gallery[[7, 21]] + 0.05, ["p", "q"])
    return ["probes.csv", "--against", "gallery.csv", "--id", "name", "--encoding", "latin-1"]


ROWS = [["p", "Zoë 7", "6", "1"], ["q", "Zoë 21", "6", "1"]]


def test_probes_are_found_in_the_gallery(cli, people):
    done = cli("faces", *people)
    assert done.code == 0
    assert done.rows() == [COLUMNS, *ROWS]
    assert "Measurements: a, b, c, d, e, f (6 columns). Threshold: 3 close measurements." in done.err
    assert "2 people looked up among 30: all have matches, 2 in total." in done.err
    assert cli("faces", *people, "--quiet").err == ""


def test_measurements_that_distinguish_nobody_are_noted(cli, tmp_path):
    rows = [f"{n},{n % 2},{n % 3}" for n in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["id,a,b", *rows]))
    done = cli("faces", "people.csv")
    assert done.code == 0
    assert "40 people looked up, each among the 39 others: all have matches" in done.err
    assert "Note: nearly all people have several matches, so a match means little: choose the measurements" in done.err
    assert "Note:" not in cli("faces", "people.csv", "-k", "1").err
    (tmp_path / "names.csv").write_text("id,a\n1,x\n")
    assert "no column looks like a measurement; name them with --columns" in cli("faces", "names.csv").err


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_matches_are_written_by_the_name_of_the_file(cli, people, tmp_path, suffix):
    done = cli("faces", *people, "-o", f"found{suffix}", "--json")
    run = done.json()
    assert run["counts"]["matches"] == 2
    assert run["share"] < 0.2
    assert run["plan"]["recall"] >= 0.999
    assert (tmp_path / f"found{suffix}").exists()
    again = cli("faces", *people, "-o", f"found{suffix}")
    assert (again.code, "overwrite" in again.err) == (2, True)
    assert cli("faces", *people, "-o", f"found{suffix}", "--overwrite").code == 0
    if suffix == ".csv":
        lines = (tmp_path / "found.csv").read_text().splitlines()
        assert [line.split(",") for line in lines] == [COLUMNS, *ROWS]
    if suffix == ".parquet":
        assert [list(map(str, row.values())) for row in pq.read_table(tmp_path / "found.parquet").to_pylist()] == ROWS
    if suffix == ".jsonl":
        lines = (tmp_path / "found.jsonl").read_text().splitlines()
        assert [list(map(str, json.loads(line).values())) for line in lines] == ROWS


def test_each_item_is_searched_among_all_others(cli, people, tmp_path):
    rows = np.random.default_rng(1).normal(100, 10, (30, 6)).round(2)
    rows[9] = rows[4] + 0.01
    np.save(tmp_path / "all.npy", rows)
    done = cli("faces", "all.npy", "--quiet")
    assert done.rows() == [COLUMNS, ["all.npy:4", "all.npy:9", "6", "1"], ["all.npy:9", "all.npy:4", "6", "1"]]


def test_a_signaling_nan_is_reported_with_its_place(cli, tmp_path):
    rows = np.ones((5, 2), np.float32)
    rows.view(np.uint32)[3, 1] = 0x7F800001  # converting it raises a warning, which is an error in tests
    np.save(tmp_path / "all.npy", rows)
    done = cli("faces", "all.npy")
    assert done.code == 3
    assert "all.npy: row 3, column 1: nan is not a number" in done.err


def test_columns_can_be_chosen(cli, people, tmp_path):
    for choice in (["--columns", "a,B,c"], ["--without", "D,e,f"], ["--columns", "a,b,c,d", "--without", "d"]):
        done = cli("faces", *people, *choice, "--quiet")
        assert [row[:3] for row in done.rows()[1:]] == [["p", "Zoë 7", "3"], ["q", "Zoë 21", "3"]]
    done = cli("faces", *people, "--columns", "a,height")
    assert done.code == 3
    assert "height" in done.err


def test_other_files_are_read_too(cli, people, tmp_path):
    rows = np.random.default_rng(1).normal(100, 10, (30, 6)).round(2)
    table = pa.table({"id": range(100, 130), **{c: rows[:, i] for i, c in enumerate("abcdef")}})
    pq.write_table(table, tmp_path / "g.parquet")
    pq.write_table(table.slice(5, 1).drop_columns("id"), tmp_path / "p.parquet")
    done = cli("faces", "p.parquet", "--against", "g.parquet", "--quiet")
    assert done.rows()[1:] == [["p.parquet:0", "105", "6", "1"]]
    # an id that is a number is no measurement
    assert cli("faces", "g.parquet", "--against", "g.parquet", "--quiet").rows()[1] == ["100", "100", "6", "1"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [("", "the value is missing"), *((value, f"'{value}' is not a number") for value in ("nan", "inf", "tall"))],
)
def test_a_bad_measurement_is_named(cli, people, tmp_path, value, problem):
    (tmp_path / "bad.csv").write_text(f"a,b,c\n1,2,3\n4,{value},6\n")
    done = cli("faces", "bad.csv")
    assert done.code == 3
    assert f"bad.csv: row 1, column b: {problem}; remove" in done.err


def test_mistakes(cli, people, tmp_path):
    (tmp_path / "text.csv").write_text("a,b\nx,y\n")
    np.save(tmp_path / "flat.npy", np.zeros(4))
    (tmp_path / "no.npy").write_bytes(b"no array")
    (tmp_path / "words.txt").write_text("one two\n")
    gallery = "gallery.csv", "--encoding", "latin-1"
    for arguments, code, says in (
        (["absent.csv"], 2, "absent.csv: no such file or folder"),
        (["probes.csv", "--against", "absent.csv"], 2, "absent.csv: no such file or folder"),
        ([*gallery, "--id", "who"], 3, "gallery.csv: no column 'who'; its columns are 'name', "),
        ([*gallery, "--noise", "0"], 2, "--noise must be above 0 and below 10 standard deviations, not 0.0"),
        ([*gallery, "--json"], 2, "--json and the matches would both go to stdout; name a file with -o"),
        ([*gallery, "-o", "x.doc"], 2, "x.doc: the file name must end in .parquet, "),
        (["text.csv"], 3, "text.csv: no column looks like a measurement"),
        (["flat.npy"], 3, "flat.npy: has an array of shape (4,)"),
        (["no.npy"], 3, "no.npy: not a .npy file of numbers"),
        (["words.txt"], 2, "words.txt: the file name must end in .csv, "),
    ):
        done = cli("faces", *arguments)
        assert (arguments, done.code) == (arguments, code)
        assert done.err.startswith(f"lookalike: {says}")


@pytest.fixture
def prints(tmp_path):
    """Twelve prints in a template, three of them captured again: as .xyt files and as a table."""
    gallery = draw_prints(12)
    (tmp_path / "gallery.fmr").write_bytes(write_template(gallery))
    again = recapture(gallery, missing=0.02, false=0.02, jitter=1.0)
    (tmp_path / "probes").mkdir()
    rows = []
    for number in (2, 5, 8):
        own = again.owners == number
        minutiae = list(zip(again.x[own].round(2), again.y[own].round(2), again.angles[own].round(1)))
        lines = [f"{x} {y} {angle} 50" for x, y, angle in minutiae]
        (tmp_path / "probes" / f"{number}.xyt").write_text("\n".join(lines))
        rows += [f"finger {number},{x},{y},{angle}" for x, y, angle in minutiae]
    (tmp_path / "probes.csv").write_text("\n".join(["print,x,y,angle", *rows]))


@pytest.mark.parametrize("probes", ["probes", "probes.csv"])
def test_prints_are_found_in_the_gallery(cli, prints, probes):
    done = cli("fingerprints", probes, "--against", "gallery.fmr", "-k", "1")
    assert done.code == 0
    names = [f"probes/{n}.xyt" if probes == "probes" else f"finger {n}" for n in (2, 5, 8)]
    assert done.rows()[0] == COLUMNS
    assert [[row[0], row[1], row[3]] for row in done.rows()[1:]] == [
        [name, f"gallery.fmr#{number}", "1"] for name, number in zip(names, (2, 5, 8))
    ]
    assert all(0.4 <= float(row[2]) <= 1 for row in done.rows()[1:])
    assert "3 prints looked up among 12: all have matches, 3 in total." in done.err


def test_prints_among_themselves_and_by_options(cli, prints):
    done = cli("fingerprints", "gallery.fmr", "probes.csv", "--quiet")
    found = {(row[0], row[1]) for row in done.rows()[1:]}
    assert {(f"finger {n}", f"gallery.fmr#{n}") for n in (2, 5, 8)} <= found
    assert all((right, left) in found for left, right in found)
    assert cli("fingerprints", "gallery.fmr", "--threshold", "1", "--quiet").rows() == [COLUMNS]
    for wrong, says in (
        ("--rotation left", "--scale must be one of spread, none; rotation one of axis, angles, none"),
        ("--scale x", "--scale must be one of spread, none; rotation one of axis, angles, none"),
        ("--triples 0", "--triples must be from 1 to 65536, not 0"),
        ("--threshold 2", "--threshold must be above 0 and at most 1 (a Jaccard similarity), not 2.0"),
        ("--edge 0.9", "--edge must be from 0 to 0.5 (a share of a square), not 0.9"),
    ):
        refused = cli("fingerprints", "gallery.fmr", *wrong.split())
        assert (refused.code, refused.err) == (2, f"lookalike: {says}\n")


def test_a_broken_template_is_named(cli, prints, tmp_path):
    whole = (tmp_path / "gallery.fmr").read_bytes()
    (tmp_path / "cut.fmr").write_bytes(whole[:100])
    done = cli("fingerprints", "cut.fmr")
    assert done.code == 3
    assert "cut.fmr: byte 8: " in done.err


def test_the_python_functions_do_the_same(cli, people, prints, tmp_path):
    (tmp_path / "more").mkdir()
    write_people(tmp_path / "more" / "p.csv", np.random.default_rng(1).normal(100, 10, (30, 6)).round(2)[3:4], ["p"])
    found = la.faces(tmp_path / "more" / "p.csv", tmp_path / "gallery.csv", id="name", encoding="latin-1")
    assert found.to_pylist() == [{"left": "p", "right": "Zoë 3", "score": 6, "rank": 1}]
    with pytest.raises(UsageError, match="both"):
        la.faces(np.zeros((2, 2)), tmp_path / "gallery.csv")
    prints_found = la.fingerprints(tmp_path / "probes", tmp_path / "gallery.fmr", k=1)
    assert prints_found["right"].to_pylist() == [f"{tmp_path}/gallery.fmr#{n}" for n in (2, 5, 8)]
    assert la.fingerprints(draw_prints(3)).num_rows == 0


@pytest.mark.parametrize("command", [("faces", "--columns", "x,y"), ("fingerprints",)])
def test_numbers_without_a_square_are_named(cli, tmp_path, command):
    """Warnings are errors here."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,-1e308\n4,5\n")
    done = cli(command[0], "a.csv", *command[1:], "--quiet")
    assert (done.code, done.err) == (
        3,
        "lookalike: a.csv: row 1, column y: '-1e308' is too large, more than 1e+100; remove the row or fill it in\n",
    )
    with pytest.raises(la.BadDataError, match="row 0, column 1"):
        la.faces(np.array([[1, 1e308], [2, 3]]))
    with pytest.raises(la.BadDataError, match="row 0, column 1"):
        la.fingerprints([[[1, 1e308], [2, 3]]])
