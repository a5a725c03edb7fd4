"""The cut for records made of words: no links if their number can be explained by chance."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.linkage.scoring.cut import choose_cut
from lookalike.linkage.scoring.score import Scores
from lookalike.linkage.scoring.words import WordWeights
from lookalike.linkage.settings import LinkSettings


def cut(probability, single="both"):
    probability, notes = np.array(probability), []
    weights = WordWeights(SimpleNamespace(), np.zeros(0), 0.0, float(probability.sum()), True, single=single)
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
