"""The cut for records made of words: no links if their number can be explained by chance."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.linkage.scoring.cut import choose_cut
from lookalike.linkage.scoring.points import deduct
from lookalike.linkage.scoring.score import Scores
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings


def cut(probability, /, single="both", labelled=0, **options):
    probability, notes = np.array(probability), []
    weights = WordWeights(SimpleNamespace(), np.zeros(0), 0.0, float(probability.sum()), True, single=single)
    scores = Scores(weights, np.log2(probability / (1 - probability)), probability, labelled=labelled)
    return choose_cut(scores, None, LinkSettings.parse("title:text", **options), notes.append), notes


@pytest.mark.parametrize(
    ("probability", "linked"),
    [
        ([0.35] * 8, False),
        ([0.35] * 100, True),
        ([0.3] * 100, False),
        ([0.9] * 2, True),
        ([0.46] * 7, False),
        ([0.6] * 7, True),
    ],
)
def test_links_must_be_more_than_chance_can_explain(probability, linked):
    (score, _), notes = cut(probability)
    assert math.isfinite(score) == linked
    assert bool(notes) != linked


@pytest.mark.parametrize(("probability", "unlabelled"), [([0.3] * 100, [True]), ([0.35] * 8, [True]), ([0.02] * 9, [])])
def test_who_has_labelled_pairs_is_not_told_to_begin(probability, unlabelled):
    advice = {labels: cut(probability, labelled=labels)[1] for labels in (0, 20, 60)}
    assert ["label 60 pairs" in note for note in advice[0]] == unlabelled
    assert [note.rpartition("; ")[2] for note in advice[20]] == ["add fields, or label more pairs (--review)"]
    assert [note.rpartition("; ")[2] for note in advice[60]] == ["add fields"]


def test_a_note_says_that_no_pair_has_enough_points():
    settings, notes = LinkSettings.parse("name", scoring="points"), []
    for score in ([60.0, 40.0], [80.0, 40.0], []):
        made = choose_cut(Scores(deduct([3]), np.array(score), None), None, settings, notes.append)
        assert made.score == 75
    assert [note[:66] for note in notes] == ["no pair reaches three quarters of 100 points (the best has 60), so "[:66]]


def test_the_expected_f1_is_greatest_at_the_cut():
    for probability in ([0.95] * 20 + [0.55] * 20, [0.95] * 20 + [0.2] * 20):
        (score, _), _ = cut(probability)
        matches, links = np.cumsum(probability), np.arange(1, 41)
        f1 = 2 * matches / (links + matches[-1])
        best = int(np.argmax(f1))
        linked = np.log2(probability) - np.log2(1 - np.array(probability)) >= score
        assert linked.tolist() == (links <= best + 1).tolist()
        assert 2**score / (1 + 2**score) == pytest.approx(f1[best] / 2)


def test_pairs_with_equal_scores_are_linked_all_or_none():
    """With one of the five at 0.6 the mean would be 0.9; with all of them it is 0.8."""
    for wanted, links in ((0.85, 5), (0.79, 10)):
        (score, _), _ = cut([0.96, 0.96, 0.96, 0.96, 0.96] + [0.64] * 5, precision=wanted)
        assert score == pytest.approx(math.log2(0.96 / 0.04) if links == 5 else math.log2(0.64 / 0.36))


def test_where_few_may_be_wrong_the_cut_is_the_lowest_link():
    """Another pair would increase the expected F1, but then less than a third were right."""
    probability = [0.9] + [0.2] * 40
    (score, _), _ = cut(probability, single="left")
    assert score == pytest.approx(math.log2(0.9 / 0.1))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "a probability of at least 0.44, where the expected F1 is highest"),
        ({"probability": 0.3}, "a probability of at least 0.3, according to the model"),
        ({"precision": 0.9}, "chosen so that 90.0% of the pairs at or above it are correct, according to the model"),
    ],
)
def test_the_reason_for_the_cut(options, why):
    (_, found), _ = cut([0.95] * 20 + [0.2] * 20, **options)
    assert found == why


def test_the_interval_is_wider_with_few_links():
    """Both estimates of chance say nine in ten; the number of wrong links varies by chance all the same."""
    bits = math.log2(9)
    weights = WordWeights(SimpleNamespace(), np.zeros(0), 0.0, 9.0, True, doubts=((1.0, 0.0), (1.0, 0.0)))
    few, many = (weights.bounds(np.full(links, bits), np.zeros(links)) for links in (10, 1000))
    assert few == pytest.approx((0.9 - 1.645 * 0.1, 1.0))
    assert many == pytest.approx((0.9 - 1.645 * 0.01, 0.9 + 1.645 * 0.01))
    assert weights.bounds(np.empty(0), np.empty(0)) is None


def test_equal_records_are_as_likely_whatever_chance_scores():
    weights = WordWeights(SimpleNamespace(), np.zeros(0), 0.0, 9.0, True, doubts=((1.0, -99.0), (1.0, 0.0)))
    least = np.where(np.arange(1000) < 500, 0.8, 0.0)
    assert weights.bounds(np.full(1000, 99.0), least) == pytest.approx(
        (0.5 * 0.8 + 0.5 * 0.5 - 1.645 * 0.35**0.5 / 1000**0.5, 1.0)
    )
