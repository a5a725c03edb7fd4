"""Buckets that are refined by rare elements: the pairs stay the same, whatever counts as too large."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engine.settings import MatchSettings
from lookalike.kernels.sets import distinct_rows, hash_integers
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import refine
from lookalike.types import Sets
from reference import holds

THRESHOLDS = {"overlap": ["2", "3"]}


def comparable(rows, keys):
    """Distinct sets, and bucket keys of each in two bands."""
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    elements = hash_integers(np.array([value for row in rows for value in sorted(row)], np.uint64))
    return Comparable.from_keys(Sets(*distinct_rows(indptr, elements)), np.array(keys, np.uint64).T)


def met(found):
    members = np.split(found.buckets.members, found.buckets.starts[1:-1])
    return {pair for some in members for pair in combinations(sorted(some.tolist()), 2)}


@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine", "containment", "overlap"])
@given(data=st.data())
@settings(max_examples=40)
def test_similar_pairs_of_a_bucket_still_meet_and_no_others_join_them(measure, data):
    threshold = data.draw(st.sampled_from(THRESHOLDS.get(measure, ["0.5", "0.75", "1"])))
    common = frozenset(range(data.draw(st.integers(0, 12))))
    own = st.frozensets(st.integers(0, 30), min_size=1, max_size=12)
    rows = [
        row | common for row in data.draw(st.lists(own, min_size=2, max_size=12, unique_by=lambda row: row | common))
    ]
    keys = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=len(rows), max_size=len(rows)))
    found = comparable(rows, keys)
    before = met(found)
    refine(found, MatchSettings.parse(threshold=threshold, measure=measure, method="exact"), limit=1)
    alike = {
        pair
        for pair in before
        if any(holds(measure, rows[i], rows[j], Fraction(threshold)) for i, j in (pair, pair[::-1]))
    }
    assert alike <= met(found) <= before


def test_the_buckets_that_were_refined_are_counted():
    rows = [{*range(20), 100 + i} for i in range(8)]
    keys = [(0, i // 3) for i in range(8)]  # one bucket of eight; two of three and one of two
    matching = MatchSettings.parse(method="lsh")
    found = comparable(rows, keys)
    told = refine(found, matching, limit=3)
    assert (told.buckets, told.largest, told.items) == (1, 8, 8)
    assert found.crowded.tolist() == list(range(8))
    assert refine(comparable(rows, keys), matching).buckets == 0
