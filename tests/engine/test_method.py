"""The planner: which methods it may take, what it says, and that the pairs do not depend on it."""

import json

import numpy as np
import pytest

import lookalike as la
from corpora import corpus
from lookalike.engine.method import SAMPLE_BYTES, Sampled, choose, first_features, predict, sample
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError
from lookalike.read import open_data, open_inputs


def auto(**options):
    return Settings.parse(method="auto", **options)


def test_only_methods_that_reach_the_recall_are_considered():
    sampled = Sampled(1000, 50.0, 10.0, 10.0, 0.0)
    assert list(predict(sampled, auto())) == ["lsh", "exact", "brute"]
    assert list(predict(sampled, auto(recall=1))) == ["exact", "brute"]
    assert list(predict(sampled, auto(measure="containment"))) == ["exact", "brute"]


def test_more_work_is_predicted_to_take_longer():
    base = Sampled(10_000, 50.0, 1e6, 1e5, 100.0)
    for name in ("items", "size", "meetings", "candidates", "refined"):
        values = {field: getattr(base, field) for field in Sampled.__dataclass_fields__}
        larger = Sampled(**{**values, name: 10 * values[name]})
        before, after = predict(base, auto()), predict(larger, auto())
        assert all(after[method] >= before[method] for method in before)
        assert any(after[method] > before[method] for method in before)
    assert predict(base, auto(threads=1))["exact"] == pytest.approx(2 * predict(base, auto(threads=2))["exact"])


def test_few_items_need_no_prediction():
    draw = np.random.default_rng(2)
    small = [set(draw.integers(0, 10**6, 20).tolist()) for _ in range(60)]
    _, choice = choose([open_data(small[:30], "text")], auto(recall=1))
    assert (choice.method, choice.seconds) == ("brute", {})
    _, choice = choose([open_data(small, "text")], auto(recall=1))
    assert choice.seconds["brute"] < 1
    many = Sampled(10_000_000, 100.0, 1e6, 1e5, 0.0)
    assert predict(many, auto(recall=1))["brute"] > 1000 * predict(many, auto(recall=1))["exact"]


def test_the_exact_join_is_chosen_for_very_many_elements_only_as_a_last_resort():
    many = Sampled(10_000_000, 100.0, 1e6, 1e5, 0.0)
    assert list(predict(many, auto())) == ["lsh", "brute"]
    assert list(predict(many, auto(recall=1))) == ["exact", "brute"]


def test_long_items_and_a_high_threshold_need_no_look():
    texts = [" ".join(words) for words in np.random.default_rng(6).integers(0, 999, (50, 400)).astype(str)]
    sources = [open_data(texts, "text")]
    settings, choice = choose(sources, auto())
    assert (settings.matching.method, choice.method, choice.seconds) == ("lsh", "lsh", {})
    assert "items are long" in choice.why
    for others in ({"threshold": 0.7}, {"recall": 1}, {"measure": "containment"}):
        assert choose(sources, auto(**others))[1].seconds


def test_the_choice_does_not_depend_on_how_files_are_split(tmp_path):
    lines = [json.dumps({"text": text}) + "\n" for text in corpus(3000, seed=12)]
    (tmp_path / "all.jsonl").write_text("".join(lines))
    parts = [tmp_path / f"part{k}.jsonl" for k in range(7)]
    for k, path in enumerate(parts):
        path.write_text("".join(lines[k * 500 : (k + 1) * 500]))
    assert sample(open_inputs([tmp_path / "all.jsonl"]), auto()) == sample(open_inputs(parts), auto())


def test_a_sample_predicts_number_size_and_shared_elements():
    draw = np.random.default_rng(3)
    sets = [set(draw.integers(0, 10**9, 40).tolist()) if i % 10 else set() for i in range(10_000)]
    found = sample([open_data(sets, "text")], auto())
    assert found.items == 9_000
    assert 39 <= found.size <= 40
    alike = [set(draw.integers(0, 300, 40).tolist()) for _ in range(9000)]
    assert sample([open_data(alike, "text")], auto(threshold=0.5)).meetings > 1e6 > found.meetings


@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine", "containment"])
def test_the_pairs_do_not_depend_on_the_method(measure):
    texts = corpus(400, seed=17)
    options = {"measure": measure, "threshold": 0.6}
    want = la.pairs(texts, method="brute", **options)
    assert len(want) > 100
    for method in ("exact", "merge", "auto"):
        recall = {"recall": 1} if method == "auto" else {}
        assert la.pairs(texts, method=method, **options, **recall).equals(want)


def cheapest(predicted):
    return min(predicted, key=predicted.get)


def test_dedup_reports_the_chosen_method_and_is_exact_on_request():
    texts = corpus(300, seed=18)
    found = la.dedup(texts, method="auto", recall=1)
    assert found.run["choice"]["method"] == cheapest(found.run["choice"]["predicted_seconds"]) == "exact"
    assert found.run["options"]["method"] == found.run["choice"]["method"]
    assert found.run["plan"]["recall"] == 1.0
    assert found.removed.equals(la.dedup(texts, method="brute").removed)
    assert la.dedup(texts, method="lsh").run["choice"] is None
    choice = la.dedup(texts).run["choice"]
    assert choice["method"] == cheapest(choice["predicted_seconds"]) == "lsh"


def test_bad_lines_are_still_found_after_a_look_at_the_sample(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in corpus(50, seed=4)) + "broken\n")
    with pytest.raises(BadDataError, match=r"in.jsonl:51"):
        la.pairs(path, method="auto")
    sources = open_inputs([path])
    choose(sources, auto())
    assert la.pairs(path, method="auto", on_error="skip").num_rows > 0


@pytest.mark.parametrize("files", [1, 3])
def test_a_sample_of_long_items_is_small(tmp_path, files):
    """Whatever the files: as many of the first items as have so many bytes."""
    texts = [chr(ord("a") + number) * 500_000 for number in range(24)]
    for number in range(files):
        rows = texts[24 // files * number : 24 // files * (number + 1)]
        (tmp_path / f"{number}.txt").write_text("\n".join(rows) + "\n")
    sampled = list(first_features(open_inputs(sorted(tmp_path.glob("*.txt"))), "text"))
    assert [one for some in sampled for one in some.to_pylist()] == texts[: SAMPLE_BYTES // 500_000 + 1]
