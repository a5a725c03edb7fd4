"""How much memory a run may use, and how it is divided."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from lookalike.address_space import limited_bytes
from lookalike.errors import ResourceError, UsageError
from lookalike.types import ItemMemory, Source
from lookalike.types.frozen import frozen

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
BASE_BYTES = 320 << 20
"""Memory of Python, its libraries and the kernels (measured: 286 MiB), and a row group that is being written."""
BESIDE_LONG_BYTES = 384 << 20
"""Memory besides a long document: the program, and the blocks around it."""
LEAST_BYTES = 512 << 20
"""The smallest budget: the libraries alone take half of it."""
ITEM_BYTES = 40
"""Memory per item while keepers are decided (measured at ten million items: docs/scale.md)."""
REFERRED_BYTES = 64
"""The same if there is a reference: all other items may be removed, with a reason for each."""
JOIN_BYTES = 40
"""Further memory per item while a band is joined: its key and place, and both sorted."""
MEMBER_BYTES = 24
"""Memory per candidate and band besides its set: its buckets, and its entries in them."""
MOST_ITEMS = (1 << 31) - 1
"""Items are numbered in 32 bits."""
SPLIT = "split the input and use --reference"
"""What helps if there are too many items."""
MOST_HELD_BYTES = 2 << 30
"""The most that is ever held: for more, reading again costs little compared with the rest."""
BAG_FACTORS = (16.0, 100.0)
"""Memory per byte of a text whose repeated shingles are counted (80 bytes per shingle): for words, for characters."""
PIECE_BYTES = 64 << 20
"""The largest size of a piece of digests in the work folder."""
SET_BUFFER_BYTES = 32 << 20
"""The most sets that are buffered before they are written; writing takes as much again."""
BLOCK_FACTORS = (3.0, 10.0)
"""Memory per byte of a block in progress: its text, its sets and working space; for words, for characters."""
LEAST_ENCODED_BYTES = 96 << 20
"""Three row groups: with less memory, encoding several at a time is not worth it."""
GUESSED_BYTES = 8 << 30
"""The memory of a machine whose system does not report it."""
_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def parse_memory(text: str | int | None) -> int:
    """Bytes, from 4GiB, 800MB or a number; by default half of the memory of the machine or its container.

    Examples
    --------
    >>> parse_memory("2GiB"), parse_memory("1.5 GB"), parse_memory(600_000_000)
    (2147483648, 1500000000, 600000000)
    """
    if text is None:
        return max(LEAST_BYTES, machine_memory() // 2)
    found = parse_size(text, "memory")
    if found < LEAST_BYTES:
        raise UsageError(f"--memory must be at least {LEAST_BYTES >> 20} MiB, not {text}")
    return found


def parse_size(text: str | int, option: str) -> int:
    """Bytes, from 4GiB, 800MB or a number; errors name this option.

    Examples
    --------
    >>> parse_size("32MiB", "max-body")
    33554432
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(text).lower())
    if not match:
        raise UsageError(f"--{option} must be a size such as 4GiB or 800MB, not {text!r}")
    return int(min(float(match[1]) * UNITS[match[2] or ""], float(sys.maxsize)))


def machine_memory() -> int:
    """The memory of the machine, or the limit of its container or of this process if that is less.

    Examples
    --------
    >>> machine_memory() > 1 << 20
    True
    """
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Linux and macOS report it
        found = GUESSED_BYTES
    for name in _LIMIT_FILES:
        limit = Path(name)
        if limit.exists() and (text := limit.read_text().strip()).isdigit():
            found = min(found, int(text))
    return min(found, limited_bytes() or found)


