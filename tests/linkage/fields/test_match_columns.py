"""Fields that are matched by name and values, and whole records as one text."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.catalogues import judge_products, make_products

import lookalike as la
from lookalike.errors import BadDataError
from lookalike.linkage.fields.match_columns import join_record, match_columns


def names(fields):
    return [(one.left, one.right) for one in fields]


def test_columns_are_matched_by_name_then_by_values():
    left = pa.table(
        {"id": [1, 2], "name": ["red oak table", "white pine shelf"], "sku": ["a1", "b2"], "PRICE": [1.5, 2.5]}
    )
    right = pa.table(
        {"price": [1.25, 9.5], "code": ["b2", "c3"], "title": ["oak table, red", "shelf of pine"], "x": ["", None]}
    )
    notes = []
    assert names(match_columns(left, right, {"id"}, notes.append)) == [
        ("name", "title"),
        ("sku", "code"),
        ("PRICE", "price"),
    ]
    assert any("name and title" in note for note in notes)


def test_columns_of_chinese_texts_are_matched_by_pairs_of_characters():
    left = pa.table({"标题": ["索尼黑胶唱片机", "尼康相机电池"], "说明": ["送货上门安装服务", "一年质量保证期限"]})
    right = pa.table({"内容": ["保证质量一年", "免费送货上门"], "名称": ["电池尼康相机用", "唱片机黑胶索尼全自动"]})
    assert names(match_columns(left, right, (), lambda note: None)) == [("标题", "名称"), ("说明", "内容")]


def test_columns_without_anything_in_common_are_left_out():
    left = pa.table({"name": ["ann", "bob"], "colour": ["mauve", "teal"]})
    right = pa.table({"name": ["cat", "dan"], "town": ["Ulm", "Bonn"]})
    notes = []
    assert names(match_columns(left, right, (), notes.append)) == [("name", "name")]
    assert notes == ["columns that only one table has are not compared, except by --fields record:text: colour, town"]
    with pytest.raises(BadDataError, match=r"no columns with values in common.* record:text"):
        match_columns(left.select(["colour"]), right.select(["town"]), (), notes.append)


def test_a_record_as_one_text_leaves_out_placeholders():
    table = pa.table({"id": ["x", "y"], "a": ["one", "n/a"], "b": [2, None], "c": [None, "three"]})
    assert join_record(table, {"id"}).to_pylist() == ["one 2", "three"]


@pytest.fixture(scope="module")
def products():
    left, right = make_products(300, 300, 0.5)
    return left, right.rename_columns(["id", "name", "about", "maker", "cost"])


def test_all_columns_of_tables_with_other_names(products):
    left, right = products
    found = la.link(left, right, "all", threads=1)
    assert [(one["left"], one["right"]) for one in found.run["options"]["fields"]][:3] == [
        ("title", "name"), ("description", "about"), ("maker", "maker"),
    ]  # fmt: skip
    assert judge_products(found.links, left, right)[0] > 0.8


def test_whole_records_as_text_and_records_that_arrive_later(products):
    left, right = products
    found = la.link(left, right.slice(0, 250), "record:text", threads=1)
    assert judge_products(found.links, left, right.slice(0, 250))[0] > 0.7
    later = la.link(right.slice(250), against=found, into="right", threads=1)
    assert judge_products(later.links, left, right)[0] > 0.7
    new = set(right["id"].to_pylist()[250:])
    assert sum(row["left"][1:] == row["right"][1:] for row in later.links.to_pylist() if row["right"] in new) > 15


def test_files_and_the_words_that_made_a_link(products, tmp_path):
    left, right = products
    for name, table in (("a", left), ("b", right)):
        pa_csv.write_csv(table, tmp_path / f"{name}.csv")
    la.link(tmp_path / "a.csv", tmp_path / "b.csv", "all", out=tmp_path / "out", threads=1)
    fields = json.loads((tmp_path / "out" / "run.json").read_text())["options"]["fields"]
    assert fields[0]["right"] == "name"
    assert "in common, and in how many records" in (tmp_path / "out" / "report.html").read_text("utf-8")


def uneven(table, optional):
    """Rows without the empty ones of some columns, and without every third of their values."""
    rows = table.to_pylist()
    for number, row in enumerate(rows):
        for place, name in enumerate(optional):
            if not row[name] or (number + place) % 3 == 0:
                del row[name]
    return rows


@pytest.mark.parametrize("fields", ["all", "record:text"])
def test_lines_that_have_different_keys(products, tmp_path, fields):
    left, right = products
    sides = uneven(left, ["price", "description"]), uneven(right, ["cost", "about"])
    for name, rows in zip("ab", sides):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    found = la.link(tmp_path / "a.jsonl", tmp_path / "b.jsonl", fields, threads=1)
    assert judge_products(found.links, left, right)[0] > 0.4
    assert la.link(*sides, fields, threads=1).links.select([0, 1]).to_pylist() == found.links.select([0, 1]).to_pylist()


def test_files_that_have_different_columns(products, tmp_path):
    left, right = products
    (tmp_path / "a").mkdir()
    pq.write_table(left.slice(0, 100).drop_columns(["description"]), tmp_path / "a" / "1.parquet")
    pq.write_table(left.slice(100).drop_columns(["price"]), tmp_path / "a" / "2.parquet")
    found = la.link(tmp_path / "a", right, "all", threads=1)
    names = {one["left"] for one in found.run["options"]["fields"]}
    assert names >= {"title", "description", "maker"}
    assert judge_products(found.links, left, right)[0] > 0.7


def test_nested_values_are_not_part_of_the_whole_record():
    table = pa.table({"a": ["x"], "tags": [["y", "z"]], "deep": [{"b": 1}]})
    assert join_record(table, ()).to_pylist() == ["x y z"]
