"""Refine oversize buckets by rare elements instead of pairing all of their members."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.candidates.buckets import concatenate, select
from lookalike.candidates.prefix import OVERSIZE, join_prefixes, oversize, split_by_buckets
from lookalike.engine.settings import MatchSettings
from lookalike.matching.comparable import Comparable
from lookalike.types import distinct
from lookalike.types.frozen import frozen


@frozen
class Refined:
    """Oversize buckets that were refined."""

    buckets: int = 0
    largest: int = 0
    items: int = 0

    def alarms(self) -> list[dict[str, Any]]:
        """The warnings for the user."""
        if not self.buckets:
            return []
        text = (
            f"{self.buckets} buckets with up to {self.largest:,} items were refined by rare shingles "
            f"({self.items:,} items in total): often boilerplate. No pair is lost by this."
        )
        found = {"buckets": self.buckets, "largest": self.largest, "items": self.items}
        return [{"kind": "oversize_buckets", **found, "text": text}]


def merge_refined(parts: Iterable[Refined]) -> Refined:
    """Add up what was refined.

    Examples
    --------
    >>> merge_refined([Refined(1, 300, 300), Refined(2, 250, 400)])
    Refined(buckets=3, largest=300, items=700)
    """
    some = list(parts)
    return Refined(
        sum(part.buckets for part in some), max((part.largest for part in some), default=0), sum(p.items for p in some)
    )


def refine(found: Comparable, matching: MatchSettings, limit: int = OVERSIZE) -> Refined:
    """Replace buckets of more than `limit` sets by buckets of rare elements; every similar pair still shares one.

    Buckets of brute force, which compares everything anyway, and of vectors, which have no elements, are left alone.
    For measures whose threshold does not bound the Jaccard similarity, all elements count as rare. Also returns what to
    report: for a part that is cut into blocks, each block once; nothing for exact methods.
    """
    large = oversize(found.buckets, limit)
    if not large.any() or matching.method == "brute" or found.kind:
        return Refined()
    measure = matching.measure
    floor = measure.jaccard_floor or Fraction(0)
    chosen = select(found.buckets, large)
    items = distinct(chosen.members).astype(np.int64)
    prefixes = join_prefixes(items, *found.sets, *measure.arguments, (floor.numerator, floor.denominator))
    found.buckets = concatenate([select(found.buckets, ~large), split_by_buckets(prefixes, chosen)])
    found.crowded = items
    if found.earlier or matching.method != "lsh":
        return Refined()
    return Refined(len(chosen.sizes), int(chosen.sizes.max()), len(items))
