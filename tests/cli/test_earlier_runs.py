"""An output folder as input or reference: it stands for the rows that were kept."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from calling import COPY, FOX, IDEAS, RIVER, jsonl, kept, names, pack, removed

MONDAY = [{"id": "m1", "text": FOX}, {"id": "m2", "text": COPY}, {"id": "m3", "text": IDEAS}]
TUESDAY = [{"id": "t1", "text": RIVER}, {"id": "t2", "text": f"{FOX}!"}, {"id": "t3", "text": f"({IDEAS})"}]
WHY = ("id", "kept_id", "kept_file", "kept_row")


def write(path, rows):
    """Rows in the format of the file's name."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    plain = path.name.split(".")[1]
    if plain == "jsonl":
        data = jsonl(*rows)
    elif plain == "csv":
        data = "".join(f'{row["id"]},"{row["text"]}"\n' for row in [{"id": "id", "text": "text"}, *rows]).encode()
    else:
        data = "".join(row["text"] + "\n" for row in rows).encode()
    path.write_bytes(pack(data, path.suffix))


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "csv", "csv.gz", "parquet", "txt", "txt.gz"])
def test_day_after_day(cli, tmp_path, suffix):
    write(tmp_path / f"monday.{suffix}", MONDAY)
    write(tmp_path / f"tuesday.{suffix}", TUESDAY)
    assert cli("dedup", f"monday.{suffix}", "-o", "mon").code == 0
    done = cli("dedup", f"tuesday.{suffix}", "--reference", "mon", "-o", "tue", "--json")
    assert done.code == 0, done.err
    assert done.json()["counts"] | {"reference": 2, "items": 3, "removed": 2} == done.json()["counts"]
    place = f"mon/kept/monday.{suffix}"
    if suffix.startswith("txt"):
        found = [(f"tuesday.{suffix}:1", f"{place}:0", place, 0), (f"tuesday.{suffix}:2", f"{place}:1", place, 1)]
    else:
        found = [("t2", "m1", place, 0), ("t3", "m3", place, 1)]
    assert removed(tmp_path / "tue", *WHY) == found
    # and on: Wednesday has both behind it
    write(tmp_path / f"wednesday.{suffix}", TUESDAY[:1])
    done = cli("dedup", f"wednesday.{suffix}", "--reference", "mon", "--reference", "tue", "-o", "wed", "--json")
    assert done.json()["counts"] | {"reference": 3, "kept": 0} == done.json()["counts"]


def test_day_after_day_in_folders(cli, tmp_path):
    for day, rows in (("monday", MONDAY), ("tuesday", TUESDAY), ("wednesday", TUESDAY[1:])):
        (tmp_path / day / "deep").mkdir(parents=True)
        for row in rows:
            (tmp_path / day / f"deep/{row['id']}.txt").write_text(row["text"].replace(" ", "\n"))
    assert cli("dedup", "monday", "-o", "mon").code == 0
    assert cli("dedup", "tuesday", "--reference", "mon", "-o", "tue").code == 0
    assert removed(tmp_path / "tue", "file", "kept_file") == [
        ("tuesday/deep/t2.txt", "mon/kept/deep/m1.txt"),
        ("tuesday/deep/t3.txt", "mon/kept/deep/m3.txt"),
    ]
    # a run that kept nothing is no reference, but no error either
    assert cli("dedup", "wednesday", "--reference", "mon", "-o", "wed").code == 0
    assert kept(tmp_path / "wed") == {}
    again = cli("dedup", "wednesday", "--reference", "wed", "-o", "again", "--json")
    assert (again.code, again.json()["counts"]["reference"], again.json()["counts"]["kept"]) == (0, 0, 2)
    none = cli("dedup", "wed", "-o", "none", "--json")
    assert (none.code, none.json()["counts"]["items"]) == (0, 0)


def test_an_output_as_input_means_its_kept_rows(cli, tmp_path):
    write(tmp_path / "monday.jsonl", MONDAY)
    write(tmp_path / "tuesday.txt", TUESDAY)
    (tmp_path / ".hidden.csv").write_text(f"id,text\nh,{RIVER} {IDEAS}\n")
    assert cli("dedup", "monday.jsonl", "tuesday.txt", ".hidden.csv", "-o", "all", "--threshold", "1").code == 0
    before = kept(tmp_path / "all")
    done = cli("dedup", "all", "-o", "again", "--threshold", "1", "--json")
    assert done.code == 0, done.err
    assert done.json()["counts"]["items"] == json.loads((tmp_path / "all/run.json").read_text())["counts"]["kept"]
    assert kept(tmp_path / "again") == before
    assert sorted(before) == [".hidden.csv", "monday.jsonl", "tuesday.txt"]
    pairs = cli("pairs", "all", "--quiet")
    assert pairs.rows()[1:] == []
    assert len(la.dedup(tmp_path / "all", threshold=1).kept) == done.json()["counts"]["items"]


