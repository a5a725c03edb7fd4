from fractions import Fraction
from itertools import combinations
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates.merge import join_merge
from lookalike.errors import ResourceError
from lookalike.kernels import sets as kernels
from lookalike.types import Sets
from reference import holds

NUMBERS = {
    "jaccard": kernels.JACCARD,
    "dice": kernels.DICE,
    "cosine": kernels.COSINE,
    "containment": kernels.CONTAINMENT,
    "overlap": kernels.OVERLAP,
}
MEMORY = 1 << 28
ELEMENTS = 16
rows = st.lists(st.sets(st.integers(0, ELEMENTS - 1) | st.just(2**64 - 1), max_size=9), max_size=14)
shares = st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(999, 1000), Fraction(1)])


def apart(collections):
    """Several collections as one, in which no pair is from two of them: a database is started for each join."""
    return [
        {e - offset if e > ELEMENTS else e + offset for e in one}
        for offset, lists in zip(range(0, 10**6, ELEMENTS), collections)
        for one in lists
    ]


several = st.lists(rows, min_size=4, max_size=4).map(apart)


def as_sets(lists):
    indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Sets(indptr, np.array([e for one in lists for e in sorted(one)], np.uint64))


def merged(sets, measure, threshold, **options):
    given_measure = NUMBERS[measure], threshold.numerator, threshold.denominator
    options = {"memory_bytes": MEMORY, **options}
    found = []
    for pairs in join_merge(sets, given_measure, **options):
        found += zip(pairs.left.tolist(), pairs.right.tolist(), pairs.overlaps.tolist())
    return found


def brute(lists, measure, threshold, sides=None, rare=None):
    """Every pair of rows, in order; with `rare`, those that share one of these elements."""
    return [
        (i, j, len(lists[i] & lists[j]))
        for i, j in combinations(range(len(lists)), 2)
        if (holds(measure, lists[i], lists[j], threshold) or holds(measure, lists[j], lists[i], threshold))
        and (sides is None or sides[i] != sides[j])
        and (rare is None or lists[i] & lists[j] & rare)
    ]


@pytest.mark.parametrize("measure", NUMBERS)
@given(several, shares, st.integers(1, 4))
@settings(max_examples=5)
def test_equal_to_brute_force(measure, lists, share, count):
    threshold = Fraction(count) if measure == "overlap" else share
    assert merged(as_sets(lists), measure, threshold) == brute(lists, measure, threshold)


@given(several, shares, st.data())
@settings(max_examples=5)
def test_pairs_of_two_sides_only(lists, threshold, data):
    sides = data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    got = merged(as_sets(lists), "jaccard", threshold, sides=np.array(sides, np.bool_))
    assert got == brute(lists, "jaccard", threshold, sides)


@pytest.mark.parametrize("measure", NUMBERS)
@given(several, shares, st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 12), Fraction(1)]))
@settings(max_examples=5)
def test_without_common_elements_every_overlap_is_still_true(measure, lists, share, common):
    threshold = Fraction(2) if measure == "overlap" else share
    rare = {e for one in lists for e in one if sum(e in other for other in lists) <= common * len(lists)}
    got = merged(as_sets(lists), measure, threshold, common=common)
    assert got == brute(lists, measure, threshold, rare=rare)


@given(several, st.integers(0, 56))
@settings(max_examples=5)
def test_batches_count_on(lists, cut):
    parts = [as_sets(lists[:cut]), as_sets(lists[cut:])]
    assert merged(iter(parts), "jaccard", Fraction(1, 2)) == merged(as_sets(lists), "jaccard", Fraction(1, 2))


def test_largest_thresholds_stay_within_128_bits():
    lists = [set(range(50)), set(range(51)), set(range(100))]
    for threshold in (Fraction(2**31 - 2, 2**31 - 1), Fraction(50, 51), Fraction(50 * 10**7 + 1, 51 * 10**7)):
        for measure in ("jaccard", "dice", "cosine", "containment"):
            assert merged(as_sets(lists), measure, threshold) == brute(lists, measure, threshold)


def copied_sets(groups, copies, size):
    """Groups of sets that share nine tenths of a base, so that each element makes many pairs."""
    rng = np.random.default_rng(1)
    lists = []
    for _ in range(groups):
        base = rng.integers(0, 2**64, size, dtype=np.uint64)
        lists += [np.unique(base[rng.random(size) < 0.9]) for _ in range(copies)]
    return Sets(np.cumsum([0, *map(len, lists)]).astype(np.int64), np.concatenate(lists))


class Watch(Thread):
    """The most bytes that lay in folders named `spill` below a folder."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.most, self.done = folder, 0, Event()

    def run(self):
        while not self.done.wait(0.005):
            sizes = []
            for path in self.folder.glob("*/spill/*"):
                try:
                    sizes.append(path.stat().st_size)
                except FileNotFoundError:
                    continue
            self.most = max(self.most, sum(sizes))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()


def test_data_that_does_not_fit_goes_to_disk(tmp_path):
    sets, threshold = copied_sets(500, 20, 100), Fraction(7, 10)
    plenty = merged(sets, "jaccard", threshold, memory_bytes=1 << 30)
    with Watch(tmp_path) as watch:
        little = merged(sets, "jaccard", threshold, memory_bytes=32 << 20, folder=tmp_path, threads=2)
    assert little == plenty
    assert len(plenty) > 50_000
    assert watch.most > 1_000_000
    assert not any(tmp_path.iterdir())


def test_too_little_memory_is_reported_with_advice(tmp_path):
    with pytest.raises(ResourceError, match=r"more memory than 2 MiB.*Increase --memory"):
        merged(copied_sets(100, 20, 100), "jaccard", Fraction(1, 2), memory_bytes=2 << 20, folder=tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_stopped_join_leaves_nothing(tmp_path):
    found = join_merge(copied_sets(5, 20, 100), (kernels.JACCARD, 1, 2), memory_bytes=MEMORY, folder=tmp_path)
    assert len(next(found))
    found.close()
    assert not any(tmp_path.iterdir())
