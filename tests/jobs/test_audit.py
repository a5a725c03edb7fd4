import numpy as np
import pytest

import lookalike as la
from corpora import corpus
from lookalike.jobs.dedup_alarms import InputFile, Removals, find_alarms
from lookalike.tuning.intervals import grouped_interval, wilson_interval
from reference import exact, shingles


def test_the_sample_of_everything_is_the_exact_answer():
    texts = corpus(300, seed=3, copies=0.6)
    sets = [shingles(text) for text in texts]
    result = la.dedup(texts, threshold=0.5, recall=0.6, hashes=16, audit=10_000)
    audit = result.run["audit"]
    pairs = sum(exact("jaccard", a, b) >= 0.5 for i, a in enumerate(sets) for b in sets[:i])
    assert audit["sample"] == 300
    assert audit["pairs"] == pairs > 100
    assert audit["found"] == round(audit["recall"] * audit["pairs"]) < audit["pairs"]
    assert audit["interval"][0] < audit["recall"] < audit["interval"][1]
    assert audit["recall"] == pytest.approx(audit["predicted"], abs=0.1)


def test_a_pair_of_two_sampled_items_counts_once():
    audit = la.dedup(["a rose is a rose is a rose"] * 3, audit=3, method="lsh").run["audit"]
    assert (audit["sample"], audit["pairs"], audit["found"]) == (3, 3, 3)


def test_a_method_without_bands_misses_nothing_for_certain():
    texts = corpus(300, seed=3, copies=0.6)
    audit = la.dedup(texts, threshold=0.5, method="brute", audit=20).run["audit"]
    assert 0 < audit["found"] == audit["pairs"]
    assert (audit["recall"], audit["interval"], audit["predicted"]) == (1.0, [1.0, 1.0], 1.0)


def test_the_interval_covers_the_true_recall():
    texts = corpus(600, seed=5, copies=0.5)
    covered = 0
    for seed in range(20):
        options = {"threshold": 0.5, "recall": 0.6, "hashes": 16, "seed": seed, "threads": 1}
        true = la.dedup(texts, audit=10_000, **options).run["audit"]["recall"]
        low, high = la.dedup(texts, audit=150, **options).run["audit"]["interval"]
        covered += low <= true <= high
    assert covered >= 19


def test_without_similar_items_there_is_no_recall():
    audit = la.dedup(["a b c d e f", "g h i j k l"], audit=5).run["audit"]
    assert (audit["pairs"], audit["recall"], audit["interval"]) == (0, None, [0.0, 1.0])


def test_wilson_interval_of_known_cases():
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert grouped_interval(np.array([0, 0]), np.array([0, 0])) == (0.0, 1.0)


def kinds(keeper, counts=None, references=0, files=(), audit=None, close=0, rejected=0):
    counts = np.ones(len(keeper)) if counts is None else counts
    removed = np.flatnonzero(np.array(keeper) >= 0)
    whole = [("all", references, len(keeper))]
    files = [InputFile(*file, int(np.sum(counts[file[1] : file[2]] == 0))) for file in files or whole]
    found = find_alarms(Removals(removed, np.array(keeper, int)[removed], close), files, audit, rejected)
    return [alarm["kind"] for alarm in found]


def test_alarms_ring_where_they_should_and_only_there():
    quiet = [-1] * 1000
    assert kinds(quiet, files=[("a", 0, 1000)]) == []
    assert kinds([-1] + [0] * 9 + [-1] * 990) == []
    assert kinds([-1] + [0] * 10 + [-1] * 989) == ["large_cluster"]
    apart = [-1] * 500 + list(range(500))
    assert kinds(apart, files=[("a", 0, 500), ("b", 500, 1000)]) == ["file_mostly_removed"]
    assert kinds(quiet, counts=np.array([0] * 501 + [1] * 499)) == ["mostly_empty"]
    half = np.array([0] * 500 + [1] * 500)
    assert kinds(quiet, counts=half) == ["many_empty"]
    assert kinds(quiet, counts=half, files=[("a", 0, 500), ("b", 500, 1000)]) == ["many_empty", "mostly_empty"]
    assert kinds(quiet, counts=np.array([0] * 10 + [1] * 990), files=[("a", 0, 10), ("b", 10, 1000)]) == []
    assert kinds(quiet, counts=np.array([0] * 50 + [1] * 950)) == []
    assert kinds(quiet, counts=np.array([0] * 51 + [1] * 949)) == ["many_empty"]
    one_copy = [number - 1 if number % 2 else -1 for number in range(1000)]
    files = [("a", 0, 500), ("b", 500, 1000)]
    assert kinds(one_copy, files=files) == []
    assert kinds([*one_copy[:-2], 0, 2], files=files) == ["mostly_removed", "file_mostly_removed"]
    assert kinds(one_copy, files=files, close=125) == []
    assert kinds(one_copy, files=files, close=126) == ["close_calls"]
    assert kinds(quiet, rejected=1) == ["rejected"]
    assert kinds([]) == ["no_items"]
    audit = {"recall": 0.9, "interval": [0.85, 0.95], "wanted": 0.99, "pairs": 20, "sample": 100}
    assert kinds(quiet, audit=audit) == ["recall_not_reached"]
    assert kinds(quiet, audit={**audit, "interval": [0.85, 0.995]}) == ["recall_uncertain"]
    assert kinds(quiet, audit={**audit, "recall": 1.0, "interval": [0.93, 1.0]}) == ["recall_uncertain"]
    assert kinds(quiet, audit={**audit, "recall": 1.0, "interval": [0.95, 1.0]}) == []
    assert kinds(quiet, audit={**audit, "recall": 1.0, "interval": [0.93, 1.0], "sample": 1000}) == []
    assert kinds(quiet, audit={**audit, "recall": None}) == []