def test_outputs_within_a_folder_or_a_glob(cli, tmp_path):
    write(tmp_path / "monday.jsonl", MONDAY)
    write(tmp_path / "tuesday.jsonl", TUESDAY)
    assert cli("dedup", "monday.jsonl", "-o", "days/mon").code == 0
    assert cli("dedup", "tuesday.jsonl", "-o", "days/tue").code == 0
    for given in (["days/mon", "days/tue"], ["days/*"]):
        done = cli("dedup", *given, "-o", "days/all", "--overwrite", "--json")
        assert done.json()["counts"] | {"items": 5, "removed": 2} == done.json()["counts"]
        assert removed(tmp_path / "days/all", *WHY) == [
            ("t2", "m1", "days/mon/kept/monday.jsonl", 0),
            ("t3", "m3", "days/mon/kept/monday.jsonl", 1),
        ]


def test_an_output_at_a_url(cli, tmp_path):
    write(tmp_path / "monday.txt", MONDAY)
    write(tmp_path / "tuesday.txt", TUESDAY)
    assert cli("dedup", "monday.txt", "-o", "mon").code == 0
    done = cli("dedup", "tuesday.txt", "--reference", f"file://{tmp_path}/mon", "-o", "tue", "--json")
    assert (done.json()["counts"]["reference"], done.json()["counts"]["removed"]) == (2, 2)


def test_a_folder_that_only_looks_like_an_output_is_read_in_full(cli, tmp_path):
    (tmp_path / "mine/kept").mkdir(parents=True)
    (tmp_path / "mine/run.json").write_text('{"name": "trial"}')
    (tmp_path / "mine/kept/a.txt").write_text(FOX)
    (tmp_path / "mine/b.txt").write_text(COPY)
    done = cli("dedup", "mine", "-o", "out", "--json")
    assert done.json()["counts"] | {"items": 3, "removed": 1} == done.json()["counts"]
    assert names(tmp_path / "out/kept") == ["b.txt", "run.json"]


def test_the_output_itself_is_not_an_input(cli, tmp_path):
    write(tmp_path / "monday.jsonl", MONDAY)
    assert cli("dedup", "monday.jsonl", "-o", "mon").code == 0
    done = cli("dedup", "mon", "-o", "mon", "--overwrite")
    assert done.code == 2
    assert "mon: is an input in the output folder" in done.err
    assert len(removed(tmp_path / "mon")) == 1


def test_other_corpora_as_reference(cli, tmp_path):
    """What resembles a test set is taken out of the training data, whatever the formats."""
    write(tmp_path / "test.parquet", [{"id": "q1", "text": COPY}])
    (tmp_path / "exam").mkdir()
    (tmp_path / "exam/one.html").write_text(f"<p>{IDEAS}</p>")
    write(tmp_path / "train.jsonl", [*MONDAY, *TUESDAY])
    done = cli("dedup", "train.jsonl", "--reference", "test.parquet", "--reference", "exam", "-o", "clean", "--json")
    assert done.json()["counts"] | {"reference": 2, "kept": 1} == done.json()["counts"]
    assert kept(tmp_path / "clean") == {"train.jsonl": jsonl(TUESDAY[0])}
    assert {row[0] for row in removed(tmp_path / "clean", "kept_file")} == {"test.parquet", "exam/one.html"}


def test_outputs_inside_an_input_folder_are_skipped_with_a_note(cli, tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in/monday.jsonl", MONDAY)
    first = cli("dedup", "in", "-o", "in/out", "--json")
    assert cli("link", "in/monday.jsonl", "-o", "in/links", "--fields", "text", "--quiet").code == 0
    assert cli("index", "create", "in/seen", "in/monday.jsonl", "--quiet").code == 0
    for given in ("in", f"file://{tmp_path}/in", "in/**/*"):
        again = cli("dedup", given, "-o", "in/out2", "--overwrite", "--json")
        assert (again.code, again.json()["counts"]) == (0, first.json()["counts"]), again.err
        assert "in/out: skipped" in again.err
        assert "in/seen: skipped because it is an index" in again.err
        assert "in/out2: skipped" not in again.err
    pairs = cli("pairs", "in")
    assert "in/out: skipped" in pairs.err
    assert len(pairs.rows()) == 2
    named = cli("dedup", "in", "in/out", "-o", "in/out2", "--overwrite", "--json")
    assert named.json()["counts"]["items"] == first.json()["counts"]["items"] + first.json()["counts"]["kept"]
    assert cli("audit", "in/out", "--json").code == 0


def test_an_index_is_refused_as_input(cli, tmp_path):
    write(tmp_path / "monday.jsonl", MONDAY)
    assert cli("index", "create", "seen", "monday.jsonl", "--quiet").code == 0
    for given in ("seen", f"file://{tmp_path}/seen"):
        done = cli("pairs", "monday.jsonl", "--against", given)
        assert done.code == 2
        assert "seen: is an index" in done.err
    (tmp_path / "pages").mkdir()  # others also have files of this name
    (tmp_path / "pages/index.json").write_text('{"title": "pages"}')
    done = cli("dedup", "monday.jsonl", "--reference", "pages", "-o", "out", "--json")
    assert done.json()["counts"]["reference"] == 1
