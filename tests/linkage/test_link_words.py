"""Linking records made of words: products of two catalogues, papers in one table."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.catalogues import judge_products, make_products

import lookalike as la
from lookalike.linkage.report_page import report_links

FIELDS = ["title:text", "description:text", "maker", "price"]


@pytest.fixture(scope="module")
def products():
    left, right = make_products(600, 600, 0.3)
    return left, right, la.link(left, right, FIELDS, id="id", threads=1)


def test_products_are_linked_without_labels(products):
    left, right, found = products
    f1, precision, _ = judge_products(found.links, left, right)
    assert f1 > 0.9
    said = found.run["precision"]
    assert abs(said["estimate"] - precision) < 0.1
    assert said["low"] < said["estimate"] < said["high"]


def test_the_number_of_threads_changes_no_bit(products, tmp_path):
    """Sums by BLAS depend on it: their terms are added up in another order."""
    for name, table in zip("ab", products):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    code = "import lookalike as la; print(la.link('a.parquet', 'b.parquet', fields='all').links.to_pydict())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1
    assert b"'a1'" in found.pop()


def test_weights_and_prior_add_up_to_the_score(products):
    _, _, found = products
    row = found.links.to_pylist()[0]
    total = found.run["prior"] + sum(row[name]["weight"] for name in ("title", "description", "maker", "price"))
    assert row["score"] == pytest.approx(total)
    assert row["probability"] == pytest.approx(1 / (1 + 2 ** -row["score"]))


def test_the_report_shows_the_weights_of_the_model(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, table in zip(paths, make_products(150, 150, 0.4)):
        pq.write_table(table, path)
    la.link(*paths, FIELDS, id="id", threads=1, out=tmp_path / "out")
    facts = json.loads((tmp_path / "out/model/report.json").read_text())
    assert facts["weights"] == []
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert facts["notes"] == record["notes"]
    assert facts["alarms"] == record["alarms"] != []
    learned = json.loads((tmp_path / "out/model/model.json").read_text())["scoring"]["weights"]
    assert [one["weight"] for one in facts["evidence"]] == learned
    assert {one["field"] for one in facts["evidence"]} == {"title", "description", "maker", "price"}
    page = (tmp_path / "out/report.html").read_text()
    assert ">words of the shorter text in common<" in page
    assert report_links(tmp_path / "out", tmp_path / "again.html").read_text() == page


def test_each_record_has_one_partner(products):
    _, _, found = products
    for side in ("left", "right"):
        assert len(set(found.links[side].to_pylist())) == len(found.links)


def test_several_partners_per_record_do_not_make_most_links_wrong(products):
    left, right, _ = products
    found = la.link(left, right, FIELDS, id="id", one_to_one="no", threads=1)
    f1, precision, _ = judge_products(found.links, left, right)
    assert f1 > 0.9
    assert abs(found.run["precision"]["estimate"] - precision) < 0.1


def test_a_single_field_does_not_collapse():
    left, right = make_products(600, 600, 0.4)
    found = la.link(left, right, ["title:text"], id="id", threads=1)
    assert judge_products(found.links, left, right)[0] > 0.7


@pytest.mark.parametrize(("shared", "count"), [(0.05, 1500), (0.2, 900)])
def test_few_matches(shared, count):
    left, right = make_products(count, count, shared)
    found = la.link(left, right, FIELDS, id="id", threads=1)
    f1, precision, _ = judge_products(found.links, left, right)
    assert f1 > 0.5
    assert abs(found.run["precision"]["estimate"] - precision) < 0.15


def test_tables_that_share_nothing_give_few_links():
    left, right = make_products(800, 1600, 0.0)
    found = la.link(left, right, FIELDS, id="id", threads=1)
    estimate = 1 if found.run["precision"] is None else found.run["precision"]["estimate"]
    assert estimate * len(found.links) < 0.05 * 800


def test_names_in_each_others_field_are_found():
    left, right = make_products(300, 300, 0.5)
    names = (
        pa.array([("Ann", "Bob", "Carla")[n % 3] for n in range(300)]),
        pa.array([("Bob", "Ann")[n % 2] for n in range(300)]),
    )
    left, right = (table.append_column("given", names[0]).append_column("sur", names[1]) for table in (left, right))
    found = la.link(left, right, ["title:text", "given:person", "sur:person"], id="id", threads=1)
    assert judge_products(found.links, left, right)[0] > 0.9
    assert any(row["level"].startswith("exchanged") for row in found.run["weights"])


def stack(left, right, seed=1):
    """Both tables as one, in any order."""
    both = pa.concat_tables([left, right])
    return both.take(np.random.default_rng(seed).permutation(len(both)))


def judge_stacked(links, left, right):
    ends = np.sort(np.array([links[side].to_pylist() for side in ("left", "right")]), axis=0).tolist()
    return judge_products(pa.table(ends, names=["left", "right"]), left, right)


@pytest.mark.parametrize("shared", [0.25, 0.8])
def test_one_table_of_products(shared):
    left, right = make_products(400, 400, shared)
    found = la.link(stack(left, right), fields=FIELDS, id="id", threads=1)
    f1, precision, _ = judge_stacked(found.links, left, right)
    assert f1 > 0.85
    assert abs(found.run["precision"]["estimate"] - precision) < 0.15


def test_one_table_of_similar_products_by_title_and_description():
    # Records are typically similar to more than ten others, which looks like large clusters; but levels find no match.
    left, right = make_products(250, 250, 0.5)
    found = la.link(stack(left, right, 3), fields=["title:text", "description:text"], id="id", threads=1)
    f1, precision, _ = judge_stacked(found.links, left, right)
    assert f1 > 0.8
    assert abs(found.run["precision"]["estimate"] - precision) < 0.15


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.parametrize(("name", "fields", "least"), [
    pytest.param("software", "title:text,description:text,manufacturer,price", 0.69, marks=pytest.mark.slow),
    ("movies", "title:text,name:person", 0.88),
])  # fmt: skip
def test_real_catalogues(data_folder, name, fields, least):
    folder = data_folder / "texts_records"
    if not folder.exists():
        pytest.skip("LOOKALIKE_DATA has no texts_records")
    found = la.link(*(read(folder / f"{name}_{side}.csv") for side in "ab"), fields.split(","), id="id", threads=2)
    truth = set(zip(*(read(folder / f"{name}_truth.csv")[side].to_pylist() for side in ("left", "right"))))
    links = set(zip(*(found.links[side].to_pylist() for side in ("left", "right"))))
    assert 2 * len(links & truth) / (len(links) + len(truth)) >= least


@pytest.mark.parametrize(("fields", "hinted"), [("record:text", True), ("title:text", False)])
def test_too_few_matches_in_whole_records_suggest_to_compare_columns(fields, hinted):
    here = [{"title": f"lamp {number} model{number * 37}"} for number in range(30)]
    there = [{"title": f"model{number * 37} desk lamp"} for number in range(25, 60)]
    notes = la.link(here, there, fields=fields, threads=1).run["notes"]
    assert any("too few clear matches" in note for note in notes)
    assert any("--fields all" in note for note in notes) == hinted


def test_chinese_titles_are_compared_by_characters(tmp_path):
    """Four of five words of each title are in the other table's, in another order, without spaces."""
    draw = np.random.default_rng(1)
    common = [chr(0x4E00 + code) for code in draw.choice(5_000, 250, replace=False)]
    words = ["".join(draw.choice(common, draw.integers(2, 4))) for _ in range(300)]
    things = [list(draw.choice(words, 5)) for _ in range(300)]
    left = [{"id": f"a{n}", "title": "".join(thing)} for n, thing in enumerate(things)]
    right = [{"id": f"b{n}", "title": "".join([*draw.permutation(thing)[1:], draw.choice(words)])}
             for n, thing in enumerate(things)]  # fmt: skip
    for fields in ("title:text", "title", "record:text"):
        links = la.link(left, right, fields, threads=1).links
        assert found_right(links) >= 290, fields
    for name, rows in (("a", left), ("b", right[:250]), ("c", right[250:])):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    la.link(tmp_path / "a.parquet", tmp_path / "b.parquet", "title:text", out=tmp_path / "out", threads=1)
    later = la.link(tmp_path / "c.parquet", against=tmp_path / "out", into="right", out=tmp_path / "new", threads=1)
    assert found_right(later.links) >= 285
    spaced = [[{**row, "title": " ".join(row["title"])} for row in rows] for rows in (left, right)]
    assert la.link(*spaced, "title:text", threads=1).links == la.link(left, right, "title:text", threads=1).links


def found_right(links):
    """The number of right links, if a tenth at most is wrong."""
    right = sum(one[1:] == other[1:] for one, other in zip(links["left"].to_pylist(), links["right"].to_pylist()))
    return right if right >= 0.9 * len(links) else 0
