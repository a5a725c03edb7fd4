"""The result of a lookup: each probe's matches, best first, and how much of the gallery was compared to find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.types import Bool, Int64, to_arrow
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen


class LookupPlan(Protocol):
    """How a lookup is done."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for the run record."""


AnyPlan = TypeVar("AnyPlan", bound=LookupPlan)


class MatchPart(NamedTuple):
    """The matches of a batch of probes, and how many members of the gallery each probe was compared with."""

    left: Int64
    right: Int64
    scores: npt.NDArray[Any]
    ranks: Int64
    looked_at: Int64


@frozen
class Matches(Generic[AnyPlan]):
    """The matches, by probe and then best first.

    Examples
    --------
    >>> one = np.array([0])
    >>> found = Matches.joined([MatchPart(one, one + 7, one + 30, one + 1, np.array([5]))], 100, None)
    >>> found.share, found.table().to_pylist()
    (0.05, [{'left': 0, 'right': 7, 'score': 30, 'rank': 1}])
    """

    left: Int64
    """Row number of the probe."""
    right: Int64
    """Row number in the gallery."""
    scores: npt.NDArray[Any]
    ranks: Int64
    """From 1."""
    looked_at: Int64
    """For each probe, how many members of the gallery were scored."""
    gallery: int
    """How many members a probe could have matched."""
    plan: AnyPlan

    @classmethod
    def joined(cls, parts: Sequence[MatchPart], gallery: int, plan: AnyPlan) -> Matches[AnyPlan]:
        """The matches of all batches."""
        none = np.empty(0, np.int64)
        empty = MatchPart(none, none, none if not parts else none.astype(parts[0].scores.dtype), none, none)
        found = MatchPart(*(np.concatenate(columns) for columns in zip(empty, *parts)))
        return cls(*found, gallery, plan)

    @property
    def share(self) -> float:
        """The mean share of the gallery that a probe was compared with."""
        return float(self.looked_at.mean()) / self.gallery if len(self.looked_at) and self.gallery else 0.0

    @property
    def counts(self) -> dict[str, int]:
        """Totals for the run record."""
        return {
            "probes": len(self.looked_at),
            "gallery": self.gallery,
            "matched": int(np.count_nonzero(self.ranks == 1)),
            "matches": len(self.left),
            "looked_at": int(self.looked_at.sum()),
        }

    def table(self, left_ids: pa.Array | None = None, right_ids: pa.Array | None = None) -> pa.Table:
        """Columns left, right, score and rank; left and right are ids if given, else row numbers."""
        left, right = (
            to_arrow(rows) if ids is None else pc.take(ids, to_arrow(rows))
            for rows, ids in ((self.left, left_ids), (self.right, right_ids))
        )
        return pa.table({"left": left, "right": right, "score": to_arrow(self.scores), "rank": to_arrow(self.ranks)})


def drop_self_pairs(left: Int64, right: Int64, first: int) -> tuple[Int64, Int64]:
    """The pairs of different items, given that probe i is member `first` + i of the gallery.

    Examples
    --------
    >>> [part.tolist() for part in drop_self_pairs(np.array([0, 0]), np.array([5, 6]), 5)]
    [[0], [6]]
    """
    others = left + first != right
    return left[others], right[others]


def rank_best(left: Int64, matches: Bool, k: int, *by: npt.NDArray[Any]) -> tuple[Int64, Int64]:
    """The k best matches of each left item: their places in order, and their ranks from 1.

    Parameters
    ----------
    left : int64[pairs], ascending
    matches : bool[pairs]
        Which pairs are matches at all.
    by : arrays of length pairs
        Sort keys, ascending, the primary key last; ties keep their order.

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
