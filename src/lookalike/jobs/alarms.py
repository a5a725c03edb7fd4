"""What a user should look at before trusting a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.types import Int32, Int64

LARGE_CLUSTER = 0.01
"""Share of all items in one cluster that is suspicious."""
FEW = 20
"""Corpora and files of fewer items raise no alarm about shares."""


def find_alarms(
    keeper: Int64, counts: Int32, references: int, files: list[tuple[str, int, int]], audit: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Alarms about clusters, files, empty items and recall.

    Parameters
    ----------
    keeper, counts
        By item: who it was removed for (-1: it stays), and its number of shingles.
    references
        How many of the items, at the front, are reference items.
    files
        Name, first item and the item behind the last of each input file.
    audit
        The measured recall, if it was.

    Examples
    --------
    >>> keeper = np.array([-1] + [0] * 29)
    >>> [alarm["kind"] for alarm in find_alarms(keeper, np.ones(30), 0, [("a.jsonl", 0, 30)], None)]
    ['large_cluster', 'file_mostly_removed']
    """
    alarms = _about_clusters(keeper, len(keeper) - references)
    alarms += _about_removed(keeper, files)
    alarms += _about_empty(counts, [("", references, len(counts))]) or _about_empty(counts, files)
    return alarms + _about_recall(audit)


def _about_removed(keeper: Int64, files: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    found = []
    for name, first, last in files:
        removed = int(np.count_nonzero(keeper[first:last] >= 0))
        if last - first >= FEW and 2 * removed > last - first:
            text = f"{removed:,} of the {last - first:,} items of {name} were removed"
            found.append({"kind": "file_mostly_removed", "file": name, "removed": removed, "text": text})
    return found


def _about_empty(counts: Int32, files: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    """A file without a name is all of the input."""
    found = []
    for name, first, last in files:
        empty = int(np.count_nonzero(counts[first:last] == 0))
        if last - first >= FEW and 2 * empty > last - first:
            which = f"of the {last - first:,} items of {name}" if name else f"of {last - first:,} items"
            text = f"{empty:,} {which} are empty: is --column the right one?"
            found.append({"kind": "mostly_empty", "file": name or None, "empty": empty, "text": text})
    return found


def _about_clusters(keeper: Int64, items: int) -> list[dict[str, Any]]:
    gone = keeper[keeper >= 0]
    if items < FEW or not len(gone):
        return []
    heads, sizes = np.unique(gone, return_counts=True)
    largest = int(sizes.max()) + 1
    if largest < 3 or largest <= LARGE_CLUSTER * items:
        return []
    text = f"one cluster has {largest:,} of {items:,} items; look at what they share in clusters.parquet"
    return [{"kind": "large_cluster", "size": largest, "item": int(heads[sizes.argmax()]), "text": text}]


def _about_recall(audit: dict[str, Any] | None) -> list[dict[str, Any]]:
    if not audit or audit["recall"] is None or audit["interval"][1] >= audit["wanted"]:
        return []
    text = (
        f"the audit found a recall of {audit['recall']:.2%} (95% sure: at most {audit['interval'][1]:.2%}), below the "
        f"{audit['wanted']:.2%} that was asked for; try more --hashes or another --seed"
    )
    return [{"kind": "recall_not_reached", "recall": audit["recall"], "text": text}]
