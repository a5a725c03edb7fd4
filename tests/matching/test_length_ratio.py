"""Only items of similar length are candidates: for every method, policy and way a run can go."""

import json
from fractions import Fraction
from itertools import combinations

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from calling import caller
from corpora import corpus
from cramped import dedup_cramped, pairs_cramped
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.errors import UsageError
from lookalike.jobs.audit import audit_folder
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.jobs.dedup_again import dedup_again
from reference import exact, holds, shingles

MEASURES = ["jaccard", "dice", "cosine", "containment", "overlap"]
token_sets = st.lists(st.sets(st.integers(0, 9), max_size=9), min_size=1, max_size=10)
ratios = st.sampled_from(["0.2", "1/3", "0.5", "0.55", "0.6", "2/3", "0.75", "0.9", "1"])


def alike(a, b, ratio):
    return min(len(a), len(b)) >= Fraction(ratio) * max(len(a), len(b))


def similar(measure, a, b, threshold, ratio):
    return holds(measure, a, b, Fraction(threshold)) and alike(a, b, ratio)


def draw_threshold(data, measure):
    return data.draw(st.sampled_from(["1", "3"] if measure == "overlap" else ["0.1", "0.3", "0.5"]))


def for_each_method(check):
    """Try a check often with each method, but with merge, which starts DuckDB every time, less often."""
    parameters = [(["brute", "exact"], 100), (["merge"], 20)]

    @pytest.mark.parametrize(("methods", "examples"), parameters, ids=["brute or exact", "merge"])
    def test(methods, examples):
        settings(max_examples=examples)(given(st.sampled_from(methods), st.data())(check))()

    return test


@for_each_method
def test_pairs_are_those_of_brute_force(method, data):
    items, measure, ratio = (data.draw(one) for one in (token_sets, st.sampled_from(MEASURES), ratios))
    threshold = draw_threshold(data, measure)
    found = la.pairs(items, measure=measure, threshold=threshold, method=method, length_ratio=ratio, threads=1)
    both_ways = measure == "containment"
    assert found.to_pylist() == [
        {"left": i, "right": j, "similarity": pytest.approx(float(exact(measure, a, b)), rel=1e-12)}
        for i, a in enumerate(items)
        for j, b in enumerate(items)
        if (i < j or (both_ways and i != j)) and similar(measure, a, b, threshold, ratio)
    ]


@for_each_method
def test_pairs_between_two_collections(method, data):
    items, others, measure, ratio = (
        data.draw(one) for one in (token_sets, token_sets, st.sampled_from(MEASURES), ratios)
    )
    threshold = draw_threshold(data, measure)
    found = la.pairs(
        items, against=others, measure=measure, threshold=threshold, method=method, length_ratio=ratio, threads=1
    )
    wanted = [
        (i, j) for i, a in enumerate(items) for j, b in enumerate(others) if similar(measure, a, b, threshold, ratio)
    ]
    assert list(zip(found["left"].to_pylist(), found["right"].to_pylist())) == wanted


@given(token_sets, st.sampled_from(MEASURES), ratios, st.data())
@settings(max_examples=150)
def test_dedup_keeps_what_the_definition_keeps(items, measure, ratio, data):
    threshold = draw_threshold(data, measure)
    method = data.draw(st.sampled_from(["brute", "exact"]))
    policy = data.draw(st.sampled_from(["direct", "connected"]))
    result = la.dedup(
        [list(one) for one in items], measure=measure, threshold=threshold, method=method, length_ratio=ratio,
        policy=policy, threads=1,
    )  # fmt: skip
    removed = dict(zip(result.removed["row"].to_pylist(), result.removed["kept_row"].to_pylist()))
    # for containment it is the removed one that lies in the kept one; a cluster hangs together by either direction
    if policy == "direct":
        keeper = {}
        for item, one in enumerate(items):
            kept = (k for k in range(item) if k not in keeper and similar(measure, one, items[k], threshold, ratio))
            if (first := next(kept, None)) is not None:
                keeper[item] = first
        assert removed == keeper
        return
    label = list(range(len(items)))
    for i, j in combinations(range(len(items)), 2):
        a, b = items[i], items[j]
        if similar(measure, a, b, threshold, ratio) or similar(measure, b, a, threshold, ratio):
            old, new = max(label[i], label[j]), min(label[i], label[j])
            label = [new if one == old else one for one in label]
    assert removed == {i: root for i, root in enumerate(label) if root != i}


TEXTS = corpus(400, seed=37)
TEXTS += [text[: len(text) * 3 // 4] for text in TEXTS[:150]]  # the beginning alone: much shorter
SETS = [shingles(text, "word:2") for text in TEXTS]
COMMON = {"shingle": "word:2", "threshold": 0.5, "threads": 2}
RATIO = "0.9"


def greedy(pairs):
    """Who goes, given the similar pairs (left before right)."""
    keeper = {}
    for left, right in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
        if left not in keeper and right not in keeper:
            keeper[right] = left
    return keeper


@pytest.fixture(scope="module")
def found():
    """By bands, at a recall that misses some: all pairs, whatever their length."""
    table = la.pairs(TEXTS, method="lsh", recall=0.7, **COMMON)
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist()))


