from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError
from lookalike.read import open_inputs
from lookalike.read.jsonl import list_columns
from lookalike.read.lines import Rows
from lookalike.types import READ_LIMITS, ReadLimits, Source, Wanted
from looking import SMALL, column, features, rejected, stored_bytes, write

GOOD = b'{"id": "a", "text": "x y z"}\n'


def source_of(folder: Path, data: bytes, name: str = "in.jsonl", **options: Any) -> Source:
    return open_inputs([write(folder / name, data)], **options)[0]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
objects = st.fixed_dictionaries(
    {"text": st.none() | st.text()}, optional={"id": st.text() | st.integers(), "more": values, "": values}
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(objects, max_size=12),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([16, 200, 9999]),
)
def test_any_rows_are_returned_unchanged(
    tmp_path: Path, rows: list[Any], ascii_only: bool, end: str, nbytes: int
) -> None:
    data = "".join(json.dumps(row, ensure_ascii=ascii_only) + end for row in rows).encode()
    source = source_of(tmp_path, data, limits=ReadLimits(block_bytes=nbytes, few_rows=2))
    assert features(source) == [row["text"] for row in rows]
    ids = [row.get("id") for row in rows]
    wanted = ids
    if any(isinstance(one, str) for one in ids) or any(one is not None and abs(one) >= 2**63 for one in ids):
        wanted = [one if one is None or isinstance(one, str) else str(one) for one in ids]
    assert column(source, "id").to_pylist() == wanted
    assert stored_bytes(source) == data


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed(tmp_path: Path, suffix: str) -> None:
    data = b"".join(b'{"text": "number %d"}\n' % n for n in range(40))
    source = source_of(tmp_path, data, "in.jsonl" + suffix, limits=SMALL)
    assert features(source) == [f"number {n}" for n in range(40)]
    assert source.layout().compression == {"": None, ".gz": "gzip", ".zst": "zstd"}[suffix]
    assert stored_bytes(source, lambda row: row % 2 == 0).count(b"\n") == 20
    assert sum(block.nbytes for block in source.blocks()) == source.nbytes > 0


def test_several_gzip_members(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD) + gzip.compress(GOOD))
    assert features(open_inputs([path])[0]) == ["x y z"] * 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "b", "text": ', "not valid JSON"),
        (b'{"id": "b", "text": "\xff\xfe"}', "not valid UTF-8"),
        (b'{"id": "b", "text": "t", "other": "\xff"}', "not valid UTF-8"),
        (b'{"text": "\\ud800"}', "surrogate"),
        (b'{"text": "t", "other": "\\uDC00"}', "surrogate"),
        (b"[1, 2]", "not a JSON object but a list"),
        (b'"text"', "not a JSON object"),
        (b'{"text": "a"} {"text": "b"}', "not valid JSON"),
        (b'{"text": "a"}, ', "not valid JSON"),
        (b'{"text": 5}', "column 'text' is a number; accepted are text"),
        (b'{"text": {"a": 1}}', "column 'text' is an object"),
        (b'{"text": ["a"]}', "in other rows a string"),
        (b'{"text": "tab\tin it"}', "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
@pytest.mark.parametrize("few", [2, 64])
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, says: str, few: int) -> None:
    data = GOOD * 5 + b"\n" + line + b"\n" + GOOD * 3
    source = source_of(tmp_path, data, "broken.jsonl", limits=replace(SMALL, few_rows=few))
    with pytest.raises(BadDataError, match=r"broken\.jsonl:7: ") as caught:
        features(source)
    assert says in str(caught.value)
    aside = rejected(source)
    assert [(one.line, one.raw) for one in aside] == [(7, line)]
    assert says in aside[0].error
    assert features(source, skip_errors=True) == ["x y z"] * 8
    assert stored_bytes(source) == GOOD * 8


def test_rows_that_straddle_lines_are_refused(tmp_path: Path) -> None:
    # three objects on three lines, but not one a line: counting alone would not notice
    data = b'{"text":\n"x"}\n{"text": "y"} {"text": "z"}\n'
    assert [one.line for one in rejected(source_of(tmp_path, data))] == [1, 2, 3]


