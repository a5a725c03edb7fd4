"""Fields of structs in Thrift's compact encoding: the same as with `types.thrift`, and no harm from any bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import thrift
from lookalike.types.thrift import Field, Fields, read_struct, write_struct

NUMBERS = st.integers(1, 70)
"""Of fields; a path has no place for those from 64 on."""
PLAIN = (
    st.builds(Field, st.just(thrift.INTEGER), st.integers(-(2**31), 2**31 - 1))
    | st.builds(Field, st.just(thrift.LONG), st.integers(-(2**63), 2**63 - 1))
    | st.builds(Field, st.just(thrift.BINARY), st.binary(max_size=20))
    | st.sampled_from([Field(thrift.TRUE, True), Field(thrift.FALSE, False)])
    | st.builds(Field, st.just(thrift.DOUBLE), st.binary(min_size=8, max_size=8))
)


def structs(values: st.SearchStrategy[Field]) -> st.SearchStrategy[Fields]:
    return st.dictionaries(NUMBERS, values, max_size=5)


def lists(values: st.SearchStrategy[Any], kind: int) -> st.SearchStrategy[Field]:
    return st.builds(lambda elements: Field(thrift.LIST, Field(kind, elements)), st.lists(values, max_size=20))


def nested(values: st.SearchStrategy[Field]) -> st.SearchStrategy[Field]:
    return (
        st.builds(Field, st.just(thrift.STRUCT), structs(values))
        | lists(structs(values), thrift.STRUCT)
        | lists(st.integers(-5, 5), thrift.INTEGER)
        | lists(st.binary(max_size=3), thrift.BINARY)
    )


def values_in(fields: Fields, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], int, Any]]:
    """Path, kind and value of everything in a struct, in the order in which it is stored."""
    for number, (kind, value) in fields.items():
        yield from _values(kind, value, (*path, number))


def _values(kind: int, value: Any, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int, Any]]:
    if kind == thrift.LIST:
        yield path, kind, len(value.value)
        for element in value.value:
            yield from _values(value.kind, element, (*path, 0))
    else:
        yield path, kind, value
    if kind == thrift.STRUCT:
        yield from values_in(value, path)


def path_number(path: tuple[int, ...]) -> int:
    number = 0
    for part in path:
        number = number << thrift.NUMBER_BITS | part
    return number


def list_fields(data: bytes, wanted: npt.NDArray[np.int64]) -> tuple[int, npt.NDArray[np.int64]]:
    stack = np.empty((thrift.DEEPEST, 5), np.int64)
    found = np.full((len(data) + 1, 4), -1, np.int64)
    count = thrift.list_fields(np.frombuffer(data, np.uint8), wanted, stack, found)
    return count, found[: max(0, count)]


@given(structs(st.recursive(PLAIN, nested, max_leaves=12)))
def test_every_value_is_found(fields: Fields) -> None:
    data = write_struct(fields)
    assert read_struct(data)[0] == fields
    known = [one for one in values_in(fields) if max(one[0]) < 64 and len(one[0]) <= thrift.LEVELS]
    kinds = {path: thrift.TRUE if kind == thrift.FALSE else kind for path, kind, _ in known}
    wanted = np.array(sorted((path_number(path), kind) for path, kind in kinds.items()), np.int64).reshape(-1, 2)
    count, found = list_fields(data, wanted)
    if any(kinds[path] != (thrift.TRUE if kind == thrift.FALSE else kind) for path, kind, _ in known):
        assert count == thrift.OTHER_KIND  # two elements have a field of two kinds
        return
    assert count == len(known)
    for (path, kind, value), (row, owner, number, size) in zip(known, found.tolist(), strict=True):
        assert wanted[row].tolist() == [path_number(path), kinds[path]]
        assert (owner > 0) == (0 in path[:-1])
        if kind == thrift.BINARY:
            assert data[number : number + size] == value
        elif kind not in (thrift.STRUCT, thrift.DOUBLE):
            assert number == value


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    """No byte outside the data is read: with NUMBA_BOUNDSCHECK=1, that would be an error."""
    wanted = np.array([(path_number((number,)), thrift.LONG) for number in range(1, 16)], np.int64)
    count, found = list_fields(data, wanted)
    assert count >= thrift.OTHER_KIND
    assert (found[:, 0] >= 0).all()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x16", b"\x16\x80", b"\x18\x05abc", b"\x18\xff\xff\xff\xff\x0f", b"\x19\xfc\xff\xff\xff\xff\x7f",
        b"\x19\x1d\x00", b"\x1b\x00", b"\x06\x00\x00", b"\x17abc", b"\x15\x80\x80\x80\x80\x20\x00", b"\x1c" * 100,
        b"\x16" + b"\x80" * 11 + b"\x01\x00",
    ],
)  # fmt: skip
def test_what_is_no_struct(data: bytes) -> None:
    assert list_fields(data, np.empty((0, 2), np.int64))[0] == thrift.DAMAGED


def test_a_field_of_another_kind() -> None:
    wanted = np.array([(1, thrift.LONG)], np.int64)
    assert list_fields(write_struct({1: Field(thrift.INTEGER, 5)}), wanted)[0] == thrift.OTHER_KIND
    assert list_fields(write_struct({1: Field(thrift.LONG, 5)}), wanted)[0] == 1
