"""Similar sets by Hamming LSH: candidates from the pyramid, each compared exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lookalike.lecture.halving import Halving, hamming_candidates
from lookalike.types import Pairs, Sets
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import all_pairs, list_pairs


def find_hamming_pairs(sets: Sets, threshold: float | str | Fraction = 0.5, halving: Halving | None = None) -> Pairs:
    """The pairs of sets that meet at a level of the pyramid and are similar enough, by left, then right.

    Parameters
    ----------
    threshold
        The smallest Jaccard similarity. Below 0.5 pairs are lost whose sizes differ too much.

    Examples
    --------
    >>> elements = np.concatenate([np.arange(60), np.arange(6, 66), np.arange(200, 260)]).astype(np.uint64)
    >>> found = find_hamming_pairs(Sets(np.array([0, 60, 120, 180]), elements))
    >>> found.left.tolist(), found.right.tolist(), found.similarity.round(3).tolist()
    ([0], [1], [0.818])
    """
    measure = Measure.parse("jaccard", threshold)
    buckets = hamming_candidates(sets, halving)
    found = all_pairs(list_pairs(buckets, (sets.indptr[:-1], sets.indptr[1:], sets.elements), measure.arguments))
    order = np.lexsort((found.right, found.left))
    left, right = (side[order].astype(np.int64) for side in (found.left, found.right))
    overlaps = found.overlaps[order].astype(np.int64)
    return Pairs(left, right, measure.of_overlaps(overlaps, sets.sizes[left], sets.sizes[right]))
