"""When the records of one table form clusters in which best partners say little."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.linkage.scoring.words import score as score_words
from lookalike.linkage.scoring.words.score import form_large_clusters


def clusters_of(size, count):
    """All pairs of records within clusters, and as many pairs between them."""
    inside = [(start + one, start + other) for start in range(0, size * count, size)
              for one, other in combinations(range(size), 2)]  # fmt: skip
    between = [(one, other + size) for one, other in inside if other + size < size * count]
    left, right = np.array(inside + between, np.int32).T
    return left, right, np.arange(len(left)) < len(inside)


@pytest.mark.parametrize(("size", "large"), [(10, False), (11, True), (40, True)])
def test_most_records_have_more_than_nine_matches(size, large):
    left, right, match = clusters_of(size, 4)
    conflicts = np.where(match, 0.5, 1.0).astype(np.float32)
    assert form_large_clusters(match, left, right, conflicts, size * 4) == large


def test_products_of_a_series_are_no_clusters():
    left, right, match = clusters_of(20, 4)
    assert not form_large_clusters(match, left, right, np.where(match, 0.95, 1.0).astype(np.float32), 80)


@pytest.mark.parametrize(("drops", "likely", "clustered"), [
    ([12] * 10, 0.0, True), ([3] * 7 + [30] * 3, 0.9, True), ([3] * 7 + [30] * 3, 0.1, False), ([3] * 10, 0.9, False),
])  # fmt: skip
def test_levels_are_asked_if_some_records_have_many_similar_ones(monkeypatch, drops, likely, clustered):
    left, right, _ = clusters_of(20, 1)
    pairs, nothing = SimpleNamespace(left=left, right=right), np.full(len(left), np.nan, np.float32)
    evidence, scores = SimpleNamespace(conflicts=lambda _: nothing), SimpleNamespace(probability=np.full(190, likely))
    monkeypatch.setattr(score_words, "_drops", lambda *_: np.array(drops))
    assert score_words._is_clustered(pairs, None, evidence, 20, lambda: scores) == clustered
