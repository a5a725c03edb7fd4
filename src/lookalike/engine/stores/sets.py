"""The sets of the candidates, in blocks: in memory where there is one block, otherwise each a piece in the work folder.

Sets come in input order and are handed to their blocks; a block is read back whole.
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Int32, Sets, to_arrow, to_numpy

_SCHEMA = pa.schema([("set", pa.large_list(pa.uint64()))])


class SetStore:
    """Sets by block. Blocks that a killed run completed need not be filled again.

    Parameters
    ----------
    name
        The prefix of its pieces in the work folder.
    buffer_bytes
        Sets are written in batches of this size: many small writes would be slow.

    Examples
    --------
    >>> store = SetStore(1, "sets")
    >>> with store:
    ...     store.add(Sets(np.array([0, 2, 3]), np.array([5, 7, 9], np.uint64)), np.zeros(2, np.int32))
    >>> store.read(0)[1].tolist()
    [9]
    """

    def __init__(self, blocks: int, name: str, work: WorkFolder | None = None, buffer_bytes: int = 32 << 20) -> None:
        self._blocks, self._prefix, self._work, self._buffer_bytes = blocks, name, work, buffer_bytes
        self._waiting: list[tuple[Sets, Int32]] = []
        self._waiting_bytes = 0
        self._open: dict[int, pa.ipc.RecordBatchFileWriter] = {}
        self._stack = ExitStack()

    def _name(self, block: int) -> str:
        return f"{self._prefix}-{block:05}.arrow"

    def has(self, block: int) -> bool:
        """Whether this block is complete."""
        return self._work is not None and self._work.has(self._name(block))

    def __enter__(self) -> SetStore:
        """Start filling; complete blocks are left as they are."""
        if self._work is not None:
            for block in range(self._blocks):
                if not self.has(block):
                    writing = self._work.writing(self._name(block), _SCHEMA)
                    self._open[block] = self._stack.enter_context(writing)
        return self

    def __exit__(self, *problem: object) -> None:
        if problem[0] is None and self._work is not None:
            self._hand_over()
        self._open = {}
        self._stack.__exit__(*problem)  # type: ignore[arg-type]

    def add(self, sets: Sets, blocks: Int32) -> None:
        """Add sets, each to its block."""
        self._waiting.append((sets, blocks))
        self._waiting_bytes += sets.elements.nbytes
        if self._work is not None and self._waiting_bytes > self._buffer_bytes:
            self._hand_over()

    def _hand_over(self) -> None:
        """Write the buffered sets, block by block."""
        sets = Sets.joined([sets for sets, _ in self._waiting])
        blocks = np.concatenate([np.empty(0, np.int32), *(blocks for _, blocks in self._waiting)])
        self._waiting, self._waiting_bytes = [], 0
        lists = pa.LargeListArray.from_arrays(to_arrow(sets.indptr), to_arrow(sets.elements))
        by_block = np.argsort(blocks, kind="stable")
        ends = np.flatnonzero(np.diff(blocks[by_block], append=-1)) + 1
        for first, last in zip([0, *ends[:-1].tolist()], ends.tolist()):
            writer = self._open.get(int(blocks[by_block[first]]))
            if writer is not None:
                writer.write(pa.record_batch([lists.take(to_arrow(by_block[first:last]))], _SCHEMA))

    def read(self, block: int) -> Sets:
        """The sets of a block, in the order in which they were added."""
        if self._work is None:
            sets = Sets.joined([sets for sets, _ in self._waiting])
            self._waiting = [(sets, np.zeros(len(sets), np.int32))]
            return sets
        parts: list[Sets] = []
        with pa.OSFile(str(self._work.folder / self._name(block)), "rb") as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                lists = reader.get_batch(number).column(0)
                parts.append(Sets(to_numpy(lists.offsets), to_numpy(lists.values)))
        return Sets.joined(parts)

    def drop(self, block: int) -> None:
        """Delete a block."""
        if self._work is not None:
            self._work.drop(self._name(block))
