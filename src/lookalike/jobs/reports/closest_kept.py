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
from lookalike.jobs.reports.closest_sampled import sample_closest
from lookalike.jobs.reports.dedup_facts import Batches
from lookalike.jobs.run_inputs import RunInputs
from lookalike.matching.near_misses import NEAR_FROM
from lookalike.matching.pair_graph import FOLDER, NEAR
from lookalike.report.shown import ShownItem, ShownPair


def find_closest(
    out: Path | None, run: Mapping[str, Any], removed: Batches, inputs: RunInputs, shown: int
) -> tuple[list[ShownPair], str]:
    """The closest pairs with a sentence about them; if there are none, the reason.

    They come from the pair graph in the output folder. Runs in memory, on vectors, with an index, on Spark or with
    `--from` save no graph, and the graphs of `--policy connected` and of exact methods do not contain them. In these
    cases, a sample of kept items is compared with all others.
    """
    options = run["options"]
    unknown = options.get("policy") == "connected" or options.get("method") == "exact"
    if out is None or unknown or not (out / FOLDER).is_dir():
        return sample_closest(run, removed, inputs, shown)
    return _saved_closest(out, run, inputs, shown)


def _saved_closest(out: Path, run: Mapping[str, Any], inputs: RunInputs, shown: int) -> tuple[list[ShownPair], str]:
    try:
        saved = SavedGraph.load(out, run.get(FOLDER))
        measure = settings_of_run(run["options"]).matching.measure
    except LookalikeError:
        return [], f"Not available: the files in {FOLDER}/ have changed since the run."
    if NEAR_FROM not in saved.known:
        return [], "Not available: the version of lookalike that made this run did not save them."
    left, right, overlaps = (numbers[:shown] for numbers in saved.rows(NEAR))
    if not len(left):
        floor = f"{saved.known[NEAR_FROM]:.3g}"
        return [], f"Of the kept items that were compared, no two have a {measure.column} of {floor} or more."
    sizes = saved.sizes(int(_starts(saved)[-1])).astype(np.int64)
    values = measure.of_overlaps(overlaps.astype(np.int64), sizes[left], sizes[right]).tolist()
    sides = [_items(saved, inputs, numbers.astype(np.int64)) for numbers in (left, right)]
    words = (
        f"A sample: the {len(values)} pairs of kept items that came closest to the threshold. If these are duplicates "
        "too, the threshold is too strict."
    )
    return [ShownPair(one, other, value) for one, other, value in zip(*sides, values)], words


def _starts(saved: SavedGraph) -> Any:
    blocks = [BlockRecord(*record) for record in saved.known["blocks"]]
    return lay_out(len(saved.known["empty"]), blocks)[0]


def _items(saved: SavedGraph, inputs: RunInputs, items: Any) -> list[ShownItem]:
    """Items with their ids, and their places if no input has changed."""
    starts = _starts(saved)
    shown = []
    for number, name in zip(items.tolist(), saved.ids(items).to_pylist()):
        owner = int(np.searchsorted(starts, number, side="right")) - 1
        file, row = inputs.locate(owner, number - int(starts[owner]))
        shown.append(ShownItem(name, file, row))
    return shown
