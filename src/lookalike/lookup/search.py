"""One lookup for faces and fingerprints: hash the gallery, find candidates by common buckets, score and rank them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.lookup.buckets import BucketIndex, candidate_pairs, index_buckets
from lookalike.lookup.matches import MatchPart, drop_self_pairs, rank_best
from lookalike.types import Bool, Int64

PROBES_AT_ONCE = 256
"""Probes looked up in one batch: the candidates of a batch are in memory together."""

Items = npt.NDArray[Any]
"""One row per item."""


class Hashing(Protocol):
    """A family of hash functions."""

    def buckets_of(self, items: Any, function: int, /) -> Int64:
        """The buckets of items under one function: items x choices."""


class Scored(NamedTuple):
    """Candidate pairs with their scores."""

    scores: npt.NDArray[Any]
    matches: Bool
    """Which pairs score high enough."""
    order: tuple[npt.NDArray[Any], ...]
    """Sort keys, ascending, the primary key last."""


Score = Callable[[slice, Int64, Int64], Scored]
"""Scores the pairs (left, right) of a batch: the rows of its probes, places within the batch, rows of the gallery."""


def check_k(k: int) -> None:
    """Refuse a number of matches below 1."""
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")


def search(
    probes: Items,
    gallery: Items | None,
    hashing: Hashing,
    functions: int,
    score: Score,
    *,
    k: int,
    progress: Progress,
    unit: str = "probes",
    probes_at_once: int = PROBES_AT_ONCE,
) -> list[MatchPart]:
    """Look the probes up in the gallery, or without one, each among all the others.

    Parameters
    ----------
    functions
        Number of hash functions; members that share a bucket of any one with a probe are its candidates.
    score
        Scores the candidates of a batch.
    k
        Largest number of matches per probe.
    unit
        What probes are called in progress output.
    """
    members = probes if gallery is None else gallery
    with progress.stage("hashing"):
        indexes = [index_buckets(hashing.buckets_of(members, function)) for function in range(functions)]

    def candidates_of(rows: slice) -> tuple[Int64, Int64]:
        pairs = candidate_pairs(_probe_functions(probes[rows], hashing, indexes), len(members))
        return drop_self_pairs(*pairs, rows.start) if gallery is None else pairs

    parts = []
    with progress.stage("looking up", len(probes), unit):
        for first in range(0, len(probes), probes_at_once):
            rows = slice(first, min(first + probes_at_once, len(probes)))
            left, right = candidates_of(rows)
            found = score(rows, left, right)
            best, ranks = rank_best(left, found.matches, k, *found.order)
            looked_at = np.bincount(left, minlength=rows.stop - rows.start)
            parts.append(MatchPart(left[best] + first, right[best], found.scores[best], ranks, looked_at))
            progress.advance(rows.stop - rows.start)
    return parts


def _probe_functions(
    probes: Items, hashing: Hashing, indexes: list[BucketIndex]
) -> Iterator[tuple[BucketIndex, Int64]]:
    return ((index, hashing.buckets_of(probes, function)) for function, index in enumerate(indexes))
