from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from cramped import pairs_cramped
from lookalike.errors import ResourceError
from reference import exact, holds, shingles

texts = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=7).map(" ".join), min_size=1, max_size=10
)
token_sets = st.lists(st.sets(st.integers(0, 6), max_size=6), min_size=1, max_size=10)


def brute(sets, measure, threshold):
    both_ways = measure == "containment"
    return [
        {
            "left": i,
            "right": j,
            "similarity": pytest.approx(float(exact(measure, sets[i], sets[j])), rel=1e-12),
        }
        for i in range(len(sets))
        for j in range(len(sets))
        if (i < j or (both_ways and i != j)) and holds(measure, sets[i], sets[j], threshold)
    ]


@given(texts, st.sampled_from(["jaccard", "dice", "cosine", "containment", "overlap"]), st.data())
@settings(max_examples=100)
def test_brute_force_gives_every_pair_in_order(items, measure, data):
    threshold = data.draw(st.sampled_from(["1", "3"] if measure == "overlap" else ["0.5", "0.55", "1.0"]))
    method = data.draw(st.sampled_from(["brute", "exact", "exact", "merge"]))
    found = la.pairs(items, shingle="word:1", measure=measure, threshold=threshold, method=method, threads=1)
    assert found.to_pylist() == brute([shingles(t, "word:1") for t in items], measure, Fraction(threshold))


@given(token_sets, token_sets, st.sampled_from(["jaccard", "dice", "cosine", "containment", "overlap"]), st.data())
def test_pairs_between_two_collections(items, others, measure, data):
    threshold = data.draw(st.sampled_from(["1", "3"] if measure == "overlap" else ["0.5", "0.55", "1.0"]))
    method = data.draw(st.sampled_from(["brute", "exact", "exact", "merge"]))
    found = la.pairs(items, against=others, measure=measure, threshold=threshold, method=method, threads=1)
    assert found.to_pylist() == [
        {"left": i, "right": j, "similarity": pytest.approx(float(exact(measure, a, b)), rel=1e-12)}
        for i, a in enumerate(items)
        for j, b in enumerate(others)
        if holds(measure, a, b, Fraction(threshold))
    ]


@given(token_sets)
def test_sets_are_compared_as_they_are(items):
    found = la.pairs(items, threshold=0.5, method="brute", threads=1)
    assert found.to_pylist() == brute(items, "jaccard", Fraction(1, 2))


@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine"])
def test_lsh_finds_what_it_promises_and_nothing_else(measure):
    items = corpus(500, seed=8)
    every = la.pairs(items, measure=measure, method="brute", threshold=0.7).to_pylist()
    found = la.pairs(items, measure=measure, recall=0.9, threshold=0.7).to_pylist()
    assert len(every) > 150
    assert all(pair in every for pair in found)
    assert len(found) >= 0.9 * len(every)


def test_ids_are_returned_on_request():
    same = "one two three four five six"
    table = [{"id": "x", "text": same}, {"id": "y", "text": same}]
    assert la.pairs(table).to_pylist() == [{"left": 0, "right": 1, "similarity": 1.0}]
    assert la.pairs(table, id="id")["right"].to_pylist() == ["y"]


def test_too_many_pairs_are_refused_before_they_fill_the_memory():
    with pytest.raises(ResourceError, match="lookalike dedup"):
        pairs_cramped(["one two three"] * 50, {"most_pairs": 100})


@pytest.mark.parametrize("count", [1000, 2500])
def test_planted_articles_are_found_and_nothing_else(data_folder, count):
    folder = data_folder / "articles"
    rows = [line.split(" ", 1) for line in (folder / f"articles_{count}.train").read_text().splitlines()]
    truth = {frozenset(line.split()) for line in (folder / f"articles_{count}.truth").read_text().splitlines() if line}
    found = la.pairs([{"id": a, "text": b} for a, b in rows], id="id", threshold=0.8)
    assert {frozenset((p["left"], p["right"])) for p in found.to_pylist()} == truth
    result = la.dedup([{"id": a, "text": b} for a, b in rows], threshold=0.8)
    assert result.run["counts"]["removed"] == len(truth)
