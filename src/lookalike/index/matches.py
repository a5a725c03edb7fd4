"""Verified pairs of a queried item and an item of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lookalike.types import Float64, Int64
from lookalike.verify.measures import Measure


class Matches(NamedTuple):
    """Verified pairs of a queried item (by row) and an item of the index (by number)."""

    left: Int64
    right: Int64
    similarity: Float64

    @classmethod
    def joined(cls, parts: Sequence[Matches]) -> Matches:
        """All pairs of some lists."""
        if len(parts) < 2:
            return parts[0] if parts else NO_MATCHES
        return cls(
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.similarity for part in parts]),
        )

    def take(self, places: Int64) -> Matches:
        """Some of the pairs."""
        return Matches(self.left[places], self.right[places], self.similarity[places])

    def best_first(self, measure: Measure, k: int | None = None) -> tuple[Matches, Int64]:
        """Ordered by queried item, most similar first, ties in input order; and the rank of each, from 1."""
        if len(self.left) < 2:
            return self, np.ones(len(self.left), np.int64)
        nearness = self.similarity if measure.is_distance else -self.similarity
        order = np.lexsort((self.right, nearness, self.left))
        found = self.take(order)
        begins = np.searchsorted(found.left, found.left)  # the first pair of the same item
        ranks = np.arange(len(order)) - begins + 1
        if k is None:
            return found, ranks
        kept = np.flatnonzero(ranks <= k)
        return found.take(kept), ranks[kept]


NO_MATCHES = Matches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
