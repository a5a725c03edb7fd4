"""`la.neighbors`: data in memory, all measures, against brute force."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from reference import exact, holds

token_sets = st.lists(st.sets(st.integers(-3, 6), max_size=6), min_size=1, max_size=10)


def brute(sets, others, measure, k, threshold=None):
    found = []
    for i, one in enumerate(sets):
        near = [
            (-exact(measure, one, other), j)
            for j, other in enumerate(others)
            if (others is not sets or i != j) and one & other
            and (threshold is None or holds(measure, one, other, threshold))
        ]  # fmt: skip
        for rank, (value, j) in enumerate(sorted(near)[:k], 1):
            similarity = pytest.approx(float(-value), rel=1e-12)
            found.append({"left": i, "right": j, "similarity": similarity, "rank": rank})
    return found


@given(token_sets, st.sampled_from(["jaccard", "dice", "cosine", "containment", "overlap"]), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_neighbours_of_sets(items, measure, k):
    found = la.neighbors(items, k=k, measure=measure, threads=1)
    assert found.column_names == ["left", "right", "similarity", "rank"]
    assert found.to_pylist() == brute(items, items, measure, k)


@given(token_sets, token_sets, st.sampled_from(["0.5", "0.55", "1.0"]), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_neighbours_in_other_sets(items, others, threshold, k):
    found = la.neighbors(items, k, against=others, threshold=threshold, threads=1)
    assert found.to_pylist() == brute(items, others, "jaccard", k, Fraction(threshold))


def test_ids_are_returned_on_request(tmp_path):
    table = [{"id": "x", "text": "one two three"}, {"id": "y", "text": "one two three"}]
    assert la.neighbors(table).column("right").to_pylist() == [1, 0]
    assert la.neighbors(table, id="id").column("right").to_pylist() == ["y", "x"]
    (tmp_path / "a.dat").write_text("1 2\n2 3\n")
    place = str(tmp_path / "a.dat")
    assert la.neighbors(tmp_path / "a.dat")["left"].to_pylist() == [f"{place}:0", f"{place}:1"]


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k):
    with pytest.raises(la.UsageError, match="at least 1"):
        la.neighbors([{1}], k=k)


def test_the_baskets_have_the_neighbours_that_counting_gives(data_folder):
    lines = (data_folder / "baskets" / "T10I4D100K.dat").read_text().splitlines()[:3000]
    items = [set(map(int, line.split())) for line in lines]
    found = la.neighbors(items, k=5)
    matrix = np.zeros((len(items), 1000))
    for row, one in enumerate(items):
        matrix[row, list(one)] = 1
    both, sizes = matrix @ matrix.T, matrix.sum(1)
    similar = both / (sizes[:, None] + sizes - both)
    np.fill_diagonal(similar, -1)
    expected = np.argsort(-similar, axis=1, kind="stable")[:, :5]
    assert found["right"].to_numpy().reshape(-1, 5).tolist() == expected.tolist()
