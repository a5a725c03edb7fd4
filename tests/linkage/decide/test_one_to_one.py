from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.linkage.decide import one_to_one as assignment
from lookalike.linkage.decide.one_to_one import cluster_pairs, one_to_one

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


def assigned(graph, method, order=None):
    left, right, worth = arrays_of(graph)
    order = np.arange(len(left)) if order is None else order
    found = one_to_one(left[order], right[order], worth[order], method)
    assert (np.diff(found.kept) > 0).all()
    kept = order[found.kept]
    return set(zip(left[kept].tolist(), right[kept].tolist())), found.notes


def check_one_to_one(graph, kept):
    ends = [end for pair in kept for end in pair]
    assert len(ends) == len(set(ends))
    assert kept <= set(graph)
    assert all(left in ends or right in ends for left, right in graph)  # nothing more could be kept


@given(edges)
def test_optimal_is_the_best_of_all(graph):
    kept, notes = assigned(graph, "optimal")
    check_one_to_one(graph, kept)
    assert not notes
    assert sum(graph[pair] for pair in kept) == best_total([(*pair, worth) for pair, worth in graph.items()])


@given(edges)
def test_greedy_takes_the_best_pair_first(graph):
    kept, _ = assigned(graph, "greedy")
    check_one_to_one(graph, kept)
    assert kept == greedy_pairs(graph)


@pytest.mark.parametrize("method", assignment.METHODS)
@given(edges, st.randoms())
def test_the_order_of_pairs_does_not_matter(method, graph, random):
    order = list(range(len(graph)))
    random.shuffle(order)
    assert assigned(graph, method) == assigned(graph, method, np.array(order, np.int64))


def test_larger_graphs_agree_with_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    draw = np.random.default_rng(4)
    for rows, columns, share in [(30, 30, 0.3), (12, 50, 0.9), (60, 20, 0.1), (1, 1, 1.0)]:
        worth = draw.uniform(0.1, 1, (rows, columns)) * (draw.random((rows, columns)) < share)
        left, right = np.nonzero(worth)
        found = one_to_one(left, right + rows, worth[left, right])
        want = worth[optimize.linear_sum_assignment(worth, maximize=True)].sum()
        assert worth[left, right][found.kept].sum() == pytest.approx(want, rel=1e-12)


def test_a_group_too_large_is_assigned_greedily_and_said(monkeypatch):
    graph = {(0, 10): 10.0, (0, 11): 8.0, (1, 10): 9.0, (2, 12): 1.0}
    assert assigned(graph, "optimal") == ({(0, 11), (1, 10), (2, 12)}, ())
    monkeypatch.setattr(assignment, "LARGEST", 3)
    kept, notes = assigned(graph, "optimal")
    assert kept == {(0, 10), (2, 12)}
    assert notes == ("one-to-one: 1 groups with 3 pairs are of over 3 items: assigned greedily",)


def test_items_on_both_sides_are_assigned_greedily_and_said():
    graph = {(0, 1): 2.0, (1, 2): 3.0, (0, 2): 1.0, (5, 7): 1.0}
    kept, notes = assigned(graph, "optimal")
    assert kept == {(1, 2), (5, 7)}
    assert len(notes) == 1
    assert "1 groups with 3 pairs have items on both sides" in notes[0]


def test_a_pair_given_twice_is_kept_once():
    left, right = np.array([0, 0, 0]), np.array([1, 1, 1])
    for method in assignment.METHODS:
        assert one_to_one(left, right, np.array([1.0, 3.0, 2.0]), method).kept.tolist() == [1]


def test_no_pairs():
    none = np.empty(0, np.int64)
    assert one_to_one(none, none, np.empty(0)).kept.tolist() == []
    assert cluster_pairs(none, none, 2).tolist() == [0, 1]


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
def test_what_cannot_be_assigned_is_refused(right, worth, method, says):
    with pytest.raises(UsageError, match=says):
        one_to_one(np.array([0]), np.array(right), np.array(worth), method)


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12))
def test_clusters_hang_together(pairs):
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
    assert cluster_pairs(left, right, 12).tolist() == [reach(item) for item in range(12)]
