"""Structs in Thrift's compact encoding, in which Parquet stores its metadata: bytes -> fields -> the same bytes.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
_FIXED = {_BYTE: 1, _DOUBLE: 8}
_LONG = 15
"""A list of this size or more, or a field so far from the last one, states its number separately."""


class Field(NamedTuple):
    """A field of a struct, or a list with the kind of its elements."""

    kind: int
    value: Any
    """int, bytes, bool, a struct (`Fields`), or for a list a `Field` with its elements."""


Fields = dict[int, Field]


def read_struct(data: bytes, at: int = 0) -> tuple[Fields, int]:
    """The fields of a struct by number, and where the next value starts.

    Raises
    ------
    ValueError, IndexError
        If the bytes are not a struct.

    Examples
    --------
    >>> read_struct(bytes([0x15, 20, 0x18, 2, 104, 105, 0]))
    ({1: Field(kind=5, value=10), 2: Field(kind=8, value=b'hi')}, 7)
    """
    fields: Fields = {}
    number = 0
    while data[at]:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if step:
            number += step
        else:
            number, at = _read_integer(data, at)
        if kind in (_TRUE, _FALSE):
            fields[number] = Field(kind, kind == _TRUE)
        else:
            value, at = _read_value(data, at, kind)
            fields[number] = Field(kind, value)
    return fields, at + 1


def write_struct(fields: Fields) -> bytes:
    """The bytes of a struct.

    Examples
    --------
    >>> list(write_struct({1: Field(5, 10), 2: Field(8, b"hi")}))
    [21, 20, 24, 2, 104, 105, 0]
    """
    out = bytearray()
    before = 0
    for number, (kind, value) in fields.items():
        step = number - before
        out += bytes([step << 4 | kind]) if 0 < step <= _LONG else bytes([kind]) + _integer(number)
        if kind not in (_TRUE, _FALSE):
            out += _written(kind, value)
        before = number
    return bytes(out) + b"\0"


def _read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in _INTEGERS:
        return _read_integer(data, at)
    if kind == _STRUCT:
        return read_struct(data, at)
    if kind in _LISTS:
        return _read_list(data, at)
    if kind in _FIXED:
        end = at + _FIXED[kind]
    elif kind == _BINARY:
        length, at = _read_unsigned(data, at)
        end = at + length
    else:
        raise ValueError(f"a value of kind {kind}")
    return data[at:end], end


def _read_list(data: bytes, at: int) -> tuple[Field, int]:
    kind, size, at = data[at] & 15, data[at] >> 4, at + 1
    if size == _LONG:
        size, at = _read_unsigned(data, at)
    kind = _BYTE if kind in (_TRUE, _FALSE) else kind
    values = []
    for _ in range(size):
        value, at = _read_value(data, at, kind)
        values.append(value)
    return Field(kind, values), at


def _written(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _integer(value)
    if kind == _STRUCT:
        return write_struct(value)
    if kind in _LISTS:
        return _written_list(value)
    return bytes(value) if kind in _FIXED else _unsigned(len(value)) + bytes(value)


def _written_list(values: Field) -> bytes:
    size = len(values.value)
    start = bytes([size << 4 | values.kind]) if size < _LONG else bytes([_LONG << 4 | values.kind]) + _unsigned(size)
    return start + b"".join(_written(values.kind, value) for value in values.value)


def _read_unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, lowest first."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(value: int) -> bytes:
    return _unsigned((value << 1) ^ (value >> 63))
