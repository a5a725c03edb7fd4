"""Pairs of kept sets that were candidates and came close to the threshold, so that users can check it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from lookalike.candidates.buckets import renumber
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.matching.comparable import Comparable
from lookalike.types import Bool, Buckets, Float64, Int32, Int64
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import FoundPairs, all_pairs, list_pairs

MOST = 100
"""Pairs that a run saves."""
NEAR_FROM = "near_from"
"""Key in the saved pair graph: the similarity from which pairs of kept items were saved."""
NEAR = Fraction(9, 10)
"""Pairs with at least this share of the threshold are close to it."""


def relax(measure: Measure) -> Measure:
    """The measure with the threshold from which pairs count as close; for overlap, at least one element.

    For distances, the threshold is divided by the same factor; distances of bit strings are integers.

    Examples
    --------
    >>> relax(Measure.parse("jaccard", 0.8)).threshold, relax(Measure.parse("overlap", 3)).threshold
    (Fraction(18, 25), Fraction(2, 1))
    >>> relax(Measure.parse("euclidean", 9)).threshold, relax(Measure.parse("hamming", 4)).threshold
    (Fraction(10, 1), Fraction(5, 1))
    """
    threshold = measure.threshold / NEAR if measure.is_distance else measure.threshold * NEAR
    if measure.name == "hamming":
        threshold = Fraction(threshold.__ceil__())
    if measure.name == "overlap":
        threshold = Fraction(max(1, threshold.__floor__()))
    return replace(measure, threshold=threshold.limit_denominator(10**6))


def list_near_misses(
    run: Run[Settings], found: Comparable, buckets: Buckets, kept: Bool, references: int
) -> FoundPairs:
    """The closest pairs (at most `MOST`) of kept sets that share one of the buckets, not both reference items.

    Parameters
    ----------
    buckets
        Some of the buckets of `found`; members are numbers of its sets.
    kept : bool[sets]
        The sets that are kept.
    references
        The number of sets at the front that are reference items.
    """
    matching = run.settings.matching
    measure = relax(matching.measure)
    chosen = np.flatnonzero(kept)
    number = np.full(len(found), -1, np.int32)
    number[chosen] = np.arange(len(chosen), dtype=np.int32)
    sets = found.begins[chosen], found.ends[chosen], found.elements
    ratio = matching.length_ratio.as_integer_ratio()
    pairs = all_pairs(
        list_pairs(renumber(buckets, number), sets, measure.arguments, 0, run.workers.map, ratio)
    )  # fmt: skip
    left, right = chosen[pairs.left].astype(np.int32), chosen[pairs.right].astype(np.int32)
    first = np.flatnonzero(np.maximum(left, right) >= references)
    sizes = found.sizes[left[first]], found.sizes[right[first]]
    values = measure.of_overlaps(pairs.overlaps[first].astype(np.int64), *sizes)
    best = first[rank(values, left[first], right[first])]
    return FoundPairs(left[best], right[best], pairs.overlaps[best], pairs.candidates)


def rank(values: Float64, left: Int32, right: Int32) -> Int64:
    """The positions of the closest pairs, closest first; ties ordered by left, then right.

    Examples
    --------
    >>> rank(np.array([0.5, 0.7, 0.7]), np.array([0, 2, 1]), np.array([9, 9, 9])).tolist()
    [2, 1, 0]
    """
    return np.lexsort((right, left, -values))[:MOST]
