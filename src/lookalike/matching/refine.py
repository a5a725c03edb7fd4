"""Refine oversize buckets by rare elements instead of pairing all of their members."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.candidates.buckets import concatenate, select
from lookalike.candidates.prefix import join_prefixes, oversize
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.kernels.prefix import list_prefixes
from lookalike.matching.comparable import Comparable
from lookalike.types import Int64


@dataclass(slots=True)
class Refined:
    """Oversize buckets that were refined."""

    buckets: int = 0
    largest: int = 0
    items: int = 0

    def add(self, sizes: Int64, items: int) -> None:
        """Count some more."""
        self.buckets += len(sizes)
        self.largest = max(self.largest, int(sizes.max()))
        self.items += items

    def alarms(self) -> list[dict[str, Any]]:
        """What a user should know of it."""
        if not self.buckets:
            return []
        text = (
            f"{self.buckets} buckets with up to {self.largest:,} items were refined by rare shingles "
            f"({self.items:,} items in all): often boilerplate. No pair is lost by it."
        )
        found = {"buckets": self.buckets, "largest": self.largest, "items": self.items}
        return [{"kind": "oversize_buckets", **found, "text": text}]


def merge_refined(parts: Iterable[Refined]) -> Refined:
    """What was refined in all.

    Examples
    --------
    >>> merge_refined([Refined(1, 300, 300), Refined(2, 250, 400)])
    Refined(buckets=3, largest=300, items=700)
    """
    merged = Refined()
    for part in parts:
        merged.buckets += part.buckets
        merged.largest = max(merged.largest, part.largest)
        merged.items += part.items
    return merged


def refine(found: Comparable, settings: Settings, progress: Progress, refined: Refined) -> None:
    """Replace oversize buckets by buckets of rare elements, in which every similar pair of them meets.

    Brute force compares all there are, and vectors have no elements. For measures whose threshold says nothing about
    one set alone, all elements count as rare.
    """
    large = oversize(found.buckets)
    if not large.any() or settings.matching.method == "brute" or settings.items.vectors:
        return
    measure = settings.matching.measure
    floor = measure.jaccard_floor or Fraction(0)
    progress.compiling(list_prefixes, "oversize buckets")
    chosen = select(found.buckets, large)
    items = np.unique(chosen.members).astype(np.int64)
    prefixes = join_prefixes(items, *found.sets, *measure.arguments, (floor.numerator, floor.denominator))
    found.buckets = concatenate([select(found.buckets, ~large), prefixes])
    if not found.earlier and settings.matching.method == "lsh":
        refined.add(chosen.sizes, len(items))
