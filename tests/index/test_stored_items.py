"""What is stored of items can be looked at, wherever the index is."""

import time

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.index.stored_items import find_items, neighbors_of, read_items, read_texts

ROSE = "a rose is a rose is a rose and nothing else but a rose"
DAISY = "a daisy is a daisy is a daisy and nothing else but a daisy"
ROSES = ROSE + " indeed"


def test_items_are_found_by_id_with_text_and_time(place):
    before = time.time_ns() // 1000
    with la.Index.create(place, threshold=0.5, store="text") as index:
        index.add([{"id": "r", "text": ROSE}, {"id": "é/ %", "text": DAISY}, {"id": "s", "text": ROSES}])
        lookup = index.store.lookup
        numbers = find_items(lookup, ["é/ %", "nobody", "r"])
        assert numbers == [1, None, 0]
        daisy, rose = read_items(lookup, [1, 0])
        assert (daisy.id, daisy.text, rose.id, rose.size) == ("é/ %", DAISY, "r", len(la.shingles(ROSE)))
        assert before <= rose.added_at <= time.time_ns() // 1000
        assert lookup.times(lookup.numbers()).tolist() == [rose.added_at] * 3
        assert read_texts(lookup, np.array([2, 0, 2])) == [ROSES, ROSE, ROSES]
        near = neighbors_of(lookup, 0, 5)
        assert near.right.tolist() == [2]
        assert near.similarity.tolist() == [la.jaccard(ROSE, ROSES, shingle="word:5")]
        index.remove(["r"])
        lookup = index.store.lookup
        assert (lookup.next_from(0), lookup.next_from(2), lookup.next_from(3), lookup.total) == (1, 2, None, 3)


def test_sets_and_vectors_are_distinguished(tmp_path):
    with la.Index.create(tmp_path / "sets", [["a", "b"], ["c"]]) as index:
        assert [(one.id, one.size, one.text) for one in read_items(index.store.lookup, [0, 1])] == [
            (0, 2, None),
            (1, 1, None),
        ]
    rows = np.array([[1.0, 2.0, 4.0], [-1.0, 0.0, 0.5]], np.float32)
    with la.Index.create(tmp_path / "numbers", rows, measure="cosine") as index:
        assert read_items(index.store.lookup, [1])[0].vector == [-1.0, 0.0, 0.5]
    bits = np.arange(200).reshape(2, 100) % 3 == 0
    with la.Index.create(tmp_path / "bits", bits, measure="hamming", threshold=5) as index:
        assert read_items(index.store.lookup, [1])[0].bits == "".join(map(str, bits[1].astype(int)))


def test_bucket_sizes_count_every_key(place):
    texts = [ROSE] * 5 + [DAISY] + [" ".join(word + str(i) for i in range(8)) for word in "bcefghij"]
    with la.Index.create(place, texts) as index:
        index.compact()
        sizes, stats = index.store.bucket_sizes(), index.stats()
        bands = stats["plan"]["bands"]
        # of 14 texts, five are equal, and no others share a bucket
        assert sizes == ({1: 9 * bands, 2: 0, 4: bands}, False)
        assert stats["largest_bucket"] == 5


def test_an_empty_index_has_nothing_to_show(place):
    with la.Index.create(place) as index:
        assert find_items(index.store.lookup, ["a"]) == [None]
        assert (index.store.lookup.next_from(0), index.store.bucket_sizes().counts) == (None, {})
        assert len(index.store.lookup.numbers()) == 0


@pytest.mark.parametrize("store", ["sets", "text"])
def test_search_and_query_find_the_same(tmp_path, store):
    import pyarrow as pa

    texts = [ROSE, DAISY, ROSES]
    with la.Index.create(tmp_path / "index", texts, threshold=0.5, store=store) as index:
        lookup, found = index._index.search(pa.array(texts, pa.large_string()))
        asked = index.query(texts)
        assert found.left.tolist() == asked["left"].to_pylist()
        assert lookup.ids(found.right).to_pylist() == [str(one) for one in asked["right"].to_pylist()]
        assert found.similarity.tolist() == asked["similarity"].to_pylist()


def test_a_closed_index_does_not_answer(place):
    with la.Index.create(place, [{"id": "r", "text": ROSE}]) as index:
        assert len(index) == 1
    assert "closed" in repr(index)
    for use in (lambda: index.query([ROSE]), lambda: index.add([DAISY]), lambda: len(index), index.stats):
        with pytest.raises(UsageError, match="the index was closed; open it again"):
            use()
