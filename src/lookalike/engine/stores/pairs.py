"""Any number of pairs: in memory while there are few, then on disk. They are read back in order.

A pair takes 16 bytes. Pairs are partitioned by ranges of the left item; a partition is sorted when it is read.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.kernels.pairs import order_rows
from lookalike.kernels.unionfind import flatten, unite
from lookalike.types import TEMPORARY, Int32
from lookalike.write import disk_errors

PAIR = np.dtype([("left", "<i4"), ("right", "<i4"), ("similarity", "<f8")])
PARTITIONS = 64
Rows = npt.NDArray[Any]
"""An array of PAIR."""


class Connected:
    """Which items pairs connect, whatever their order.

    Examples
    --------
    >>> connected = Connected(9)
    >>> connected.add(np.array([(5, 6, 0.9), (1, 7, 0.8), (6, 1, 0.8), (2, 3, 1.0)], PAIR))
    >>> connected.largest()
    (4, 6)
    """

    def __init__(self, items: int) -> None:
        self._parent = np.arange(items, dtype=np.int32)

    def add(self, rows: Rows) -> None:
        """Add pairs."""
        left, right = (np.ascontiguousarray(rows[side]) for side in ("left", "right"))
        unite(self._parent, left, right, np.empty(len(rows), np.bool_))

    def largest(self) -> tuple[int, int]:
        """The items of the largest component, and those of all."""
        flatten(self._parent)
        sizes = np.bincount(self._parent, minlength=1)
        return int(sizes.max()), int(sizes[sizes > 1].sum())


class PairStore:
    """Takes pairs in any order and returns them by left, then right.

    Parameters
    ----------
    items
        An upper bound (exclusive) on the numbers of left items.
    limit
        How many bytes of pairs may be kept in memory.
    repeated
        Whether pairs may be added more than once; each is returned once.
    connected
        Receives all pairs as well.

    Examples
    --------
    >>> store = PairStore(10, 1 << 20)
    >>> store.add(np.array([(5, 6, 0.9), (1, 7, 0.8)], PAIR))
    >>> [rows["left"].tolist() for rows in store.sorted()], len(store)
    ([[1, 5]], 2)
    """

    def __init__(
        self, items: int, limit: int, folder: Path | None = None, repeated: bool = False,
        connected: Connected | None = None,
    ) -> None:  # fmt: skip
        self._items, self._limit, self._folder, self._repeated = max(1, items), limit, folder, repeated
        self.connected = connected
        self._held: list[Rows] = []
        self._held_bytes = 0
        self._spilled: Path | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Rows) -> None:
        """Add pairs."""
        if self.connected is not None:
            self.connected.add(rows)
        self._count += len(rows)
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        if self._held_bytes > self._limit // 2:
            if self._repeated:
                self._hold([self._sorted(_joined(self._held))])
            if self._held_bytes > self._limit // (4 if self._repeated else 2):
                self._spill()

    def _hold(self, rows: list[Rows]) -> None:
        self._held, self._held_bytes = rows, sum(some.nbytes for some in rows)

    def settle(self) -> None:
        """Finish adding: count repeated pairs once."""
        if not self._repeated:
            return
        if self._spilled is None:
            self._hold([self._sorted(_joined(self._held))])
        self._count = sum(map(len, self.sorted()))

    def _sorted(self, rows: Rows) -> Rows:
        """Sort by left, then right, and drop repeated pairs."""
        words = np.ascontiguousarray(rows).view(np.int32).reshape(-1, PAIR.itemsize // 4)
        if len(rows) * 8 >= self._items:
            words = _by_column(_by_column(words, 1), 0)
        else:
            words = words[np.lexsort((words[:, 1], words[:, 0]))]
        if self._repeated and len(words):
            words = words[np.concatenate([[True], (words[1:, :2] != words[:-1, :2]).any(axis=1)])]
        return np.ascontiguousarray(words).view(PAIR).reshape(-1)

    def _spill(self) -> None:
        if self._spilled is None:
            self._spilled = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}pairs-", dir=self._folder))
            weakref.finalize(self, shutil.rmtree, self._spilled, ignore_errors=True)
        rows = _joined(self._held)
        self._hold([])
        partition = rows["left"].astype(np.int64) * PARTITIONS // self._items
        by_partition = np.argsort(partition, kind="stable")
        ends = np.cumsum(np.bincount(partition, minlength=PARTITIONS))
        with disk_errors(self._spilled):
            for number, (first, last) in enumerate(zip([0, *ends[:-1]], ends)):
                if first < last:
                    with (self._spilled / str(number)).open("ab") as file:
                        file.write(rows[by_partition[first:last]].tobytes())

    def sorted(self) -> Iterator[Rows]:
        """All pairs in order, in batches."""
        if self._spilled is None:
            if self._held:
                yield self._sorted(_joined(self._held))
            return
        self._spill()
        for number in range(PARTITIONS):
            path = self._spilled / str(number)
            if path.exists():
                low = -(-self._items * number // PARTITIONS)
                high = -(-self._items * (number + 1) // PARTITIONS)
                yield from self._sorted_part(path, low, high)

    def _sorted_part(self, path: Path, low: int, high: int) -> Iterator[Rows]:
        """The pairs of a partition whose left item is in low..high-1; the range is halved until they fit."""
        chunk = max(1, self._limit // (4 * PAIR.itemsize))
        if path.stat().st_size <= self._limit // 2 or high - low == 1:
            yield self._sorted(_between(path, low, high, chunk))
            return
        count = sum(int(np.count_nonzero(_inside(rows, low, high))) for rows in _chunks(path, chunk))
        if count * PAIR.itemsize <= self._limit // 2:
            yield self._sorted(_between(path, low, high, chunk))
            return
        middle = (low + high) // 2
        yield from self._sorted_part(path, low, middle)
        yield from self._sorted_part(path, middle, high)


def _joined(parts: list[Rows]) -> Rows:
    """All rows in one array, copied as plain 16-byte values: NumPy would copy structures field by field."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.empty(0, np.complex128), *(rows.view(np.complex128) for rows in parts)]).view(PAIR)


def _by_column(words: Int32, column: int) -> Int32:
    """Rows of four words, sorted (stably) by one of the first two."""
    ordered = np.empty_like(words)
    order_rows(words, column, int(words[:, column].max(initial=0)), ordered)
    return ordered


def _chunks(path: Path, rows: int) -> Iterator[Rows]:
    with path.open("rb") as file:
        while len(found := np.fromfile(file, PAIR, rows)):
            yield found


def _inside(rows: Rows, low: int, high: int) -> npt.NDArray[np.bool_]:
    return (rows["left"] >= low) & (rows["left"] < high)


def _between(path: Path, low: int, high: int, chunk: int) -> Rows:
    return _joined([rows[_inside(rows, low, high)] for rows in _chunks(path, chunk)])
