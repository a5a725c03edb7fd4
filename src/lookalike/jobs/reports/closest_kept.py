"""The pairs of kept items that came closest to the threshold, from the pair graph of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.engine.corpus import lay_out
from lookalike.engine.settings import settings_of_run
from lookalike.engine.stores.digests import BlockRecord
from lookalike.errors import LookalikeError
from lookalike.jobs.dedup_again import SavedGraph
from lookalike.jobs.run_inputs import RunInputs
from lookalike.matching.near_misses import NEAR_FROM
from lookalike.matching.pair_graph import FOLDER, NEAR
from lookalike.report.shown import ShownItem, ShownPair

_NO_GRAPH = "Not known: the run saved no pair graph. Runs on vectors, with an index or with --from save none."


def find_closest(out: Path, run: Mapping[str, Any], inputs: RunInputs, shown: int) -> tuple[list[ShownPair], str]:
    """The closest pairs, and if there are none, why."""
    if not (out / FOLDER).is_dir():
        return [], _NO_GRAPH
    try:
        saved = SavedGraph.load(out, run.get(FOLDER))
        measure = settings_of_run(run["options"]).matching.measure
    except LookalikeError:
        return [], f"Not known: the files in {FOLDER}/ are not as the run left them."
    if NEAR_FROM not in saved.known:
        return [], "Not known: runs of this version of lookalike did not save them."
    if run["options"]["policy"] == "connected":
        return [], "Not known: they are not collected with --policy connected."
    if run["options"]["method"] == "exact":
        return [], "Not known: the exact method only looks at pairs that reach the threshold. --method lsh saves them."
    left, right, overlaps = (numbers[:shown] for numbers in saved.rows(NEAR))
    if not len(left):
        floor = f"{saved.known[NEAR_FROM]:.3g}"
        return [], f"Of the kept items that were compared, no two have a {measure.column} of {floor} or more."
    sizes = saved.sizes(int(_starts(saved)[-1])).astype(np.int64)
    values = measure.of_overlaps(overlaps.astype(np.int64), sizes[left], sizes[right]).tolist()
    sides = [_items(saved, inputs, numbers.astype(np.int64)) for numbers in (left, right)]
    return [ShownPair(one, other, value) for one, other, value in zip(*sides, values)], ""


def _starts(saved: SavedGraph) -> Any:
    blocks = [BlockRecord(*record) for record in saved.known["blocks"]]
    return lay_out(len(saved.known["empty"]), blocks)[0]


def _items(saved: SavedGraph, inputs: RunInputs, items: Any) -> list[ShownItem]:
    """Items with their ids, and their places if all inputs are as they were."""
    starts = _starts(saved)
    shown = []
    for number, name in zip(items.tolist(), saved.ids(items).to_pylist()):
        owner = int(np.searchsorted(starts, number, side="right")) - 1
        file, row = inputs.locate(owner, number - int(starts[owner]))
        shown.append(ShownItem(name, file, row))
    return shown
