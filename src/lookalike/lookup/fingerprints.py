"""Fingerprint lookup: which prints of a gallery are of the same finger as a probe.

The recipe of the lecture: normalise, put the minutiae on a grid, take prints that have all three squares of any of
1,024 triples for candidates. Each candidate is scored by the Jaccard similarity of its squares with the probe's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.families.triples import Triples
from lookalike.lookup.buckets import Shelf, look_up, shelve
from lookalike.lookup.matches import PROBES_AT_ONCE, Matches, MatchPart, others_only, rank_best
from lookalike.lookup.minutiae import EDGE, Grid, choose_grid, normalise
from lookalike.types import Bool, Float64, Int64, Prints, UInt64

THRESHOLD = 0.4
"""Where there are too few prints to tell what is usual: simulated prints of different fingers reach 0.23 on average."""
DEVIATIONS = 4.0
"""A match is so many standard deviations more similar than prints of different fingers: one in 10,000 of these is."""
_SHIFTS = 50
_FEWEST = 10
_PAIRS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class PrintPlan:
    """How prints are looked up."""

    grid: Grid
    triples: Triples
    functions: int
    """So many triples; having one in common makes a candidate."""
    threshold: float
    """The smallest Jaccard similarity of the squares of a match."""

    def to_dict(self) -> dict[str, Any]:
        """For the record of a run."""
        return {
            "side": self.grid.side,
            "edge": self.grid.edge,
            "occupied": self.triples.occupied,
            "triples": self.functions,
            "seed": self.triples.seed,
            "threshold": self.threshold,
        }


def find_prints(
    probes: Prints,
    gallery: Prints | None = None,
    *,
    k: int = 10,
    threshold: float | None = None,
    triples: int = 1024,
    grid: Grid | None = None,
    edge: float = EDGE,
    scale: str = "spread",
    rotation: str = "angles",
    seed: int = 1,
    progress: Progress | None = None,
) -> Matches:
    """Look prints up in a gallery, or without one each among all the others.

    Parameters
    ----------
    k
        How many matches a probe has at most, the most similar first, equally similar ones in input order.
    threshold
        The smallest Jaccard similarity of the squares; unless told, far above what is usual between prints of the
        gallery.
    triples
        How many triples of squares are drawn.
    grid, edge
        The squares; chosen so that prints of the gallery have minutiae in about a fifth of them, where a minutia nearer
        than `edge` to a boundary counts for both sides.
    scale, rotation
        As for `normalise`.

    Examples
    --------
    >>> from lookalike.lookup.simulated import draw_prints, recapture
    >>> gallery = draw_prints(50)
    >>> found = find_prints(recapture(gallery, missing=0.05, false=0.05), gallery)
    >>> bool(np.mean(found.right[found.ranks == 1] == found.left[found.ranks == 1]) > 0.9)
    True
    """
    if k < 1 or triples < 1:
        raise UsageError(f"k and triples must be at least 1, not {k} and {triples}")
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"threshold {threshold}: a Jaccard similarity, above 0 and at most 1")
    progress = progress or Progress()
    with progress.stage("normalising"):
        known = normalise(probes if gallery is None else gallery, True, scale, rotation)
        grid = grid or choose_grid(known, edge=edge)
        theirs = grid.occupy(known)
        mine = theirs if gallery is None else grid.occupy(normalise(probes, True, scale, rotation))
    share = float(theirs.mean()) if theirs.size else 0.0
    threshold = unusual_similarity(theirs) if threshold is None else threshold
    plan = PrintPlan(grid, Triples(grid.squares, min(1.0, max(share, 1e-9)), seed), triples, threshold)
    with progress.stage("hashing"):
        shelves = [shelve(plan.triples.buckets_of(theirs, number)) for number in range(triples)]
    with progress.stage("looking up", len(mine), "prints"):
        parts = list(_search(mine, theirs, shelves, plan, gallery is None, k, progress))
    return Matches.joined(parts, len(theirs) - (gallery is None), plan)


def _search(
    probes: Bool, gallery: Bool, shelves: list[Shelf], plan: PrintPlan, alone: bool, k: int, progress: Progress
) -> Iterator[MatchPart]:
    """The matches of some probes at a time."""
    mine, theirs = pack(probes), pack(gallery)
    for first in range(0, len(probes), PROBES_AT_ONCE):
        some = probes[first : first + PROBES_AT_ONCE]
        looking = ((shelf, plan.triples.buckets_of(some, number)) for number, shelf in enumerate(shelves))
        left, right = look_up(looking, len(gallery))
        if alone:
            left, right = others_only(left, right, first)
        scores = similarities(mine[first:], theirs, left, right)
        best, ranks = rank_best(left, scores >= plan.threshold, k, -scores)
        progress.advance(len(some))
        looked_at = np.bincount(left, minlength=len(some))
        yield MatchPart(left[best] + first, right[best], scores[best], ranks, looked_at)


def unusual_similarity(squares: Bool) -> float:
    """A similarity that prints of different fingers hardly reach: by median and median deviation, so copies do no harm.

    Examples
    --------
    >>> 0.2 < unusual_similarity(np.random.default_rng(1).random((100, 256)) < 0.2) < 0.3
    True
    """
    if len(squares) < _FEWEST:
        return THRESHOLD
    bits, places = pack(squares), np.arange(len(squares))
    shifts = range(1, min(_SHIFTS, len(squares) // 2) + 1)
    strangers = np.concatenate([similarities(bits, bits, places, np.roll(places, shift)) for shift in shifts])
    usual = float(np.median(strangers))
    deviation = 1.4826 * float(np.median(np.abs(strangers - usual)))
    return min(1.0, max(usual + DEVIATIONS * deviation, 1e-9))


def pack(squares: Bool) -> UInt64:
    """Squares as bits, 64 in a word.

    Examples
    --------
    >>> pack(np.ones((2, 65), bool)).shape
    (2, 2)
    """
    padded = np.pad(squares, ((0, 0), (0, -squares.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1)).view(np.uint64)


def similarities(mine: UInt64, theirs: UInt64, left: Int64, right: Int64) -> Float64:
    """The Jaccard similarity of the squares of pairs; of two empty prints it is 0.

    Examples
    --------
    >>> bits = pack(np.array([[True, True, False], [False, True, True]]))
    >>> similarities(bits, bits, np.array([0]), np.array([1])).round(3).tolist()
    [0.333]
    """
    similar = np.empty(len(left))
    for first in range(0, len(left), _PAIRS_AT_ONCE):
        chunk = slice(first, first + _PAIRS_AT_ONCE)
        one, other = mine[left[chunk]], theirs[right[chunk]]
        shared = np.bitwise_count(one & other).sum(axis=1, dtype=np.int64)
        either = np.bitwise_count(one | other).sum(axis=1, dtype=np.int64)
        similar[chunk] = shared / np.maximum(1, either)
    return similar
