"""Linking one table of words whose entities have up to ten records."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

import lookalike as la
from lookalike.engine.run import open_run
from lookalike.linkage.job import link_records
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable


def make_ads(sizes, seed=1, entities=120):
    """Ads that were posted several times: words are left out, misspelt or added. The id begins with the entity."""
    draw = random.Random(seed)
    words = ["".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(500)]

    def edit(text):
        kept = [word for word in text.split() if draw.random() < 0.9]
        kept = [word[1:] + word[0] if draw.random() < 0.05 else word for word in kept]
        return " ".join([*kept, *draw.sample(words, draw.choice([0, 0, 1]))])

    rows = []
    for entity in range(entities):
        text = " ".join(draw.sample(words, 9))
        rows += [{"id": f"{entity}-{n}", "ad": text if n == 0 else edit(text)} for n in range(draw.choice(sizes))]
    draw.shuffle(rows)
    return rows


def make_series(seed=1):
    """Products of series of one to six, each with a number of its own; no two are the same."""
    draw = random.Random(seed)
    words = ["".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(300)]
    rows = []
    for series in range(120):
        text, number = " ".join(draw.sample(words, 4)), draw.randrange(100, 900)
        rows += [{"id": f"{series}x{n}-0", "ad": f"{text} {number + 5 * n}"} for n in range(draw.randint(1, 6))]
    return rows


def judge_clusters(result, rows):
    """F1 and precision of the pairs within clusters."""
    clusters = {}
    for row in result.clusters.to_pylist():
        clusters.setdefault(row["cluster"], []).append(row["id"])
    found = [pair for ids in clusters.values() for pair in combinations(ids, 2)]
    entities = [row["id"].partition("-")[0] for row in rows]
    truth = sum(one == other for one, other in combinations(entities, 2))
    hits = sum(one.partition("-")[0] == other.partition("-")[0] for one, other in found)
    return 2 * hits / max(1, len(found) + truth), hits / max(1, len(found))


@pytest.mark.parametrize("sizes", [[3], [3, 4, 5, 6, 7, 8], [1, 1, 2, 3, 4]])
def test_entities_with_several_records(sizes):
    rows = make_ads(sizes)
    found = la.link(rows, fields="ad:text", id="id", threads=1)
    f1, precision = judge_clusters(found, rows)
    assert f1 > 0.8
    assert abs(found.run["precision"]["estimate"] - precision) < 0.1
    assert any("more than two records" in note for note in found.run["notes"])


def test_products_of_a_series_are_not_linked():
    rows = make_series()
    found = la.link(rows, fields="ad:text", id="id", threads=1)
    assert len(found.links) == 0
    assert any("differ in their numbers" in note for note in found.run["notes"])


def test_pairs_are_linked_as_before():
    rows = make_ads([1, 2])
    found = la.link(rows, fields="ad:text", id="id", threads=1)
    assert not any("more than two records" in note for note in found.run["notes"])
    assert judge_clusters(found, rows)[0] > 0.9


def test_later_records_join_their_groups():
    rows = make_ads([3, 4, 5])
    old = la.link(rows[:350], fields="ad:text", id="id", threads=1)
    later = la.link(rows[350:], against=old, threads=1)
    settings = old.finished.settings
    with open_run(settings) as run:
        table = RecordTable.of(rows, settings, "left")
        full = link_records(table, None, run, old.finished.model)
    links = set(zip(later.links["left"].to_pylist(), later.links["right"].to_pylist()))
    left, right = (ends[full.chosen] for ends in (full.candidates.left, full.candidates.right))
    assert links == {(rows[one]["id"], rows[other]["id"]) for one, other in zip(left, right)}
    assert judge_clusters(later, rows)[0] > 0.85


def test_known_weights_give_the_same_scores():
    settings = LinkSettings.parse("ad:text", id="id", threads=1)
    table = RecordTable.of(make_ads([3, 4]), settings, "left")
    with open_run(settings) as run:
        learned = link_records(table, None, run)
        again = link_records(table, None, run, learned.model())
    assert learned.scoring.single == "groups"
    assert again.score == pytest.approx(learned.score)
