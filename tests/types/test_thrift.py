from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.types.thrift import Field, read_struct, write_struct


@pytest.mark.parametrize("columns", [1, 14, 15, 16, 200])
def test_footers_of_parquet_are_written_as_they_were(columns: int) -> None:
    table = pa.table({f"column {n}": [None, n, -n * 10**12] for n in range(columns)})
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=1)
    file = out.getvalue()
    footer = file[-8 - int.from_bytes(file[-8:-4], "little") : -8]
    fields, end = read_struct(footer)
    assert end == len(footer)
    assert write_struct(fields) == footer


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {1: Field(1, True), 2: Field(2, False), 40: Field(3, b"\xff"), 3: Field(7, b"12345678")},
        {1: Field(6, -(2**63)), 2: Field(6, 2**63 - 1), 3: Field(5, 0), 4: Field(4, -1)},
        {16: Field(9, Field(3, [b"\1", b"\2"] * 9)), 17: Field(10, Field(8, [])), 18: Field(12, {5: Field(8, b"")})},
    ],
)
def test_every_kind_of_value(fields: dict[int, Field]) -> None:
    data = write_struct(fields)
    assert read_struct(data) == (fields, len(data))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "index out of range"),
        (b"\x15", "index out of range"),
        (b"\x1b\x00\x00", "a value of kind 11"),
        (b"\x1f\x00", "a value of kind 15"),
        (b"\x1e\x00", "a value of kind 14"),
    ],
)
def test_what_is_no_struct_is_refused(data: bytes, error: str) -> None:
    with pytest.raises((ValueError, IndexError), match=error):
        read_struct(data)
