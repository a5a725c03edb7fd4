"""The nearest vectors, bit for bit those of measuring every pair: ties, copies, tiny and huge numbers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engine.workers import Workers
from lookalike.matching.nearest import nearest_vectors
from lookalike.matching.vectors import near_pairs, values_of_pairs
from lookalike.types import VectorKind
from lookalike.verify.measures import Measure


def search(rows, measure, k, asked, among, threshold=None, **how):
    """The nearest by blocks and products, and by measuring every pair."""
    kind = VectorKind(rows.shape[1], str(rows.dtype))
    wanted = replace(Measure.parse(measure, 1 if threshold is None else threshold), of_vectors=True)
    begins = np.arange(0, rows.size, rows.shape[1])
    given = begins, begins + rows.shape[1], rows.ravel()
    with Workers(2) as workers:
        run = SimpleNamespace(workers=workers, progress=SimpleNamespace(advance=lambda _: None))
        found = nearest_vectors(run, kind, wanted, given, asked, among, k, threshold is not None, **how)
    return found, by_measuring_all(kind, wanted, given, k, asked, among, threshold is not None)


def by_measuring_all(kind, wanted, given, k, asked, among, bounded):
    counts, numbers, values = [], [], []
    for i in range(*asked):
        others = np.array([j for j in range(*among) if j != i], np.int64)
        far = values_of_pairs(kind, wanted, given, np.full(len(others), i), others)
        good = wanted.reached_by(far) if bounded else ~np.isnan(far)
        others, far = others[good], far[good]
        order = np.lexsort((others, far if wanted.is_distance else -far))[:k]
        counts.append(len(order))
        numbers.extend(others[order].tolist())
        values.extend(far[order].tolist())
    return counts, numbers, values


def agree(found, expected):
    assert found.counts.tolist() == expected[0]
    assert found.neighbors.tolist() == expected[1]
    assert found.values.tolist() == expected[2]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["cosine", "euclidean"]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1.0, 1e-30, 1e-22, 1e15, 3e37]),
    st.sampled_from([0.0, 0.25, 1e4]),
    st.integers(1, 4).flatmap(
        lambda size: st.lists(st.lists(st.integers(-2, 2), min_size=size, max_size=size), min_size=1, max_size=70)
    ),
    st.integers(1, 50),
    st.sampled_from([None, 0.5]),
    st.booleans(),
)
def test_few_numbers_many_ties(measure, dtype, scale, shift, numbers, k, threshold, together):
    rows = np.array(numbers, np.float64) + shift
    rows = (rows * min(scale, 1e37 / max(1, np.abs(rows).max()))).astype(dtype)
    if measure == "cosine":
        rows = rows[rows.any(axis=1)]
    span = 0, len(rows)
    agree(*search(rows, measure, k, span, span, threshold, together=together, side=19))


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("together", [True, False])
def test_vectors_that_32_bits_cannot_distinguish(measure, dtype, together):
    draw = np.random.default_rng(5)
    near = 1000 + 1e-5 * draw.standard_normal((150, 33))  # within the rounding of 32 bits
    rows = np.concatenate([near, near[:40], draw.standard_normal((60, 33))])[draw.permutation(250)].astype(dtype)
    agree(*search(rows, measure, 7, (0, 250), (0, 250), together=together, side=64))
    agree(*search(rows, measure, 7, (0, 100), (100, 250), together=together, side=64))


def test_more_candidates_than_can_be_noted():
    rows = np.repeat(np.eye(3, dtype=np.float32), 90, axis=0)
    agree(*search(rows, "euclidean", 5, (0, 270), (0, 270), side=100))


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_pairs_near_the_threshold_by_rounding(measure):
    step, wanted = {"cosine": (1e-4, 0.99999), "euclidean": (1e-7, 2e-6)}[measure]
    rows = (1 + step * np.arange(80.0).reshape(-1, 1) * np.array([[1.0, -1.0, 0.5]])).astype(np.float32)
    kind, threshold = VectorKind(3, "float32"), replace(Measure.parse(measure, wanted), of_vectors=True)
    given = np.arange(0, 240, 3), np.arange(3, 243, 3), rows.ravel()
    right, left = np.tril_indices(80, -1)
    values = values_of_pairs(kind, threshold, given, left.astype(np.int64), right.astype(np.int64))
    expected = {(int(i), int(j)) for i, j, good in zip(left, right, threshold.reached_by(values)) if good}
    with Workers(2) as workers:
        parts = list(near_pairs(kind, threshold, given, 0, workers, side=33))
    assert {(int(i), int(j)) for part in parts for i, j in zip(part.left, part.right)} == expected
    assert 100 < len(expected) < 3000
