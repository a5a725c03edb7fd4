"""The sets of the candidates, by block: in memory if there is one block, otherwise in the work folder.

Sets arrive in input order. They are written piece by piece, grouped by block within a piece, and a block is read back
whole. A piece ends when one is due, so that a resumed run need not read all items again. The sets of a single block are
written only for that reason; once some of them are, all are.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Int32, Int64, Sets, UInt64, to_arrow, to_numpy
from lookalike.types import compute as pc

_SCHEMA = pa.schema([("set", pa.large_list(pa.uint64())), ("item", pa.int64()), ("block", pa.int32())])


class WrittenBatch(NamedTuple):
    """A batch of a piece: sets of one block, and the number of their elements."""

    block: int
    elements: int


class SetStore:
    """Sets by block. Sets that a killed run has saved need not be added again.

    Parameters
    ----------
    name
        The prefix of its pieces in the work folder.
    work
        Where sets are written: always if there are several blocks, otherwise only in a long run.
    buffer_bytes
        Sets are written in batches of this size, since many small writes would be slow.
    most_elements
        How many elements the sets of one block can have at most. They are then copied to their place at once, since
        copying all of them in the end would take twice the memory; without it they are copied in the end.

    Examples
    --------
    >>> store = SetStore(1, "sets")
    >>> with store:
    ...     sets = Sets(np.array([0, 2, 3]), np.array([5, 7, 9], np.uint64))
    ...     store.add(sets, np.zeros(2, np.int32), np.array([0, 4]))
    >>> store.read(0)[1].tolist()
    [9]
    """

    def __init__(
        self,
        blocks: int,
        name: str,
        work: WorkFolder | None = None,
        buffer_bytes: int = 32 << 20,
        most_elements: int = 0,
    ) -> None:
        self._spilling = blocks > 1 and work is not None
        self._prefix, self._work, self._buffer_bytes = name, work, buffer_bytes
        self._waiting: list[tuple[Sets, Int32, Int64]] = []
        self._waiting_bytes = 0
        # memory that nothing is written to costs nothing
        self._space = np.empty(most_elements if blocks == 1 else 0, np.uint64)
        """Where the elements of the sets that wait lie one after the other, if they fit."""
        self._pieces: dict[str, list[WrittenBatch]] = {}
        """By name, the batches of a piece."""
        self._written: list[WrittenBatch] = []
        """Those of the piece that is being written."""
        self._by_block: dict[int, list[tuple[str, int]]] = {}
        """Where the sets of a block are, once all are written."""
        self._readers: dict[str, pa.ipc.RecordBatchFileReader] = {}
        self._open_pieces = ExitStack()
        self.reads: dict[int, int] = {}
        """How often each block was read from its pieces."""
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._stack = ExitStack()
        self.reached = 0
        """The sets of all items before this one are there."""
        self._take_over()

    def _take_over(self) -> None:
        """Reuse the pieces of a killed run, up to the first that is missing."""
        while self._work is not None and self._work.has(name := self._name()):
            table = self._work.load(name)
            self.reached = max(self.reached, int(to_numpy(table.column("item")).max(initial=-1)) + 1)
            lists = table.column("set").chunks
            blocks = [chunk[0].as_py() for chunk in table.column("block").chunks]
            self._pieces[name] = [WrittenBatch(block, len(one.values)) for block, one in zip(blocks, lists)]

    def _name(self) -> str:
        return f"{self._prefix}-{len(self._pieces):05}.arrow"

    def __enter__(self) -> SetStore:
        return self

    def __exit__(self, *problem: object) -> None:
        if problem[0] is None and (self._spilling or self._pieces):
            self._save()
        self._writer = None
        self._stack.__exit__(*problem)  # type: ignore[arg-type]

    def add(self, sets: Sets, blocks: Int32, items: Int64) -> None:
        """Add the sets of some items (ascending), each to its block."""
        self._waiting.append((self._placed(sets), blocks, items))
        self._waiting_bytes += sets.elements.nbytes
        if self._work is not None and self._work.due:
            self._save()
        elif self._spilling and self._waiting_bytes > self._buffer_bytes:
            self._hand_over()

    def _placed(self, sets: Sets) -> Sets:
        """The same sets in their final place, if there is one."""
        start = self._waiting_bytes // 8
        place = self._space[start : start + len(sets.elements)]
        if len(place) < len(sets.elements):
            return sets
        place[:] = sets.elements
        return Sets(sets.indptr, place)

    def _save(self) -> None:
        """Complete a piece."""
        self._hand_over()
        if self._writer is not None:
            self._stack.close()
            self._pieces[self._name()] = self._written
            self._writer, self._written = None, []

    def _hand_over(self) -> None:
        """Write the buffered sets, block by block."""
        if not self._waiting:
            return
        sets = self._joined()
        blocks, items = (np.concatenate([one[k] for one in self._waiting]) for k in (1, 2))
        self._waiting, self._waiting_bytes = [], 0
        lists = pa.LargeListArray.from_arrays(to_arrow(sets.indptr), to_arrow(sets.elements))
        whole = pa.record_batch([lists, to_arrow(items.astype(np.int64)), to_arrow(blocks.astype(np.int32))], _SCHEMA)
        by_block = np.argsort(blocks, kind="stable")
        ends = np.flatnonzero(np.diff(blocks[by_block], append=-1)) + 1
        for first, last in zip([0, *ends[:-1].tolist()], ends.tolist()):
            self._open().write(whole if last - first == len(items) else pc.take(whole, to_arrow(by_block[first:last])))
            elements = int(sets.sizes[by_block[first:last]].sum())
            self._written.append(WrittenBatch(int(blocks[by_block[first]]), elements))

    def _open(self) -> pa.ipc.RecordBatchFileWriter:
        if self._writer is None:
            assert self._work is not None
            self._writer = self._stack.enter_context(self._work.writing(self._name(), _SCHEMA))
        return self._writer

    def read(self, block: int, space: UInt64 | None = None) -> Sets:
        """The sets of a block, in the order in which they were added; written sets are read into `space` if given."""
        if not self._pieces:
            sets = self._joined()
            self._waiting = [(sets, np.zeros(len(sets), np.int32), np.zeros(len(sets), np.int64))]
            return sets
        self.reads[block] = self.reads.get(block, 0) + 1
        if space is None:
            space = np.empty(self.count_elements(block), np.uint64)
        sizes, filled = [np.zeros(1, np.int64)], 0
        for name, number in self._batches_of(block):
            lists = self._reader(name).get_batch(number).column(0)
            elements = to_numpy(lists.values)
            space[filled : filled + len(elements)] = elements
            sizes.append(np.diff(to_numpy(lists.offsets)))
            filled += len(elements)
        return Sets(np.cumsum(np.concatenate(sizes)), space[:filled])

    def count_elements(self, block: int) -> int:
        """The number of elements in the sets of a block that were written."""
        return sum(self._pieces[name][number].elements for name, number in self._batches_of(block))

    def _batches_of(self, block: int) -> list[tuple[str, int]]:
        """The pieces, and numbers of their batches, with the sets of a block."""
        if not self._by_block:
            for name, batches in self._pieces.items():
                for number, batch in enumerate(batches):
                    self._by_block.setdefault(batch.block, []).append((name, number))
        return self._by_block.get(block, [])

    def _reader(self, name: str) -> pa.ipc.RecordBatchFileReader:
        """A piece, opened once: its list of batches is long."""
        if name not in self._readers:
            assert self._work is not None
            file = self._open_pieces.enter_context(pa.OSFile(str(self._work.folder / name), "rb"))
            self._readers[name] = pa.ipc.open_file(file)
        return self._readers[name]

    def _joined(self) -> Sets:
        """The sets that wait, one after the other."""
        parts = [sets for sets, _, _ in self._waiting]
        if not self._waiting_bytes or self._waiting_bytes > self._space.nbytes:
            return Sets.joined(parts)
        sizes = np.concatenate([part.sizes for part in parts])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return Sets(indptr, self._space[: self._waiting_bytes // 8])

    def clear(self) -> None:
        """Delete all sets."""
        self._waiting, self._space = [], np.empty(0, np.uint64)
        self._readers = {}
        self._open_pieces.close()
        for name in self._pieces:
            assert self._work is not None
            self._work.drop(name)
        self._pieces, self._by_block = {}, {}
