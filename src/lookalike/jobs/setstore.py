"""The sets of the candidates: in memory where they fit, otherwise in a file that is read in one go per batch."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import IO

import numpy as np

from lookalike.types import Bool, Int64, Sets, UInt64

READ_ELEMENTS = 4 << 20
"""Elements that are read from the file at a time."""


class SetStore:
    """Sets are added in order and read back, all or some of them.

    Examples
    --------
    >>> store = SetStore(limit=1 << 20)
    >>> store.add(Sets(np.array([0, 2, 3]), np.array([5, 7, 9], np.uint64)))
    >>> store.read(np.array([False, True])).elements.tolist()
    [9]
    """

    def __init__(self, limit: int, folder: Path | None = None) -> None:
        self._limit = limit
        self._folder = folder
        self._parts: list[UInt64] = []
        self._bytes = 0
        self._sizes: list[Int64] = []
        self._file: IO[bytes] | None = None

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return np.concatenate([np.empty(0, np.int64), *self._sizes])

    def add(self, sets: Sets) -> None:
        """Take in further sets."""
        self._sizes.append(sets.sizes)
        self._bytes += sets.elements.nbytes
        self._parts.append(sets.elements)
        if self._bytes > self._limit or self._file:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            if self._folder is not None:
                self._folder.mkdir(parents=True, exist_ok=True)
            # without a name: it goes with the process, however that ends
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        for part in self._parts:
            self._file.write(part.data)  # tofile would hide why it failed
        self._file.flush()
        self._parts = []

    def read(self, chosen: Bool) -> Sets:
        """The chosen sets, in order."""
        sizes = self.sizes
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[chosen])])
        if self._file is None:
            elements = np.concatenate([np.empty(0, np.uint64), *self._parts])
            self._parts = [elements]
            return Sets(indptr, elements if chosen.all() else elements[np.repeat(chosen, sizes)])
        found = np.empty(int(indptr[-1]), np.uint64)
        ends = np.cumsum(sizes)
        first = filled = 0
        self._file.seek(0)
        while first < len(sizes):
            start = int(ends[first] - sizes[first])
            last = max(first + 1, int(np.searchsorted(ends, start + READ_ELEMENTS, side="right")))
            elements = np.fromfile(self._file, np.uint64, int(ends[last - 1]) - start)
            wanted = elements[np.repeat(chosen[first:last], sizes[first:last])]
            found[filled : filled + len(wanted)] = wanted
            filled += len(wanted)
            first = last
        return Sets(indptr, found)
