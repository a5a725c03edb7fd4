from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates.numbering import number_elements
from lookalike.engine.workers import Workers
from lookalike.errors import ResourceError
from lookalike.types import Sets

# Small numbers fall into one partition, large ones spread; both ends of the range must work.
element = st.integers(0, 40) | st.integers(0, 40).map(lambda n: n << 58) | st.integers(2**64 - 3, 2**64 - 1)
rows = st.lists(st.sets(element, min_size=1, max_size=20), max_size=25)


def as_sets(lists):
    indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Sets(indptr, np.array([e for one in lists for e in sorted(one)], np.uint64))


def numbered_plainly(lists):
    """The definition: by frequency, then by first occurrence; sets by size, then by row."""
    frequency = Counter(e for one in lists for e in one)
    seen = dict.fromkeys(e for one in lists for e in sorted(one))
    number = {e: k for k, e in enumerate(sorted(seen, key=frequency.__getitem__))}
    order = sorted(range(len(lists)), key=lambda row: len(lists[row]))
    singles = sum(count == 1 for count in frequency.values())
    return [sorted(number[e] for e in lists[row]) for row in order], order, len(seen), singles


def as_lists(numbered, order):
    cuts = zip(numbered.indptr[:-1], numbered.indptr[1:])
    return [numbered.tokens[a:b].tolist() for a, b in cuts], order.tolist(), numbered.distinct, numbered.singles


@pytest.mark.parametrize("partition", [1, 7, 1 << 17])
@given(rows)
def test_equal_to_the_definition(partition, lists):
    assert as_lists(*number_elements(as_sets(lists), partition=partition)) == numbered_plainly(lists)


@given(rows, st.integers(2, 5))
@settings(max_examples=50)
def test_threads_change_nothing(lists, threads):
    with Workers(2) as workers:
        got = number_elements(as_sets(lists), threads=threads, each=workers.map, partition=3)
    assert as_lists(*got) == numbered_plainly(lists)


def copied_sets(count, seed):
    """Sets of all sizes that share runs of elements with an earlier one, some elements with most."""
    rng = np.random.default_rng(seed)
    lists = []
    for row in range(count):
        own = rng.integers(0, 2**64, rng.integers(1, 700), dtype=np.uint64)
        older = lists[rng.integers(0, row)] if row else own
        common = (np.arange(30, dtype=np.uint64) << np.uint64(50)) + np.uint64(5)
        lists.append(np.unique(np.concatenate([own, older[: rng.integers(0, 300)], common[: rng.integers(0, 30)]])))
    return lists


def test_large_sets_take_counting_passes():
    lists = copied_sets(400, seed=1)
    numbered, order = number_elements(as_sets([one.tolist() for one in lists]))
    assert as_lists(numbered, order) == numbered_plainly([set(one.tolist()) for one in lists])
    with Workers(2) as workers:
        again, rows_again = number_elements(as_sets([one.tolist() for one in lists]), threads=2, each=workers.map)
    assert as_lists(again, rows_again) == as_lists(numbered, order)


def test_one_element_in_every_set_and_no_sets():
    lists = [{7}, {7}, {7}]
    assert as_lists(*number_elements(as_sets(lists))) == ([[0], [0], [0]], [0, 1, 2], 1, 0)
    assert as_lists(*number_elements(as_sets([]))) == ([], [], 0, 0)


def test_more_elements_than_numbers():
    with pytest.raises(ResourceError, match="4 different elements"):
        number_elements(as_sets([{1, 2}, {3, 4}]), most=3)
