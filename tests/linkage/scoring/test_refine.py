"""How labels move the weights of words."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.linkage.scoring.refine import move_weights

LEARNED = np.array([4.0, 3.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0])


def likeness(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_fifty_labels_do_not_turn_weights_around_however_small_these_are(scale):
    """Weights are small if scores are uncertain, not because they were learned from less."""
    draw = np.random.default_rng(1)
    for _ in range(20):
        measured = draw.random((50, len(LEARNED)), np.float32)
        right = draw.random(50) < 1 / (1 + np.exp2(-(measured @ LEARNED - LEARNED.sum() / 2)))
        moved, _ = move_weights(measured, right, scale * LEARNED, -scale * LEARNED.sum() / 2, [True] * len(LEARNED))
        assert likeness(moved, LEARNED) > 0.94


def test_weights_of_zero_stay_finite():
    moved, prior = move_weights(np.eye(4, 2, dtype=np.float32), np.arange(4) < 2, np.zeros(2), 0.0, [True, True])
    assert np.isfinite([*moved, prior]).all()
