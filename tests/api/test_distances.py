"""Thresholds that are distances: 0 means 0."""

import numpy as np

import lookalike as la


def test_a_distance_of_0_is_not_1():
    bits = np.array([[0], [0], [1]], np.uint8)
    found = la.neighbors(bits, measure="hamming", threshold=0)
    assert found.select(["left", "right", "distance"]).to_pylist() == [
        {"left": 0, "right": 1, "distance": 0},
        {"left": 1, "right": 0, "distance": 0},
    ]
    assert la.neighbors(bits, measure="hamming", threshold=1).num_rows == 6


def test_euclidean_0():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [1.5, 2.0]])
    assert la.neighbors(rows, measure="euclidean", threshold=0)["right"].to_pylist() == [1, 0]
    assert la.neighbors(rows, measure="euclidean", threshold=0.5).num_rows == 6
