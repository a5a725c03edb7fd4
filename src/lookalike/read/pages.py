"""The pages of a Parquet column: how large they are, which the footer does not tell.

A value is never split over pages, so a huge value shows as a huge page. Only the headers are read: a header is a struct
in Thrift's compact encoding, https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

HEADER_BYTES = 1 << 14
"""More than a header has: it can hold the smallest and largest value of its page, which writers cut short."""
_UNCOMPRESSED, _COMPRESSED = 2, 3
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


class Header(NamedTuple):
    """What a page's header says."""

    header_bytes: int
    stored_bytes: int
    page_bytes: int
    """Of the page when it is decompressed."""


def page_sizes(file: pa.NativeFile, start: int, nbytes: int) -> Iterator[int]:
    """The decompressed size of each page of the column chunk file[start : start + nbytes].

    Raises
    ------
    ValueError, IndexError
        Where the bytes are no page headers.
    """
    end = start + nbytes
    while start < end:
        file.seek(start)
        header = read_header(file.read(min(HEADER_BYTES, end - start)))
        yield header.page_bytes
        start += header.header_bytes + header.stored_bytes


def read_header(data: bytes) -> Header:
    """The header that `data` begins with.

    Examples
    --------
    >>> read_header(bytes([0x15, 0, 0x15, 20, 0x15, 8, 0]))
    Header(header_bytes=7, stored_bytes=4, page_bytes=10)
    """
    found = {_UNCOMPRESSED: -1, _COMPRESSED: -1}
    at = field = 0
    while data[at]:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if step:
            field += step
        else:
            field, at = _integer(data, at)
        if kind in _INTEGERS and field in found:
            found[field], at = _integer(data, at)
        else:
            at = _skip(data, at, kind)
    if min(found.values()) < 0:
        raise ValueError("not the header of a page")
    return Header(at + 1, found[_COMPRESSED], found[_UNCOMPRESSED])


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; and where the next value is."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def _skip(data: bytes, at: int, kind: int) -> int:
    """Where the value of this kind ends."""
    if kind in _BOOLEANS:
        return at
    if kind == _BYTE:
        return at + 1
    if kind in _INTEGERS:
        return _integer(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = _unsigned(data, at)
        return at + length
    if kind == _STRUCT:
        return _skip_struct(data, at)
    if kind in _LISTS:
        return _skip_list(data, at)
    raise ValueError("not the header of a page")


def _skip_struct(data: bytes, at: int) -> int:
    while data[at]:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if not step:
            at = _integer(data, at)[1]
        at = _skip(data, at, kind)
    return at + 1


def _skip_list(data: bytes, at: int) -> int:
    kind, count, at = data[at] & 15, data[at] >> 4, at + 1
    if count == 15:
        count, at = _unsigned(data, at)
    for _ in range(count):
        at = at + 1 if kind in _BOOLEANS else _skip(data, at, kind)
    return at
