"""Fingerprint lookup: which prints of a gallery come from the same finger as a probe.

The book's method: normalise the prints and lay them on a grid; prints with minutiae in all three squares of any of
1,024 triples are candidates. A candidate's score is the Jaccard similarity of its occupied squares and the probe's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.families.triples import Triples
from lookalike.lookup.grid import EDGE, Grid, choose_grid, normalise
from lookalike.lookup.matches import Matches
from lookalike.lookup.prints import Prints
from lookalike.lookup.search import PROBES_AT_ONCE, Scored, check_k, search
from lookalike.types import Bool, Float64, Int64, UInt64
from lookalike.types.frozen import frozen

THRESHOLD = 0.4
"""Used if the gallery is too small to measure: simulated prints of different fingers average 0.23."""
DEVIATIONS = 4.0
"""By default, a match exceeds the similarity of different fingers by this many standard deviations; so do one in
10,000 pairs of different fingers."""
MOST_TRIPLES = 65536
"""Each is searched in turn, for some tenths of a millisecond at least."""
_LARGEST_SHIFT = 50
_SMALLEST_GALLERY = 10
_PAIRS_AT_ONCE = 1 << 16


@frozen
class PrintPlan:
    """How prints are looked up."""

    grid: Grid
    triples: Triples
    functions: int
    """Number of triples; having one in common makes a candidate."""
    threshold: float
    """Smallest Jaccard similarity of a match."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for the run record."""
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
    probes_at_once: int = PROBES_AT_ONCE,
) -> Matches[PrintPlan]:
    """Look prints up in a gallery, or without one, each among all the others.

    Parameters
    ----------
    k
        Largest number of matches per probe, most similar first; ties are in input order.
    threshold
        Smallest Jaccard similarity of a match; by default, well above what is usual between prints of the gallery.
    triples
        Number of triples of squares.
    grid
        By default, chosen so that prints of the gallery have minutiae in about a fifth of the squares.
    edge
        A minutia closer to the border of its square than this share of the side also occupies the adjacent square.
    scale, rotation
        See `normalise`.
    seed
        Determines the triples.
    probes_at_once
        Probes per batch.

    Examples
    --------
    >>> from lookalike.lookup.simulated import draw_prints, recapture
    >>> gallery = draw_prints(50)
    >>> found = find_prints(recapture(gallery, missing=0.05, false=0.05), gallery)
    >>> bool(np.mean(found.right[found.ranks == 1] == found.left[found.ranks == 1]) > 0.9)
    True
    """
    check_k(k)
    if not 1 <= triples <= MOST_TRIPLES:
        raise UsageError(f"triples must be from 1 to {MOST_TRIPLES}, not {triples}")
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"threshold must be above 0 and at most 1 (a Jaccard similarity), not {threshold}")
    progress = progress or Progress()
    with progress.stage("normalising"):
        members = normalise(probes if gallery is None else gallery, scale=scale, rotation=rotation)
        grid = grid or choose_grid(members, edge=edge)
        theirs = grid.occupy(members)
        mine = theirs if gallery is None else grid.occupy(normalise(probes, scale=scale, rotation=rotation))
    plan = _plan_prints(theirs, grid, triples, threshold, seed)
    my_bits, their_bits = pack_squares(mine), pack_squares(theirs)

    def score(rows: slice, left: Int64, right: Int64) -> Scored:
        scores = similarities(my_bits[rows], their_bits, left, right)
        return Scored(scores, scores >= plan.threshold, (-scores,))

    parts = search(
        mine, None if gallery is None else theirs, plan.triples, triples, score,
        k=k, progress=progress, unit="prints", probes_at_once=probes_at_once,
    )  # fmt: skip
    return Matches.joined(parts, len(theirs) - (gallery is None), plan)


def _plan_prints(squares: Bool, grid: Grid, triples: int, threshold: float | None, seed: int) -> PrintPlan:
    """The plan for a gallery of which these squares are occupied: bool[prints, squares]."""
    occupied = float(squares.mean()) if squares.size else 0.0
    family = Triples(grid.squares, min(1.0, max(occupied, 1e-9)), seed)
    return PrintPlan(grid, family, triples, unusual_similarity(squares) if threshold is None else threshold)


def unusual_similarity(squares: Bool) -> float:
    """A similarity that prints of different fingers hardly ever reach.

    It is computed from the median and the median absolute deviation, which a few copies in the gallery do not disturb.

    Parameters
    ----------
    squares : bool[prints, squares]

    Examples
    --------
    >>> 0.2 < unusual_similarity(np.random.default_rng(1).random((100, 256)) < 0.2) < 0.3
    True
    """
    if len(squares) < _SMALLEST_GALLERY:
        return THRESHOLD
    bits, places = pack_squares(squares), np.arange(len(squares))
    shifts = range(1, min(_LARGEST_SHIFT, len(squares) // 2) + 1)
    strangers = np.concatenate([similarities(bits, bits, places, np.roll(places, shift)) for shift in shifts])
    usual = float(np.median(strangers))
    deviation = 1.4826 * float(np.median(np.abs(strangers - usual)))
    return min(1.0, max(usual + DEVIATIONS * deviation, 1e-9))


def pack_squares(squares: Bool) -> UInt64:
    """Squares as bits, 64 to a word: bool[prints, squares] to uint64[prints, words].

    Examples
    --------
    >>> pack_squares(np.ones((2, 65), bool)).shape
    (2, 2)
    """
    padded = np.pad(squares, ((0, 0), (0, -squares.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1)).view(np.uint64)


def similarities(mine: UInt64, theirs: UInt64, left: Int64, right: Int64) -> Float64:
    """The Jaccard similarities of pairs of packed prints; 0 for two empty prints.

    Examples
    --------
    >>> bits = pack_squares(np.array([[True, True, False], [False, True, True]]))
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