def test_blank_and_bad_lines_do_not_shift_rows(tmp_path: Path) -> None:
    rows = [b'{"text": "t%d"}\n' % n for n in range(30)]
    data = b"".join(row + (b"oops\n" if n % 4 == 0 else b"  \r\n") for n, row in enumerate(rows))
    source = source_of(tmp_path, data, limits=SMALL)
    assert len(rejected(source)) == 8
    seen = []
    for block in source.blocks():
        length = len(block.items(Wanted("text", skip_errors=True)))
        odd = np.arange(1, length, 2)
        seen += block.items(Wanted("text"), odd).features.to_pylist()
        assert len(block.items(Wanted("text"), np.zeros(0, np.int64))) == 0
    assert seen
    assert set(seen) < {f"t{n}" for n in range(30)}
    assert stored_bytes(source, lambda row: row % 3 == 0) == b"".join(rows[::3])


@given(
    st.lists(st.sampled_from([b"\n", b" \r\n", b"\t\t\n", b"\r\r\n", b'  {"text": "a"}\n', b'{"text": "a"} \n'])),
    st.sampled_from([b"", b" ", b'{"text": "a"}']),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_of_whitespace_are_blank(tmp_path: Path, lines: list[bytes], last: bytes) -> None:
    source = source_of(tmp_path, b"".join([*lines, last]), limits=SMALL)
    assert features(source) == ["a"] * sum(line.strip() != b"" for line in [*lines, last])


def test_blank_lines_are_not_looked_at_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred million of them fit in a file of 100 kB, and took minutes."""
    looked_at: list[int] = []
    row = Rows.row
    monkeypatch.setattr(Rows, "row", lambda self, number: looked_at.append(number) or row(self, number))
    source = source_of(tmp_path, b'{"text": "a"}\n' + b" \n" * 10_000 + b"oops\n")
    assert [one.line for one in rejected(source)] == [10_002]
    assert len(looked_at) < 10


def test_kept_rows_needs_the_right_number_of_rows(tmp_path: Path) -> None:
    (block,) = source_of(tmp_path, GOOD * 2).blocks()
    with pytest.raises(ValueError, match="3 rows to choose from, but the block has 2"):
        block.kept_rows(np.ones(3, bool))


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_no_items(tmp_path: Path, data: bytes) -> None:
    source = source_of(tmp_path, data, "empty.jsonl")
    assert features(source) == []
    assert stored_bytes(source) == b""


def test_a_missing_column_is_named_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"in\.jsonl: no column 'text'; its columns are 'id', 'body'"):
        features(source_of(tmp_path, b'{"id": "a"}\n{"body": "x"}\n'))


def test_a_row_without_the_column_is_null(tmp_path: Path) -> None:
    assert features(source_of(tmp_path, b'{"id": 1}\n{"text": null}\n' + GOOD)) == [None, None, "x y z"]
    assert features(source_of(tmp_path, b'{"text": null}\n', "null.jsonl")) == [None]


@pytest.mark.parametrize(
    ("cells", "kind", "wanted"),
    [
        ("1 2", pa.int64(), [1, 2]),
        ("1 2.5", pa.float64(), [1.0, 2.5]),
        ('"a" "b"', pa.string(), ["a", "b"]),
        ('1 "b" 2.5 null', pa.string(), ["1", "b", "2.5", None]),
        ("true false", pa.bool_(), [True, False]),
        ("1 123456789012345678901", pa.string(), ["1", "123456789012345678901"]),
        ("null null", pa.null(), [None, None]),
        ("[1] {}", pa.string(), ["[1]", "{}"]),
    ],
)
def test_types_of_other_columns(tmp_path: Path, cells: str, kind: pa.DataType, wanted: list[Any]) -> None:
    data = "".join(f'{{"text": "t", "id": {cell}}}\n' for cell in cells.split(" "))
    (block,) = source_of(tmp_path, data.encode()).blocks()
    found = block.items(Wanted("text", ("id",))).columns["id"]
    assert (found.type, found.to_pylist()) == (kind, wanted)


def test_types_that_the_sample_did_not_show(tmp_path: Path) -> None:
    rows = [b'{"text": "t", "id": %d}\n' % n for n in range(500)]
    rows[100] = b'{"text": "t", "id": "x"}\n'
    assert column(source_of(tmp_path, b"".join(rows), limits=ReadLimits(sampled_rows=2)), "id").to_pylist() == [
        "x" if n == 100 else str(n) for n in range(500)
    ]


@pytest.mark.parametrize("tokens", [["a", "b"], [3, 5]])
def test_token_lists(tmp_path: Path, tokens: list[Any]) -> None:
    rows = [{"text": tokens}, {"text": []}, {"text": None}, {"text": tokens * 2}] * 4
    source = source_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows).encode(), limits=SMALL)
    (found,) = {block.items(Wanted("text")).features.type for block in source.blocks()} - {pa.large_string()}
    assert pa.types.is_list(found)
    assert features(source) == [row["text"] for row in rows]


def test_the_compared_column_can_be_requested_as_well(tmp_path: Path) -> None:
    assert column(source_of(tmp_path, GOOD), "text").to_pylist() == ["x y z"]


def test_last_line_without_newline(tmp_path: Path) -> None:
    data = GOOD * 4 + GOOD.rstrip()
    source = source_of(tmp_path, data, limits=SMALL)
    assert len(features(source)) == 5
    assert stored_bytes(source) == data
    assert stored_bytes(source, lambda row: row < 2) == GOOD * 2


def test_blocks_may_be_parsed_in_any_order_on_threads(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"".join(b'{"text": "t%d"}\n' % n for n in range(200)), limits=SMALL)
    blocks = list(source.blocks())
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda block: block.items(Wanted("text")).features.to_pylist(), blocks[::-1]))
    assert [text for part in parts[::-1] for text in part] == [f"t{n}" for n in range(200)]


def test_a_truncated_gzip_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "truncated.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD * 1000)[:-20])
    with pytest.raises(BadDataError, match=r"truncated\.jsonl\.gz"):
        features(open_inputs([path])[0])


def test_invalid_gzip_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "false.jsonl.gz"
    path.write_bytes(GOOD)
    with pytest.raises(BadDataError, match=r"false\.jsonl\.gz: cannot be read"):
        features(open_inputs([path])[0])


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    source = source_of(tmp_path, GOOD)
    assert len(features(source)) == 1
    (tmp_path / "in.jsonl").write_bytes(GOOD * 2)
    with pytest.raises(BadDataError, match="changed while it was read"):
        features(source)
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    os.utime(tmp_path / "in.jsonl", ns=(1, 1))
    with pytest.raises(BadDataError, match="changed while it was read"):
        features(source)
    (tmp_path / "in.jsonl").unlink()
    with pytest.raises(BadDataError, match="changed while it was read"):
        features(source)


def test_a_file_that_changes_while_a_pass_is_under_way(tmp_path: Path) -> None:
    source = source_of(tmp_path, GOOD * 10, limits=SMALL)
    blocks = source.blocks()
    next(blocks)
    os.utime(tmp_path / "in.jsonl", ns=(1, 1))
    with pytest.raises(BadDataError, match="changed while it was read"):
        list(blocks)


def test_columns_of_lines_that_have_different_keys(tmp_path):
    lines = [
        '{"b": 1}',
        "",
        *['{"a": [1], "b": "x"}'] * 30,
        json.dumps({"long": "x" * 5_000, "b": 1}),
        '{"c": {"d": 1}}',
    ]
    for bad in ([], ["not JSON"]):
        source = write(tmp_path / "a.jsonl", "\n".join(lines + bad).encode())
        for limits in (SMALL, READ_LIMITS):
            assert list_columns(open_inputs([source], limits=limits)[0]) == ["b", "a", "long", "c"]
