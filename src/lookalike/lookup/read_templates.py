"""Finger minutiae records (ISO/IEC 19794-2:2005): parsed with every length checked, and written for tests.

All numbers are big-endian. A record has a header of 24 bytes (format, version, length, device, image size, resolution,
number of views); then, for each view, 4 bytes (finger, view and impression, quality, number of minutiae), 6 bytes per
minutia (type and x, y, angle, quality), and extended data preceded by its length.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from lookalike.errors import BadDataError, UsageError
from lookalike.lookup.prints import Prints
from lookalike.types import Float64

MAGIC = b"FMR\0"
VERSION = b" 20\0"
DEGREES = 360 / 256
"""One unit of an angle."""
PIXELS_PER_CM = 500 / 2.54
"""Coordinates are converted to 500 dots per inch, whatever the resolution of the scanner."""
_HEADER = struct.Struct(">4s4sIHHHHHBB")
_VIEW = struct.Struct(">BBBB")
_LENGTH = struct.Struct(">H")
_MINUTIA = np.dtype([("x", ">u2"), ("y", ">u2"), ("angle", "u1"), ("quality", "u1")])
_LOW_BITS = 0x3FFF
"""x and y have 14 bits; the two above hold the type of the minutia (in x) or are reserved (in y)."""


class _Image(NamedTuple):
    """The scanned image, according to the header."""

    width: int
    height: int
    x_per_cm: int
    y_per_cm: int


def parse_template(data: bytes, name: str) -> Prints:
    """The views of a record, one print each; y is flipped to point upwards.

    Examples
    --------
    >>> one = Prints(["a"], np.array([0, 2]), np.array([10.0, 20.0]), np.array([30.0, 5.0]), np.array([90.0, 270.0]))
    >>> again = parse_template(write_template(one), "a")
    >>> again.names, again.x.round().tolist(), again.y.round().tolist(), again.angles.tolist()
    (['a'], [10.0, 20.0], [30.0, 5.0], [90.0, 270.0])
    """
    image, views, end = _parse_header(data, name)
    at, parts = _HEADER.size, []
    for number in range(views):
        title = name if views == 1 else f"{name}#{number}"
        part, at = _parse_view(data, at, end, title, name, image)
        parts.append(part)
    if at != end:
        raise BadDataError(f"{name}: byte {at}: {end - at} extra bytes after the last finger view")
    return Prints.joined(parts)


def _parse_header(data: bytes, name: str) -> tuple[_Image, int, int]:
    if len(data) < _HEADER.size:
        raise BadDataError(f"{name}: byte {len(data)}: the file ends within the header of {_HEADER.size} bytes")
    magic, version, length, _, width, height, x_per_cm, y_per_cm, views, _ = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise BadDataError(f"{name}: byte 0: not a finger minutiae record ('FMR' is missing)")
    if version != VERSION:
        raise BadDataError(f"{name}: byte 4: version {version!r}; only {VERSION!r} (ISO/IEC 19794-2:2005) is supported")
    if length != len(data):
        raise BadDataError(f"{name}: byte 8: the header gives a length of {length} bytes, the file has {len(data)}")
    if not width or not height:
        raise BadDataError(f"{name}: byte 14: the image has {width} x {height} pixels")
    if not x_per_cm or not y_per_cm:
        raise BadDataError(f"{name}: byte 18: the resolution is {x_per_cm} x {y_per_cm} pixels per cm")
    if not views:
        raise BadDataError(f"{name}: byte 22: the record has no finger view")
    return _Image(width, height, x_per_cm, y_per_cm), views, length


def _parse_view(data: bytes, at: int, end: int, title: str, name: str, image: _Image) -> tuple[Prints, int]:
    """The finger view that starts at byte `at`, and the position after its extended data."""
    _need(name, at, _VIEW.size, end, "the header of a finger view")
    minutiae = data[at + 3]
    at += _VIEW.size
    _need(name, at, minutiae * _MINUTIA.itemsize, end, f"{minutiae} minutiae")
    rows = np.frombuffer(data, _MINUTIA, minutiae, at)
    x, y = ((rows[side] & _LOW_BITS).astype(np.float64) for side in ("x", "y"))
    outside = np.flatnonzero((x >= image.width) | (y >= image.height))
    if len(outside):
        first = int(outside[0])
        place = f"{name}: byte {at + first * _MINUTIA.itemsize}: a minutia at {x[first]:g}, {y[first]:g}"
        raise BadDataError(f"{place} lies outside the image of {image.width} x {image.height} pixels")
    at += minutiae * _MINUTIA.itemsize
    _need(name, at, _LENGTH.size, end, "the length of the extended data")
    (extended,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    _need(name, at, extended, end, "the extended data")
    right: Float64 = x * (PIXELS_PER_CM / image.x_per_cm)
    up: Float64 = (image.height - 1 - y) * (PIXELS_PER_CM / image.y_per_cm)
    return Prints.single(title, right, up, rows["angle"] * DEGREES), at + extended


def _need(name: str, at: int, size: int, end: int, what: str) -> None:
    if at + size > end:
        raise BadDataError(f"{name}: byte {at}: {what} ({size} bytes) would extend past the end at byte {end}")


def write_template(prints: Prints, width: int = 500, height: int = 600, per_cm: int = 197) -> bytes:
    """Prints as one record, one finger view each; coordinates are rounded to pixels, angles to 1.4 degrees.

    Examples
    --------
    >>> len(write_template(Prints(["a"], np.array([0, 1]), np.ones(1), np.ones(1), np.zeros(1))))
    36
    """
    views = b""
    for number in range(len(prints)):
        right, up, angles = prints.minutiae(number)
        x = np.rint(right * (per_cm / PIXELS_PER_CM)).astype(np.int64)
        y = height - 1 - np.rint(up * (per_cm / PIXELS_PER_CM)).astype(np.int64)
        if len(x) > 255 or ((x < 0) | (x >= width) | (y < 0) | (y >= height)).any():
            raise UsageError(f"{prints.names[number]}: a view holds at most 255 minutiae, all within the image")
        rows = np.zeros(len(x), _MINUTIA)
        rows["x"], rows["y"] = x | 0x4000, y
        rows["angle"] = np.rint(np.nan_to_num(angles) / DEGREES).astype(np.int64) % 256
        views += _VIEW.pack(0, 0, 0, len(x)) + rows.tobytes() + _LENGTH.pack(0)
    total = _HEADER.size + len(views)
    return _HEADER.pack(MAGIC, VERSION, total, 0, width, height, per_cm, per_cm, len(prints), 0) + views
