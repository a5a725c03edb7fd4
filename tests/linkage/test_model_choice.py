"""Which model scores the pairs, and why: in the printed output, in run.json and in the report."""

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.catalogues import make_products

import lookalike as la
from linking import make_people
from lookalike.engine.run import open_run
from lookalike.linkage import link
from lookalike.linkage.job import link_records
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.scoring.score import score_pairs
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable


@pytest.fixture(scope="module")
def people():
    return make_people(300, 300, 0.4, errors=0.3, seed=2)[:2]


@pytest.fixture(scope="module")
def products():
    return make_products(150, 150, 0.5)


def citations():
    """Twelve works with twenty to thirty records each, which differ in a letter of the title."""
    draw = random.Random(3)
    words = ["".join(draw.choice("bdfgklmnrst") + draw.choice("aeiou") for _ in range(3)) for _ in range(90)]
    rows = []
    for _ in range(12):
        title, venue = " ".join(draw.sample(words, 6)), " ".join(draw.sample(words, 2))
        for _ in range(draw.randint(20, 30)):
            at = draw.randrange(len(title))
            rows.append({"title": title[:at] + "x" + title[at + 1 :], "venue": venue})
    return rows


def model_of(*tables, **options):
    return la.link(*tables, threads=1, **options).run["model"]


def test_people_are_scored_by_levels(people):
    assert model_of(*people, fields="name,address") == {"name": "levels", "reason": "no field is of kind text"}


def test_points_are_scored_as_asked(people):
    found = model_of(*people, fields="name:text,address", scoring="points")
    assert found == {"name": "points", "reason": "--scoring points was given"}


def test_two_tables_with_texts_are_scored_by_words(products):
    assert model_of(*products, fields="title,price") == {"name": "words", "reason": "title is of kind text"}
    found = model_of(*products, fields="title,description:text,price")
    assert found["reason"] == "title and description are of kind text"


def test_own_levels_are_scored_by_levels(products):
    own = la.Field("title", kind="text", levels={"close": 0.8, "far": 0.3})
    found = model_of(*products, fields=[own, "maker", "price"])
    assert found == {"name": "levels", "reason": "title has levels of its own"}


def test_one_table_is_scored_by_levels_if_a_field_distinguishes_records(people):
    both = pa.concat_tables(people)
    found = model_of(both, fields="name:text,phone")
    assert found == {"name": "levels", "reason": "phone distinguishes most records"}
    assert model_of(both, fields="name:text")["name"] == "words"


def test_a_field_that_is_often_missing_needs_the_help_of_another(people):
    both = pa.concat_tables(people)
    phones = [phone if place % 3 else None for place, phone in enumerate(both["phone"].to_pylist())]
    both = both.set_column(both.schema.get_field_index("phone"), "phone", pa.array(phones, pa.string()))
    assert model_of(both, fields="name:text,phone")["name"] == "words"
    found = model_of(both, fields="name:text,phone,address:person")
    assert found == {"name": "levels", "reason": "phone and address distinguish most records"}


def test_words_are_used_if_levels_find_no_match(people):
    """There is none to be found in one of the tables."""
    found = model_of(people[0], fields="name:text,address")
    assert found == {"name": "words", "reason": "name is of kind text, and levels of agreement find no match"}


def test_large_clusters_are_scored_by_levels():
    found = model_of(citations(), fields="title:text,venue:text")
    assert found == {"name": "levels", "reason": "records are typically similar to more than 9 others"}


