from fractions import Fraction

import numpy as np
import pytest

from by_numba import compiled, numba_module
from lookalike.kernels.exact_bounds import bound_classes, bound_partners, bound_probers, size_classes
from lookalike.kernels.sets import OVERLAP, needed_overlap
from lookalike.verify.measures import NUMBERS

reaches = numba_module("exact_bounds").reaches
position_holds = numba_module("exact_plain").position_holds

THRESHOLDS = [Fraction(1, 100), Fraction(1, 2), Fraction(11, 20), Fraction(2, 3), Fraction(4, 5), Fraction(9, 10),
              Fraction(99, 100), Fraction(1)]  # fmt: skip
SIZES = np.array([1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 19, 20, 21, 50, 54, 55, 56, 99, 100, 101, 180])
grid = pytest.mark.parametrize(
    "rule",
    [(number, t.numerator, t.denominator) for number in NUMBERS.values() for t in THRESHOLDS if number != OVERLAP]
    + [(OVERLAP, count, 1) for count in (1, 2, 5, 60, 1000)],
)


@compiled
def _reaches(measure, num, den, smaller, larger, overlap):
    return reaches(measure, num, den, smaller, larger, overlap)


@compiled
def _position_holds(measure, num, den, size, place, other_place):
    return position_holds(measure, num, den, size, place, other_place)


@grid
def test_reaching_the_threshold_equals_having_the_needed_overlap(rule):
    for larger in SIZES:
        for smaller in SIZES[: np.searchsorted(SIZES, larger) + 1]:
            needed = needed_overlap(*rule, smaller, larger)
            for overlap in {0, 1, needed - 1, needed, needed + 1, larger}:
                assert _reaches(*rule, smaller, larger, overlap) == (overlap >= needed)


@grid
def test_the_needed_overlap_never_falls_as_sets_grow(rule):
    needed = np.array([[needed_overlap(*rule, min(a, b), max(a, b)) for a in range(1, 70)] for b in range(1, 70)])
    assert np.all(np.diff(needed, axis=0) >= 0)
    assert np.all(np.diff(needed, axis=1) >= 0)


@grid
def test_partners_and_prefixes_of_each_size(rule):
    lowest, indexed, probing = bound_classes(*rule, SIZES)
    for c, size in enumerate(SIZES):
        partners = [k for k in range(c + 1) if needed_overlap(*rule, SIZES[k], size) <= SIZES[k]]
        assert partners == list(range(lowest[c], c + 1))
        least = min((needed_overlap(*rule, SIZES[k], size) for k in partners), default=size + 1)
        assert probing[c] == size - least + 1
        later = [needed_overlap(*rule, size, other) for other in SIZES[c:]]
        assert indexed[c] == max(0, size - min(later) + 1)


@grid
def test_bounds_by_place(rule):
    lowest, indexed, probing = bound_classes(*rule, SIZES)
    starts = np.arange(len(SIZES) + 1)  # one set of each size
    needed, spare = np.empty(len(SIZES), np.int64), np.empty(len(SIZES), np.int64)
    ends, allowed = np.empty(200, np.int64), np.empty(200, np.int64)
    limits = np.empty(200, np.uint32)
    for c, size in enumerate(SIZES):
        if lowest[c] <= c:
            bound_partners(*rule, SIZES, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
            for k in range(lowest[c], c + 1):
                assert needed[k] == needed_overlap(*rule, SIZES[k], size)
                assert spare[k] == size + SIZES[k] - 2 * needed[k]
            for place in range(probing[c]):
                partners = [k for k in range(lowest[c], c + 1) if needed[k] <= size - place]
                assert partners == list(range(lowest[c], ends[place]))
                assert allowed[place] == max((spare[k] for k in partners), default=-1)
        bound_probers(*rule, SIZES, c, len(SIZES) - 1, indexed[c], limits)
        for place in range(indexed[c]):
            probers = [k for k in range(c, len(SIZES)) if needed_overlap(*rule, size, SIZES[k]) <= size - place]
            assert probers == list(range(c, limits[place] + 1))


@grid
def test_the_position_filter_is_right_for_some_size_and_wrong_for_none(rule):
    for size in (1, 5, 10, 21):
        for place in range(size):
            for other_place in range(size):
                possible = any(
                    needed_overlap(*rule, other, size) <= min(size - place, other - other_place)
                    for other in range(other_place + 1, size + 1)
                )
                assert _position_holds(*rule, size, place, other_place) == possible


def test_classes_are_runs_of_one_size():
    class_of, sizes, starts = size_classes(np.array([0, 1, 2, 5, 8, 12]))
    assert class_of.tolist() == [0, 0, 1, 1, 2]
    assert sizes.tolist() == [1, 3, 4]
    assert starts.tolist() == [0, 2, 4, 5]