@frozen
class Budget:
    """How a run divides its memory. `Budget.split` gives the usual division; tests use smaller ones.

    Examples
    --------
    >>> Budget.split(1 << 30).sets_bytes >> 20
    176
    """

    total_bytes: int
    held_bytes: int
    """Items of the first blocks that stay in memory, so that a small corpus is decoded only once."""
    sets_bytes: int
    """Sets with their buckets that are compared at a time; assembling them takes twice as much."""
    blocks_bytes: int = 1 << 30
    """Blocks that are decoded ahead or in progress."""
    piece_bytes: int = PIECE_BYTES
    """Digests beyond this size go to the work folder; small runs write nothing there."""
    unsaved_bytes: int = 1 << 30
    """The same for runs that cannot be resumed: they write digests only if there is no memory for them."""
    set_buffer_bytes: int = SET_BUFFER_BYTES
    """Sets that are buffered before they are written to the files of their blocks."""
    whole_bytes: int = (LEAST_BYTES - BASE_BYTES) // 4
    """A connected part of the candidates with smaller sets is compared whole in every run, even in the least memory."""
    least_join_bytes: int = 1 << 20
    """Memory that joining a band may always use, however little is left."""

    @classmethod
    def split(cls, total_bytes: int) -> Budget:
        """Divide the memory of a run."""
        quarter = (total_bytes - BASE_BYTES) // 4
        return cls(
            total_bytes,
            held_bytes=max(0, min(MOST_HELD_BYTES, quarter)),
            sets_bytes=quarter,
            blocks_bytes=quarter,
            piece_bytes=min(PIECE_BYTES, quarter // 2),
            unsaved_bytes=quarter // 2,
            set_buffer_bytes=min(SET_BUFFER_BYTES, quarter // 4),
        )

    @property
    def batch_name(self) -> str:
        """A part of the names of saved batches: with another budget, batches hold different items."""
        return f"{self.sets_bytes >> 10}"

    def blocks_ahead(self, threads: int, block_bytes: int, characters: bool = False) -> int:
        """How many blocks may be in progress or waiting.

        Examples
        --------
        >>> Budget.split(512 << 20).blocks_ahead(16, 4 << 20), Budget.split(8 << 30).blocks_ahead(16, 4 << 20)
        (4, 18)
        """
        return max(1, min(threads + 2, self.fitting_blocks(block_bytes, characters)))

    def fitting_blocks(self, block_bytes: int, characters: bool = False) -> int:
        """How many blocks fit in memory."""
        return int(self.blocks_bytes / (block_bytes * BLOCK_FACTORS[characters]))

    @property
    def encoding_bytes(self) -> int:
        """Rows that may be encoded for writing at a time; 0 if they are better written one after the other.

        Examples
        --------
        >>> Budget.split(1 << 30).encoding_bytes, Budget.split(4 << 30).encoding_bytes >> 20
        (0, 472)
        """
        fitting = self.blocks_bytes // 2  # as much again when they are encoded
        return fitting if fitting >= LEAST_ENCODED_BYTES else 0

    def item_memory(self, bag: bool, characters: bool) -> ItemMemory:
        """The memory that one document may take; its repeats are numbered in a table of all its shingles."""
        return ItemMemory(self.total_bytes, BESIDE_LONG_BYTES, BAG_FACTORS[characters] if bag else 0.0)

    def limit_items(self, sources: Iterable[Source], bag: bool, characters: bool) -> None:
        """Make sources refuse an item that does not fit before they read it."""
        for source in sources:
            source.item_memory = self.item_memory(bag, characters)

    def fits(self, items: int, item_bytes: int = ITEM_BYTES) -> bool:
        """Whether an eighth of the memory remains for joining bands and comparing sets.

        Examples
        --------
        >>> Budget.split(1 << 30).fits(16_000_000), Budget.split(1 << 30).fits(17_000_000)
        (True, False)
        """
        return self._needed(items, item_bytes) <= self.total_bytes

    @staticmethod
    def _needed(items: int, item_bytes: int) -> int:
        return BASE_BYTES + 8 * item_bytes * items // 7

    def check_items(self, items: int, item_bytes: int = ITEM_BYTES, advice: str = SPLIT) -> None:
        """Refuse more items than fit; `advice` says what helps besides more memory."""
        if items > MOST_ITEMS:
            raise ResourceError(f"{items:,} items are more than {MOST_ITEMS:,}; {advice}")
        if not self.fits(items, item_bytes):
            needed = self._needed(items, item_bytes)
            raise ResourceError(
                f"{items:,} items need {needed / 2**30:.1f} GiB; --memory is {self.total_bytes / 2**30:.1f} GiB. "
                f"Increase it, or {advice}"
            )

    def joining_ranges(self, items: int, threads: int, item_bytes: int = ITEM_BYTES) -> int:
        """The number of key ranges to split each band into, so that every thread can hold one in memory."""
        free = self.total_bytes - BASE_BYTES - item_bytes * items
        return max(1, -(-JOIN_BYTES * items * threads // max(free, self.least_join_bytes)))