def test_large_clusters_of_one_text_are_compared_in_parts(tmp_path):
    """A single field does not show what is more than chance, but parts of its words do."""
    rows = [{"id": str(n), "title": row["title"]} for n, row in enumerate(citations())]
    old = la.link(rows[:-20], fields="title:text", threads=1)
    assert old.run["model"] == {
        "name": "levels", "reason": "title is compared in parts, since its records form clusters",
    }  # fmt: skip
    assert any("--review" in note for note in old.run["notes"])
    assert old.links.column_names[4:] == [f"title (part {n})" for n in (1, 2, 3, 4)]
    assert "title (part 4)" in old.report(tmp_path / "report.html").read_text("utf-8")
    later = la.link(rows[-20:], against=old, threads=1)
    clusters: dict[int, list[int]] = {}
    for row in later.clusters.to_pylist():
        clusters.setdefault(row["cluster"], []).append(int(row["id"]))
    # The titles of a work differ in one letter, those of two works in nearly all.
    found = {tuple(sorted(ids)) for ids in clusters.values()}
    titles = [row["title"] for row in rows]
    true: dict[int, list[int]] = {}
    for n, title in enumerate(titles):
        first = next(k for k, other in enumerate(titles) if sum(a != b for a, b in zip(title, other)) <= 2)
        true.setdefault(first, []).append(n)
    assert len(true) == 12
    assert len(found & {tuple(ids) for ids in true.values()}) >= 10


def test_products_of_a_series_are_not_compared_in_parts():
    """Their titles share most words, but each has a number of its own."""
    table = pa.concat_tables(make_products(250, 250, 0.5))
    found = la.link(table, fields="title:text", id="id", threads=1)
    assert found.run["model"]["name"] == "words"
    assert len(found.links) < 200


def test_a_later_run_keeps_the_model(products):
    left, right = products
    old = la.link(left, right.slice(0, 140), fields="title,price", id="id", threads=1)
    later = la.link(right.slice(140), against=old, into="right", threads=1)
    assert later.run["model"] == {"name": "words", "reason": "the finished run was scored in this way"}


@pytest.mark.parametrize("which", ["words", "levels"])
def test_candidates_of_a_later_run_are_searched_as_before(people, which):
    """They are searched before it is known that words, or levels, find no match. Only levels set copies apart."""
    rows = people[0].to_pylist() if which == "words" else citations() + 40 * citations()[:1]
    settings = LinkSettings.parse("name:text,address" if which == "words" else "title:text,venue:text", threads=1)
    table = RecordTable.of(rows, settings, "left")
    with open_run(settings) as run:
        learned = link_records(table, None, run)
    assert (learned.choice.name, learned.searched) == (which, {"words": "levels", "levels": "words"}[which])
    saved = Model.from_dict(json.loads(json.dumps(learned.model().to_dict())))
    with open_run(learned.settings) as run:
        again = link_records(table, None, run, saved)
    assert again.candidates.left.tolist() == learned.candidates.left.tolist()
    assert again.score.tolist() == learned.score.tolist()
    assert again.chosen.tolist() == learned.chosen.tolist()


@pytest.mark.parametrize(
    ("which", "fields", "said"), [("people", "name,phone", "levels"), ("products", "title,price", "words")]
)
def test_users_are_told(cli, tmp_path, request, which, fields, said):
    for name, table in zip("ab", request.getfixturevalue(which)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    done = cli("link", "a.parquet", "b.parquet", "-o", "out", "--fields", fields, "--json")
    assert done.code == 0, done.err
    reason = done.json()["model"]["reason"]
    assert f"Scored by {said}: {reason}." in done.err
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f"By {said}, because {reason}." in page
    assert ("log2(m / u)" in page) == (said == "levels")
    assert ("best partners" in page) == (said == "words")


def test_words_are_used_if_no_pair_is_a_match_by_levels(monkeypatch):
    """Levels may expect some matches without being able to name one."""
    found = []

    def unsure(*given, **options):
        scores = score_pairs(*given, **options)
        found.append(scores.scoring.expected)
        return scores._replace(probability=np.minimum(scores.probability, 0.4))

    monkeypatch.setattr(link, "score_pairs", unsure)
    model = model_of(citations(), fields="title:text,venue:text")
    assert found[0] > 100
    assert model == {
        "name": "words",
        "reason": "title and venue are of kind text, and levels of agreement find no match",
    }
