from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates import prefix
from lookalike.kernels.sets import distinct_rows, hash_integers
from lookalike.tuning.thresholds import jaccard_floor
from lookalike.verify.measures import NUMBERS
from reference import holds


def buckets_of(rows, measure, threshold, limit=prefix.OVERSIZE):
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    elements = hash_integers(np.array([v for row in rows for v in sorted(row)], np.uint64))
    indptr, elements = distinct_rows(indptr, elements)
    floor = jaccard_floor(measure, threshold)
    items = np.arange(len(rows), dtype=np.int64)
    return prefix.join_prefixes(
        items, indptr[:-1], indptr[1:], elements, NUMBERS[measure], threshold.numerator, threshold.denominator,
        (floor.numerator, floor.denominator), limit,
    )  # fmt: skip


def pairs_met(buckets):
    met = set()
    for a, b in zip(buckets.starts[:-1], buckets.starts[1:]):
        members = buckets.members[a:b].tolist()
        met |= {(i, j) for i in members for j in members if i < j}
    return met


@pytest.mark.parametrize("limit", [0, 3, 200])
@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine"])
@given(st.data())
@settings(max_examples=60)
def test_every_similar_pair_meets(limit, measure, data):
    threshold = data.draw(st.sampled_from([Fraction(1, 2), Fraction(4, 5), Fraction(9, 10), Fraction(1)]))
    boilerplate = set(range(data.draw(st.integers(0, 12))))
    rows = data.draw(st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=15), min_size=2, max_size=12))
    rows = [row | boilerplate for row in rows]
    met = pairs_met(buckets_of(rows, measure, threshold, limit))  # 0: every bucket is checked for hopeless members
    similar = {(i, j) for j in range(len(rows)) for i in range(j) if holds(measure, rows[i], rows[j], threshold)}
    assert similar <= met


def test_boilerplate_alone_makes_few_candidates():
    # 46 common elements, 9 of each set's own: similarity 46/64, below 0.8. The prefix of 12 reaches into
    # the common ones, but their place there rules the pairs out.
    rows = [set(range(46)) | set(range(1000 + 9 * i, 1009 + 9 * i)) for i in range(500)]
    assert len(pairs_met(buckets_of(rows, "jaccard", Fraction(4, 5)))) < 500
