from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.read import open_inputs
from lookalike.read.streams import resolve_byte_order
from lookalike.types import ReadLimits, Source
from looking import SMALL, column, features, rejected, stored_bytes, write


def source_of(folder: Path, data: bytes, name: str = "in.txt", **options: Any) -> Source:
    return open_inputs([write(folder / name, data)], **options)[0]


lines = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\ufeff"), max_size=20), max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]),
    st.sampled_from([3, 64, 9999]),
    st.sampled_from(["", ".gz", ".zst"]),
)
def test_any_lines_are_returned_unchanged(
    tmp_path: Path, rows: list[str], end: str, encoding: str, nbytes: int, suffix: str
) -> None:
    data = "".join(row + end for row in rows).encode(encoding)
    source = source_of(tmp_path, data, "in.txt" + suffix, encoding=encoding, limits=ReadLimits(block_bytes=nbytes))
    assert features(source) == rows
    assert stored_bytes(source) == data


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "shift-jis", "utf-8"])
def test_encodings(tmp_path: Path, encoding: str, suffix: str) -> None:
    word = "日本" if encoding == "shift-jis" else "l'été à Noël"
    texts = [f"{word} {n}" for n in range(20)]
    head, row = {".txt": ("", "{}\n"), ".csv": ("text\n", "{}\n"), ".jsonl": ("", '{{"text": "{}"}}\n')}[suffix]
    data = (head + "".join(row.format(text) for text in texts)).encode(encoding)
    source = source_of(tmp_path, data, "in" + suffix, encoding=encoding, limits=SMALL)
    assert features(source) == texts
    assert stored_bytes(source) == data
    half = (head + "".join(row.format(text) for text in texts[::2])).encode(encoding)
    assert stored_bytes(source, lambda number: number % 2 == 0) == half


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be"])
def test_a_byte_order_mark_is_not_part_of_the_text_but_is_kept(tmp_path: Path, suffix: str, encoding: str) -> None:
    body = {".txt": "é\nb\n", ".csv": "text,id\né,1\nb,2\n", ".jsonl": '{"text": "é"}\n{"text": "b"}\n'}[suffix]
    data = ("\ufeff" + body).encode(encoding)
    source = source_of(tmp_path, data, "in" + suffix, encoding=encoding)
    assert features(source) == ["é", "b"]
    assert stored_bytes(source) == data
    assert source.layout().prefix.startswith("\ufeff".encode(encoding))


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [("utf-8", b"\xff\xfe"), ("cp1252", b"\x81"), ("ascii", "é".encode()), ("shift-jis", b"\x81\x20")],
)
def test_bad_bytes_are_named(tmp_path: Path, encoding: str, bad: bytes) -> None:
    data = b"a good line\n" * 20 + b"a " + bad + b" line\n" + b"a good line\n" * 20
    source = source_of(tmp_path, data, "bad.txt", encoding=encoding, limits=SMALL)
    with pytest.raises(BadDataError, match=r"bad\.txt:21: not valid"):
        features(source)
    assert [one.line for one in rejected(source)] == [21]
    assert stored_bytes(source) == b"a good line\n" * 40


def test_half_a_character_at_the_end(tmp_path: Path) -> None:
    data = "a\nb\n".encode("utf-16-le") + b"\x0a"
    assert [one.line for one in rejected(source_of(tmp_path, data, encoding="utf-16-le"))] == [3]


def test_blank_lines_are_empty_items(tmp_path: Path) -> None:
    assert features(source_of(tmp_path, b"a\n\n\r\nb")) == ["a", "", "", "b"]
    assert features(source_of(tmp_path, b"")) == []
    assert features(source_of(tmp_path, b"a\r\r\nb\rc")) == ["a\r", "b\rc"]


def test_the_only_column_is_text(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"a\n")
    assert source.column_names() == ["text"]
    assert column(source, "text").to_pylist() == ["a"]
    with pytest.raises(BadDataError, match="no column 'body'; its columns are 'text'"):
        features(source, "body")


@pytest.mark.parametrize("encoding", ["no-such", "rot13", "base64"])
def test_an_unknown_encoding_is_a_usage_error(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(UsageError, match=encoding):
        source_of(tmp_path, b"a\n", encoding=encoding)


def test_the_marks_of_both_orders() -> None:
    assert resolve_byte_order("utf-16", codecs.BOM_UTF16_BE + b"\0a") == "utf-16-be"
    assert resolve_byte_order("utf-16", codecs.BOM_UTF16_LE + b"a\0") == "utf-16-le"
    assert resolve_byte_order("utf-16", b"a\0") == "utf-16-le"


def test_a_line_much_longer_than_a_block(tmp_path: Path) -> None:
    long = "x" * 100_000
    assert features(source_of(tmp_path, f"a\n{long}\nb\n".encode(), limits=SMALL)) == ["a", long, "b"]
