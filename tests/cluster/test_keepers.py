from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates.brute import all_together
from lookalike.cluster import keepers
from lookalike.cluster.components import connect
from lookalike.engine.workers import Workers
from lookalike.types import Buckets
from lookalike.verify.measures import NUMBERS, Measure
from lookalike.verify.pairs import all_pairs, list_pairs
from reference import components, exact, greedy, holds

collections = st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=8), min_size=1, max_size=14)
thresholds = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(11, 20), Fraction(4, 5), Fraction(1)])
measures = st.sampled_from(sorted(NUMBERS))


def arrays_of(rows):
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    elements = np.array([value for row in rows for value in sorted(row)], np.uint64)
    return indptr[:-1], indptr[1:], elements


def arguments(measure, threshold):
    if measure == "overlap":
        threshold = Fraction(max(1, int(threshold * 5)))
    return threshold, (NUMBERS[measure], threshold.numerator, threshold.denominator)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1, 4, 2048])
@given(collections, thresholds, measures, st.integers(0, 3))
@settings(max_examples=40)
def test_decisions_are_the_greedy_ones(threads, block, rows, threshold, measure, fixed):
    threshold, numbers = arguments(measure, threshold)
    with Workers(threads) as workers:
        buckets = all_together(np.arange(len(rows)))
        got = keepers.decide(buckets, arrays_of(rows), numbers, fixed, 0, None, threads, workers.map, block=block)
    want = greedy(rows, range(len(rows)), measure, threshold, fixed)
    assert [k if k >= 0 else None for k in got.keeper.tolist()] == [want[i] for i in range(len(rows))]
    for item, keeper in want.items():
        if keeper is not None:
            assert got.overlaps[item] == len(rows[item] & rows[keeper])


def test_only_members_of_a_common_bucket_are_compared():
    rows = [{1, 2}, {1, 2}, {1, 2}]
    buckets = Buckets(np.array([0, 2]), np.array([0, 2], np.int32))
    got = keepers.decide(buckets, arrays_of(rows), (NUMBERS["jaccard"], 4, 5))
    assert got.keeper.tolist() == [-1, -1, 0]
    assert got.candidates == 1


def test_copies_cost_one_comparison_each():
    rows = [{*range(30), 100 + i} for i in range(3000)]
    got = keepers.decide(all_together(np.arange(3000)), arrays_of(rows), (NUMBERS["jaccard"], 4, 5))
    assert got.keeper.tolist() == [-1] + [0] * 2999
    assert got.candidates == 2999


@given(collections, thresholds, measures)
def test_components_are_those_of_all_pairs(rows, threshold, measure):
    threshold, numbers = arguments(measure, threshold)
    buckets, sets = all_together(np.arange(len(rows))), arrays_of(rows)
    direct = keepers.decide(buckets, sets, numbers)
    got = connect(buckets, sets, numbers, direct)
    assert got.root.tolist() == components(rows, measure, threshold)
    for item, partner in enumerate(got.partner.tolist()):
        if got.root[item] == item:
            assert partner == -1
        else:
            assert got.root[partner] == got.root[item]
            similar = holds(measure, rows[item], rows[partner], threshold)
            assert similar or (measure == "containment" and holds(measure, rows[partner], rows[item], threshold))
            assert got.overlaps[item] == len(rows[item] & rows[partner])


@pytest.mark.parametrize("threads", [1, 2])
def test_more_pairs_than_there_is_room_for(threads):
    rows = [set(range(20)) | {100 + i} for i in range(150)]
    with Workers(threads) as workers:
        # the least room is for twice the number of sets
        parts = list(list_pairs(all_together(np.arange(150)), arrays_of(rows), (0, 1, 2), 0, workers.map, room=1))
    assert len(parts) > 30
    assert max(len(part.left) for part in parts) <= 300
    found = all_pairs(iter(parts))
    assert list(zip(found.left.tolist(), found.right.tolist())) == [(i, j) for j in range(150) for i in range(j)]
    assert found.candidates == 150 * 149 // 2


@given(collections, thresholds, measures)
def test_pairs_are_all_that_hold(rows, threshold, measure):
    threshold, numbers = arguments(measure, threshold)
    found = all_pairs(list_pairs(all_together(np.arange(len(rows))), arrays_of(rows), numbers))
    both_ways = measure == "containment"
    want = {
        (i, j)
        for i in range(len(rows))
        for j in range(len(rows))
        if (i < j or (both_ways and i != j)) and holds(measure, rows[i], rows[j], threshold)
    }
    assert sorted(zip(found.left.tolist(), found.right.tolist())) == sorted(want)
    sizes = np.array([len(row) for row in rows])
    values = Measure(measure, threshold).of_overlaps(
        found.overlaps.astype(np.int64), sizes[found.left], sizes[found.right]
    )
    for i, j, value in zip(found.left, found.right, values):
        assert value == pytest.approx(float(exact(measure, rows[i], rows[j])), rel=1e-12)


class Remembered:
    """What was decided when so many sets were."""

    def __init__(self, until):
        self.until, self.reached = until, 0

    def restore(self, keeper, overlaps, counts):
        if self.reached:
            keeper[: self.reached], overlaps[: self.reached] = self.decided
            counts[:] = self.counts
        return self.reached

    def note(self, reached, keeper, overlaps, counts):
        if reached <= self.until:
            self.reached, self.counts = reached, counts.copy()
            self.decided = keeper[:reached].copy(), overlaps[:reached].copy()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("earlier", [0, 10])
@pytest.mark.parametrize("until", [0, 12, 31, 60])
def test_decisions_resume_where_they_stopped(threads, earlier, until):
    draw = np.random.default_rng(until)
    rows = [set(draw.choice(12, draw.integers(3, 9), replace=False).tolist()) for _ in range(60)]
    members = [np.flatnonzero(draw.random(60) < 0.5).astype(np.int32) for _ in range(5)]
    buckets = Buckets(np.cumsum([0, *map(len, members)]), np.concatenate(members))
    given = (buckets, arrays_of(rows), (NUMBERS["jaccard"], 1, 2), 0 if earlier else 3, earlier, None)
    remembered = Remembered(until)
    with Workers(threads) as workers:
        expected = keepers.decide(*given, threads, workers.map, block=4, so_far=remembered)
        again = keepers.decide(*given, threads, workers.map, block=4, so_far=remembered)
    assert remembered.reached <= until
    assert again.keeper.tolist() == expected.keeper.tolist()
    assert again.overlaps.tolist() == expected.overlaps.tolist()
    assert (again.candidates, again.pairs) == (expected.candidates, expected.pairs)
    assert (expected.keeper >= 0).sum() > 10
