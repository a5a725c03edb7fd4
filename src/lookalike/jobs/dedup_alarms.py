"""Alarms of dedup: clusters, files, empty items, close decisions and the measured recall."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lookalike.engine.alarms import FEW, Alarm, about_rejected, is_wide
from lookalike.tuning.wording import percent
from lookalike.types import Int64
from lookalike.types.wording import count

LARGE_CLUSTER = 0.01
"""A cluster with this share of all items is suspicious."""
MOSTLY = 0.5
MANY_EMPTY = 0.05
CLOSE = 0.02
"""Similarities this little above the threshold are close decisions."""
CLOSE_CALLS = 0.25
"""More close decisions among the removals make the outcome depend on the exact threshold."""
ALL_CLOSE = 0.97
"""From this threshold on, most similar pairs are close to it."""


class InputFile(NamedTuple):
    """A file whose items are to be deduplicated."""

    name: str
    first: int
    """Number of its first item."""
    last: int
    """Number of the item after its last."""
    empty: int
    """How many of its items are empty."""

    def __len__(self) -> int:
        return self.last - self.first


class Removals(NamedTuple):
    """The removed items, ascending, and the kept item of each, with their similarity."""

    removed: Int64
    keeper: Int64
    close: int = 0
    """How many of them are hardly more similar than the threshold."""


def find_alarms(
    removals: Removals, files: list[InputFile], audit: dict[str, Any] | None, rejected: int = 0
) -> list[Alarm]:
    """What makes the result doubtful, the most serious first.

    Parameters
    ----------
    removals
        What was removed.
    files
        The files that were deduplicated.
    audit
        The measured recall, if it was measured and if the method can miss a pair.
    rejected
        How many lines or files could not be read.

    Examples
    --------
    >>> removals = Removals(np.arange(1, 30), np.zeros(29, np.int64))
    >>> [alarm["kind"] for alarm in find_alarms(removals, [InputFile("a.jsonl", 0, 30, 0)], None)]
    ['large_cluster', 'file_mostly_removed']
    """
    items, filled = sum(map(len, files)), sum(len(file) - file.empty for file in files)
    if not items:
        return [{"kind": "no_items", "text": "there were no items in the input"}, *about_rejected(rejected, items)]
    found = _about_clusters(removals.keeper, items) + _about_removals(removals, items, files)
    return found + _about_recall(audit, filled) + _about_empty(files) + about_rejected(rejected, items)


def count_close(similarity: Any, threshold: float, is_distance: bool) -> int:
    """How many removed items are hardly more similar than the threshold; 0 if most would be.

    Examples
    --------
    >>> count_close(np.array([0.8, 0.81, 0.83, 1.0]), 0.8, False), count_close(np.array([0.98]), 0.97, False)
    (2, 0)
    """
    if is_distance or threshold >= ALL_CLOSE:
        return 0
    return int(np.count_nonzero((similarity >= threshold) & (similarity < threshold + CLOSE)))


def _about_removals(removals: Removals, items: int, files: list[InputFile]) -> list[Alarm]:
    gone, found = len(removals.removed), []
    low = "if that is not expected, the threshold may be too low, or the shingles too short"
    several = sum(map(bool, map(len, files))) > 1
    if several and items >= FEW and gone > MOSTLY * items:
        text = f"{gone / items:.1%} of the items were removed: {low}"
        found.append({"kind": "mostly_removed", "removed": gone, "text": text})
    for file in files:
        lost = int(np.searchsorted(removals.removed, file.last) - np.searchsorted(removals.removed, file.first))
        if len(file) >= FEW and lost > MOSTLY * len(file):
            why = "is it a copy of something else in the input?" if several else low
            text = f"{lost:,} of the {len(file):,} items of {file.name} were removed: {why}"
            found.append({"kind": "file_mostly_removed", "file": file.name, "removed": lost, "text": text})
    if gone >= FEW and removals.close > CLOSE_CALLS * gone:
        text = (
            f"{removals.close / gone:.1%} of the removed items are within {CLOSE:g} of the threshold, so the outcome "
            "depends on its exact value: look at the least similar rows of removed.parquet"
        )
        found.append({"kind": "close_calls", "removed": removals.close, "text": text})
    return found


def _about_empty(files: list[InputFile]) -> list[Alarm]:
    """Whether the compared column is often empty: in all, or mostly in some files."""
    items, empty = sum(map(len, files)), sum(file.empty for file in files)
    ask = "is --column the right one?"
    if items >= FEW and empty > MOSTLY * items:
        text = f"{empty:,} of {items:,} items are empty: {ask}"
        return [{"kind": "mostly_empty", "empty": empty, "text": text}]
    found: list[Alarm] = [
        {
            "kind": "mostly_empty",
            "file": file.name,
            "empty": file.empty,
            "text": f"{file.empty:,} of the {len(file):,} items of {file.name} are empty: {ask}",
        }
        for file in files
        if len(file) >= FEW and file.empty > MOSTLY * len(file)
    ]
    if items >= FEW and empty > MANY_EMPTY * items:
        text = f"{empty:,} of {items:,} items are empty; they are similar to nothing, and all kept: {ask}"
        found.insert(0, {"kind": "many_empty", "empty": empty, "text": text})
    return found


def _about_clusters(keeper: Int64, items: int) -> list[Alarm]:
    if items < FEW or not len(keeper):
        return []
    heads, sizes = np.unique(keeper, return_counts=True)
    largest = int(sizes.max()) + 1
    if largest < 3 or largest <= LARGE_CLUSTER * items:
        return []
    text = (
        f"one cluster has {largest:,} of {items:,} items. Boilerplate, a template or a default value? Look at what "
        "they share in clusters.parquet before you delete anything"
    )
    return [{"kind": "large_cluster", "size": largest, "item": int(heads[sizes.argmax()]), "text": text}]


def _about_recall(audit: dict[str, Any] | None, filled: int) -> list[Alarm]:
    """Whether the measured recall is below the target, or too uncertain; `filled` items are not empty."""
    if not audit or audit["recall"] is None:
        return []
    low, high = audit["interval"]
    wanted, recall = f"{audit['wanted']:.2%}", f"{audit['recall']:.2%}"
    interval, kind = f"95% interval: {low:.2%} to {high:.2%}", "recall_uncertain"
    if high < audit["wanted"]:
        text = (
            f"the audit found a recall of {recall} ({interval}), below the {wanted} that was requested; try more "
            "--hashes or another --seed"
        )
        kind = "recall_not_reached"
    elif audit["recall"] < audit["wanted"]:
        text = (
            f"the audit found a recall of {recall}, below the {wanted} that was requested; with "
            f"{count(audit['pairs'], 'pair')}, that may be chance ({interval})"
        )
    elif is_wide(audit) and audit["sample"] < filled:
        text = (
            f"the audit measured {count(audit['pairs'], 'similar pair')}, too few to confirm a recall of "
            f"{percent(audit['wanted'])} ({interval}); audit a larger sample than {audit['sample']:,} items"
        )
    else:
        return []
    return [{"kind": kind, "recall": audit["recall"], "text": text}]
