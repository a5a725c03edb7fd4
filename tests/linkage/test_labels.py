"""Labelled pairs: what they improve, how links are judged by them, which pairs to label, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.support.catalogues import judge_products, make_products, make_word

import lookalike as la
from linking import f1, make_people, pairs_of
from lookalike.errors import UsageError
from lookalike.linkage.read_labels import read_labels
from lookalike.linkage.review import doubtful_share, inclusion
from lookalike.linkage.scoring.calibration import calibrate
from lookalike.linkage.scoring.labels import (
    LabelFigures,
    Labels,
    Share,
    describe_figures,
    divide,
    estimate_share,
    judge_links,
)
from lookalike.linkage.scoring.weights import fit_weights
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable

FIELDS = ["name", "phone"]
OPTIONS = {"threads": 1, "one_to_one": "no"}


@pytest.fixture(scope="module")
def people():
    """Hard to link: all values are wrong."""
    return make_people(1000, 1000, 0.3, errors=1.0, seed=5)


@pytest.fixture(scope="module")
def labels(people):
    left, right, truth = people
    loose = la.link(left, right, FIELDS, probability=0.01, **OPTIONS)
    rows = loose.links.select(["left", "right"]).to_pylist()
    random.Random(1).shuffle(rows)
    return [dict(row, match=int((row["left"], row["right"]) in truth)) for row in rows[:150]]


def test_labels_refine_and_judge(people, labels):
    left, right, truth = people
    without = la.link(left, right, FIELDS, **OPTIONS)
    result = la.link(left, right, FIELDS, labels=labels, **OPTIONS)
    found = pairs_of(result.links)
    assert f1(found, truth) > f1(pairs_of(without.links), truth) + 0.03
    figures = result.run["labels"]
    assert (figures["pairs"], figures["matches"]) == (150, sum(row["match"] for row in labels))
    assert figures["folds"] == 5
    true = len(found & truth) / len(found)
    assert figures["precision"]["low"] <= true <= figures["precision"]["high"]
    for share in (figures[name] for name in ("precision", "recall", "f1")):
        assert 0 < share["low"] <= share["estimate"] <= share["high"] <= 1
    assert abs(result.run["precision"]["estimate"] - true) < 0.03
    # A later run has the same probabilities.
    later = la.link(left[:1], against=result, without=[left["id"][0].as_py()], threads=1)
    assert later.links["probability"].to_pylist() == pytest.approx(result.links["probability"].to_pylist())


def test_words_are_refined():
    left, right = make_products(250, 250, 0.4)
    fields = ["title:text", "maker", "price"]
    without = la.link(left, right, fields, id="id", threads=1)
    rows = (
        la.link(left, right, fields, id="id", probability=0.02, threads=1).links.select(["left", "right"]).to_pylist()
    )
    random.Random(2).shuffle(rows)
    labels = [dict(row, match=row["left"][1:] == row["right"][1:]) for row in rows[:80]]
    result = la.link(left, right, fields, id="id", labels=labels, threads=1)
    assert result.run["labels"]["f1"]["estimate"] > 0.5
    assert result.run["precision"]["how"] == "probabilities calibrated on the labels"
    assert judge_products(result.links, left, right)[0] > judge_products(without.links, left, right)[0] - 0.03
    weights = [row["weight"] for row in result.run["weights"]]
    assert weights  # the report has them
    row = result.links.to_pylist()[0]
    total = result.run["prior"] + sum(row[name]["weight"] for name in ("title", "maker", "price"))
    assert row["score"] == pytest.approx(total)


def test_a_surprising_match_does_not_change_the_scale_of_scores():
    """Both of its records have better partners, and its label represents thousands of pairs."""
    left, right = make_products(250, 250, 0.4)
    given = {"fields": ["title:text", "maker", "price"], "id": "id", "threads": 1}
    without = la.link(left, right, **given)
    review = la.link(left, right, review=60, **given).review.to_pylist()
    labels = [dict(row, match=row["left"][1:] == row["right"][1:]) for row in review]
    known = {name: set(without.links[name].to_pylist()) for name in ("left", "right")}
    links = {(row["left"], row["right"]) for row in without.links.to_pylist()}
    loose = la.link(left, right, one_to_one="no", probability=1e-6, **given).links.select(["left", "right"]).to_pylist()
    surprise = next(
        row for row in loose
        if row["left"] in known["left"] and row["right"] in known["right"] and (row["left"], row["right"]) not in links
    )  # fmt: skip
    result = la.link(left, right, labels=[*labels, dict(surprise, match=True, weight=5000.0)], **given)
    assert judge_products(result.links, left, right)[0] > judge_products(without.links, left, right)[0] - 0.03
    row = result.links.to_pylist()[0]
    assert row["probability"] == pytest.approx(1 / (1 + 2 ** -row["score"]))


def test_labels_evaluate_points_without_changing_them(people, labels):
    left, right, _ = people
    plain, judged = (la.link(left, right, FIELDS, scoring="points", labels=some, **OPTIONS) for some in (None, labels))
    assert judged.links.equals(plain.links)
    assert judged.run["labels"]["calibration"] is None
    assert 0 < judged.run["labels"]["recall"]["estimate"] < 1


def test_a_held_out_label_does_not_help_its_own_pair():
    """Connected pairs are in one fold, so that no record is known on both sides."""
    labels = Labels(np.arange(0, 40, 2), np.arange(1, 41, 2), np.arange(20) % 2 == 0, np.ones(20))
    chained = Labels(np.append(labels.left, 1), np.append(labels.right, 2), np.append(labels.match, True), np.ones(21))
    folds = divide(chained, 1)
    assert folds[0] == folds[1] == folds[20]
    seen = []

    def clusters_by(some):
        """Knows exactly what it was told."""
        seen.append(len(some))
        clusters = np.full(41, -1)
        clusters[some.left[some.match]] = clusters[some.right[some.match]] = some.left[some.match]
        return clusters

    assert not judge_links(labels, clusters_by, 1).any()
    assert seen == [16] * 5


def test_labels_of_a_pattern_apply_to_all_its_pairs():
    """The pattern (1, 2, 2) looks like chance; labels say that half of its pairs are matches."""
    levels = np.array([[i, j, k] for i in (1, 2) for j in (1, 2) for k in (1, 2)], np.int8)
    candidates = np.array([1001, 99, 99, 9800, 99, 9800, 9800, 50000])
    chance = np.array([100, 10, 10, 980, 10, 980, 980, 96930])
    given = levels, candidates, levels, chance, (2, 2, 2), 1e6
    labelled = np.zeros((2, 8))
    labelled[:, 3] = 50
    plain, told = fit_weights(*given), fit_weights(*given, labelled=labelled)
    assert told.expected > plain.expected + 3000
    assert told.probability(levels)[3] > 20 * plain.probability(levels)[3]
    assert fit_weights(*given, labelled=np.zeros((2, 8))).expected == plain.expected


def test_calibration_of_few_labels_changes_little():
    found = calibrate(np.array([9.0, -9.0]), np.array([True, False]), np.ones(2))
    assert found.factor == pytest.approx(1, abs=0.05)
    assert found.shift == pytest.approx(0, abs=0.2)
    assert found.probability(np.array([found.score_of(0.0)]))[0] == pytest.approx(0.5)


def test_intervals_are_wider_for_pairs_that_belong_together():
    hits, trials, weight = np.arange(100) < 80, np.ones(100, bool), np.ones(100)
    alone = estimate_share(hits, trials, weight, np.arange(100))
    together = estimate_share(hits, trials, weight, np.arange(100) // 20)
    assert alone.estimate == together.estimate == 0.8
    assert together.high - together.low > 2 * (alone.high - alone.low)
    certain = estimate_share(trials, trials, weight, np.arange(100))
    assert certain.estimate == certain.high == 1
    assert 0.95 < certain.low < 1
    assert estimate_share(hits, ~trials, weight, np.arange(100)) is None


def test_review_and_back(cli, people, tmp_path):
    """The pairs of --review, filled in, are read by --labels; their weights make figures those of all pairs."""
    left, right, truth = people
    for name, table in (("a", left), ("b", right)):
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    fields = ["--fields", ",".join(FIELDS), "--one-to-one", "no"]
    done = cli("link", "a.csv", "b.csv", *fields, "--review", "100", "-o", "pairs.csv")
    assert done.code == 0, done.err
    assert "100 pairs to label: pairs.csv" in done.err
    table = pa.csv.read_csv(tmp_path / "pairs.csv")
    assert table.column_names == [
        "left", "right", "match", "weight", "score", "probability", "name left", "name right", "phone left",
        "phone right",
    ]  # fmt: skip
    assert table["match"].null_count == len(table) == 100
    names = dict(zip(left["id"].to_pylist(), left["name"].to_pylist()))
    assert [names[one] for one in table["left"].to_pylist()] == table["name left"].to_pylist()
    doubtful = [0.02 < one < 0.98 for one in table["probability"].to_pylist()]
    assert sum(doubtful) > 50
    rows = zip(table["left"].to_pylist(), table["right"].to_pylist())
    match = [int(pair in truth) for pair in rows]
    match[7] = None  # not sure
    filled = table.set_column(2, "match", pa.array(match))
    pa.csv.write_csv(filled, tmp_path / "pairs.csv")
    done = cli("link", "a.csv", "b.csv", *fields, "--labels", "pairs.csv", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert "rows without a label are skipped (1 of 100)" in done.err
    assert "Measured on 99 labelled pairs" in done.err
    assert "Measured on 99 labelled pairs" in (tmp_path / "out/report.html").read_text("utf-8")
    figures = done.json()["labels"]
    assert figures["pairs"] == 99
    done = cli("link", "a.csv", "b.csv", *fields, "--review", "5", "-o", "pairs.csv")
    assert done.code == 2
    assert "exists" in done.err


def test_review_in_python(people):
    left, right, _ = people
    for options in ({}, {"scoring": "points"}):
        pairs = la.link(left, right, FIELDS, review=20, **OPTIONS, **options).review
        assert pairs.num_rows == 20
        assert len(set(zip(pairs["left"].to_pylist(), pairs["right"].to_pylist()))) == 20
        assert (np.array(pairs["weight"].to_pylist()) >= 1).all()
    few = la.link(left[:5], left[:5], FIELDS, review=1000, **OPTIONS).review
    assert 5 <= few.num_rows <= 25


def test_drawing():
    share = inclusion(np.array([0.5, 0.3, 0.2, 0.0]), 2)
    assert share.sum() == pytest.approx(2)
    assert share.tolist() == pytest.approx([1.0, 0.6, 0.4, 0.0])


def test_pairs_that_would_represent_too_many_others_are_not_drawn():
    doubtful, hopeless = np.linspace(0.05, 1, 200), np.full(50_000, 1e-4)
    share = doubtful_share(np.append(doubtful, hopeless), 60)
    assert share.sum() == pytest.approx(60)
    assert (share[:200] > 0).all()
    assert not share[200:].any()
    # If most pairs are alike, none of them is left out.
    assert (doubtful_share(np.append(np.ones(3), hopeless), 60) > 0).all()
    assert doubtful_share(np.empty(0), 9).tolist() == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"left": "l0", "right": "r0"}], "has no column 'match'; its columns are left, right, but"),
        ([{"left;right;match": "l0;r0;1"}], "has no column 'left'; its header has one column, 'left;right;match'"),
        ([{"left": "l0", "right": "r0", "match": "maybe"}], "row 1: match is 'maybe'"),
        ([{"left": "l0", "right": "r0", "match": 1}, {"left": "l0", "right": "zz", "match": 1}],
         "row 2: no record of right has the id 'zz'"),
        ([{"left": "l0", "right": "r0", "match": m} for m in (1, 0)], "rows 1 and 2: the same pair has both labels"),
        ([{"left": "l0", "right": "r0", "match": ""}], "no row has a label"),
        ([{"left": "l0", "right": "r0", "match": 1, "weight": -1}], "row 1: weight must be positive"),
    ],
)  # fmt: skip
def test_bad_labels(people, rows, message):
    with pytest.raises(la.BadDataError) as error:
        la.link(*people[:2], FIELDS, labels=rows, **OPTIONS)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_record_with_itself(people):
    with pytest.raises(la.BadDataError, match="the same record"):
        la.link(people[0], fields=FIELDS, labels=[{"left": "l3", "right": "l3", "match": 1}], threads=1)


def test_few_labels_are_reported(people):
    left, right, _ = people
    result = la.link(left, right, FIELDS, labels=[{"left": "l0", "right": "r0", "match": 0}], **OPTIONS)
    assert any("too few candidates are labelled" in note for note in result.run["notes"])
    assert result.run["labels"]["recall"] is None


def test_labels_of_matches_alone_show_no_wrong_link(people):
    left, right, truth = people
    rows = [{"left": one, "right": other, "match": 1} for one, other in sorted(truth)[:30]]
    result = la.link(left, right, FIELDS, labels=rows, **OPTIONS)
    assert result.run["labels"]["precision"]["estimate"] == 1
    assert any("the measured precision is 100% however many links are wrong" in note for note in result.run["notes"])
    rows.append({"left": "l0", "right": "r0", "match": 0})
    result = la.link(left, right, FIELDS, labels=rows, **OPTIONS)
    assert not any("the measured precision" in note for note in result.run["notes"])


def test_more_pairs_to_review_than_there_are(cli, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("name,zip\nAnn Lee,12345\nBob Ray,54321\n")
    done = cli("link", "a.csv", "b.csv", "--fields", "name,zip", "--review", "9", "-o", "pairs.csv", "--json")
    assert done.code == 0, done.err
    assert 0 < done.json()["pairs"] <= 4
    assert "to label (there are no more candidates): pairs.csv" in done.err


def test_spaces_around_ids_are_ignored_unless_they_are_part_of_them():
    """Otherwise the output of --review could not be read again."""
    rows = [{"id": one, "name": "Ann Lee"} for one in (" a", "a", "b ", "c")]
    settings = LinkSettings.parse("name", id="id")
    table = RecordTable.of(rows, settings, "left")
    given = [{"left": left, "right": right, "match": " 1 "} for left, right in ((" a", "b "), ("a", " c "))]
    found = read_labels(given, table, None, print)
    assert (found.left.tolist(), found.right.tolist(), found.match.tolist()) == ([0, 1], [2, 3], [True, True])


def test_labels_are_in_one_file(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("left,right,match\n0,1,1\n")
    with pytest.raises(UsageError, match=r"--labels .*: 2 files; name one"):
        la.link([{"name": "Ann Lee"}] * 2, fields="name", labels=tmp_path)


def product_labels(count=60):
    """Two tables, how to link them, and the labels of the pairs that --review proposes."""
    left, right = make_products(250, 250, 0.4)
    given = {"left": left, "right": right, "fields": ["title:text", "maker", "price"], "id": "id", "threads": 1}
    review = la.link(review=count, **given).review.to_pylist()
    return given, [dict(row, match=int(row["left"][1:] == row["right"][1:])) for row in review]


@pytest.mark.parametrize("made_of", ["words", "levels"])
def test_nothing_is_linked_if_all_labels_say_that_the_links_are_wrong(people, made_of):
    if made_of == "words":
        given, labels = product_labels()
    else:
        given = {"left": people[0], "right": people[1], "fields": FIELDS, **OPTIONS}
        labels = la.link(review=60, **given).review.to_pylist()
    before = la.link(**given)
    result = la.link(labels=[dict(row, match=0) for row in labels], **given)
    assert before.links.num_rows > 50
    assert result.links.num_rows == 0
    assert any("so nothing is linked" in note and note.endswith("; add fields") for note in result.run["notes"])
    assert not any("label 60" in note for note in result.run["notes"])


def test_matches_alone_calibrate_only_if_they_were_drawn():
    """A list of known matches does not show how many other pairs look the same."""
    given, labels = product_labels()
    matches = [dict(row, match=1) for row in labels]
    known = [{name: row[name] for name in ("left", "right", "match")} for row in matches]
    before, drawn, listed = (la.link(labels=some, **given) for some in (None, matches, known))
    assert drawn.links.num_rows > before.links.num_rows + 20
    assert drawn.run["precision"]["how"] == "probabilities calibrated on the labels"
    assert listed.links.equals(before.links)
    assert listed.run["precision"]["how"] == "the model's own probability"


def test_few_labels_do_not_make_all_links_wrong():
    given, labels = product_labels()
    before = la.link(**given)
    wrong = [dict(row, match=0) for row in labels[:5]]
    result = la.link(labels=wrong, **given)
    assert result.links.equals(before.links)
    assert any("too few candidates are labelled" in note for note in result.run["notes"])


def test_labels_that_contradict_the_scores():
    given, labels = product_labels()
    said = [la.link(labels=[dict(row, match=row["match"] ^ other) for row in labels], **given).run["notes"]
            for other in (0, 1)]  # fmt: skip
    assert not any("contradict" in note for note in said[0])
    assert any("the labels contradict the data" in note and "Check the column match" in note for note in said[1])
    assert not any("label 60" in note for note in said[1])


def test_labels_overrule_numbers_that_differ_in_all_pairs():
    """An irrelevant number looks like that of a product of a series, so nothing is linked without labels."""
    draw = random.Random(1)
    words = [make_word(draw, 3) for _ in range(250)]
    rows = []
    for entity in range(200):
        title = draw.sample(words, 8)
        for side in "ab" if entity < 60 else "a":
            kept = [word for word in title if side == "a" or draw.random() < 0.75]
            rows.append({"id": f"{side}{entity}", "title": " ".join([*kept, f"{draw.getrandbits(40):010x}"])})
    draw.shuffle(rows)
    given = {"left": rows, "fields": "all", "threads": 1}
    before = la.link(**given)
    assert (before.links.num_rows, "differ in their numbers" in before.run["notes"][0]) == (0, True)
    review = la.link(review=60, **given).review.to_pylist()
    labels = [dict(row, match=int(row["left"][1:] == row["right"][1:])) for row in review]
    assert sum(row["match"] for row in labels) > 20  # the best pairs are proposed
    others = [dict(row, match=0) for row in labels if not row["match"]]
    assert la.link(labels=others, **given).links.num_rows == 0  # they do not show that there are matches
    result = la.link(labels=labels, **given)
    right = sum(row["left"][1:] == row["right"][1:] for row in result.links.to_pylist())
    assert right > 0.9 * max(60, result.links.num_rows)
    assert result.run["notes"] == []


def test_recall_is_that_of_pairs_like_the_labelled_ones():
    share = Share(0.9, 0.8, 0.95)
    said = [describe_figures(LabelFigures(60, 20, missed, 5, share, recall, share))
            for missed, recall in ((0, share), (3, share), (0, None))]  # fmt: skip
    assert ["too unlike each other to be drawn" in one for one in said] == [True, False, False]
