"""One link per record or several: decided by how many partners records have, and how well second ones score."""

from dataclasses import replace

import numpy as np
import pytest

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.decide.links import MOSTLY_WORSE, choose_assignment, decide_links, share_worse

RECORDS = 60


def crowded(second):
    """Each of 60 left records has two partners in the right table, the best of which score 8 to 10."""
    draw = np.random.default_rng(1)
    left = np.repeat(np.arange(RECORDS, dtype=np.int32), 2)
    right = np.arange(RECORDS, 3 * RECORDS, dtype=np.int32)
    score = np.stack([draw.uniform(8, 10, RECORDS), second(draw)], axis=1).ravel()
    return replace(CandidatePairs.none(), left=left, right=right), score


ALIKE = crowded(lambda draw: draw.uniform(8, 10, RECORDS))
WORSE = crowded(lambda draw: draw.uniform(4, 6, RECORDS))


def assign(pairs, score, method="auto"):
    notes = []
    return choose_assignment(pairs, score, 1.0, method, notes.append), notes


def test_second_partners_that_score_less_are_other_entities():
    method, notes = assign(*WORSE)
    assert method == "optimal"
    assert [note.split(",")[0] for note in notes] == ["second matches score clearly less than best ones"]


def test_second_partners_that_score_alike_are_the_same_entity():
    assert assign(*ALIKE) == ("no", [])


@pytest.mark.parametrize("method", ["no", "greedy", "optimal"])
def test_a_specified_method_is_kept(method):
    assert assign(*WORSE, method) == (method, [])


def test_scores_that_are_drawn_alike_rarely_exceed_the_bound():
    draw, trials = np.random.default_rng(2), 400
    records = np.repeat(np.arange(100, dtype=np.int32), 2)
    above = sum(share_worse(records, draw.normal(size=len(records))) > MOSTLY_WORSE for _ in range(trials))
    assert above <= 0.05 * trials  # about 2.3% are expected
    many = np.repeat(np.arange(100_000, dtype=np.int32), 2)
    assert share_worse(many, draw.normal(size=len(many))) == pytest.approx(MOSTLY_WORSE, abs=0.01)


def test_few_records_with_two_partners_decide_nothing():
    pairs, score = WORSE
    some = slice(0, 2 * 29)
    assert share_worse(pairs.left[some], score[some]) == 0
    assert share_worse(pairs.left, score) > MOSTLY_WORSE


def test_contradictions_are_counted_even_if_each_record_has_one_link():
    # Left 0 and 1 share a partner (3); the others of left 1 are not those of left 0.
    left, right = np.array([0, 1, 1, 1, 2], np.int32), np.array([3, 3, 4, 5, 6], np.int32)
    pairs, score = replace(CandidatePairs.none(), left=left, right=right), np.array([5.0, 9, 9, 9, 9])
    several, one = (
        decide_links(pairs, score, 1.0, 1.0, method, 3, np.zeros(7, np.bool_), print) for method in ("no", "optimal")
    )
    assert (several.refused, several.contradictions) == (1, 0.2)
    assert (one.refused, one.contradictions) == (0, 0.2)
    assert one.chosen.sum() == 3
    assert len(set(left[one.chosen])) == 3
