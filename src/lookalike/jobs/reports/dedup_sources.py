"""Kept and removed items by source: by file, by folder if there are many files, or by the values of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.jobs.reports.dedup_facts import Batches
from lookalike.jobs.run_inputs import RunInputs
from lookalike.report.dedup.facts import SourceCount
from lookalike.types import Int64, Wanted

MOST = 15
"""Sources that are shown; the rest are counted together."""
LONGEST = 80
"""Characters of a value that are shown."""


def count_by_file(
    run: Mapping[str, Any], inputs: RunInputs, removed: Mapping[str, int]
) -> tuple[str, list[SourceCount]]:
    """Items by file, or by folder if there are more files than can be shown; also return which of the two."""
    items = _items_by_file(run, inputs)
    files = set(removed) | set(items or {})
    if len(files) <= MOST:
        return "file", _top({file: None if items is None else items.get(file, 0) for file in files}, removed)
    group_of = _folders(files)
    grouped: Counter[str] = Counter()
    for file, number in removed.items():
        grouped[group_of[file]] += number
    totals: Counter[str] = Counter()
    for file, number in (items or {}).items():
        totals[group_of[file]] += number
    groups = set(group_of.values())
    return "folder", _top({group: None if items is None else totals[group] for group in groups}, grouped)


def _items_by_file(run: Mapping[str, Any], inputs: RunInputs) -> dict[str, int] | None:
    """The number of items of each file; None unless it is known for all of them."""
    found: Counter[str] = Counter()
    for number, source in enumerate(inputs.sources[inputs.references :], inputs.references):
        if inputs.known is None:
            break
        rows = [about for (owner, _), about in sorted(inputs.known.items()) if owner == number]
        files = getattr(source, "files", None)
        if files is None:
            found[inputs.shown(source.name)] += sum(items for items, _ in rows)
        else:  # each file is one item
            for row in range(sum(items for items, _ in rows)):
                found[inputs.locate(number, row)[0]] += 1
    if not found:
        found.update({one["file"]: one["items"] for one in run.get("sources", ())})
    return dict(found) if found.total() == run["counts"]["items"] else None


def _folders(files: set[str]) -> dict[str, str]:
    """The folder of each file, as deep as can be shown."""
    parents = {file: PurePosixPath(file).parent.parts for file in files}
    shared = 0
    columns = list(zip(*parents.values()))
    while shared < len(columns) and len(set(columns[shared])) == 1:
        shared += 1
    deepest = max(map(len, parents.values()))
    for depth in range(deepest, shared, -1):
        named = {file: str(PurePosixPath(*parts[:depth])) for file, parts in parents.items()}
        if len(set(named.values())) <= MOST:
            return named
    return {file: str(PurePosixPath(*parts[: shared + 1])) for file, parts in parents.items()}


def count_by_column(run: Mapping[str, Any], inputs: RunInputs, removed: Batches, column: str) -> list[SourceCount]:
    """Items by the values of a column; reads all inputs."""
    if inputs.problems or not inputs.sources:
        raise UsageError(f"--by {column}: this needs the inputs of the run. {' '.join(inputs.problems)}".strip())
    gone = _rows_by_file(removed)
    totals: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    wanted = Wanted(column, (), run["options"].get("on_error") == "skip", any_type=True)
    for source in inputs.sources[inputs.references :]:
        start = 0
        rows = gone.get(inputs.shown(source.name), np.empty(0, np.int64))
        for block in source.blocks():
            values = [_word(one) for one in block.items(wanted).features.to_pylist()]
            totals.update(values)
            low, high = np.searchsorted(rows, [start, start + len(values)]).tolist()
            lost.update(values[row - start] for row in rows[low:high].tolist())
            start += len(values)
    return _top(dict(totals), lost)


def _rows_by_file(removed: Batches) -> dict[str, Int64]:
    found: dict[str, list[int]] = {}
    for batch in removed(["file", "row"]):
        for file, row in zip(batch.column("file").to_pylist(), batch.column("row").to_pylist()):
            found.setdefault(file, []).append(row)
    return {file: np.sort(np.array(rows, np.int64)) for file, rows in found.items()}


def _word(value: Any) -> str:
    """A value of a column as the page shows it."""
    text = "(none)" if value is None or value == "" else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _top(items: Mapping[str, int | None], removed: Mapping[str, int]) -> list[SourceCount]:
    """The sources with the most removed items, then the most items; those beyond `MOST` are counted together.

    Examples
    --------
    >>> _top({"a": 5, "b": 9}, {"a": 2})
    [SourceCount(name='a', items=5, removed=2), SourceCount(name='b', items=9, removed=0)]
    """
    every = [SourceCount(name, number, removed.get(name, 0)) for name, number in items.items()]
    every.sort(key=lambda one: (-one.removed, -(one.items or 0), one.name))
    if len(every) <= MOST:
        return every
    rest: Sequence[SourceCount] = every[MOST - 1 :]
    known = [one.items for one in rest if one.items is not None]
    total = sum(known) if len(known) == len(rest) else None
    return [*every[: MOST - 1], SourceCount(f"{len(rest):,} others", total, sum(one.removed for one in rest))]


def title_of(run: Mapping[str, Any]) -> str:
    """The inputs of a run in a few words.

    Examples
    --------
    >>> title_of({"options": {"inputs": ["data/news.jsonl", "b.csv", "c.csv"]}})
    'news.jsonl, b.csv and 1 more'
    """
    names = ["standard input" if one == "-" else Path(one.rstrip("/")).name or one for one in run["options"]["inputs"]]
    return ", ".join(names[:2]) + (f" and {len(names) - 2:,} more" if len(names) > 2 else "")
