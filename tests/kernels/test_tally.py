"""Counts of candidate pairs, compared with NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.kernels.tally import count_levels, tally

NUMBERS = st.floats(-20, 20, allow_subnormal=False) | st.integers(-3, 3).map(float)


@given(st.lists(NUMBERS), st.lists(NUMBERS, min_size=2, max_size=9, unique=True).map(sorted), st.booleans())
def test_values_between_edges_are_counted(values, edges, weighted):
    values, edges = np.array(values, np.float64), np.array(edges)
    weights = np.cos(values)
    counts, sums = np.zeros(len(edges) - 1, np.int64), np.zeros(len(edges) - 1)
    tally(values, weights if weighted else np.empty(0), edges, counts, sums)
    inside = values < edges[-1]  # NumPy includes the last edge
    assert counts.tolist() == np.histogram(values[inside], edges)[0].tolist()
    expected = np.histogram(values[inside], edges, weights=weights[inside])[0]
    assert sums == pytest.approx(expected if weighted else np.zeros(len(sums)), abs=1e-9)


@given(st.integers(1, 4).flatmap(lambda fields: arrays(np.int8, st.tuples(st.integers(0, 9), st.just(fields)),
                                                       elements=st.integers(0, 5))))  # fmt: skip
def test_levels_are_counted(levels):
    counts = np.zeros((levels.shape[1], 6), np.int64)
    count_levels(levels, counts)
    assert counts.tolist() == [np.bincount(column, minlength=6).tolist() for column in levels.T]
