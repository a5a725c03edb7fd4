"""Scores of pairs by tables and kernels, against the same sum made field by field."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.dependence import Tree
from lookalike.linkage.scoring.score import _add_frequencies, frequencies
from lookalike.linkage.scoring.weights import Weights
from lookalike.types import strings_to_arrow

SIZES = (3, 2, 4)


@st.composite
def worlds(draw):
    """Columns, levels of pairs, and weights of which each field may depend on an earlier one."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    records, pairs = draw(st.integers(2, 30)), draw(st.integers(0, 40))
    columns = [
        Column(f"f{n}", "code", rng.integers(-1, 4, records).astype(np.int32), strings_to_arrow(list("abcd")))
        for n in range(len(SIZES))
    ]
    left = rng.integers(0, records, pairs).astype(np.int32)
    levels = np.stack([rng.integers(0, size + 1, pairs) for size in SIZES], axis=1).astype(np.int8)
    for place, column in enumerate(columns):  # who has no value agrees in none
        levels[column.codes[left] < 0, place] = 0
    parents = (-1, draw(st.sampled_from([-1, 0])), draw(st.sampled_from([-1, 0, 1])))
    chances = []
    for place, (size, parent) in enumerate(zip(SIZES, parents)):
        rows = 1 if parent < 0 else 1 + SIZES[parent]
        made = rng.random((rows, size)) + 0.01 * (place + 1)
        chances.append(made / made.sum(axis=1, keepdims=True))
    matches = tuple(np.ones(size + 1) for size in SIZES)
    weights = Weights(matches, Tree(parents, tuple(chances)), 100.0, 10.0, pairs, 1, True)
    blocked = CandidatePairs(left, left, np.zeros(pairs, np.uint8), [], ([], []))
    return columns, blocked, np.asfortranarray(levels), weights


@given(worlds())
def test_frequencies_are_added_as_they_are_explained(world):
    columns, blocked, levels, weights = world
    score = np.full(len(levels), 5.0)
    _add_frequencies(columns, weights, blocked, levels, score, map)
    often = frequencies(columns, weights, blocked.left)
    np.testing.assert_allclose(score, 5 + weights.adjust_by_frequency(levels, often).sum(axis=1), rtol=1e-12)
