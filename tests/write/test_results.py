from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.types import Rejected
from lookalike.write import Encoders, results, write_json, write_rejected, write_table, write_tables, write_tsv

TABLE = pa.table({"left": ["a", 'say "b"', "c,d\te\nf"], "n": [1, None, 3], "similarity": [0.8, 1.0, 2 / 3]})


def test_by_name(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.csv", "t.tsv", "t.JSONL"):
        write_table(tmp_path / name, TABLE)
    assert pq.read_table(tmp_path / "t.parquet").equals(TABLE)
    lines = (tmp_path / "t.JSONL").read_text().splitlines()
    assert [json.loads(line) for line in lines] == TABLE.to_pylist()
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.reader(file, delimiter=delimiter))
        assert rows[0] == ["left", "n", "similarity"]
        assert [row[:2] for row in rows[1:]] == [["a", "1"], ['say "b"', ""], ["c,d\te\nf", "3"]]
        assert [float(row[2]) for row in rows[1:]] == TABLE["similarity"].to_pylist()
    with pytest.raises(UsageError, match=r"t\.xls: the file name must end in \.parquet"):
        write_table(tmp_path / "t.xls", TABLE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.JSONL", "t.csv", "t.parquet", "t.tsv"]


@pytest.mark.parametrize("sizes", [[0], [7], [5, 5], [40, 1, 3, 9, 2]])
def test_tables_encoded_at_the_same_time_are_those_of_arrow(tmp_path: Path, sizes: list[int]) -> None:
    """Byte for byte, also with dictionaries, which are read back as ordinary columns."""
    names = pa.array([f"sets.dat:{n}" for n in range(50)], pa.large_string())

    def tables() -> Iterator[pa.Table]:
        for size in sizes:
            items = pa.DictionaryArray.from_arrays(pa.array(np.arange(size) * 7 % 50, pa.int32()), names)
            yield pa.table({"left": items, "similarity": pa.array(np.linspace(0.8, 1, size))})

    write_tables(tmp_path / "plain.parquet", tables())
    with ThreadPoolExecutor(2) as pool:
        submitted = Mock(side_effect=pool.submit)
        write_tables(tmp_path / "parallel.parquet", tables(), Encoders(submitted, 2, 1 << 20))
    assert (tmp_path / "parallel.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()
    assert pq.read_table(tmp_path / "parallel.parquet").schema.field("left").type == pa.large_string()
    assert submitted.call_count == (len(sizes) if len(sizes) > 1 else 0)


cells = st.none() | st.text(st.characters(codec="utf-8"), max_size=5) | st.sampled_from(['"', ",", "\n", "\r", "\t"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(cells, st.floats(allow_nan=False)), max_size=8), st.text(max_size=3))
def test_any_values_can_be_read_back(rows: list[tuple[str | None, float]], name: str) -> None:
    table = pa.table([[text for text, _ in rows], [number for _, number in rows]], [name, "number"])
    table = table.cast(pa.schema([(name, pa.string()), ("number", pa.float64())]))
    out = io.BytesIO()
    write_tsv(out, [table])
    text = out.getvalue().decode()
    found = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    assert found[0] == [name, "number"]
    assert [(one, float(number)) for one, number in found[1:]] == [(one or "", number) for one, number in rows]


full_cells = st.text(st.characters(codec="utf-8"), max_size=5) | st.sampled_from(['"', "\\", "\n", "\x1f", "\x7f"])
numbers = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e16, 1e300])


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(full_cells, numbers, st.integers(-(2**63), 2**63 - 1)), max_size=8)
    | st.lists(st.tuples(cells, st.none() | numbers, st.none() | st.integers(0, 9)), max_size=8),
    of_dictionary=st.booleans(),
)
def test_json_lines_are_those_of_python(tmp_path: Path, rows: list[tuple[object, ...]], of_dictionary: bool) -> None:
    kinds = pa.string(), pa.float64(), pa.int64()
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    if of_dictionary:
        columns[0] = columns[0].dictionary_encode()
    write_table(tmp_path / "t.jsonl", pa.table(columns, ['te"xt', "number", "n"]))
    lines = (tmp_path / "t.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines[:-1]]
    # as text, so that NaN equals itself, and 1 is not 1.0
    assert str([tuple(row.values()) for row in found]) == str(rows)
    assert all(list(row) == ['te"xt', "number", "n"] for row in found)


def test_dictionaries_are_read_back_as_ordinary_columns(tmp_path: Path) -> None:
    names = pa.array(["a", "b", None, "a"], pa.large_string()).dictionary_encode()
    write_table(tmp_path / "t.parquet", pa.table({"name": names, "n": [1, 2, 3, 4]}))
    found = pq.read_table(tmp_path / "t.parquet")
    assert found.schema.equals(pa.schema([("name", pa.large_string()), ("n", pa.int64())]))
    assert found.to_pydict() == {"name": ["a", "b", None, "a"], "n": [1, 2, 3, 4]}
    out = io.BytesIO()
    write_tsv(out, [pa.table({"name": names, "n": [1, 2, 3, 4]})])
    assert out.getvalue() == b"name\tn\na\t1\nb\t2\n\t3\na\t4\n"


def test_tables_of_odd_shapes() -> None:
    for table in (TABLE.slice(0, 0), pa.table({}), TABLE.slice(1, 1)):
        out = io.BytesIO()
        write_tsv(out, [table])
        assert out.getvalue().count(b"\n") == 1 + table.num_rows
    nested = pa.table({"a": [[1, 2], None], "b": [{"c": "é"}, None], "d": [datetime.date(2020, 1, 2), None]})
    out = io.BytesIO()
    write_tsv(out, [nested])
    rows = list(csv.reader(io.StringIO(out.getvalue().decode()), delimiter="\t"))
    assert rows == [["a", "b", "d"], ["[1, 2]", '{"c": "é"}', "2020-01-02"], ["", "", ""]]


def test_json(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"b": np.int64(3), "a": np.float64(0.5), "path": Path("x"), "é": [None]})
    text = (tmp_path / "run.json").read_text("utf-8")
    assert json.loads(text) == {"b": 3, "a": 0.5, "path": "x", "é": [None]}
    assert list(json.loads(text)) == ["b", "a", "path", "é"]
    assert text.endswith("}\n")
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "nan.json", {"x": float("nan")})


