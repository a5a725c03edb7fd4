"""Levels that a user defines: cut-offs on a similarity, or a function."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

import lookalike as la
from linking import f1, make_people, pairs_of
from lookalike.linkage.compare.custom import CustomComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.spec import Field
from lookalike.types import strings_to_arrow

VALUES = ["alpha beta", "alpha bets", "gamma", "10", "alpha"]
LEFT, RIGHT = np.array([0, 0, 0, 0, 5]), np.array([0, 1, 2, 4, 0])


@pytest.fixture
def column():
    return Column("title", "text", np.array([0, 1, 2, 3, 4, -1], np.int32), strings_to_arrow(VALUES))


def same_start(left, right):
    """The share of the first five characters that are the same, from 0 to 1."""
    return np.array(
        [sum(a == b for a, b in zip(x[:5], y[:5])) / 5 for x, y in zip(left.to_pylist(), right.to_pylist())]
    )


def test_cuts_on_the_similarity_of_texts(column):
    comparer = CustomComparer(column, Field("title", kind="text", levels={"some": 0.1, "most": 0.5}))
    assert comparer.levels == ("equal", "most", "some", "different")
    assert comparer.compare(LEFT, RIGHT).tolist() == [1, 2, 4, 2, 0]
    stricter = CustomComparer(column, Field("title", kind="text", levels={"some": 0.1, "most": 0.7}))
    assert stricter.compare(LEFT, RIGHT).tolist() == [1, 3, 4, 3, 0]


def test_a_function_of_similarities(column):
    comparer = CustomComparer(column, Field("title", levels={"same start": 0.9, "partly": 0.2}, compare=same_start))
    assert comparer.compare(LEFT, RIGHT).tolist() == [1, 2, 3, 2, 0]


def test_a_function_of_levels(column):
    def longer(left, right):
        assert pa.types.is_large_string(left.type)
        return pc.if_else(pc.greater(pc.utf8_length(left), pc.utf8_length(right)), 1, 2)

    comparer = CustomComparer(column, Field("title", levels=["longer", "not longer"], compare=longer))
    assert comparer.compare(LEFT, RIGHT).tolist() == [2, 2, 1, 1, 0]


def test_no_evidence(column):
    unknown = CustomComparer(column, Field("t", levels={"x": 0.5}, compare=lambda a, _: pa.nulls(len(a), pa.float64())))
    assert unknown.compare(LEFT[1:4], RIGHT[1:4]).tolist() == [0, 0, 0]
    nothing = CustomComparer(column, Field("t", levels={"x": 0.5}, compare=lambda a, _: np.full(len(a), np.nan)))
    assert nothing.compare(LEFT[1:4], RIGHT[1:4]).tolist() == [0, 0, 0]


def test_each_pair_of_values_is_compared_once():
    seen = []

    def note(left, right):
        seen.append(len(left))
        return np.ones(len(left))

    column = Column("t", "text", np.zeros(50, np.int32), strings_to_arrow(["a"]))
    CustomComparer(column, Field("t", levels={"x": 0.5}, compare=note)).compare(np.zeros(49, int), np.arange(1, 50))
    assert seen == [1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: la.Field("t", levels={"a": 0.5, "b": 0.5}), "cut-offs must differ"),
        (lambda: la.Field("t", levels={"a": 1.5}), "at most 1"),
        (lambda: la.Field("t", levels={"equal": 0.5}), "exist already"),
        (lambda: la.Field("t", levels=["a", "b"]), "needs a cut-off for each name"),
        (lambda: la.Field("t", levels=["a", "a"], compare=same_start), "names that differ"),
        (lambda: la.Field("t", compare=same_start), "compare= needs levels="),
        (lambda: la.Field("t", levels={}), "1 to 12 levels"),
    ],
)
def test_bad_fields(make, message):
    with pytest.raises(la.UsageError, match=message):
        make()


@pytest.mark.parametrize(
    ("levels", "returned", "message"),
    [
        ({"a": 0.5}, lambda n: np.full(n, 1.5), "similarities from 0 to 1, not 1.5"),
        ({"a": 0.5}, lambda n: np.ones(n + 1), "returned"),
        ({"a": 0.5}, lambda n: ["x"] * n, "similarities from 0 to 1, not string"),
        ({"a": 0.5}, lambda _: 7, "must return an array"),
        (["a", "b"], lambda n: np.full(n, 0.5), "numbers of levels, 0 to 2, not double"),
        (["a", "b"], lambda n: np.full(n, 3), "numbers of levels, 0 to 2, not 3"),
    ],
)
def test_bad_results(column, levels, returned, message):
    comparer = CustomComparer(column, Field("title", levels=levels, compare=lambda left, _: returned(len(left))))
    with pytest.raises(la.UsageError, match=f"field title: .*{message}"):
        comparer.compare(LEFT, RIGHT)


def test_linking_with_fields_of_ones_own(tmp_path):
    left, right, truth = make_people(400, 300, 0.4, errors=0.4, seed=2)
    fields = [
        la.Field("name", kind="person", levels={"nearly": 0.7, "similar": 0.3}),
        la.Field("address", kind="text", levels={"same start": 0.9, "partly": 0.4}, compare=same_start),
        "phone",
    ]
    found = la.link(left, right, fields, threads=1)
    assert f1(pairs_of(found.links), truth) > 0.9
    levels = {row["level"] for row in found.run["weights"] if row["field"] == "name"}
    assert levels == {"equal", "nearly", "similar", "different"}
    points = la.link(left, right, fields, scoring="points", threads=1)
    assert f1(pairs_of(points.links), truth) > 0.5
    later = la.link(left[:1], against=found, without=[left["id"][0].as_py()], threads=1)
    assert pairs_of(later.links) == pairs_of(found.links)
    for name, table in (("a", left), ("b", right)):
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    la.link(*paths, fields, out=tmp_path / "out")
    with pytest.raises(la.UsageError, match="compared by a function"):
        la.link(left[:1], against=tmp_path / "out")
    la.link(*paths, [fields[0], "phone"], out=tmp_path / "plain")
    assert la.link(against=tmp_path / "plain", without=["l0"], threads=1).run["changes"]["removed"] == 1


def test_dates_need_a_function():
    rows = [{"born": f"1990-01-{day:02}", "name": f"ann{day}"} for day in range(1, 29)]
    with pytest.raises(la.UsageError, match="not kind date; give compare="):
        la.link(rows, fields=[la.Field("born", kind="date", levels={"near": 0.9}), "name"], threads=1)


@pytest.mark.parametrize("compare", [None, lambda left, right: pc.equal(left, right)])
def test_one_text_with_levels_is_compared_by_words_if_these_find_nothing(compare):
    """Levels of one field cannot be told from chance: random pairs contain the matches."""
    draw = random.Random(1)
    words = ["".join(draw.choices("bdfgklmnaeiou", k=5)) for _ in range(200)]
    left = [{"id": n, "title": " ".join(draw.sample(words, 4))} for n in range(200)]
    right = [
        {"id": n, "title": " ".join([*row["title"].split()[:3], draw.choice(words)])} for n, row in enumerate(left[:99])
    ]
    fields = [la.Field("title", kind="text", levels={"similar": 0.9, "close": 0.4}, compare=compare)]
    found = la.link(left, right, fields, threads=1)
    assert sum(row["left"] == row["right"] for row in found.links.to_pylist()) > 90
    assert (
        "levels of agreement find no match, so words are compared instead of the levels of title" in found.run["notes"]
    )
    both = la.link(left, right, [*fields, la.Field("id", kind="number", levels={"close": 0.9})], threads=1)
    assert both.run["model"]["name"] == "levels"
