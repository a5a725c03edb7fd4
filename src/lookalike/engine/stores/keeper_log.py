"""The keepers of sets, in the order in which they are decided; saved when a piece is due."""

from __future__ import annotations

import json

import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Int32, Int64, to_arrow, to_numpy


class KeeperLog:
    """The decisions about the sets of a part, from the first on. Each piece continues the previous one."""

    def __init__(self, work: WorkFolder, name: str) -> None:
        self._work, self._prefix = work, name
        self._pieces = self._saved = 0

    def _name(self) -> str:
        return f"{self._prefix}-{self._pieces:05}.arrow"

    def restore(self, keeper: Int32, overlaps: Int32, counts: Int64) -> int:
        """Fill in the decisions of a killed run; return the first set that it has not decided."""
        while self._work.has(self._name()):
            table = self._work.load(self._name())
            some = slice(self._saved, self._saved + table.num_rows)
            keeper[some], overlaps[some] = (to_numpy(column) for column in table.columns)
            counts[:] = json.loads(table.schema.metadata[b"counts"])
            self._pieces, self._saved = self._pieces + 1, some.stop
        return self._saved

    def note(self, reached: int, keeper: Int32, overlaps: Int32, counts: Int64) -> None:
        """Record that the sets before `reached` are decided."""
        if not self._work.due:
            return
        columns = [to_arrow(one[self._saved : reached]) for one in (keeper, overlaps)]
        table = pa.table(columns, ["keeper", "overlap"])
        self._work.save(self._name(), table.replace_schema_metadata({"counts": json.dumps(counts.tolist())}))
        self._pieces, self._saved = self._pieces + 1, reached
