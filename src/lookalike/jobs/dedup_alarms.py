"""Alarms: what a user should check before trusting a result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lookalike.types import Int64

LARGE_CLUSTER = 0.01
"""A cluster with this share of all items is suspicious."""
FEW = 20
"""Corpora and files with fewer items raise no alarm about shares."""


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


def find_alarms(
    removed: Int64,
    keeper: Int64,
    files: list[InputFile],
    audit: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """Alarms about clusters, files, empty items and recall.

    Parameters
    ----------
    removed, keeper
        Items that were removed, ascending, and the kept item of each.
    files
        The files that were deduplicated.
    audit
        The measured recall, if it was measured.

    Examples
    --------
    >>> removed, keeper = np.arange(1, 30), np.zeros(29, np.int64)
    >>> [alarm["kind"] for alarm in find_alarms(removed, keeper, [InputFile("a.jsonl", 0, 30, 0)], None)]
    ['large_cluster', 'file_mostly_removed']
    """
    found = _about_clusters(keeper, sum(len(file) for file in files))
    for file in files:
        gone = int(np.searchsorted(removed, file.last) - np.searchsorted(removed, file.first))
        if len(file) >= FEW and 2 * gone > len(file):
            text = f"{gone:,} of the {len(file):,} items of {file.name} were removed"
            found.append({"kind": "file_mostly_removed", "file": file.name, "removed": gone, "text": text})
    return found + _about_empty(files) + _about_recall(audit)


def _about_empty(files: list[InputFile]) -> list[dict[str, Any]]:
    """Files (or the whole input) in which the compared column is mostly empty."""
    hollow = [file for file in files if len(file) >= FEW and 2 * file.empty > len(file)]
    items, empty = sum(len(file) for file in files), sum(file.empty for file in files)
    if items >= FEW and 2 * empty > items:
        text = f"{empty:,} of {items:,} items are empty: is --column the right one?"
        return [{"kind": "mostly_empty", "empty": empty, "text": text}]
    return [
        {
            "kind": "mostly_empty",
            "file": file.name,
            "empty": file.empty,
            "text": f"{file.empty:,} of the {len(file):,} items of {file.name} are empty: is --column the right one?",
        }
        for file in hollow
    ]


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
        f"the audit found a recall of {audit['recall']:.2%} (at most {audit['interval'][1]:.2%}, with 95% confidence), "
        f"below the {audit['wanted']:.2%} that was requested; try more --hashes or another --seed"
    )
    return [{"kind": "recall_not_reached", "recall": audit["recall"], "text": text}]
