"""Folding and token classes by table: what each code point becomes, and what kind of character that is.

The table is made by features/unicode.py; its layout is described here because kernels read it.

pages    uint16[0x1100]     code point >> 8 -> row of `entries`
entries  uint32[rows, 256]  low 3 bits: the kind; for MAPPED: bits 3-7 how many, bits 8-31 where in `pool`
pool     uint32             folded code points << 2, with their kind (GAP, WORD or OWN) in the low 2 bits
"""

import numba as nb

from lookalike.kernels.compile import inlined

GAP = 0
"""Between tokens."""
WORD = 1
"""Part of a token."""
OWN = 2
"""A token of its own (scripts written without spaces)."""
DROPPED = 3
"""Nothing remains of it: it neither belongs to a token nor ends one."""
MAPPED = 4
"""Becomes one or more other code points."""


@inlined
def decode(data, i, end):
    """The code point at data[i] and where the next one starts; a broken sequence is one GAP byte (space)."""
    b0 = nb.int64(data[i])
    if b0 < 0x80:
        return b0, i + 1
    if b0 < 0xE0:
        if i + 1 < end and b0 >= 0xC2:
            return ((b0 & 0x1F) << 6) | (nb.int64(data[i + 1]) & 0x3F), i + 2
    elif b0 < 0xF0:
        if i + 2 < end:
            return (((b0 & 0x0F) << 12) | ((nb.int64(data[i + 1]) & 0x3F) << 6) | (nb.int64(data[i + 2]) & 0x3F)), i + 3
    elif i + 3 < end and b0 < 0xF5:
        code = (
            ((b0 & 0x07) << 18)
            | ((nb.int64(data[i + 1]) & 0x3F) << 12)
            | ((nb.int64(data[i + 2]) & 0x3F) << 6)
            | (nb.int64(data[i + 3]) & 0x3F)
        )
        if code < 0x110000:
            return code, i + 4
    return nb.int64(0x20), i + 1


@inlined
def entry_of(pages, entries, code):
    """The table's entry of a code point below 0x110000."""
    return nb.int64(entries[pages[code >> 8], code & 0xFF])
