"""What a killed linking run leaves for the next: its candidate pairs, and how well they agree in each field."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.linkage.blocking.budget import HashReport
from lookalike.linkage.blocking.find import Blocked
from lookalike.types import Int8, to_arrow, to_numpy

LEAST = 1 << 22
"""Fewer pairs are found again as fast as they are read."""
CANDIDATES = "candidates.arrow"


class LinkPieces:
    """Pieces of a run in its work folder; without one, or with few pairs, nothing is kept."""

    def __init__(self, work: WorkFolder | None = None) -> None:
        self._work = work

    def _has(self, name: str) -> bool:
        return self._work is not None and self._work.has(name)

    def candidates(self, find: Callable[[], Blocked]) -> Blocked:
        """The candidate pairs of the killed run, or else those that are found."""
        if self._work is not None and self._has(CANDIDATES):
            return _load(self._work.load(CANDIDATES))
        found = find()
        if self._work is not None and len(found) >= LEAST:
            self._work.save(CANDIDATES, _stored(found))
        return found

    def levels(self, place: int, levels: Int8, compare: Callable[[], object]) -> None:
        """Fill in the levels of a field (its place) for all pairs: from the killed run, or by comparing."""
        name = f"levels-{place}.arrow"
        if self._work is not None and self._has(name):
            levels[:] = to_numpy(self._work.load(name).column(0).combine_chunks())
            return
        compare()
        if self._work is not None and len(levels) >= LEAST:
            self._work.save(name, pa.table({"levels": to_arrow(levels)}))


def _stored(found: Blocked) -> pa.Table:
    told = {"report": [asdict(one) for one in found.report], "fields": found.fields}
    pairs = {"left": to_arrow(found.left), "right": to_arrow(found.right), "groups": to_arrow(found.groups)}
    return pa.table(pairs).replace_schema_metadata({"told": json.dumps(told)})


def _load(table: pa.Table) -> Blocked:
    told = json.loads(table.schema.metadata[b"told"])
    # Copied: kernels are compiled for arrays that can be written.
    left, right, groups = (np.array(to_numpy(table.column(name).combine_chunks())) for name in table.column_names)
    first, second = told["fields"]
    return Blocked(left, right, groups, [HashReport(**one) for one in told["report"]], (first, second))
