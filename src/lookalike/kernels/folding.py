"""Folding and token classes from a table: what each code point becomes, and the kind of the result.

The table is built by features/unicode.py; its layout is described here because the kernels read it.

pages    uint16[0x1100]     code point >> 8 -> row of `entries`
entries  uint32[rows, 256]  low 3 bits: the kind; for MAPPED: bits 3-7 how many, bits 8-31 where in `pool`
pool     uint32             folded code points << 2, with their kind (GAP, WORD or OWN) in the low 2 bits
"""

import numpy as np

from lookalike.kernels.compile import inlined

GAP = 0
"""A gap between tokens."""
WORD = 1
"""Part of a token."""
OWN = 2
"""A token of its own (scripts written without spaces)."""
DROPPED = 3
"""Disappears: it neither belongs to a token nor ends one."""
MAPPED = 4
"""Becomes one or more other code points."""


@inlined
def size_at(data, i, end):
    """The length in bytes of the UTF-8 sequence at data[i]; 0 if it is truncated or invalid."""
    lead = np.int64(data[i])
    size = np.int64(0)
    if lead < 0x80:
        size = np.int64(1)
    elif 0xC2 <= lead < 0xE0:
        size = np.int64(2)
    elif 0xE0 <= lead < 0xF0:
        size = np.int64(3)
    elif 0xF0 <= lead < 0xF5:
        size = np.int64(4)
    return size if i + size <= end else np.int64(0)


@inlined
def code_at(data, i, size):
    """The code point of a sequence of 1 to 4 bytes; a space if it is broken (size 0) or out of range."""
    lead = np.int64(data[i])
    if size == 1:
        return lead
    if size == 2:
        return ((lead & 0x1F) << 6) | (np.int64(data[i + 1]) & 0x3F)
    if size == 3:
        return ((lead & 0x0F) << 12) | ((np.int64(data[i + 1]) & 0x3F) << 6) | (np.int64(data[i + 2]) & 0x3F)
    if size == 4:
        upper = ((lead & 0x07) << 18) | ((np.int64(data[i + 1]) & 0x3F) << 12)
        code = upper | ((np.int64(data[i + 2]) & 0x3F) << 6) | (np.int64(data[i + 3]) & 0x3F)
        return code if code < 0x110000 else np.int64(0x20)
    return np.int64(0x20)


@inlined
def entry_of(pages, entries, code):
    """The table entry of a code point below 0x110000."""
    return np.int64(entries[pages[code >> 8], code & 0xFF])