def test_bands_find_the_same_but_for_the_lengths(found):
    of_length = [(i, j) for i, j in found if alike(SETS[i], SETS[j], RATIO)]
    assert 100 < len(of_length) < len(found) - 100
    table = la.pairs(TEXTS, method="lsh", recall=0.7, length_ratio=RATIO, **COMMON)
    assert list(zip(table["left"].to_pylist(), table["right"].to_pylist())) == of_length
    result = la.dedup(TEXTS, method="lsh", recall=0.7, length_ratio=RATIO, **COMMON)
    assert dict(zip(result.removed["row"].to_pylist(), result.removed["kept_row"].to_pylist())) == greedy(of_length)


def test_pairs_of_different_length_are_not_candidates():
    texts = ["a b c d e f g h i j", "a b c d e"]
    run = la.dedup(texts, shingle="word:1", method="brute", threshold=0.5, length_ratio="0.51").run
    assert run["counts"]["candidates"] == 0
    assert la.dedup(texts, shingle="word:1", method="brute", threshold=0.5, length_ratio="0.5").run["counts"]["pairs"]


@pytest.mark.parametrize("method", ["lsh", "exact", "brute"])
def test_blocks_that_do_not_fit_give_the_same(method):
    options = {"method": method, "length_ratio": RATIO, **COMMON}
    pairs, removed = la.pairs(TEXTS, **options), la.dedup(TEXTS, **options).removed
    assert len(pairs) > 100
    assert pairs_cramped(TEXTS, {"sets_bytes": 60_000}, **options) == pairs
    assert dedup_cramped(TEXTS, {"sets_bytes": 60_000}, **options).removed == removed


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{i}", "text": text}) + "\n" for i, text in enumerate(TEXTS)))
    return path


@pytest.mark.parametrize("size", [-1, 10_000])
@pytest.mark.parametrize("policy", ["direct", "connected"])
def test_a_rethresholded_run_keeps_its_length_ratio(tmp_path, source, size, policy):
    """Whether pairs are saved, or buckets."""
    first = Settings.parse(method="brute", length_ratio=RATIO, **COMMON)
    dedup_to_folder([source], tmp_path / "out", first, DedupOptions(pairs_per_set=size))
    dedup_again(tmp_path / "out", tmp_path / "again", threshold=0.6, policy=policy)
    stricter = Settings.parse(method="brute", length_ratio=RATIO, **{**COMMON, "threshold": 0.6})
    run = dedup_to_folder([source], tmp_path / "new", stricter, DedupOptions(policy=policy))
    assert pq.read_table(tmp_path / "again/removed.parquet") == pq.read_table(tmp_path / "new/removed.parquet")
    assert run["options"]["length_ratio"] == 0.9
    assert json.loads((tmp_path / "again/run.json").read_text())["options"]["length_ratio"] == 0.9


def test_the_audit_counts_pairs_of_similar_length_only(tmp_path, source):
    settings = Settings.parse(method="lsh", length_ratio=RATIO, **COMMON)
    run = dedup_to_folder([source], tmp_path / "out", settings, DedupOptions(audit_items=len(TEXTS)))
    wanted = sum(similar("jaccard", a, b, "0.5", RATIO) for a, b in combinations(SETS, 2))
    assert run["audit"]["pairs"] == wanted  # every item is in the sample, every pair counts once
    assert run["audit"]["found"] >= 0.98 * run["audit"]["pairs"]
    assert audit_folder(tmp_path / "out", len(TEXTS), Progress())["pairs"] == wanted


def test_the_command_line_accepts_the_ratio_and_from_cannot_change_it(tmp_path, source, capfd, monkeypatch):
    call = caller(capfd, monkeypatch)
    first = call("dedup", source, "-o", tmp_path / "out", "--shingle", "word:2", "--length-ratio", "2/3", "--json")
    assert first.json()["options"]["length_ratio"] == "2/3"
    assert "shorter / longer at least 2/3" in first.err
    again = call("dedup", "--from", tmp_path / "out", "-o", tmp_path / "again", "--length-ratio", "0.9")
    assert (again.code, "--length-ratio cannot change" in again.err) == (2, True)
    refused = call("pairs", source, "--length-ratio", "2")
    assert (refused.code, "--length-ratio must be above 0 and at most 1" in refused.err) == (2, True)


@pytest.mark.parametrize("ratio", ["0", "-0.5", "1.01", "half", "0.1234567891234", "nan", ""])
def test_a_ratio_that_makes_no_sense_is_refused(ratio):
    with pytest.raises(UsageError, match="--length-ratio must be"):
        la.pairs(["a"], length_ratio=ratio)


def test_vectors_have_no_ratio():
    with pytest.raises(UsageError, match="applies to sets"):
        la.pairs([[0.5, 1.5], [1.5, 0.5]], measure="cosine", length_ratio=0.5)


def test_neighbours_have_no_ratio():
    with pytest.raises(TypeError, match="length_ratio"):
        la.neighbors(["a"], length_ratio=0.5)
