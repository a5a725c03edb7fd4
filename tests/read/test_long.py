"""Rows longer than a block: the same as any other row, but there only once."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError, ResourceError
from lookalike.read import open_inputs
from lookalike.read.long import LongBlock
from lookalike.types import ItemMemory, ReadLimits, Source, Wanted
from lookalike.write import open_kept
from looking import column, features, rejected, stored_bytes, write

AWKWARD = st.text(st.sampled_from([*'ab \t"\\/,\n\r\u2028é漢😀\x00\x1f\xa0']), max_size=60)
ROWS = st.lists(st.tuples(AWKWARD, AWKWARD), min_size=1, max_size=6)


LIMITS = ReadLimits(block_bytes=40, long_value_bytes=5, long_page_bytes=4500)
"""Rows are long from 40 bytes on, values from 5."""


def source_of(folder: Path, name: str, data: bytes, encoding: str = "utf-8") -> Source:
    (source,) = open_inputs([write(folder / name, data)], encoding=encoding, limits=LIMITS)
    return source


def long_blocks(source: Source) -> int:
    return sum(isinstance(block, LongBlock) for block in source.blocks())


reuses_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


@given(rows=ROWS, ascii_only=st.booleans())
@reuses_folder
def test_json_lines(tmp_path: Path, rows: list[tuple[str, str]], ascii_only: bool) -> None:
    rows = [*rows, ("last", rows[0][0] * 20 + "long" * 50)]
    lines = [json.dumps({"id": a, "text": b, "other": [a]}, ensure_ascii=ascii_only) + "\n" for a, b in rows]
    source = source_of(tmp_path, "in.jsonl", "".join(lines).encode())
    assert features(source) == [b for _, b in rows]
    assert column(source, "id").to_pylist() == [a for a, _ in rows]
    assert stored_bytes(source) == "".join(lines).encode()
    assert long_blocks(source) > 0


@given(rows=ROWS, end=st.sampled_from(["\n", "\r\n"]), quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
@reuses_folder
def test_csv(tmp_path: Path, rows: list[tuple[str, str]], end: str, quoting: int) -> None:
    out = io.StringIO(newline="")
    table = [(str(n), *row) for n, row in enumerate(rows)]
    csv.writer(out, lineterminator=end, quoting=quoting).writerows([("n", "id", "text"), *table])  # type: ignore[arg-type]
    source = source_of(tmp_path, "in.csv", out.getvalue().encode())
    assert features(source) == [b.strip() for _, b in rows]
    assert column(source, "id").to_pylist() == [a.strip() for a, _ in rows]
    assert stored_bytes(source) == out.getvalue().encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("last", ["\n", ""])
def test_lines_of_text(tmp_path: Path, encoding: str, last: str) -> None:
    lines = ["short", "über " * 60, "é" * 300 + "\r", "", "x" * 300]
    data = ("\n".join(lines) + last).encode(encoding)
    source = source_of(tmp_path, "in.txt", data, encoding)
    assert features(source) == [line.removesuffix("\r") for line in lines]
    assert long_blocks(source) == 3
    kept = stored_bytes(source, lambda row: row in (0, 2))
    assert kept.decode(encoding) == lines[0] + "\n" + lines[2] + "\n"
    assert stored_bytes(source) == data


def test_a_long_row_is_released_and_read_again(tmp_path: Path) -> None:
    source = source_of(tmp_path, "in.txt", b"".join(b"%d" % n * 300 + b"\n" for n in range(4)))
    blocks = list(source.blocks())
    assert all(isinstance(block, LongBlock) and not block.piece.data for block in blocks)
    assert [block.items(Wanted("text")).features.to_pylist() for block in blocks] == [[f"{n}" * 300] for n in range(4)]
    assert blocks[2].items(Wanted("text"), np.array([0])).features.to_pylist() == ["2" * 300]
    assert blocks[2].kept_rows(np.array([True])) == b"2" * 300 + b"\n"


BAD = {
    "control": (b'{"text": "' + b"a" * 300 + b'\x01"}', "control character"),
    "escape": (b'{"text": "' + b"a" * 300 + b'\\x"}', "backslash"),
    "digits": (b'{"text": "' + b"a" * 300 + b'\\u12g4"}', "backslash"),
    "surrogate": (b'{"text": "' + b"a" * 300 + b'\\ud83d"}', "half of a surrogate"),
    "low first": (b'{"text": "' + b"a" * 300 + b'\\ude00\\ud83d"}', "half of a surrogate"),
    "bytes": (b'{"text": "' + b"a" * 300 + b'\xff"}', "not valid UTF-8"),
    "open": (b'{"text": "' + b"a" * 300, "not valid JSON"),
    "two": (b'{"text": "' + b"a" * 300 + b'"} {}', "not valid JSON"),
    "kind": (b'{"text": 5, "other": "' + b"a" * 300 + b'"}', "is a number"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_long_lines_are_named_and_can_be_skipped(tmp_path: Path, kind: str) -> None:
    line, error = BAD[kind]
    source = source_of(tmp_path, "in.jsonl", b'{"text": "a"}\n' + line + b'\n{"text": "b"}\n')
    with pytest.raises(BadDataError, match=rf"in.jsonl:2: .*{error}"):
        features(source)
    assert features(source, skip_errors=True) == ["a", "b"]
    assert [(one.line, one.raw) for one in rejected(source)] == [(2, line)]
    assert stored_bytes(source) == b'{"text": "a"}\n{"text": "b"}\n'


def test_other_kinds_of_long_lines(tmp_path: Path) -> None:
    lines = [b" " * 300, json.dumps({"text": ["token"] * 100}).encode(), b'{"text": null, "z": "' + b"z" * 300 + b'"}']
    source = source_of(tmp_path, "in.jsonl", b"\n".join(lines))
    assert features(source) == [["token"] * 100, None]
    with pytest.raises(BadDataError, match="no column 'body'; its columns are 'text'"):
        features(source_of(tmp_path, "in.jsonl", json.dumps({"text": "t" * 300}).encode()), "body")


def test_bad_long_rows_of_csv(tmp_path: Path) -> None:
    source = source_of(tmp_path, "in.csv", b"id,text\n1," + b"a" * 300 + b",3\n2,b\n")
    with pytest.raises(BadDataError, match=r"in.csv:2: expected 2 fields as in the header, found 3"):
        features(source)
    with pytest.raises(BadDataError, match=r"in.csv:2: not valid CSV: a quote is not closed"):
        features(source_of(tmp_path, "in.csv", b'id,text\n1,"' + b"a" * 300 + b"\n2,b\n"))


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("in.jsonl", b'{"text": "a"}\n{"text": "' + b"a" * 488 + b'"}\n', "in.jsonl:2: a document of 0 MB"),
        ("in.csv", b'text\n"\n"\n"\n' + b"a" * 498 + b'"\n', "in.csv:4: a document"),
        ("in.txt", b"\n" + b"a" * 500 + b"\nb", "in.txt:2: a document"),
    ],
)
def test_input_that_does_not_fit_is_refused(tmp_path: Path, name: str, data: bytes, place: str) -> None:
    source = source_of(tmp_path, name, data)
    source.item_memory = ItemMemory(1100, 100)
    assert len(features(source)) == 2 + name.endswith("txt")
    source.item_memory = ItemMemory(600, 100)
    with pytest.raises(ResourceError, match=rf"{place}.* Increase --memory, or remove the document"):
        features(source)


def test_files_that_are_items(tmp_path: Path) -> None:
    limits = replace(LIMITS, block_bytes=100)
    texts = ["small", "größer " * 30, "other"]
    for number, text in enumerate(texts):
        write(tmp_path / f"{number}.txt", ("\ufeff" + text).encode())
    (source,) = open_inputs([tmp_path], limits=limits)
    assert [block.exclusive for block in source.blocks()] == [False, True, False]
    assert features(source) == texts
    source.item_memory = ItemMemory(300, 100)
    with pytest.raises(ResourceError, match=r"1.txt: a document"):
        features(source)
    write(tmp_path / "1.txt", b"a" * 200 + b"\xff")
    with pytest.raises(BadDataError, match=r"1.txt: not valid utf-8"):
        features(open_inputs([tmp_path], limits=limits)[0])


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet(tmp_path: Path, dictionary: bool, version: str) -> None:
    table = pa.table({"id": range(4), "text": ["a", "b", "c" * 5000, "d"], "s": [{"t": "x"}] * 4})
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=2, use_dictionary=dictionary, data_page_version=version)
    (source,) = open_inputs([path], limits=LIMITS)
    assert [block.exclusive for block in source.blocks()] == [False, True]
    assert source.layout().long_columns == ("text",)
    with open_kept(tmp_path / "out", source) as writer:
        for block in source.blocks():
            writer.write(block.kept_rows(np.array([True, True])))
    assert pq.read_table(tmp_path / "out/kept/in.parquet").equals(table)
    written = pq.read_metadata(tmp_path / "out/kept/in.parquet").row_group(1)
    assert [written.column(n).compression for n in range(3)] == ["SNAPPY", "UNCOMPRESSED", "SNAPPY"]
    assert not written.column(1).is_stats_set
    source.item_memory = ItemMemory(600, 100)
    with pytest.raises(ResourceError, match=r"in.parquet: rows 2 to 3: a document .* of 0 MB"):
        features(source)
