import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from cramped import pairs_cramped
from lookalike.engine.stores.pairs import PAIR, PairStore

ROW = st.tuples(st.integers(0, 20), st.integers(0, 20), st.floats(0, 1))
PAIRS = st.lists(ROW, max_size=60, unique_by=lambda pair: pair[:2])


@given(PAIRS, st.integers(0, 2000), st.integers(1, 7))
def test_pairs_come_back_in_order_from_memory_or_disk(pairs, limit, step):
    store = PairStore(21, limit)
    for first in range(0, len(pairs), step):
        store.add(np.array(pairs[first : first + step], PAIR))
    found = [tuple(row) for rows in store.sorted() for row in rows.tolist()]
    assert found == sorted(pairs)
    assert len(store) == len(pairs)


def test_one_item_with_more_pairs_than_fit(tmp_path):
    store = PairStore(1000, 1 << 12, tmp_path)
    right = np.random.default_rng(1).permutation(5000)
    for part in np.array_split(right, 7):
        rows = np.zeros(len(part), PAIR)
        rows["left"], rows["right"] = 7, part
        store.add(rows)
    assert list(tmp_path.iterdir())
    assert np.concatenate([rows["right"] for rows in store.sorted()]).tolist() == list(range(5000))
    del store
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
def test_copies_are_expanded_bit_by_bit(measure):
    texts = ["one two three four five six"] * 9 + ["one two three four five six seven"] * 8 + ["else"]
    calm = la.pairs(texts, threshold=0.6, measure=measure, method="brute")
    sizes = {"sets_bytes": 2000, "expanded": 7}
    assert pairs_cramped(texts, sizes, threshold=0.6, measure=measure, method="brute").equals(calm)
    ways = 2 if measure == "containment" else 1
    across = 72 if measure == "jaccard" else 2 * 72
    assert len(calm) == ways * (36 + 28) + across
