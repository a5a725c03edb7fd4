"""Looking in buckets finds exactly the pairs that share one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.lookup.buckets import candidate_pairs, index_buckets
from lookalike.types import NOWHERE

BUCKETS = st.sampled_from([NOWHERE, 0, 1, 2, -5, 2**62])
ROWS = st.lists(st.lists(BUCKETS, min_size=2, max_size=2), min_size=1, max_size=8)


@given(st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=3), st.sampled_from([0, 5, 1 << 20]))
def test_pairs_that_share_a_bucket_of_any_function(functions, pairs_at_once):
    gallery = min(len(one) for one, _ in functions)
    probes = min(len(other) for _, other in functions)
    functions = [(np.array(one[:gallery]), np.array(other[:probes])) for one, other in functions]
    want = [
        (p, g)
        for p in range(probes)
        for g in range(gallery)
        if any((set(one[g].tolist()) & set(other[p].tolist())) - {NOWHERE} for one, other in functions)
    ]
    indexed = ((index_buckets(one), other) for one, other in functions)
    left, right = candidate_pairs(indexed, gallery, pairs_at_once=pairs_at_once)
    assert list(zip(left.tolist(), right.tolist())) == want
