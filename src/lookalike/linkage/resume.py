"""Resuming a linking run: candidate pairs and their levels of agreement are saved in case the run is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.linkage.blocking.budget import HashReport, PairCollector
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.types import Int8, Span, to_arrow, to_numpy

STRETCH = 1 << 21
"""Pairs that are compared between two checks whether a piece is due."""
CANDIDATES = "candidates.arrow"
STEPS = "step"


class LinkPieces:
    """The pieces of a run in its work folder. Without a folder, or in a short run, nothing is saved."""

    def __init__(self, work: WorkFolder | None = None, stretch: int = STRETCH) -> None:
        self._work, self._stretch = work, stretch

    def candidates(self, find: Callable[[], CandidatePairs]) -> CandidatePairs:
        """The candidate pairs of the killed run, or those that `find` returns."""
        work = self._work
        if work is not None and work.has(CANDIDATES):
            return _from_table(work.load(CANDIDATES))
        found = find()
        if work is not None and work.wanted:
            work.save(CANDIDATES, _to_table(found))
            work.drop_all(STEPS)
        return found

    def resume(self, collector: PairCollector) -> int:
        """Give the collector the pairs that a killed run has found; return how many steps they took."""
        steps = [] if self._work is None else [name for name in self._work.reused if name.startswith(STEPS)]
        if self._work is None or not steps:
            return 0
        table = self._work.load(steps[-1])
        details = json.loads(table.schema.metadata[b"details"])
        collector.restore(to_numpy(table.column(0)), [HashReport(**one) for one in details["report"]])
        return int(details["step"]) + 1

    def done(self, step: int, collector: PairCollector) -> None:
        """Save the pairs found so far, replacing those of an earlier step."""
        if self._work is None or not self._work.due:
            return
        name = f"{STEPS}-{step:05}.arrow"
        details = {"step": step, "report": [asdict(one) for one in collector.reports]}
        table = pa.table({"words": to_arrow(collector.words[: collector.filled])})
        self._work.save(name, table.replace_schema_metadata({"details": json.dumps(details)}))
        self._work.drop_all(STEPS, but=name)

    def levels(self, place: int, levels: Int8, compare: Callable[[Span], object]) -> None:
        """Fill in the levels of all pairs in a field (by number): from the killed run, and by `compare`."""
        work, pieces, done = self._work, 0, 0
        while work is not None and work.has(name := f"levels-{place}-{pieces:05}.arrow"):
            known = to_numpy(work.load(name).column(0))
            levels[done : done + len(known)] = known
            pieces, done = pieces + 1, done + len(known)
        saved = done
        while done < len(levels):
            start, done = done, min(done + self._stretch, len(levels))
            compare((start, done))
            if work is not None and (work.wanted if done == len(levels) else work.due):
                some = levels[saved:done]
                work.save(f"levels-{place}-{pieces:05}.arrow", pa.table({"levels": to_arrow(some)}))
                pieces, saved = pieces + 1, done


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
