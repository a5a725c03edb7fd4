from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.kernels import sets as kernels
from lookalike.verify.measures import NUMBERS
from reference import holds

WORDS = st.integers(0, 2**64 - 2)


def sort_distinct(values):
    elements = np.array(values, np.uint64)
    work = np.empty(kernels.sorting_capacity(len(values)), np.uint64)
    count = kernels.sort_distinct(elements, len(values), work)
    return elements[:count]


@given(st.lists(WORDS | st.integers(0, 3), max_size=300))
@example([])
@example([5])
@example([7, 7])
@example([0, 2**64 - 2] * 500)
@example([1, 2] * 2000)
@example(list(range(1000, 0, -1)))
def test_sort_distinct_is_unique(values):
    assert sort_distinct(values).tolist() == sorted(set(values))


def test_sort_distinct_of_many_random_words():
    values = np.random.default_rng(3).integers(0, 2**64 - 2, 200_000, np.uint64)
    values[::3] = values[0]
    assert np.array_equal(sort_distinct(values), np.unique(values))


@given(st.lists(st.integers(0, 5), max_size=60))
def test_number_repeats_makes_every_occurrence_its_own_element(values):
    elements = kernels.hash_integers(np.array(values, np.uint64))
    plain = set(elements.tolist())
    kernels.number_repeats(elements, len(elements), np.empty(kernels.sorting_capacity(len(elements)), np.uint64))
    assert len(set(elements.tolist())) == len(values)
    assert plain <= set(elements.tolist())


@given(
    st.sampled_from(sorted(NUMBERS)),
    st.integers(1, 200),
    st.integers(1, 200),
    st.fractions(Fraction(1, 100), 1, max_denominator=1000),
)
@example("jaccard", 100, 55, Fraction(11, 20))
@example("cosine", 50, 50, Fraction(4, 5))
def test_needed_overlap_is_the_first_that_holds(measure, n, m, threshold):
    if measure == "overlap":
        threshold = Fraction(max(1, int(threshold * 100)))
    needed = kernels.needed_overlap(NUMBERS[measure], threshold.numerator, threshold.denominator, n, m)

    def reaches(overlap):
        left, right = set(range(n)), set(range(n - overlap, n - overlap + m))
        return holds(measure, left, right, threshold)

    if needed > min(n, m):
        assert not reaches(min(n, m))
    else:
        assert reaches(needed)
        assert needed == 1 or not reaches(needed - 1)


def test_needed_overlap_of_huge_sets_and_long_decimals():
    # 0.999999999 of sets of two billion: far more than 64-bit squares can hold
    n, threshold = 2_000_000_000, Fraction(999_999_999, 1_000_000_000)
    needed = kernels.needed_overlap(kernels.COSINE, threshold.numerator, threshold.denominator, n, n)
    assert needed == 1_999_999_998
    needed = kernels.needed_overlap(kernels.JACCARD, threshold.numerator, threshold.denominator, n, n)
    assert Fraction(needed, 2 * n - needed) >= threshold > Fraction(needed - 1, 2 * n - needed + 1)


@given(st.sets(st.integers(0, 80)), st.sets(st.integers(0, 80)), st.integers(0, 80))
def test_overlap_stops_only_where_it_cannot_matter(left, right, needed):
    elements = np.array(sorted(left) + sorted(right), np.uint64)
    overlap = kernels.overlap_at_least(elements, 0, len(left), len(left), len(elements), needed)
    assert overlap == (len(left & right) if len(left & right) >= needed else -1)


@pytest.mark.parametrize("shift", [0, 1, 62])
def test_fingerprints_distinguish_sets(shift):
    rows = [[1, 2, 3], [3, 2], [1, 2, 3], [], [1 << shift], [2 << shift]]
    sets = [sorted(kernels.hash_integers(np.array(row, np.uint64)).tolist()) for row in rows]
    indptr = np.cumsum([0, *map(len, sets)])
    elements = np.array([e for row in sets for e in row], np.uint64)
    prints = [tuple(p) for p in kernels.fingerprint_sets(indptr, elements).T.tolist()]
    assert prints[0] == prints[2]
    assert len(set(prints)) == len({frozenset(row) for row in rows})


def test_strings_and_integers_are_hashed_apart():
    texts = ["", "a", "A", "ab", "abcdefgh", "abcdefghi", "a" * 100, "é", "e\u0301", "\0", "\0\0"]
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    offsets = np.cumsum([0, *[len(text.encode()) for text in texts]])
    assert len(set(kernels.hash_strings(data, offsets).tolist())) == len(texts)
    numbers = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(kernels.hash_integers(numbers))) == len(numbers)
