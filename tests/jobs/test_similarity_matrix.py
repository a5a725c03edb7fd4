"""The matrix of similarities: every entry as by definition and as `pairs` reports it; which measures are kernels."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from lookalike.api.inputs import open_sources
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.jobs import similarity_matrix as matrix
from reference import exact, holds

MEASURES = ["jaccard", "dice", "cosine", "containment", "overlap"]
token_sets = st.lists(st.sets(st.integers(0, 6), max_size=6), min_size=1, max_size=9)
outputs = st.sampled_from(["dense", "sparse"])


def dense(found):
    return found if isinstance(found, np.ndarray) else found.toarray()


@given(token_sets, st.none() | token_sets, st.sampled_from(MEASURES), outputs)
def test_every_entry_is_as_defined(a, b, measure, output):
    found = la.kernel(a, b, measure=measure, output=output, threads=1)
    wanted = [[float(exact(measure, x, y)) for y in (a if b is None else b)] for x in a]
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(dense(found), wanted, rtol=1e-12)


@given(token_sets, token_sets, st.sampled_from(MEASURES), outputs, st.data())
def test_entries_below_the_threshold_are_left_out_and_no_other(a, b, measure, output, data):
    threshold = data.draw(st.sampled_from(["1", "3"] if measure == "overlap" else ["0.5", "2/3", "1"]))
    found = la.kernel(a, b, measure=measure, output=output, threshold=threshold, threads=1)
    wanted = [[holds(measure, x, y, Fraction(threshold)) for y in b] for x in a]
    assert (dense(found) > 0).tolist() == wanted
    if output == "sparse":
        assert found.nnz == np.sum(wanted)
        assert found.has_canonical_format


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("options", [{"shingle": "word:2"}, {"shingle": "char:5", "bag": True}])
def test_values_are_those_that_pairs_reports(measure, options):
    texts = [*corpus(150, seed=4), "", None]
    threshold = 20 if measure == "overlap" else 0.3
    pairs = la.pairs(texts, measure=measure, threshold=threshold, method="brute", **options)
    settings = matrix.MatrixSettings.parse(measure, threshold, output="sparse", threads=2, **options)
    sources = open_sources(texts, "text")
    found = matrix.similarity_matrix(sources, None, settings, most_entries=1000).tocoo()  # several stretches of rows
    both_ways = measure == "containment"
    apart = found.row != found.col if both_ways else found.row < found.col
    assert len(pairs) > 50
    assert found.row[apart].tolist() == pairs["left"].to_pylist()
    assert found.col[apart].tolist() == pairs["right"].to_pylist()
    assert found.data[apart].tolist() == pairs["similarity"].to_pylist()  # to the last bit


def test_columns_texts_and_files(tmp_path):
    (tmp_path / "b.txt").write_text("one two three\nfour\n")
    a = [{"body": "One two"}, {"body": None}]
    assert la.kernel(a, [{"body": "one two three"}], column="body", shingle="word:1").tolist() == [[2 / 3], [0]]
    assert la.kernel(tmp_path / "b.txt", ["four"], shingle="word:1").tolist() == [[0], [1]]


def test_an_empty_item_has_nothing_in_common_with_itself():
    for measure in MEASURES:
        assert la.kernel([set(), {1}], measure=measure).tolist() == [[0, 0], [0, 1]]
    assert la.kernel([], ["a"]).shape == (0, 1)
    assert la.kernel(["a"], [], output="sparse").shape == (1, 0)


def collections(seed):
    """Random sets of all densities, with subsets, supersets and copies among them."""
    draw = np.random.default_rng(seed)
    sets = [set(np.flatnonzero(draw.random(40) < draw.random()).tolist()) for _ in range(60)]
    return sets + [set(list(one)[: len(one) // 2]) for one in sets[:30]] + sets[:5]


@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine", "overlap"])
@pytest.mark.parametrize("seed", range(5))
def test_these_are_kernels(measure, seed):
    found = la.kernel(collections(seed), measure=measure)
    assert (found == found.T).all()
    assert np.linalg.eigvalsh(found)[0] > -1e-10 * len(found)


def test_containment_is_none_and_a_threshold_can_break_one():
    assert la.kernel([{1}, {1, 2}], measure="containment").tolist() == [[1, 1], [0.5, 1]]
    chain = la.kernel([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}], threshold=0.5)
    assert np.linalg.eigvalsh(la.kernel([set(range(i, i + 8)) for i in range(6)], threshold=0.6))[0] < -1e-3
    assert chain.tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]


def test_vectors_by_cosine():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(20, 5)), draw.normal(size=(7, 5)).astype(np.float32)
    a[3] = 0
    wanted = [[x @ y / np.sqrt((x @ x) * (y @ y)) if x.any() else 0 for y in b.astype(float)] for x in a]
    a[4:6] *= [[1e200], [1e-200]]  # squares of these are beyond what a float holds
    np.testing.assert_allclose(la.kernel(a, b, measure="cosine"), wanted, rtol=1e-9, atol=1e-12)
    own = la.kernel(a, measure="cosine")
    np.testing.assert_allclose(np.diag(own), np.arange(20) != 3)
    assert np.linalg.eigvalsh(own)[0] > -1e-10
    a[6, 1] = np.nan
    with pytest.raises(BadDataError, match="a: row 6"):
        la.kernel(a, measure="cosine")
    with pytest.raises(BadDataError, match="5 components, those of b 4"):
        la.kernel(b, b[:, :4], measure="cosine")
    for wrong in ({"measure": "jaccard"}, {"output": "sparse"}, {"threshold": 0.5}, {"shingle": "word:1"}):
        with pytest.raises(UsageError, match="vectors"):
            la.kernel(b, **{"measure": "cosine", **wrong})


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_computed():
    with pytest.raises(ResourceError, match="6,200 x 6,200"):
        la.kernel([[i] for i in range(6200)], memory="600MiB")
    with pytest.raises(ResourceError, match="do not fit"):
        la.kernel([[1]] * 6200, output="sparse", memory="600MiB")
    assert la.kernel([[i] for i in range(6200)], output="sparse", memory="600MiB").nnz == 6200
    with pytest.raises(ResourceError, match="needs"):
        la.kernel(np.ones((6200, 2)), measure="cosine", memory="600MiB")


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="output must be"):
        la.kernel(["a"], output="csr")
    with pytest.raises(UsageError, match="measure must be"):
        la.kernel(["a"], measure="euclidean")
    for name, value in (("method", "lsh"), ("length_ratio", 0.5)):
        with pytest.raises(TypeError, match=name):
            la.kernel(["a"], **{name: value})
