"""Hamming LSH: the lecture's pyramid, buckets against a plain reference, and the recall that theory promises."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.lecture.halving import (
    Halving,
    Level,
    chance_to_meet,
    find_hamming_pairs,
    hamming_candidates,
    pyramid,
    shuffle_rows,
)
from lookalike.types import Sets


def sets_of(rows):
    rows = [sorted(set(row)) for row in rows]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Sets(indptr, np.array([value for row in rows for value in row], np.uint64))


def column(level, item):
    bits = np.zeros(level.rows, int)
    bits[level.ones[level.indptr[item] : level.indptr[item + 1]].astype(int)] = 1
    return bits.tolist()


def test_the_example_of_the_lecture():
    first = Level(8, np.array([0, 3]), np.array([2, 3, 6], np.uint64))
    assert [column(level, 0) for level in pyramid(first)] == [[0, 0, 1, 1, 0, 0, 1, 0], [0, 1, 0, 1], [1, 1], [1]]


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=6), st.integers(0, 3))
def test_each_level_is_the_one_before_with_pairs_of_rows_ored(rows, seed):
    first = shuffle_rows(sets_of(rows), seed)
    distinct = sorted({value for row in rows for value in row})
    longest = max(len(set(row)) for row in rows)
    assert first.rows == max(len(distinct), math.ceil(longest / 0.2))
    assert np.diff(first.indptr).tolist() == [len(set(row)) for row in rows]
    before = None
    for level in pyramid(first):
        bits = [column(level, item) for item in range(len(rows))]
        if before is not None:
            padded = [[*one, 0] if len(one) % 2 else one for one in before]
            assert bits == [[a | b for a, b in zip(one[::2], one[1::2])] for one in padded]
        assert level.densities.tolist() == [sum(one) / max(1, len(one)) for one in bits]
        before = bits
    # the same element is the same row in every set
    for one, other in itertools.combinations(range(len(rows)), 2):
        shared = np.intersect1d(*(first.ones[first.indptr[at] : first.indptr[at + 1]] for at in (one, other)))
        assert len(shared) == len(set(rows[one]) & set(rows[other]))


def met_pairs(buckets):
    found = set()
    for start, stop in itertools.pairwise(buckets.starts.tolist()):
        found |= set(itertools.combinations(buckets.members[start:stop].tolist(), 2))
    return found


def plain_pairs(sets, halving):
    """Pairs that meet, column by column and band by band."""
    found = set()
    for number, level in enumerate(pyramid(shuffle_rows(sets, halving.seed))):
        if level.rows < halving.least_rows:
            continue
        bits = [column(level, item) for item in range(len(sets))]
        medium = [item for item, one in enumerate(bits) if halving.low <= sum(one) / len(one) <= halving.high]
        for band in halving.draw(number, level.rows).tolist():
            for one, other in itertools.combinations(medium, 2):
                if all(bits[one][row] == bits[other][row] for row in band):
                    found.add((one, other))
    return found


@given(
    st.lists(st.lists(st.integers(0, 60), max_size=40), min_size=2, max_size=7),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 16),
    st.integers(0, 3),
)
def test_candidates_are_those_of_the_plain_reference(rows, bands, width, least, seed):
    halving = Halving(bands, width, least_rows=least, seed=seed)
    assert met_pairs(hamming_candidates(sets_of(rows), halving)) == plain_pairs(sets_of(rows), halving)


def planted(pairs, seed):
    """Pairs of sets of sizes 20 to 400 similar from 0.5 to 0.95 among 5,000 elements; (one, other) in turn."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(pairs):
        size, similarity = int(random.integers(20, 400)), random.uniform(0.5, 0.95)
        shared = math.ceil(2 * size * similarity / (1 + similarity))
        elements = random.choice(5000, 2 * size - shared, replace=False)
        rows += [elements[:size], elements[size - shared :]]
    return sets_of(rows)


@pytest.mark.parametrize(("bands", "rows"), [(1, 8), (3, 10), (8, 16)])
def test_as_many_pairs_are_found_as_theory_promises(bands, rows):
    sets = planted(60, seed=3)
    left, right = np.arange(0, 120, 2), np.arange(1, 120, 2)
    found = expected = variance = 0.0
    for seed in range(25):
        halving = Halving(bands, rows, seed=seed)
        chances = chance_to_meet(sets, left, right, halving)
        met = met_pairs(hamming_candidates(sets, halving))
        found += sum((a, b) in met for a, b in zip(left.tolist(), right.tolist()))
        expected += chances.sum()
        variance += (chances * (1 - chances)).sum()
    # Pairs of a level are looked at in the same rows; their own rows differ, so that they hardly go together.
    assert variance > 20
    assert abs(found - expected) <= 5 * math.sqrt(variance)


def test_with_the_defaults_pairs_above_a_half_are_found():
    sets = planted(200, seed=4)
    halving = Halving()
    found = find_hamming_pairs(sets, 0.5, halving)
    met = set(zip(found.left.tolist(), found.right.tolist()))
    promised = chance_to_meet(sets, np.arange(0, 400, 2), np.arange(1, 400, 2), halving)
    assert promised.mean() > 0.98
    assert sum((at, at + 1) in met for at in range(0, 400, 2)) >= 190


def test_pairs_are_exactly_similar_enough():
    sets = planted(40, seed=5)
    found = find_hamming_pairs(sets, "2/3")
    assert len(found) > 10
    for left, right, similarity in zip(found.left.tolist(), found.right.tolist(), found.similarity.tolist()):
        one, other = set(sets[left].tolist()), set(sets[right].tolist())
        assert Fraction(len(one & other), len(one | other)) >= Fraction(2, 3)
        assert similarity == len(one & other) / len(one | other)
    assert list(zip(found.left, found.right)) == sorted(zip(found.left, found.right))


def test_what_falls_through():
    background = np.arange(10_000)
    small = [1, 2, 3]
    sizes_apart = [np.arange(100), np.arange(1000)]
    sets = sets_of([background, small, small, *sizes_apart])
    chances = chance_to_meet(sets, np.array([1, 3]), np.array([2, 4]))
    # too small for any level of 32 rows; never of medium density together
    assert chances.tolist() == [0, 0]
    # levels of fewer rows find the small ones
    assert chance_to_meet(sets, np.array([1]), np.array([2]), Halving(least_rows=2)).tolist() == [1]


def test_sets_that_have_nearly_everything_do_not_fall_through():
    sets = sets_of([np.arange(9000), np.arange(400, 9500)])
    assert chance_to_meet(sets, np.array([0]), np.array([1])) > 0.9


def test_empty_sets_and_none():
    assert len(hamming_candidates(sets_of([[], [], []]))) == 0
    assert len(hamming_candidates(sets_of([]))) == 0
    assert len(find_hamming_pairs(sets_of([[]]), 0.5)) == 0


@pytest.mark.parametrize(
    "wrong", [{"bands": 0}, {"rows": 0}, {"rows": 65}, {"low": 0.9}, {"high": 1.1}, {"least_rows": 0}]
)
def test_wrong_parameters_are_refused(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(UsageError, match=rf"\b{name}\b.* not .*{value}"):
        Halving(**wrong)
