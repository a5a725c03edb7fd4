"""Resuming a linking run: candidate pairs and their levels of agreement, kept for a run that is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.linkage.blocking.budget import HashReport
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.types import Int8, to_arrow, to_numpy

LEAST = 1 << 22
"""Fewer pairs are not kept: finding them again is as fast as reading them."""
CANDIDATES = "candidates.arrow"


class LinkPieces:
    """The pieces of a run in its work folder. Without a folder, or with few pairs, nothing is kept."""

    def __init__(self, work: WorkFolder | None = None) -> None:
        self._work = work

    def candidates(self, find: Callable[[], CandidatePairs]) -> CandidatePairs:
        """The candidate pairs of the killed run, or those that `find` returns."""
        if self._work is not None and self._work.has(CANDIDATES):
            return _from_table(self._work.load(CANDIDATES))
        found = find()
        if self._work is not None and len(found) >= LEAST:
            self._work.save(CANDIDATES, _to_table(found))
        return found

    def levels(self, place: int, levels: Int8, compare: Callable[[], object]) -> None:
        """Fill in the levels of all pairs in a field (by number): from the killed run, or by `compare`."""
        name = f"levels-{place}.arrow"
        if self._work is not None and self._work.has(name):
            levels[:] = to_numpy(self._work.load(name).column(0).combine_chunks())
            return
        compare()
        if self._work is not None and len(levels) >= LEAST:
            self._work.save(name, pa.table({"levels": to_arrow(levels)}))


def _to_table(found: CandidatePairs) -> pa.Table:
    details = {"report": [asdict(one) for one in found.report], "fields": found.fields}
    pairs = {"left": to_arrow(found.left), "right": to_arrow(found.right), "groups": to_arrow(found.groups)}
    return pa.table(pairs).replace_schema_metadata({"details": json.dumps(details)})


def _from_table(table: pa.Table) -> CandidatePairs:
    details = json.loads(table.schema.metadata[b"details"])
    # Copied, because kernels are compiled for writable arrays.
    left, right, groups = (np.array(to_numpy(table.column(name).combine_chunks())) for name in table.column_names)
    first, second = details["fields"]
    return CandidatePairs(left, right, groups, [HashReport(**one) for one in details["report"]], (first, second))
