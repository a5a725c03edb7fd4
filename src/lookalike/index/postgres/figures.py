"""The sizes of an index in a database, for `stats` and the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lookalike.candidates.prefix import OVERSIZE
from lookalike.index.contract import BucketSizes

if TYPE_CHECKING:
    from lookalike.index.postgres.store import Database

COUNTED = 1 << 17
"""Up to this many keys, all buckets are counted, which takes about a fifth of a second; otherwise those of a sample."""
SAMPLED_ITEMS, SAMPLED_KEYS, LARGEST = 1 << 12, 1 << 11, 1 << 14
"""About how many items a sample has, how many of their keys are looked up, and the most items that are counted in a
bucket: the time does not depend on the number of items."""


def bucket_sizes(store: Database, counted: int = COUNTED) -> BucketSizes:
    """The number of buckets by size class, including removed items; estimated if there are more keys than `counted`."""
    items = max(1, store.read_row().items)
    if not store.kind.decided or items * store.kind.plan.bands <= counted:
        return size_classes((size, 1.0) for (size,) in store.execute("buckets"))
    percent = min(100.0, 100.0 * SAMPLED_ITEMS / items)
    rows = store.execute("sampled_buckets", percent=percent, keys=SAMPLED_KEYS, largest=LARGEST)
    # a bucket of n items is n times as likely to be looked up as one with a single item
    share = len(rows) * percent / 100
    return size_classes(((size, seen / (share * size)) for size, seen in rows), estimated=True)


def size_classes(buckets: Iterable[tuple[int, float]], *, estimated: bool = False) -> BucketSizes:
    """Count buckets by size; each is given with the number of buckets that it stands for.

    Examples
    --------
    >>> size_classes([(1, 1.0), (1, 1.0), (3, 1.0)]).counts
    {1: 2, 2: 1}
    """
    counts: dict[int, float] = {}
    for size, weight in buckets:
        power = size.bit_length() - 1
        counts[power] = counts.get(power, 0.0) + weight
    classes = range(max(counts, default=-1) + 1)
    return BucketSizes({1 << power: round(counts.get(power, 0.0)) for power in classes}, estimated)


def describe(store: Database, *, buckets: bool) -> dict[str, Any]:
    """Items, bytes and, with `buckets`, the largest buckets, for which all keys are counted."""
    items, kind = store.read_row().items, store.kind.to_dict()
    total, removed = store.execute("sizes")[0]
    figures: dict[str, Any] = {
        "items": items,
        "removed": removed,
        "bytes": total,
        "bytes_per_item": round(total / items, 1) if items else None,
    }
    if buckets:
        names = "largest_bucket", "oversize_buckets", "refined_items"
        figures |= zip(names, store.execute("large_buckets", large=OVERSIZE)[0])
    options = {**kind["options"], "store": kind["store"]}
    return {**figures, "version": store.row.version, "options": options, "plan": kind["plan"]}
