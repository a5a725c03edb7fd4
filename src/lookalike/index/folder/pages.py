"""How much of the mapped files of an index stays in memory. What the files hold is of no concern here."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

READ_BYTES = 1 << 16
"""What becomes part of the memory with a page that is read: the system maps its neighbours as well."""
UNSEEN = 8
"""The share of the limit that may be read before the system is asked how much is mapped, which takes a while."""
_STATM = Path("/proc/self/statm")


class Mapped(Protocol):
    """A file that is mapped into memory."""

    nbytes: int

    def release(self) -> None:
        """Let go of the pages that were read; they are read again when they are needed."""


class Pages:
    """The pages of some files: beyond a limit, all of them are let go.

    A page that was read counts as memory of the process as long as it is mapped. To let go of it is cheap, and to read
    it again as well, as long as the system keeps the file in its cache.

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
        """Another file."""
        self._files.add(file)
        self._counted = -1

    @property
    def plenty(self) -> bool:
        """Whether all files fit, so that nothing has to go."""
        count = len(self._files)
        if count != self._counted:
            self._counted, self._total = count, sum(file.nbytes for file in tuple(self._files))
        return self._total <= self.limit

    def at_once(self, reads: int) -> int:
        """How many items may be asked before the next `trim`, if each reads so many places at random."""
        return self.limit // (reads * READ_BYTES)

    def fit(self, places: int) -> bool:
        """Whether so many places can be read at random without a `trim` in between."""
        return self.plenty or places * READ_BYTES <= self.limit // UNSEEN

    def trim(self, places: int | None = None) -> None:
        """Let go of everything if it has become too much; called before more is read.

        If it is known how many places are read, the system is asked only when all since the last time may be many.
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
    """How much of all mapped files is in memory; None if the system does not say, as Linux does."""
    try:
        return int(_STATM.read_bytes().split()[2]) * mmap.PAGESIZE
    except OSError:
        return None


def release(mapped: mmap.mmap) -> None:
    """Let go of the pages of a mapped file, where the system can."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
