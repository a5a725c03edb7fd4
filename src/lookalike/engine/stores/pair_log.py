"""Pairs of sets, in the order in which a join finds them; saved when a piece is due.

A join processes its sets (or blocks of vectors) in order. A resumed join continues after the last one it *reached*.
"""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Int32, to_arrow, to_numpy


class PairLog:
    """The pairs found so far, and how far the join has got.

    Examples
    --------
    >>> log = PairLog(None, "pairs")
    >>> log.add(np.array([[0, 1], [0, 4]], np.int32), 5)
    >>> log.reached, log.pairs().tolist()
    (5, [0, 1, 0, 4])
    """

    def __init__(self, work: WorkFolder | None, name: str) -> None:
        self._work, self._prefix = work, name
        self._parts: list[npt.NDArray[np.int32]] = [np.empty((0, 2), np.int32)]
        self._unsaved = 1
        """The first of the parts that are not saved."""
        self._pieces = 0
        self.reached = 0
        while work is not None and work.has(self._name()):
            table = work.load(self._name())
            self.reached = json.loads(table.schema.metadata[b"reached"])
            self._parts.append(np.stack([to_numpy(column) for column in table.columns], axis=1))
            self._pieces, self._unsaved = self._pieces + 1, len(self._parts)

    def _name(self) -> str:
        return f"{self._prefix}-{self._pieces:05}.arrow"

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, pairs: npt.NDArray[np.int32], reached: int) -> None:
        """Add pairs (int32[pairs, 2]), and record how far the join has got."""
        self._parts.append(pairs)
        self.reached = reached
        if self._work is not None and self._work.due:
            left, right = np.concatenate(self._parts[self._unsaved :]).T
            table = pa.table({"left": to_arrow(left), "right": to_arrow(right)})
            self._work.save(self._name(), table.replace_schema_metadata({"reached": json.dumps(reached)}))
            self._pieces, self._unsaved = self._pieces + 1, len(self._parts)

    def pairs(self) -> Int32:
        """All pairs, concatenated."""
        return np.concatenate(self._parts).ravel()