def test_rejected(tmp_path: Path) -> None:
    found = [Rejected("a.jsonl", 2, "not valid JSON", b"oops\xff \xc3\xa9"), Rejected("b.txt", 0, "é", b"")]
    assert write_rejected(tmp_path / "rejected.jsonl", iter(found)) == 2
    lines = (tmp_path / "rejected.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"file": "a.jsonl", "line": 2, "error": "not valid JSON", "raw": "oops\\xff é"},
        {"file": "b.txt", "line": 0, "error": "é", "raw": ""},
    ]


def test_dictionaries_are_quoted_once_and_numbers_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quoted = []
    quote = results._quoted
    monkeypatch.setattr(results, "_quoted", lambda texts, mark: quoted.append(len(texts)) or quote(texts, mark))
    names = pa.array(["a,b", 'c"d', "e"], pa.large_string())
    rows = (1 << 16) + 5  # two batches
    indices = pa.array([number % 3 for number in range(rows)], pa.int32())
    table = pa.table({"name": pa.DictionaryArray.from_arrays(indices, names), "value": [0.5] * rows})
    write_table(tmp_path / "a.csv", table)
    assert quoted == [2, 3]  # the header, the dictionary
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[:4] == ["name,value", '"a,b",0.5', '"c""d",0.5', "e,0.5"]
    assert lines[-1] == f"{lines[1 + (rows - 1) % 3]}"
    assert len(lines) == rows + 1


def test_every_field_of_a_separated_file_can_be_read_back(tmp_path: Path) -> None:
    table = pa.table(
        {"a": ["x\ny", "", None, "\r", "tab\t"], "b": [1, None, 3, 4, 5], "c": [True, False, None, True, True]}
    )
    write_table(tmp_path / "a.csv", table.slice(0))
    expected = 'a,b,c\n"x\ny",1,true\n,,false\n,3,\n"\r",4,true\ntab\t,5,true\n'
    assert (tmp_path / "a.csv").read_bytes().decode() == expected
    write_table(tmp_path / "b.csv", table.slice(3))
    assert (tmp_path / "b.csv").read_bytes().decode() == 'a,b,c\n"\r",4,true\ntab\t,5,true\n'
