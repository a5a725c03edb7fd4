from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError
from lookalike.read import csv as csv_format
from lookalike.read import open_inputs
from lookalike.types import ReadLimits, Source, Wanted
from looking import SMALL, column, features, rejected, stored_bytes, write


def source_of(folder: Path, data: bytes, name: str = "in.csv", **options: Any) -> Source:
    return open_inputs([write(folder / name, data)], **options)[0]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["NA", "null", "", "1", '"', '""', "a,b", "\n", "\r\n", 'x"', '"x', "\t", " x "]
)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(cells, cells, cells), max_size=10),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from([16, 100, 9999]),
    st.sampled_from([".csv", ".tsv"]),
)
def test_any_rows_are_returned_unchanged(
    tmp_path: Path, rows: list[tuple[str, ...]], end: str, quoting: Any, nbytes: int, suffix: str
) -> None:
    out = io.StringIO(newline="")
    delimiter = "," if suffix == ".csv" else "\t"
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([("id", "text", "z"), *rows])
    data = out.getvalue().encode()
    source = source_of(tmp_path, data, "in" + suffix, limits=ReadLimits(block_bytes=nbytes, few_rows=2))
    assert features(source) == [row[1].strip() for row in rows]
    assert column(source, "id").to_pylist() == [row[0].strip() for row in rows]
    assert stored_bytes(source) == data
    assert source.column_names() == ["id", "text", "z"]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_names_and_values_are_stripped(tmp_path: Path, suffix: str) -> None:
    source = source_of(tmp_path, b" id , text\n 1 ,  a b  \n2,c\n", "in.csv" + suffix)
    assert source.column_names() == ["id", "text"]
    assert features(source) == ["a b", "c"]
    assert column(source, "id").to_pylist() == ["1", "2"]
    assert stored_bytes(source, lambda row: row == 0) == b" id , text\n 1 ,  a b  \n"


@pytest.mark.parametrize("few", [1, 64])
def test_stray_quotes_within_a_field_mean_themselves(tmp_path: Path, few: int) -> None:
    rows = [b'1,a 5" disk\n', b'2,"two\nlines, ""quoted"""\n', b"3,plain\n"] * 5
    source = source_of(tmp_path, b"id,text\n" + b"".join(rows), limits=replace(SMALL, few_rows=few))
    assert features(source) == ['a 5" disk', 'two\nlines, "quoted"', "plain"] * 5
    assert stored_bytes(source, lambda row: row % 3 == 1) == b"id,text\n" + rows[1] * 5


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (b"1,2,3\n", "expected 2 fields as in the header, found 3"),
        (b"1\n", "expected 2 fields as in the header, found 1"),
        (b'1,"a"b,c\n', "expected 2 fields as in the header, found 3"),
        (b"1,\xff\n", "not valid UTF-8"),
        (b"\xff,a\n", "not valid UTF-8"),
        (b"1,a\rb,c\n", "expected 2 fields as in the header, found 3"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: bytes, says: str) -> None:
    good = b'1,"a\nb"\n'
    source = source_of(tmp_path, b"id,text\n" + good * 8 + row + good * 8, "bad.csv", limits=SMALL)
    with pytest.raises(BadDataError, match=r"bad\.csv:18: ") as caught:
        features(source)
    assert says in str(caught.value)
    assert [(one.line, one.raw) for one in rejected(source)] == [(18, row.rstrip(b"\n"))]
    assert stored_bytes(source) == b"id,text\n" + good * 16


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    source = source_of(tmp_path, b'id,text\n1,a\n2,"b\n' + b"3,c\n" * 100, limits=SMALL)
    with pytest.raises(BadDataError, match=r"in\.csv:3: not valid CSV: a quote is not closed"):
        features(source)


def test_malformed_quotes(tmp_path: Path) -> None:
    # counting quotes alone would take the first two rows for one
    data = b'id,text\n1,x"\n"2",y\n3,"z"z\n'
    source = source_of(tmp_path, data)
    assert features(source) == ['x"', "y", "zz"]
    assert stored_bytes(source, lambda row: row == 1) == b'id,text\n"2",y\n'


@pytest.mark.parametrize("data", [b"", b"id,text\n", b"id,text", b"\n\n", b"id,text\r\n\r\n"])
def test_no_items(tmp_path: Path, data: bytes) -> None:
    source = source_of(tmp_path, data)
    assert features(source) == []
    assert stored_bytes(source).strip() == data.strip()


def test_blank_lines_are_not_items(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"\ntext\n\na\n\r\nb\n" + b"\n" * 100 + b"c", limits=SMALL)
    assert features(source) == ["a", "b", "c"]
    assert stored_bytes(source) == b"\ntext\na\nb\nc"


def test_blank_lines_before_the_header(tmp_path: Path) -> None:
    """They can fill whole blocks; lines are counted all the same."""
    data = b"\n" * 100 + b"id,text\n1,a\n" + b"\n" * 100 + b"2,b\n"
    source = source_of(tmp_path, data, limits=SMALL)
    assert source.column_names() == ["id", "text"]
    assert features(source) == ["a", "b"]
    assert stored_bytes(source, lambda row: row == 1).endswith(b"id,text\n2,b\n")
    assert [one.line for one in rejected(source_of(tmp_path, data + b"3\n", limits=SMALL))] == [204]
    with pytest.raises(BadDataError, match=r"in\.csv:101: in the header: not valid UTF-8"):
        source_of(tmp_path, b"\n" * 100 + b"\xff,text\n", limits=SMALL).column_names()


def test_one_column_with_empty_values(tmp_path: Path) -> None:
    assert features(source_of(tmp_path, b'text\n""\na\n')) == ["", "a"]


def test_carriage_returns_that_end_no_row(tmp_path: Path) -> None:
    data = b'id,text\r\n1,a\rb\r\n2,\r"x\r\n3,"p\rq"\r\n'
    source = source_of(tmp_path, data)
    assert features(source) == ["a\rb", '"x', "p\rq"]
    assert stored_bytes(source) == data
    with pytest.raises(BadDataError, match=r"in\.csv:1: in the header: lines end in carriage"):
        features(source_of(tmp_path, b"id,text\r1,a\r"))


def test_a_long_field(tmp_path: Path) -> None:
    text = "word, " * 50_000 + "end\n" * 1000
    # a stray quote sends the row to Python's parser, which has a limit of its own
    source = source_of(tmp_path, f'id,text\n1,"{text}"\n2,5" disk\n'.encode(), limits=SMALL)
    assert features(source) == [text.strip(), '5" disk']


def test_columns_missing_or_named_twice(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"in\.csv: no column 'text'; its columns are 'id', 'body'"):
        features(source_of(tmp_path, b"id,body\n1,2\n"))
    with pytest.raises(BadDataError, match="no column 'id'"):
        column(source_of(tmp_path, b"text\n1\n"), "id")
    twice = source_of(tmp_path, b"id,text,id\n1,a,2\n")
    assert features(twice) == ["a"]
    with pytest.raises(BadDataError, match="has column 'id' more than once"):
        column(twice, "id")


def test_a_bad_header_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"in\.csv:1: in the header: not valid UTF-8"):
        features(source_of(tmp_path, b"id,\xff\n1,2\n"))


def test_well_formed_rows_take_the_fast_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("row by row")

    monkeypatch.setattr(csv_format.CsvSource, "parse_each", never)
    source = source_of(tmp_path, b'id,text\n1,"a ""b"" c"\n2,"x\ny"\n3,\n"4",""""\n')
    (block,) = source.blocks()
    assert block.items(Wanted("text")).features.to_pylist() == ['a "b" c', "x\ny", "", '"']
