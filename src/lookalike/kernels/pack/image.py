"""Object code as an image: the bytes to put into memory, and the places where addresses have to be filled in.

Numba's object files for x86-64 contain code and constants, and use absolute addresses. So they can be laid out when a
pack is built; loading one then means copying it and adding numbers (see `link`), which takes no linker.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

_HEADER = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PLACE = struct.Struct("<QIIq")
_ADDRESS = struct.Struct("<Q")
_ALLOCATED, _WRITABLE = 2, 1
_CONTENTS, _SYMBOLS, _PLACES = 1, 2, 4
_ABSOLUTE = 1
_X86_64, _RELOCATABLE = 62, 1


class _Section(NamedTuple):
    kind: int
    flags: int
    start: int
    size: int
    link: int
    info: int
    align: int


def make_image(code: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """Make the image of an object file, with what `link` has to know about it; None if it is not for x86-64.

    Returns
    -------
    tuple
        The image, and a dictionary: `defines` has the place of every symbol that it defines, `own` the places to which
        the address of the image has to be added, and `other`, by symbol, the places that need the address of that
        symbol.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        return None
    header = _HEADER.unpack_from(code)
    if header[3:5] != (_RELOCATABLE, _X86_64):
        return None
    sections = _sections(code, header[8], header[14])
    image, places = _lay_out(code, sections)
    symbols = next(_symbols(code, sections, section) for section in sections if section.kind == _SYMBOLS)
    own: list[int] = []
    other: dict[str, list[int]] = {}
    for section in sections:
        if section.kind == _PLACES and section.info in places:
            for at, number, kind, addend in _references(code, section):
                _refer(image, places, symbols[number], (places[section.info] + at, kind, addend), own, other)
    defines = {name: places[where] + value for name, where, value in symbols if name and where in places}
    return bytes(image), {"defines": defines, "own": own, "other": other}


def _sections(code: bytes, start: int, count: int) -> list[_Section]:
    rows = [_SECTION.unpack_from(code, start + number * _SECTION.size) for number in range(count)]
    return [_Section(row[1], row[2], *row[4:9]) for row in rows]


def _lay_out(code: bytes, sections: list[_Section]) -> tuple[bytearray, dict[int, int]]:
    """Put code and constants one after the other; also return where each section is."""
    image, places = bytearray(), {}
    for number, section in enumerate(sections):
        if section.flags & _WRITABLE and section.size:
            raise ValueError("the code has variables of its own: write the kernel without")
        if section.kind == _CONTENTS and section.flags & _ALLOCATED:
            image += bytes(-len(image) % max(1, section.align))
            places[number] = len(image)
            image += code[section.start : section.start + section.size]
    return image, places


def _symbols(code: bytes, sections: list[_Section], table: _Section) -> list[tuple[str, int, int]]:
    """Name, section and place of each symbol."""
    names = sections[table.link].start
    found = []
    for at in range(table.start, table.start + table.size, _SYMBOL.size):
        name, _, _, section, value, _ = _SYMBOL.unpack_from(code, at)
        found.append((code[names + name : code.index(0, names + name)].decode(), section, value))
    return found


def _references(code: bytes, section: _Section) -> list[tuple[int, int, int, int]]:
    """Place, symbol, kind and addend of each reference."""
    return [
        (at, symbol, kind, addend)
        for at, kind, symbol, addend in _PLACE.iter_unpack(code[section.start : section.start + section.size])
    ]


def _refer(
    image: bytearray,
    places: dict[int, int],
    symbol: tuple[str, int, int],
    reference: tuple[int, int, int],
    own: list[int],
    other: dict[str, list[int]],
) -> None:
    """Fill in what is known about a reference, and record what is not."""
    (name, section, value), (at, kind, addend) = symbol, reference
    if kind != _ABSOLUTE:
        raise ValueError(f"the code refers to {name or 'itself'} in a way ({kind}) that is not known")
    known = section in places
    (own if known else other.setdefault(name, [])).append(at)
    _ADDRESS.pack_into(image, at, ((places[section] + value if known else 0) + addend) % 2**64)
