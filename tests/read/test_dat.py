from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.read import open_inputs
from lookalike.read.dat import parse_sets
from lookalike.read.lines import Rows, line_ends
from lookalike.types import ReadLimits, Source
from looking import features, rejected, stored_bytes, write

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)


def source_of(folder: Path, data: bytes, name: str = "in.dat", **options: Any) -> Source:
    return open_inputs([write(folder / name, data)], **options)[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(NUMBERS, max_size=6), max_size=10),
    st.sampled_from([" ", "  ", "\t", " \t "]),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.sampled_from([5, 64, 9999]),
    st.sampled_from(["", ".gz", ".zst"]),
)
def test_any_sets_are_returned_unchanged(tmp_path, rows, gap, end, nbytes, suffix):
    data = "".join(gap.join(map(str, row)) + end for row in rows).encode()
    source = source_of(tmp_path, data, "in.dat" + suffix, limits=ReadLimits(block_bytes=nbytes))
    assert features(source) == rows
    assert stored_bytes(source) == data


def python_reads(line: bytes) -> list[int] | None:
    """What Python makes of a line, where it takes no more than we do."""
    tokens = line.split()
    if not all(token.isdigit() or (token[:1] == b"-" and token[1:].isdigit()) for token in tokens):
        return None
    numbers = [int(token) for token in tokens]
    return numbers if all(-(2**63) <= number < 2**63 for number in numbers) else None


@given(st.lists(st.text("0123456789-+ .x\t", max_size=24).map(str.encode) | st.binary(max_size=8), max_size=8))
def test_lines_are_taken_or_refused_as_python_would(lines):
    lines = [line.replace(b"\n", b"") for line in lines]
    data = b"".join(line + b"\n" for line in lines)
    found, wrong = parse_sets(Rows(pa.py_buffer(data), line_ends(data)))
    for line, got, place in zip(lines, found.to_pylist(), wrong.tolist()):
        want = python_reads(
            line.replace(b"\x1c", b"x").replace(b"\x1d", b"x").replace(b"\x1e", b"x").replace(b"\x1f", b"x")
        )
        assert (place == 0) == (want is not None), line
        assert place <= len(line) + 1
        assert want is None or got == want


@pytest.mark.parametrize("number", ["9223372036854775807", "-9223372036854775808", "0009223372036854775807", "-0"])
def test_numbers_of_64_bits_fit(tmp_path, number):
    assert features(source_of(tmp_path, number.encode())) == [[int(number)]]


@pytest.mark.parametrize(
    "bad", ["9223372036854775808", "-9223372036854775809", "99999999999999999999999", "1.5", "-", "a", "1,2", "+1"]
)
def test_values_that_are_not_numbers_are_named_or_set_aside(tmp_path, bad):
    data = f"1 2\n3 {bad} 4\n\n5\n".encode()
    with pytest.raises(BadDataError, match=r"in.dat:2: not 64-bit integers"):
        features(source_of(tmp_path, data))
    source = source_of(tmp_path, data)
    assert [one.line for one in rejected(source)] == [2]
    assert features(source, skip_errors=True) == [[1, 2], [], [5]]


def test_sets_in_files_are_the_same_as_in_python(tmp_path):
    draw = np.random.default_rng(1)
    sets = [sorted(set(draw.integers(0, 30, 8).tolist())) for _ in range(200)] + [[]]
    path = tmp_path / "a.dat"
    path.write_text("".join(" ".join(map(str, one)) + "\n" for one in sets))
    found = la.pairs(path, threshold=0.5, method="brute")
    assert [int(left.rsplit(":", 1)[1]) for left in found["left"].to_pylist()] == la.pairs(
        [set(one) for one in sets], threshold=0.5, method="brute"
    )["left"].to_pylist()
    dedup_to_folder([path], tmp_path / "out", Settings.parse(threshold=0.5, method="exact"))
    kept = (tmp_path / "out/kept/a.dat").read_text().splitlines()
    assert 0 < len(kept) < len(sets)
    assert set(kept) <= set(path.read_text().splitlines())
    in_memory = la.dedup(path, threshold=0.5, method="exact").kept
    assert in_memory["text"].to_pylist() == [[int(token) for token in line.split()] for line in kept]
