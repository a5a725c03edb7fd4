"""What a user should look at before trusting a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.types import Int64

LARGE_CLUSTER = 0.01
"""Share of all items in one cluster that is suspicious."""
FEW = 20
"""Corpora and files of fewer items raise no alarm about shares."""


def find_alarms(
    removed: Int64,
    keeper: Int64,
    items: int,
    empty: int,
    files: list[tuple[str, int, int]],
    audit: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """Alarms about clusters, files, empty items and recall.

    Parameters
    ----------
    removed, keeper
        Items that were removed, ascending, and who for.
    items, empty
        How many items were to be deduplicated, and how many of them are empty.
    files
        Name, first item and the item behind the last of each input file.
    audit
        The measured recall, if it was.

    Examples
    --------
    >>> removed, keeper = np.arange(1, 30), np.zeros(29, np.int64)
    >>> [alarm["kind"] for alarm in find_alarms(removed, keeper, 30, 0, [("a.jsonl", 0, 30)], None)]
    ['large_cluster', 'file_mostly_removed']
    """
    found = _about_clusters(keeper, items)
    for name, first, last in files:
        gone = int(np.searchsorted(removed, last) - np.searchsorted(removed, first))
        if last - first >= FEW and 2 * gone > last - first:
            text = f"{gone:,} of the {last - first:,} items of {name} were removed"
            found.append({"kind": "file_mostly_removed", "file": name, "removed": gone, "text": text})
    if items >= FEW and 2 * empty > items:
        text = f"{empty:,} of {items:,} items are empty: is --column the right one?"
        found.append({"kind": "mostly_empty", "empty": empty, "text": text})
    return found + _about_recall(audit)


def _about_clusters(keeper: Int64, items: int) -> list[dict[str, Any]]:
    if items < FEW or not len(keeper):
        return []
    heads, sizes = np.unique(keeper, return_counts=True)
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
