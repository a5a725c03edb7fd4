from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_keys, group_prints, renumber, select
from lookalike.types import Buckets


def as_lists(buckets):
    return [buckets.members[a:b].tolist() for a, b in zip(buckets.starts[:-1], buckets.starts[1:])]


def grouped(keys):
    groups = defaultdict(list)
    for index, key in enumerate(keys):
        groups[key].append(index)
    return sorted(group for group in groups.values() if len(group) > 1)


# Small keys all agree in their upper bits, so whole keys have to decide.
keys = st.lists(
    st.integers(0, 6) | st.sampled_from([2**63, 2**63 + 1, 2**64 - 1]) | st.integers(0, 2**64 - 1),
    max_size=80,
)


@given(keys)
def test_group_keys_finds_every_repeated_key(values):
    assert sorted(as_lists(group_keys(np.array(values, np.uint64)))) == grouped(values)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=60))
def test_group_prints_needs_both_halves(values):
    halves, others = np.ascontiguousarray(np.array(values, np.uint64).reshape(-1, 2).T)
    first = group_prints(halves, others)
    assert first.tolist() == [values.index(value) for value in values]


@given(
    st.lists(st.sets(st.integers(0, 9), min_size=2), max_size=8),
    st.lists(st.integers(-1, 30), min_size=10, max_size=10, unique=True),
)
def test_renumber_drops_what_has_no_number(groups, numbers):
    rising = iter(sorted(n for n in numbers if n >= 0))
    numbers = [-1 if n < 0 or n % 3 == 0 else next(rising) for n in numbers]
    lists = [sorted(group) for group in groups]
    starts = np.cumsum([0, *map(len, lists)])
    buckets = Buckets(starts, np.array([m for one in lists for m in one], np.int32))
    got = as_lists(renumber(buckets, np.array(numbers, np.int32)))
    expected = [sorted(numbers[m] for m in one if numbers[m] >= 0) for one in lists]
    assert got == [one for one in expected if len(one) > 1]


def test_select_and_concatenate():
    two = Buckets(np.array([0, 2, 5]), np.array([0, 1, 4, 5, 6], np.int32))
    assert as_lists(select(two, np.array([True, False]))) == [[0, 1]]
    assert as_lists(concatenate([two, all_together(np.arange(1)), all_together(np.arange(2))])) == [
        [0, 1],
        [4, 5, 6],
        [0, 1],
    ]
    assert as_lists(concatenate([])) == []
