"""The report of a list of pairs: from the file that `lookalike pairs -o` wrote, or during the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.engine.allocators import thrifty_memory
from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.run_record import damage_reported
from lookalike.jobs.pairs import FoundPairs
from lookalike.jobs.reports.listed_pairs import PairsOfFile, PairsOfRun
from lookalike.jobs.reports.pairs_facts import facts_of_pairs
from lookalike.jobs.run_inputs import RunInputs, sources_of_run
from lookalike.report.command import command_of
from lookalike.report.page_file import check_page, write_page
from lookalike.report.pairs.page import pairs_page
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.tuning.thresholds import parse_threshold
from lookalike.types import Wanted

EXAMPLES = 10


def page_path(out: Path) -> Path:
    """The path of the page for a file of pairs.

    Examples
    --------
    >>> page_path(Path("pairs.parquet")).name
    'pairs.report.html'
    """
    return out.with_suffix(".report.html")


def report_pairs(out: str | Path, page: str | Path | None = None, memory: str | int | None = None) -> Path:
    """Write the report of a file that `lookalike pairs` wrote, read some pairs at a time."""
    path, budget = Path(out), Budget.split(parse_memory(memory))
    target = page_path(path) if page is None else Path(page)
    check_page(target)
    with damage_reported(out, "pairs"), thrifty_memory(budget.total_bytes):
        page_text = pairs_page(facts_of_pairs(PairsOfFile(path, budget), path.name))
    return write_page(target, page_text)


def report_found_pairs(found: FoundPairs, run: Mapping[str, Any], out: Path | None, target: Path) -> Path:
    """Write the report of a run that has just finished, with some texts; `out` is the file of its pairs, if any."""
    title = "Similar pairs" if out is None else out.name
    with thrifty_memory(found.settings.execution.budget.total_bytes):
        facts = facts_of_pairs(PairsOfRun(found), title, float(parse_threshold(run["options"]["threshold"])))
    corpus = found.corpus
    wanted = Wanted(corpus.settings.column, (), corpus.settings.skip_errors)
    inputs = sources_of_run(corpus.sources, 0, corpus.digests.blocks, wanted)
    facts = replace(
        facts,
        run=run,
        alarms=run["alarms"],
        command="" if out is None else command_of("pairs", run, str(out), exists=True),
        two_sided=found.second is not None,
        examples=[] if run["options"].get("transpose") else _examples(found, inputs, facts.value_name),
    )
    return write_page(target, pairs_page(facts))


def _examples(found: FoundPairs, inputs: RunInputs, value_name: str) -> list[ShownPair]:
    """The least similar pairs with their contents."""
    least: list[tuple[float, int, int]] = []
    for rows in found.pairs.sorted():
        order = np.argsort(-rows["similarity"] if value_name == "distance" else rows["similarity"], kind="stable")
        some = rows[order[:EXAMPLES]]
        least += zip(some["similarity"].tolist(), some["left"].tolist(), some["right"].tolist())
        least = sorted(least, key=lambda one: (-one[0] if value_name == "distance" else one[0], *one[1:]))[:EXAMPLES]
    items = np.array([item for _, *both in least for item in both], np.int64)
    if not len(items):
        return []
    files, places = found.corpus.locate(items)
    names = found.corpus.ids(items).to_pylist()
    where = list(zip(files.to_pylist(), places.tolist()))
    contents, _ = inputs.fetch(where)
    shown = [ShownItem(name, *place, contents.get(place)) for name, place in zip(names, where)]
    return [ShownPair(shown[2 * n], shown[2 * n + 1], value) for n, (value, *_) in enumerate(least)]
