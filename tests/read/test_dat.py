from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from looking import column, features, rejected, stored_bytes, write

from lookalike.errors import BadDataError
from lookalike.read import open_inputs, streams
from lookalike.types import Source

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


def source_of(folder: Path, data: bytes, name: str = "in.dat", **options: Any) -> Source:
    return open_inputs([write(folder / name, data)], **options)[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.integers(SMALLEST, LARGEST), max_size=6), max_size=12),
    st.sampled_from([" ", "  ", "\t"]),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([3, 64, 9999]),
    st.sampled_from(["", ".gz", ".zst"]),
)
@example([[SMALLEST, LARGEST, 0], [], [-1]], " ", "\n", "utf-8", 9999, "")
def test_any_sets_come_back(
    tmp_path: Path, rows: list[list[int]], gap: str, end: str, encoding: str, nbytes: int, suffix: str
) -> None:
    data = "".join(gap.join(map(str, row)) + end for row in rows).encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK_BYTES", nbytes)
        source = source_of(tmp_path, data, "in.dat" + suffix, encoding=encoding)
        assert features(source) == rows
        assert stored_bytes(source) == data
        half = "".join(gap.join(map(str, row)) + end for row in rows[::2]).encode(encoding)
        if encoding == "utf-8":
            assert stored_bytes(source, lambda number: number % 2 == 0) == half


def test_a_blank_line_is_the_empty_set(tmp_path: Path) -> None:
    assert features(source_of(tmp_path, b"1\n\n  \r\n2 3")) == [[1], [], [], [2, 3]]
    assert features(source_of(tmp_path, b"")) == []
    assert features(source_of(tmp_path, b"007 -0 5 5")) == [[7, 0, 5, 5]]


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (b"x", "'x' is not an integer"),
        (b"1.5", "'1.5' is not an integer"),
        (b"1,2", "'1,2' is not an integer"),
        (b"-", "'-' is not an integer"),
        (b"--1", "'--1' is not an integer"),
        (b"+1", "is not an integer"),
        (b"1-2", "is not an integer"),
        ("é".encode(), "'é' is not an integer"),
        (b"\xff", "is not an integer"),
        (b"1\x002", "is not an integer"),
        (b"9223372036854775808", "does not fit"),
        (b"-9223372036854775809", "does not fit"),
        (b"18446744073709551617", "does not fit"),
        (b"9" * 100, "does not fit"),
    ],
)
def test_a_bad_line_is_named_or_set_aside(tmp_path: Path, bad: bytes, what: str, small_blocks: None) -> None:
    data = b"1 2 3\n" * 20 + b"4 " + bad + b" 5\n" + b"6\n" * 20
    source = source_of(tmp_path, data, "bad.dat")
    with pytest.raises(BadDataError, match=r"bad\.dat:21: ") as found:
        features(source)
    assert what in str(found.value)
    assert [(one.line, one.raw) for one in rejected(source)] == [(21, b"4 " + bad + b" 5")]
    assert stored_bytes(source) == b"1 2 3\n" * 20 + b"6\n" * 20


def test_the_only_column_is_text(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"1 2\n")
    assert source.column_names() == ["text"]
    assert column(source, "text").to_pylist() == [[1, 2]]
    with pytest.raises(BadDataError, match="no column 'id'; its columns are 'text'"):
        column(source, "id")


@pytest.mark.parametrize("bad", ["", " x"])
def test_a_line_much_longer_than_a_block(tmp_path: Path, small_blocks: None, bad: str) -> None:
    long = list(range(20_000))
    source = source_of(tmp_path, f"1\n{' '.join(map(str, long))}{bad}\n2\n".encode())
    if bad:
        assert [one.line for one in rejected(source)] == [2]
        assert json.dumps(stored_bytes(source).decode()) == '"1\\n2\\n"'
    else:
        assert features(source) == [[1], long, [2]]
