import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.families.minhash import METHODS, MinHash, as_sets
from lookalike.features.shingles import hash_lists
from lookalike.kernels.minhash import band_keys, digest_sets
from lookalike.kernels.sets import distinct_rows, hash_integers
from lookalike.tuning.curves import probability
from lookalike.types import Sets

HASHES = 64


def sets_of(rows):
    indptr = np.cumsum([0, *[len(row) for row in rows]]).astype(np.int64)
    values = np.array([value for row in rows for value in row], np.uint64)
    return Sets(*distinct_rows(indptr, hash_integers(values)))


def pairs_with(size, similarity, trials, first=0):
    """Pairs of sets of `size` elements each, over fresh elements every time, and their exact similarity."""
    shared = round(2 * size * similarity / (1 + similarity))
    rows = []
    for trial in range(trials):
        start = first + trial * 2 * size
        rows.append(range(start, start + size))
        rows.append(range(start + size - shared, start + 2 * size - shared))
    return sets_of(rows), shared / (2 * size - shared)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 5, 50, 5000])
@pytest.mark.parametrize("similarity", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_values_agree_as_often_as_the_sets_are_similar(method, size, similarity):
    trials = 12 if size == 5000 else 60
    if method == "permutation" and size == 5000:
        trials = 2
    sets, exact = pairs_with(size, similarity, trials)
    agree = 0
    for seed in range(4):
        values = MinHash(HASHES, seed, method).signatures(sets).values
        agree += int((values[::2] == values[1::2]).sum())
    draws = 4 * trials * HASHES
    # The values of one signature are drawn from the same set, so they vary no more than independent draws do.
    slack = 5 * math.sqrt(draws * exact * (1 - exact))
    assert abs(agree - draws * exact) <= slack


@pytest.mark.parametrize("hashes", [1, 2, 3, 5])
def test_long_and_short_sets_see_the_same_rounds(hashes):
    # With so few values, sets on both sides of every case in the code are small, and rounds run out often.
    agree = expected = draws = 0
    for size in range(1, 4 * hashes):
        rows = [range(100 * t, 100 * t + size + extra) for t in range(400) for extra in (0, 3)]
        values = MinHash(hashes, 9).signatures(sets_of(rows)).values
        agree += int((values[::2] == values[1::2]).sum())
        expected += 400 * hashes * size / (size + 3)
        draws += 400 * hashes
    assert abs(agree - expected) <= 5 * math.sqrt(draws * 0.25)


def test_small_sets_vary_less_than_with_independent_hashes():
    sets, exact = pairs_with(20, 0.5, 400)
    values = MinHash(HASHES, 1, "fast").signatures(sets).values
    shares = (values[::2] == values[1::2]).mean(axis=1)
    assert shares.var() < 0.9 * exact * (1 - exact) / HASHES


@pytest.mark.parametrize(("bands", "rows"), [(20, 5), (26, 8), (5, 2)])
@pytest.mark.parametrize("size", [30, 400])
def test_bands_find_what_the_curve_says(bands, rows, size):
    trials = 300
    for similarity in (0.3, 0.6, 0.8):
        sets, exact = pairs_with(size, similarity, trials)
        keys = band_keys(MinHash(bands * rows, 3).signatures(sets).values, bands, rows)
        found = int((keys[:, ::2] == keys[:, 1::2]).any(axis=0).sum())
        expected = probability(exact, bands, rows)
        assert abs(found - trials * expected) <= 5 * math.sqrt(trials * expected * (1 - expected)) + 1


def test_signatures_depend_on_the_set_and_the_seed_alone():
    one, two = sets_of([[1, 2, 3], [9]]), sets_of([[9], [3, 2, 1, 1]])
    first, second = MinHash(32, 1).signatures(one).values, MinHash(32, 1).signatures(two).values
    assert np.array_equal(first[0], second[1])
    assert np.array_equal(first[1], second[0])
    assert not np.array_equal(first, MinHash(32, 2).signatures(one).values)


@pytest.mark.parametrize("method", METHODS)
def test_the_empty_set_has_the_largest_value_everywhere(method):
    values = MinHash(8, 1, method).signatures(sets_of([[], [1], []])).values
    assert (values[[0, 2]] == np.iinfo(np.uint32).max).all()
    assert (values[1] != np.iinfo(np.uint32).max).any()


def test_digest_gives_the_keys_of_the_signature():
    sets = sets_of([[1, 2, 3], [], range(1000)])
    keys, counts, _ = digest_sets(sets.indptr, sets.elements, np.uint64(5), 4, 3)
    assert counts.tolist() == [3, 0, 1000]
    assert np.array_equal(keys, band_keys(MinHash(12, 5).signatures(sets).values, 4, 3))


def test_python_sets_are_taken_as_they_are():
    signatures = la.MinHash(hashes=256, seed=1).signatures([{"a", "b", "c"}, {"b", "c", "d"}, set()])
    assert signatures.values.shape == (3, 256)
    assert 0.3 < signatures.similarity(0, 1) < 0.7
    numbers = la.MinHash(hashes=16).signatures([{1, 2}, [2, 1, 1]])
    assert numbers.similarity(0, 1) == 1


def test_wrong_parameters_are_refused():
    for wrong in ({"method": "md5"}, {"hashes": 0}, {"hashes": 65537}):
        with pytest.raises(UsageError, match=f"^{next(iter(wrong))} must be "):
            MinHash(**wrong)
    with pytest.raises(ResourceError, match="fast"):
        MinHash(65536, method="permutation").signatures(sets_of([range(5000)]))


def test_one_class_for_both_kinds_of_sets():
    assert la.MinHash is MinHash


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8"))) | st.lists(st.just("a"))))
def test_collections_of_strings_are_the_sets_of_token_lists(rows):
    got, want = as_sets(rows), hash_lists(pa.array(rows, pa.list_(pa.string())))
    assert got.indptr.tolist() == want.indptr.tolist()
    assert got.elements.tolist() == want.elements.tolist()


@given(st.lists(st.frozensets(st.integers(-(1 << 63), (1 << 63) - 1))))
def test_collections_of_integers_are_the_sets_of_token_lists(rows):
    got, want = as_sets(rows), hash_lists(pa.array([list(row) for row in rows], pa.list_(pa.int64())))
    assert got.indptr.tolist() == want.indptr.tolist()
    assert got.elements.tolist() == want.elements.tolist()
    assert as_sets(got) is got


def test_numpy_integers_and_large_ones_are_elements():
    assert as_sets([np.arange(3)]).elements.tolist() == as_sets([[0, 1, 2]]).elements.tolist()
    large = hash_lists(pa.array([[(1 << 64) - 1]], pa.list_(pa.uint64())))
    assert as_sets([[(1 << 64) - 1]]).elements.tolist() == large.elements.tolist()


@pytest.mark.parametrize("row", [["a", 1], [1.5], [True], [None], [b"a"]])
def test_other_elements_are_refused(row):
    with pytest.raises(BadDataError, match="strings only or integers only"):
        MinHash(4).signatures([row])


@pytest.mark.parametrize("value", [1 << 64, -(1 << 63) - 1])
def test_integers_beyond_64_bits_are_refused(value):
    with pytest.raises(BadDataError, match="64 bits"):
        MinHash(4).signatures([[value]])
