"""The folding table: what each code point becomes (DESIGN: Fold, Tokens), as arrays that kernels read.

The table is that of Unicode 14.0 with any version of Python, so that the same input gives the same sets everywhere.
It is stored in `folding.zlib`, created by `python -m lookalike.features.unicode` under a Python with that version.
"""

from __future__ import annotations

import functools
import unicodedata
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lookalike.kernels.folding import DROPPED, GAP, MAPPED, OWN, WORD
from lookalike.types import UInt32

UNICODE_VERSION = "14.0.0"
FILE = "folding.zlib"
"""32-bit integers, compressed: pages, entries, pool. NumPy's own formats take several times as long to open."""
PAGES = 0x1100
"""Pages of 256 code points."""

OWN_TOKEN_RANGES = (
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
)
"""Scripts written without spaces: each of their word characters is a token."""


class FoldingTable(NamedTuple):
    """See kernels/folding.py for the layout."""

    pages: np.ndarray
    entries: UInt32
    pool: UInt32


def fold(char: str) -> str:
    """Fold one character: remove accents, case, width and ligatures.

    Examples
    --------
    >>> fold("É"), fold("ﬁ"), fold("Ａ"), fold("ß")
    ('e', 'fi', 'a', 'ss')
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(c for c in folded if unicodedata.combining(c) == 0)


def kind_of(char: str) -> int:
    """GAP, WORD or OWN of a folded character."""
    if unicodedata.category(char)[0] not in "LMN":
        return GAP
    return OWN if any(low <= ord(char) <= high for low, high in OWN_TOKEN_RANGES) else WORD


def _entry(char: str, pool: list[int]) -> int:
    folded = fold(char)
    if not folded:
        return DROPPED
    kinds = [kind_of(c) for c in folded]
    if folded == char:
        return kinds[0]
    if set(kinds) == {GAP}:
        return GAP
    first = len(pool)
    pool.extend(ord(c) << 2 | kind for c, kind in zip(folded, kinds))
    return first << 8 | len(folded) << 3 | MAPPED


def build_table() -> FoldingTable:
    """Build the table from the Unicode data of the running Python (about two seconds)."""
    pool: list[int] = [0]
    entries = np.zeros(256 * PAGES, np.uint32)
    for code in range(256 * PAGES):
        if not 0xD800 <= code <= 0xDFFF:
            entries[code] = _entry(chr(code), pool)
    rows, pages = np.unique(entries.reshape(PAGES, 256), axis=0, return_inverse=True)
    return FoldingTable(pages.ravel().astype(np.uint16), np.ascontiguousarray(rows), np.array(pool, np.uint32))


@functools.cache
def folding_table() -> FoldingTable:
    """The table of Unicode 14.0.

    Examples
    --------
    >>> folding_table().pages.shape
    (4352,)
    """
    stored = np.frombuffer(zlib.decompress(Path(__file__).with_name(FILE).read_bytes()), "<u4").astype(np.uint32)
    pages = stored[:PAGES].astype(np.uint16)
    entries, pool = np.split(stored[PAGES:], [256 * (int(pages.max()) + 1)])
    table = FoldingTable(pages, entries.reshape(-1, 256), pool)
    for array in table:
        array.flags.writeable = False
    return table


def _write() -> None:
    if unicodedata.unidata_version != UNICODE_VERSION:
        raise SystemExit(f"needs a Python with Unicode {UNICODE_VERSION}, not {unicodedata.unidata_version}")
    numbers = np.concatenate([array.ravel().astype("<u4") for array in build_table()])
    Path(__file__).with_name(FILE).write_bytes(zlib.compress(numbers.tobytes(), 9))


if __name__ == "__main__":
    _write()
