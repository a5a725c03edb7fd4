"""Limit how much of the mapped files of an index stays in memory. Does not know what the files contain."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

READ_BYTES = 1 << 16
"""How much memory a read takes: the system maps the neighbouring pages as well."""
UNSEEN = 8
"""The share of the limit that may be read before the system is asked how much is mapped, which takes a while."""
_STATM = Path("/proc/self/statm")


class Mapped(Protocol):
    """A file that is mapped into memory."""

    nbytes: int

    def release(self) -> None:
        """Free the pages that were read; they are read again when needed."""


class Pages:
    """The pages of some files: beyond a limit, all of them are freed.

    A page that was read counts as memory of the process while it is mapped. Freeing it is cheap, and so is reading it
    again while the system has the file in its cache.

    Examples
    --------
    >>> Pages(1 << 20).plenty
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._files: WeakSet[Mapped] = WeakSet()
        self._counted = self._total = self._unseen = 0
        self._base = _mapped_bytes()

    def add(self, file: Mapped) -> None:
        """Add a file."""
        self._files.add(file)
        self._counted = -1

    @property
    def plenty(self) -> bool:
        """Whether all files fit, so that nothing has to be freed."""
        count = len(self._files)
        if count != self._counted:
            self._counted, self._total = count, sum(file.nbytes for file in tuple(self._files))
        return self._total <= self.limit

    def at_once(self, reads: int) -> int:
        """How many items may be queried before the next `trim`, if each reads this many random places."""
        return self.limit // (reads * READ_BYTES)

    def fit(self, places: int) -> bool:
        """Whether this many random places can be read without a `trim` in between."""
        return self.plenty or places * READ_BYTES <= self.limit // UNSEEN

    def trim(self, places: int | None = None) -> None:
        """Free everything if too much is in memory; called before more is read.

        If the number of places to be read is known, the system is asked for the actual size only when the reads since
        the last time may have been many.
        """
        if self.plenty:
            return
        self._unseen += self.limit if places is None else places * READ_BYTES
        if self._unseen <= self.limit // UNSEEN:
            return
        self._unseen = 0
        now = _mapped_bytes()
        if now is None or self._base is None or now - self._base > self.limit:
            for file in tuple(self._files):
                file.release()


def _mapped_bytes() -> int | None:
    """How much of all mapped files is in memory; None on systems that do not report it (Linux does)."""
    try:
        return int(_STATM.read_bytes().split()[2]) * mmap.PAGESIZE
    except OSError:
        return None


def release(mapped: mmap.mmap) -> None:
    """Free the pages of a mapped file, if the system supports it."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
