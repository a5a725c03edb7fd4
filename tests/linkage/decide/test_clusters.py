"""Clusters by majority, against the definition tried out step by step in exact fractions."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.linkage.decide.clusters import WHOLE, cluster_by_majority, connect_pairs

ITEMS, SPLIT = 9, 4
levels = st.integers(0, 4).map(float)
one_table = st.dictionaries(st.sampled_from(list(combinations(range(ITEMS), 2))), levels, max_size=30)
two_tables = st.dictionaries(st.sampled_from(list(product(range(SPLIT), range(SPLIT, ITEMS)))), levels, max_size=20)
cuts = st.sampled_from([0.0, 1.0, 2.0, 4.0, 5.0])


class Reference:
    """Every step looks at every two clusters."""

    def __init__(self, graph, items, cut, split):
        self.graph, self.cut, self.split = graph, cut, split
        self.rank = {pair: n for n, pair in enumerate(sorted(graph, key=lambda pair: (-graph[pair], pair)))}
        self.clusters = {frozenset([item]) for item in range(items)}

    def worth(self, a, b):
        """How good it is to join two clusters, to be sorted by; None where it is not allowed."""
        across = [(min(pair), max(pair)) for pair in product(a, b)]
        if self.split is not None:
            across = [pair for pair in across if pair[0] < self.split <= pair[1]]
        matches = [pair for pair in across if pair in self.graph]
        if 2 * len(matches) < len(across) or not any(self.graph[pair] >= self.cut for pair in matches):
            return None
        total = sum(round(WHOLE / (1 + 2 ** -self.graph[pair])) for pair in matches)
        return -Fraction(total, len(across)), min(self.rank[pair] for pair in matches)

    def allowed(self):
        pairs = ((self.worth(a, b), a, b) for a, b in combinations(self.clusters, 2))
        return [one for one in pairs if one[0] is not None]

    def run(self):
        while allowed := self.allowed():
            _, a, b = min(allowed, key=lambda one: one[0])
            self.clusters = self.clusters - {a, b} | {a | b}
        return self.clusters


def arrays_of(graph):
    left, right = (np.array([pair[side] for pair in graph], np.int64) for side in (0, 1))
    return left, right, np.array(list(graph.values()), np.float64)


def clusters_of(first):
    assert all(first[first] == first)
    return {frozenset(np.flatnonzero(first == root).tolist()) for root in np.unique(first)}


def check(graph, items, cut, split):
    reference = Reference(graph, items, cut, split)
    found = cluster_by_majority(*arrays_of(graph), items, cut, split)
    assert all(found <= np.arange(items))
    assert clusters_of(found) == reference.run()
    return found, reference


@given(one_table, cuts)
def test_one_table_as_defined(graph, cut):
    check(graph, ITEMS, cut, None)


@given(two_tables, cuts)
def test_two_tables_as_defined(graph, cut):
    check(graph, ITEMS, cut, SPLIT)


@pytest.mark.parametrize("seed", range(12))
def test_larger_graphs_as_defined(seed):
    """Groups of up to twelve with many of their pairs, and some wrong pairs; half of them with ties."""
    draw = np.random.default_rng(seed)
    entity = np.sort(draw.integers(0, 6, 36))
    chance = {True: 0.8, False: 0.1}
    pairs = [(a, b) for a, b in combinations(range(36), 2) if draw.random() < chance[bool(entity[a] == entity[b])]]
    bits = draw.exponential(4, len(pairs)) + 2 * (entity[[a for a, _ in pairs]] == entity[[b for _, b in pairs]])
    graph = dict(zip(pairs, np.round(bits, 0 if seed % 2 else 9).tolist()))
    found, _ = check(graph, 36, 1.0, None)
    assert len(np.unique(found)) < 20


@given(one_table, cuts)
def test_links_connect_each_cluster_and_no_join_is_left(graph, cut):
    left, right, bits = arrays_of(graph)
    found = cluster_by_majority(left, right, bits, ITEMS, cut)
    kept = (bits >= cut) & (found[left] == found[right])
    assert connect_pairs(left[kept], right[kept], ITEMS).tolist() == found.tolist()
    reference = Reference(graph, ITEMS, cut, None)
    reference.clusters = clusters_of(found)
    assert not reference.allowed()


@given(one_table, cuts, st.randoms(use_true_random=False))
def test_order_direction_and_repeats_of_matches_do_not_matter(graph, cut, chance):
    left, right, bits = arrays_of(graph)
    found = cluster_by_majority(left, right, bits, ITEMS, cut)
    rows = [(a, b, c) if chance.random() < 0.5 else (b, a, c) for a, b, c in zip(left, right, bits)]
    rows += [row for row in rows if chance.random() < 0.3]
    chance.shuffle(rows)
    a, b, c = (np.array([row[part] for row in rows], dtype) for part, dtype in ((0, int), (1, int), (2, float)))
    assert cluster_by_majority(a, b, c, ITEMS, cut).tolist() == found.tolist()


@pytest.mark.parametrize("part", [1, 60, 500])
def test_a_few_clusters_at_a_time_are_the_same(part):
    draw = np.random.default_rng(7)
    entity = np.repeat(np.arange(300), 6)
    left, right = (draw.integers(0, 1800, 4000) for _ in range(2))
    near = np.arange(4000) % 20 > 0
    right = np.where(near, left // 6 * 6 + right % 6, right)
    left, right = left[left != right], right[left != right]
    bits = draw.integers(0, 9, len(left)) * (1.0 + (entity[left] == entity[right]))
    whole = cluster_by_majority(left, right, bits, 1800, cut=2.0)
    assert cluster_by_majority(left, right, bits, 1800, cut=2.0, part=part).tolist() == whole.tolist()
    assert 300 < len(np.unique(whole)) < 900


def test_a_wrong_link_does_not_chain_two_entities():
    graph = dict.fromkeys(combinations(range(4), 2), 8.0) | dict.fromkeys(combinations(range(4, 8), 2), 7.0)
    for wrong in (1.0, 7.5):  # surer than one entity's own links, too
        left, right, bits = arrays_of(graph | {(3, 4): wrong})
        assert len(np.unique(connect_pairs(left, right, 8))) == 1
        assert cluster_by_majority(left, right, bits, 8).tolist() == [0] * 4 + [4] * 4


def test_pairs_of_one_table_do_not_count_against_a_cluster_of_two():
    """One record of the left table, five copies in the right one: these were never compared."""
    left, right, bits = np.zeros(5, int), np.arange(1, 6), np.full(5, 3.0)
    assert clusters_of(cluster_by_majority(left, right, bits, 6, split=1)) == {frozenset(range(6))}
    assert max(map(len, clusters_of(cluster_by_majority(left, right, bits, 6)))) == 3


def test_matches_below_the_cut_support_a_cluster_but_do_not_start_one():
    left, right, bits = np.array([0, 1, 0, 3]), np.array([1, 2, 2, 4]), np.array([6.0, 6.0, 1.0, 1.0])
    assert cluster_by_majority(left, right, bits, 5, cut=3.0).tolist() == [0, 0, 0, 3, 4]


def test_clusters_without_a_link_between_them_stay_separate():
    """Item 2 matches both 0 and 1, but its only link, with 3, is refused."""
    pairs = {(0, 1): 6.0, (0, 2): 1.0, (1, 2): 1.0, (2, 3): 3.0, (1, 3): 3.0}
    graph = pairs | dict.fromkeys(combinations(range(3, 7), 2), 6.0)
    assert cluster_by_majority(*arrays_of(graph), 7, cut=2.0).tolist() == [0, 0, 2, 3, 3, 3, 3]
    assert cluster_by_majority(*arrays_of(graph), 7).tolist() == [0, 0, 0, 3, 3, 3, 3]


def test_records_that_move_between_lists_leave_the_old_one():
    """64 items are joined two and two, then four and four, and so on; each brings a hundred leaves along."""
    inside = np.triu_indices(64, 1)
    leaves = np.arange(64, 64 + 6400)
    levels = np.frexp((inside[0] ^ inside[1]).astype(float))[1]
    bits = np.append(20.0 - levels, np.full(6400, 1.0))
    found = cluster_by_majority(
        np.append(inside[0], np.arange(6400) % 64), np.append(inside[1], leaves), bits, 64 + 6400
    )
    assert (found[:64] == 0).all()
    assert (found[leaves] == leaves).all()


def test_nothing_to_cluster():
    none = np.empty(0, np.int64)
    assert cluster_by_majority(none, none, np.empty(0), 3).tolist() == [0, 1, 2]
    assert cluster_by_majority(none, none, np.empty(0), 0).tolist() == []


@pytest.mark.parametrize(
    ("left", "right", "bits", "complaint"),
    [
        ([0, 1], [1], [1.0], "as many"),
        ([0], [1], [-0.5], "0 bits or more"),
        ([0], [1], [float("nan")], "0 bits or more"),
        ([2], [2], [1.0], "with itself"),
    ],
)
def test_pairs_that_are_not_matches_are_refused(left, right, bits, complaint):
    with pytest.raises(UsageError, match=complaint):
        cluster_by_majority(np.array(left), np.array(right), np.array(bits), 3)


LONG = 200_000


@pytest.mark.parametrize("shape", ["chain", "star", "star of two tables", "clique with leaves"])
def test_large_clusters_take_no_quadratic_time(shape):
    ends, split = (np.arange(LONG - 1), np.arange(1, LONG)), None
    if shape.startswith("star"):
        ends, split = (np.zeros(LONG - 1, int), ends[1]), 1 if "tables" in shape else None
    elif shape.startswith("clique"):
        inside = np.triu_indices(500, 1)
        ends = np.append(inside[0], np.zeros(LONG - 500, int)), np.append(inside[1], np.arange(500, LONG))
    bits = np.where(np.maximum(*ends) < 500, 5.0, 4.0)
    cluster_by_majority(*ends, bits, LONG, split=split)  # compiles
    begun = time.process_time()
    found = cluster_by_majority(*ends, bits, LONG, split=split)
    assert time.process_time() - begun < 5  # 0.2 s; the square of 200,000 steps takes a minute
    largest = {"chain": 2, "star": 3, "star of two tables": LONG, "clique with leaves": 500}
    assert np.bincount(found).max() == largest[shape]
