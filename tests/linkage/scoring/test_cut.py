"""The cut for records made of words: no links if their number can be explained by chance."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.linkage.scoring.cut import choose_cut
from lookalike.linkage.scoring.score import Scores
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings


def cut(probability, single="both", cautious=(1.0, 0.0)):
    probability, notes = np.array(probability), []
    weights = WordWeights(
        SimpleNamespace(), np.zeros(0), 0.0, float(probability.sum()), True, single=single, cautious=cautious
    )
    scores = Scores(weights, np.log2(probability / (1 - probability)), probability)
    return choose_cut(scores, None, LinkSettings.parse("title:text"), notes.append).score, notes


@pytest.mark.parametrize(
    ("probability", "linked"),
    [([0.3] * 8, False), ([0.3] * 100, True), ([0.9] * 2, True), ([0.46] * 7, False), ([0.6] * 7, True)],
)
def test_links_must_be_more_than_chance_can_explain(probability, linked):
    score, notes = cut(probability)
    assert math.isfinite(score) == linked
    assert bool(notes) != linked


def test_a_cautious_estimate_decides_what_is_linked():
    assert math.isfinite(cut([0.6] * 7)[0])
    assert cut([0.6] * 7, cautious=(1.0, -2.0))[0] == math.inf
    many = [0.95] * 20 + [0.55] * 20
    assert cut(many)[0] == pytest.approx(math.log2(0.55 / 0.45))
    assert cut(many, cautious=(1.0, -2.0))[0] == pytest.approx(math.log2(0.95 / 0.05))
