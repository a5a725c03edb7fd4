from __future__ import annotations

import time
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from lookalike.errors import UsageError
from lookalike.linkage.decide.clusters import connect_pairs
from lookalike.linkage.decide.one_to_one import METHODS, one_to_one

RIGHT = 10
"""In the graphs below the items of the right side are numbered from here."""
worths = st.integers(0, 6).map(float)
edges = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(RIGHT, RIGHT + 4)), worths, max_size=14)


def arrays_of(graph):
    pairs = list(graph)
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return left, right, np.array([graph[pair] for pair in pairs], np.float64)


def best_total(pairs):
    """By trying all: the first pair is taken or not."""
    if not pairs:
        return 0.0
    (left, right, worth), rest = pairs[0], pairs[1:]
    free = [pair for pair in rest if pair[0] != left and pair[1] != right]
    return max(worth + best_total(free), best_total(rest))


def greedy_pairs(graph):
    busy, kept = set(), set()
    for left, right in sorted(graph, key=lambda pair: (-graph[pair], pair)):
        if not {left, right} & busy:
            busy |= {left, right}
            kept.add((left, right))
    return kept


def assigned(graph, method, order=None, **limits):
    left, right, worth = arrays_of(graph)
    order = np.arange(len(left)) if order is None else order
    found = one_to_one(left[order], right[order], worth[order], method, **limits)
    assert (np.diff(found.kept) > 0).all()
    kept = order[found.kept]
    return set(zip(left[kept].tolist(), right[kept].tolist())), found.notes


def check_one_to_one(graph, kept):
    ends = [end for pair in kept for end in pair]
    assert len(ends) == len(set(ends))
    assert kept <= set(graph)
    assert all(left in ends or right in ends for left, right in graph)  # nothing more could be kept


@pytest.mark.parametrize("dense", [0, 100])
@given(edges)
def test_optimal_is_the_best_of_all(dense, graph):
    kept, notes = assigned(graph, "optimal", dense=dense)
    check_one_to_one(graph, kept)
    assert not notes
    assert sum(graph[pair] for pair in kept) == best_total([(*pair, worth) for pair, worth in graph.items()])


@given(edges)
def test_greedy_takes_the_best_pair_first(graph):
    kept, _ = assigned(graph, "greedy")
    check_one_to_one(graph, kept)
    assert kept == greedy_pairs(graph)


@pytest.mark.parametrize("method", METHODS)
@given(edges, st.randoms())
def test_the_order_of_pairs_does_not_matter(method, graph, random):
    order = list(range(len(graph)))
    random.shuffle(order)
    assert assigned(graph, method) == assigned(graph, method, np.array(order, np.int64))


def test_larger_graphs_agree_with_a_dense_assignment():
    draw = np.random.default_rng(4)
    for rows, columns, share in [(30, 30, 0.3), (12, 50, 0.9), (60, 20, 0.1), (1, 1, 1.0)]:
        worth = draw.uniform(0.1, 1, (rows, columns)) * (draw.random((rows, columns)) < share)
        left, right = np.nonzero(worth)
        found = one_to_one(left, right + rows, worth[left, right])
        want = worth[linear_sum_assignment(worth, maximize=True)].sum()
        assert worth[left, right][found.kept].sum() == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dense", [0, 40, 1 << 20])
def test_large_and_small_groups_have_the_greatest_total(dense, ties):
    draw = np.random.default_rng(5)
    left, right = draw.integers(0, 300, (2, 500))
    worth = draw.exponential(5, 500)
    worth = np.round(worth) if ties else worth
    matrix = np.zeros((300, 300))
    np.maximum.at(matrix, (left, right), worth)
    want = matrix[linear_sum_assignment(matrix, maximize=True)].sum()
    found = one_to_one(left, right + 300, worth, dense=dense)
    again = one_to_one(left[::-1], right[::-1] + 300, worth[::-1], dense=dense)
    assert worth[found.kept].sum() == pytest.approx(want, rel=1e-12)
    assert len(np.unique(left[found.kept])) == len(np.unique(right[found.kept])) == len(found.kept)
    pairs = [
        set(zip(a[kept], b[kept])) for a, b, kept in ((left, right, found.kept), (left[::-1], right[::-1], again.kept))
    ]
    assert pairs[0] == pairs[1]
    assert found.notes == ()


