"""What looking probes up in a gallery gives: matches, best first, and how much was looked at for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.engine.usage import peak_memory_bytes
from lookalike.types import Bool, Int64, to_arrow
from lookalike.version import __version__

PROBES_AT_ONCE = 256
"""Probes that are looked up at a time: their candidates are in memory together."""


def describe_matches(found: Matches, options: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The record of a run."""
    return {
        "version": __version__,
        "options": options,
        "plan": found.plan.to_dict(),
        "counts": found.counts,
        "share": found.share,
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "peak_memory_bytes": peak_memory_bytes(),
    }


class MatchPart(NamedTuple):
    """The matches of some probes, and how many of the gallery each of these probes looked at."""

    left: Int64
    right: Int64
    scores: npt.NDArray[Any]
    ranks: Int64
    looked_at: Int64


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches, by probe and then best first, and how much was looked at.

    Examples
    --------
    >>> one = np.array([0])
    >>> found = Matches.joined([MatchPart(one, one + 7, one + 30, one + 1, np.array([5]))], 100, None)
    >>> found.share, found.table().to_pylist()
    (0.05, [{'left': 0, 'right': 7, 'score': 30, 'rank': 1}])
    """

    left: Int64
    right: Int64
    scores: npt.NDArray[Any]
    ranks: Int64
    looked_at: Int64
    """For each probe how many of the gallery were scored."""
    gallery: int
    """How many a probe could have matched."""
    plan: Any
    """How they were looked for."""

    @classmethod
    def joined(cls, parts: Sequence[MatchPart], gallery: int, plan: Any) -> Matches:
        """The matches of all probes."""
        none = np.empty(0, np.int64)
        empty = MatchPart(none, none, none if not parts else none.astype(parts[0].scores.dtype), none, none)
        found = MatchPart(*(np.concatenate(columns) for columns in zip(empty, *parts)))
        return cls(*found, gallery, plan)

    @property
    def share(self) -> float:
        """The share of the gallery that was looked at for a probe, on average."""
        return float(self.looked_at.mean()) / self.gallery if len(self.looked_at) and self.gallery else 0.0

    @property
    def counts(self) -> dict[str, Any]:
        """For the record of a run."""
        return {
            "probes": len(self.looked_at),
            "gallery": self.gallery,
            "matched": int(np.count_nonzero(self.ranks == 1)),
            "matches": len(self.left),
            "looked_at": int(self.looked_at.sum()),
        }

    def table(self, left_ids: pa.Array | None = None, right_ids: pa.Array | None = None) -> pa.Table:
        """left, right, score, rank; by row number, or by the ids given."""
        left, right = (
            to_arrow(rows) if ids is None else ids.take(to_arrow(rows))
            for rows, ids in ((self.left, left_ids), (self.right, right_ids))
        )
        return pa.table({"left": left, "right": right, "score": to_arrow(self.scores), "rank": to_arrow(self.ranks)})


def others_only(left: Int64, right: Int64, first: int) -> tuple[Int64, Int64]:
    """The pairs without those of an item with itself, where the probes are the gallery from `first` on.

    Examples
    --------
    >>> [part.tolist() for part in others_only(np.array([0, 0]), np.array([5, 6]), 5)]
    [[0], [6]]
    """
    others = left + first != right
    return left[others], right[others]


def rank_best(left: Int64, matches: Bool, k: int, *by: npt.NDArray[Any]) -> tuple[Int64, Int64]:
    """Which pairs are the k best matches of each left item, in order, and their ranks from 1.

    Parameters
    ----------
    left : int64[n], ascending
    by
        What they are ordered by, smallest first, the weightiest last; equal ones stay in order.

    Examples
    --------
    >>> left, matches = np.array([0, 0, 0, 2]), np.array([True, True, False, True])
    >>> [part.tolist() for part in rank_best(left, matches, 9, np.array([3, 1, 0, 5]))]
    [[1, 0, 3], [1, 2, 1]]
    """
    kept = np.flatnonzero(matches)
    order = kept[np.lexsort((*(values[kept] for values in by), left[kept]))]
    owners = left[order]
    ranks = np.arange(1, len(order) + 1) - np.searchsorted(owners, owners)
    return order[ranks <= k], ranks[ranks <= k]
