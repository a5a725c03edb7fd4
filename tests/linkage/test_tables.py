"""Records from files of every format: the columns asked for, whatever their types, all rows in order."""

from __future__ import annotations

import datetime
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable, read_records
from lookalike.read import open_data, open_inputs
from looking import SMALL

ROWS = [
    {"id": n, "name": f"Näme {n}", "zip": 60_000 + n if n % 3 else None, "born": datetime.date(1970, 1, 1 + n)}
    for n in range(20)
]


def test_parquet_keeps_its_types(tmp_path):
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, tmp_path / "a.parquet")
    (source,) = open_inputs([tmp_path / "a.parquet"], limits=SMALL)
    read = read_records(source, ["zip", "born", "zip"])
    assert read.schema.names == ["zip", "born"]
    assert (read["zip"].type, read["born"].type) == (pa.int64(), pa.date32())
    assert read.to_pylist() == table.select(["zip", "born"]).to_pylist()


def test_csv_is_text_without_the_spaces_around_it(tmp_path):
    (tmp_path / "a.csv").write_text('id, name , zip\n 1 , Ann Smith ,60302\n2,,\n3," Bob, Jr. ", 60301\n')
    (source,) = open_inputs([tmp_path / "a.csv"], limits=SMALL)
    rows = read_records(source, ["name", "zip"]).to_pylist()
    assert [row["name"] for row in rows] == ["Ann Smith", "", "Bob, Jr."]
    assert [row["zip"] for row in rows] == ["60302", "", "60301"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_encodings(tmp_path, encoding):
    text = "id,name\n" + "".join(f"{row['id']},{row['name']}\n" for row in ROWS)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    (source,) = open_inputs([tmp_path / "a.csv"], encoding=encoding, limits=SMALL)
    assert read_records(source, ["name"])["name"].to_pylist() == [row["name"] for row in ROWS]


def test_another_encoding_than_stated_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_bytes("id,name\n1,Näme\n".encode("latin-1"))
    (source,) = open_inputs([tmp_path / "a.csv"], limits=SMALL)
    with pytest.raises(BadDataError, match="UTF-8"):
        read_records(source, ["name"])


@pytest.mark.parametrize("pandas", [False, True])
def test_texts_and_numbers_in_one_column_are_texts(pandas):
    rows = [{"id": n, "name": f"näme {n}", "km": 5 * n if n % 2 else "", "born": ROWS[n]["born"]} for n in range(9)]
    rows[3]["km"] = None
    data = pytest.importorskip("pandas").DataFrame(rows) if pandas else rows
    settings = LinkSettings.parse("name,km,born", threads=1)
    table = RecordTable.of(data, settings, "left").table
    assert table["km"].to_pylist() == ["", "5", "", None, "", "25", "", "35", ""]
    assert table["born"].type == pa.date32()


def test_a_column_that_cannot_be_read_is_named():
    with pytest.raises(UsageError, match="column 'km' cannot be read: cannot mix list and non-list"):
        RecordTable.of([{"name": "a", "km": [1]}, {"name": "b", "km": "2"}], LinkSettings.parse("name"), "left")


def test_jsonl_of_mixed_types_becomes_text(tmp_path):
    rows = [{"name": "Ann", "zip": 60302}, {"name": None, "zip": "60301"}, {"zip": 1.5, "name": "x"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (source,) = open_inputs([tmp_path / "a.jsonl"], limits=SMALL)
    assert read_records(source, ["zip", "name"]).to_pydict() == {
        "zip": ["60302", "60301", "1.5"], "name": ["Ann", None, "x"],
    }  # fmt: skip


def test_numbers_alone_in_jsonl_stay_numbers(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"zip": n, "x": n / 2}) + "\n" for n in range(30)))
    (source,) = open_inputs([tmp_path / "a.jsonl"], limits=SMALL)
    assert read_records(source, ["zip", "x"]).to_pydict() == {"zip": list(range(30)), "x": [n / 2 for n in range(30)]}


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path):
    (tmp_path / "a.csv").write_text("id,name\n1,Ann\n")
    (source,) = open_inputs([tmp_path / "a.csv"], limits=SMALL)
    with pytest.raises(BadDataError, match=r"a\.csv: no column 'zip'; its columns are 'id', 'name'"):
        read_records(source, ["name", "zip"])


def test_a_column_that_no_line_has_is_named_as_well(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "name": null}\n{"id": 2}\n')
    (source,) = open_inputs([tmp_path / "a.jsonl"], limits=SMALL)
    assert read_records(source, ["id", "name"]).to_pydict() == {"id": [1, 2], "name": [None, None]}
    with pytest.raises(BadDataError, match=r"a\.jsonl: no column 'zip'; its columns are 'id', 'name'"):
        read_records(source, ["id", "zip"])


@pytest.mark.parametrize("first", ["1", '"x"', "[1, 2]", "null", "true"])
def test_any_type_may_come_first_in_jsonl(tmp_path, first):
    """Against Python's parser; a line that is no JSON is an error with its number."""
    lines = ["{" + f'"a": {value}' + "}" for value in (first, "7", '"y"', "null")]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (source,) = open_inputs([tmp_path / "a.jsonl"], limits=SMALL)
    given = [json.loads(line)["a"] for line in lines]
    expected = [one if one is None or isinstance(one, str) else json.dumps(one) for one in given]
    assert read_records(source, ["a"])["a"].to_pylist() == expected
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, "{"]))
    (source,) = open_inputs([tmp_path / "a.jsonl"], limits=SMALL)
    with pytest.raises(BadDataError, match=r"a\.jsonl:5: not valid JSON"):
        read_records(source, ["a"])


@pytest.mark.parametrize(("name", "text"), [("a.csv", "name,zip\n"), ("a.jsonl", "")])
def test_no_records_have_the_columns_nevertheless(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (source,) = open_inputs([tmp_path / name], limits=SMALL)
    read = read_records(source, ["name", "zip"])
    assert (read.num_rows, read.column_names) == (0, ["name", "zip"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.fixed_dictionaries({"a": st.none() | st.text(), "b": st.none() | st.integers(-(2**40), 2**40)}), min_size=1
    )
)
def test_a_table_in_memory_is_returned_unchanged(rows):
    table = pa.Table.from_pylist(rows, pa.schema([("a", pa.string()), ("b", pa.int64())]))
    assert (
        read_records(open_data(table, "a", limits=SMALL), ["b", "a"]).to_pylist()
        == table.select(["b", "a"]).to_pylist()
    )


def test_dicts_that_have_different_keys():
    source = open_data([{"id": 1}, {"id": 2, "zip": "60302"}], "zip")
    assert read_records(source, ["zip"]).to_pydict() == {"zip": [None, "60302"]}


def test_texts_that_are_not_utf8_are_named(tmp_path):
    values = pa.array([b"Ann Lee", b"Bob \xff Ray"]).view(pa.string())
    pq.write_table(pa.table({"zip": ["1", "2"], "name": values}), tmp_path / "a.parquet")
    (source,) = open_inputs([tmp_path / "a.parquet"], limits=SMALL)
    with pytest.raises(BadDataError, match=r"a\.parquet: row 1: column 'name': not valid UTF-8"):
        read_records(source, ["zip", "name"])