def test_a_large_group_takes_seconds_not_minutes():
    """A chain of 4,000 items, each with two partners; the greedy choice is not the best."""
    chain = np.arange(3999)
    left, right = (chain + 1) // 2, 2000 + chain // 2
    worth = np.where(chain % 2, 1.5, 1.0) + chain % 7 / 100
    begun = time.process_time()
    found = one_to_one(left, right, worth)
    assert time.process_time() - begun < 2  # 0.02 s; a dense method in cubic time took 9 s
    # Along a chain the best choice of pairs that are not neighbours is known by going from pair to pair.
    before, total = 0.0, 0.0
    for one in worth.tolist():
        before, total = total, max(total, before + one)
    assert worth[found.kept].sum() == pytest.approx(total, rel=1e-12)
    assert total > worth[one_to_one(left, right, worth, "greedy").kept].sum()


def test_a_group_too_large_is_assigned_greedily_with_a_note():
    graph = {(0, 10): 10.0, (0, 11): 8.0, (1, 10): 9.0, (2, 12): 1.0}
    assert assigned(graph, "optimal") == ({(0, 11), (1, 10), (2, 12)}, ())
    kept, notes = assigned(graph, "optimal", largest=3)
    assert kept == {(0, 10), (2, 12)}
    assert notes == ("one-to-one: groups with more than 3 items are assigned greedily (1, with 3 pairs)",)


def test_items_on_both_sides_are_assigned_greedily_with_a_note():
    graph = {(0, 1): 2.0, (1, 2): 3.0, (0, 2): 1.0, (5, 7): 1.0}
    kept, notes = assigned(graph, "optimal")
    assert kept == {(1, 2), (5, 7)}
    assert len(notes) == 1
    assert notes[0] == "one-to-one: groups with items on both sides are assigned greedily (1, with 3 pairs)"


def test_ties_go_by_the_order_of_items():
    graph = dict.fromkeys(product(range(4), range(RIGHT, RIGHT + 4)), 2.0)
    assert assigned(graph, "optimal") == ({(n, RIGHT + n) for n in range(4)}, ())


def test_a_pair_given_twice_is_kept_once():
    left, right = np.array([0, 0, 0]), np.array([1, 1, 1])
    for method in METHODS:
        assert one_to_one(left, right, np.array([1.0, 3.0, 2.0]), method).kept.tolist() == [1]


def test_no_pairs():
    none = np.empty(0, np.int64)
    assert one_to_one(none, none, np.empty(0)).kept.tolist() == []
    assert connect_pairs(none, none, 2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("right", "worth", "method", "says"),
    [
        ([1], [-1.0], "optimal", "subtract the cut"),
        ([1], [np.nan], "greedy", "finite"),
        ([0], [1.0], "greedy", "itself"),
        ([1, 2], [1.0], "greedy", "as many"),
        ([1], [1.0], "best", "optimal or greedy"),
    ],
)
def test_unassignable_input_is_refused(right, worth, method, says):
    with pytest.raises(UsageError, match=says):
        one_to_one(np.array([0]), np.array(right), np.array(worth), method)


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12))
def test_clusters_are_connected(pairs):
    near = defaultdict(set)
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)

    def reach(item):
        seen, todo = {item}, [item]
        while todo:
            new = near[todo.pop()] - seen
            seen |= new
            todo += new
        return min(seen)

    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    assert connect_pairs(left, right, 12).tolist() == [reach(item) for item in range(12)]
