"""The nearest sets are those that comparing every pair gives: exact, ties by input order."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates.neighbors import nearest
from lookalike.errors import ResourceError
from lookalike.kernels import neighbors as kernels
from lookalike.types import Numbered
from lookalike.verify.measures import NUMBERS
from reference import holds

MEASURES = ["jaccard", "dice", "cosine", "containment", "overlap"]


def number(items):
    """Plain sets as Numbered, with their places in the input."""
    count = {}
    for one in items:
        for element in one:
            count[element] = count.get(element, 0) + 1
    numbers = {element: place for place, element in enumerate(sorted(count, key=lambda e: (count[e], e)))}
    ranks = sorted((i for i in range(len(items)) if items[i]), key=lambda i: len(items[i]))
    rows = [sorted(numbers[element] for element in items[i]) for i in ranks]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    tokens = np.array([token for row in rows for token in row], np.uint32)
    singles = sum(one == 1 for one in count.values())
    return Numbered(indptr, tokens, len(count), singles), np.array(ranks, np.int64)


def order_of(measure, left, right):
    """A number that orders the neighbours of `left` as the measure does: cosine by its square.

    Quotients of integers this small are equal as doubles only if they are equal.
    """
    both, n, m = len(left & right), len(left), len(right)
    if measure == "jaccard":
        return both / (n + m - both)
    if measure == "dice":
        return 2 * both / (n + m)
    if measure == "cosine":
        return both * both / (n * m)
    return both / n if measure == "containment" else both


def brute(items, measure, k, threshold=None, sides=None):
    found = {}
    for i, one in enumerate(items):
        others = [
            j
            for j, other in enumerate(items)
            if i != j and one & other and (threshold is None or holds(measure, one, other, threshold))
            and (sides is None or sides[j])
        ]  # fmt: skip
        if sides is None or not sides[i]:
            found[i] = sorted(others, key=lambda j: (-order_of(measure, one, items[j]), j))[:k]
    return {i: best for i, best in found.items() if best}


def run(items, measure, k, threshold=None, sides=None, threads=1, **sizes):
    sets, ranks = number(items)
    fraction = None if threshold is None else (threshold.numerator, threshold.denominator)
    mine = None if sides is None else np.array(sides, bool)[ranks]
    with ThreadPoolExecutor(threads) as pool:
        found = nearest(
            sets, ranks, NUMBERS[measure], k, threshold=fraction, sides=mine, threads=threads, each=pool.map, **sizes
        )
    best = {}
    for i in range(len(sets)):
        stretch = slice(found.starts[i], found.starts[i + 1])
        others = ranks[found.neighbours[stretch]].tolist()
        assert found.overlaps[stretch].tolist() == [len(items[ranks[i]] & items[j]) for j in others]
        if others:
            best[int(ranks[i])] = others
    return best


few = st.lists(st.frozensets(st.integers(0, 8), max_size=7), max_size=14)
skewed = st.lists(
    st.frozensets(st.one_of(st.integers(0, 2), st.integers(0, 200)), max_size=40), min_size=1, max_size=30
)
thresholds = st.sampled_from([None, "1/3", "1/2", "0.55", "1"])


@pytest.mark.parametrize("measure", MEASURES)
@given(
    signed=st.booleans(),
    items=st.one_of(few, skewed),
    k=st.integers(1, 12),
    threshold=thresholds,
    data=st.data(),
    threads=st.sampled_from([1, 2]),
)
@settings(max_examples=120, deadline=None)
def test_the_nearest_are_those_of_brute_force(measure, signed, items, k, threshold, data, threads):
    if threshold is not None:
        threshold = Fraction(data.draw(st.integers(1, 4)) if measure == "overlap" else threshold)
    sides = data.draw(st.none() | st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    found = run(items, measure, k, threshold, sides, threads, signed_size=1000 if signed else 0, room=8)
    assert found == brute(items, measure, k, threshold, sides)


@pytest.mark.parametrize("measure", MEASURES)
def test_many_sets_of_many_sizes(measure):
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 401)
    weights /= weights.sum()
    items = [frozenset(rng.choice(400, rng.integers(1, 60), p=weights).tolist()) for _ in range(300)]
    items += items[::7]
    ranked = brute(items, measure, len(items))
    for k in (1, 10, 500):
        assert run(items, measure, k, threads=2) == {item: others[:k] for item, others in ranked.items()}


def test_counting_and_walking_agree():
    rng = np.random.default_rng(4)
    items = [frozenset(rng.integers(0, 60, rng.integers(1, 50)).tolist()) for _ in range(200)]
    counted = run(items, "jaccard", 3, signed_size=0)  # without signatures, most are counted
    assert counted == run(items, "jaccard", 3, signed_size=1000) == brute(items, "jaccard", 3)


def test_copies_of_one_set_are_not_all_compared():
    """A hundred thousand copies: each needs a few steps, not a hundred thousand."""
    items = Numbered(np.arange(0, 400_001, 4), np.tile(np.arange(4, dtype=np.uint32), 100_000), 4, 0)
    found = nearest(items, np.arange(100_000), kernels_jaccard(), 3)
    assert found.neighbours[-3:].tolist() == [0, 1, 2]
    assert found.neighbours[:6].tolist() == [1, 2, 3, 0, 2, 3]


def kernels_jaccard():
    return NUMBERS["jaccard"]


@pytest.mark.parametrize("sides", [None, [True, True], [False, False]])
def test_nothing_to_find(sides):
    assert run([frozenset({1}), frozenset({2})], "jaccard", 3, sides=sides) == {}
    assert run([], "jaccard", 3) == {}


def test_large_sets_do_not_overflow():
    """Cosine multiplies overlaps twice: three factors of 2^22 are more than 64 bits."""
    big = 1 << 22
    tokens = np.concatenate([np.arange(big), np.arange(big), np.arange(big + 1)]).astype(np.uint32)
    items = Numbered(np.array([0, big, 2 * big, 3 * big + 1]), tokens, big + 1, 0)
    found = nearest(items, np.arange(3), NUMBERS["cosine"], 2)
    assert found.neighbours.tolist() == [1, 2, 0, 2, 0, 1]
    assert found.overlaps.tolist() == [big] * 6


def test_sets_of_one_size_must_be_in_input_order():
    sets = Numbered(np.array([0, 1, 2]), np.zeros(2, np.uint32), 1, 0)
    with pytest.raises(ValueError, match="input order"):
        nearest(sets, np.array([1, 0]), 0, 1)


def test_too_many_neighbours_are_refused():
    with pytest.raises(ResourceError, match="-k"):
        run([frozenset({1})] * 9, "jaccard", 5, most=10)


def test_masks_of_neighbouring_tokens():
    starts, words, masks = kernels.encode_sets(np.array([0, 3]), np.array([1, 5, 64], np.uint32), 2)
    assert (starts.tolist(), words.tolist(), masks.tolist()) == ([0, 2], [0, 1], [1 << 5, 1])
