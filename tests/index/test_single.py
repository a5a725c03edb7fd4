"""A query of one text takes other steps than a query of many, and has the same answers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lookalike as la
from corpora import boilerplate, corpus
from lookalike.engine.digest import DigestSettings, keyed_sets
from lookalike.features.shingles import Shingling
from lookalike.index.answers import LETTERS, ROWS, AnswerRows
from lookalike.index.question import LONGEST, Question, borrow_question, return_question
from lookalike.kernels.chunks import CHUNK_BYTES
from lookalike.kernels.single import DISTINCT, LISTED, MOST
from lookalike.tuning.plan import tune
from lookalike.types import strings_to_arrow
from lookalike.verify.measures import Measure

TEXTS = corpus(300, seed=6)
UNUSUAL = ["", " ", "...", "x", "Füße 東京 the code", "the same word " * 3000, " ".join(TEXTS[:120])]
"""No shingles, few, many repeated ones, and more text than there is room for at first."""


def fill(index, named):
    """Segments, removed items and a log; some items are in the index twice."""
    rows = [{"id": f"item {n}" if named else n, "text": text} for n, text in enumerate([*TEXTS, *UNUSUAL, *TEXTS[:20]])]
    for first in range(0, 150, 50):
        index.add(rows[first : first + 50])
        index.store.settle()
    index.add(rows[150:])
    index.remove([row["id"] for row in rows[:327:7]])
    assert len(index.store.view.parts) == 4


def alone(index, texts, **options):
    found = [index.query([text], **options) for text in texts]
    return [{**row, "left": left} for left, table in enumerate(found) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("shingle", "bag", "measure", "threshold", "named"),
    [
        ("word:3", False, "jaccard", 0.6, False),
        ("word:2", True, "dice", 0.7, True),
        ("char:7", False, "cosine", 0.8, True),
        ("stopword:3", False, "jaccard", 0.5, False),
    ],
)
def test_one_text_has_the_same_answers_as_in_a_list(tmp_path, shingle, bag, measure, threshold, named):
    options = {"shingle": shingle, "bag": bag, "measure": measure, "threshold": threshold}
    asked = [*TEXTS, *UNUSUAL]
    with la.Index.create(tmp_path / "index", **options) as index:
        fill(index, named)
        for query in ({"k": None}, {"k": 2}, {"threshold": 0.95}):
            together = index.query(asked, **query)
            assert alone(index, asked, **query) == together.to_pylist()
            assert index.query([TEXTS[1]], **query).schema == index.query(["unheard"], **query).schema
            assert together.schema == index.query([TEXTS[1]], **query).schema
        assert len(together) > (20 if shingle == "stopword:3" else 200)
        view = index.store.view
        assert all(view._ask(text, view.kind.measure) is not None for text in asked)


@pytest.mark.parametrize("copies", [100, 160, MOST + 1])
@pytest.mark.parametrize("segment", [True, False])
def test_many_copies_take_the_steps_of_many_queries(tmp_path, segment, copies):
    """From 4,096 shared buckets on, and if there are more than 256 items."""
    same = ["a rose is a rose is a rose"] * copies
    with la.Index.create(tmp_path / "index", shingle="word:1") as index:
        index.add(same)
        if segment:
            index.store.settle()
        view, few = index.store.view, copies * index.store.kind.plan.bands <= 4096
        assert (view._ask(same[0], view.kind.measure) is not None) == few
        question = borrow_question(view.kind.digesting)  # is kept in either case
        return_question(question)
        view._ask(same[0], view.kind.measure)
        assert borrow_question(view.kind.digesting) is question
        assert index.query(same[:1], k=None)["right"].to_pylist() == list(range(copies))


def test_many_items_that_share_few_buckets_take_the_steps_of_many_queries(tmp_path):
    texts = boilerplate(700, own=4)
    with la.Index.create(tmp_path / "index", texts, threshold=0.9, shingle="word:1", recall=0.5) as index:
        index.add(texts[:1])
        view = index.store.view
        assert index.store.kind.plan.bands * (MOST + 1) < 4096
        asked = [index.query([text], k=None).to_pylist() for text in texts[:50]]
        together = index.query(texts[:50], k=None).to_pylist()
        assert [{**row, "left": left} for left, rows in enumerate(asked) for row in rows] == together
        assert any(view._ask(text, view.kind.measure) is None for text in texts[:50])


def test_a_text_of_several_chunks_takes_the_steps_of_many_queries(tmp_path):
    text = " ".join(map(str, range(LONGEST)))
    assert len(text) > CHUNK_BYTES
    with la.Index.create(tmp_path / "index", [text], threshold=0.6) as index:
        view = index.store.view
        assert view.ask(text, view.kind.measure) == [(1.0, 0)]


def test_threads_do_not_share_their_arrays(tmp_path):
    with la.Index.create(tmp_path / "index", TEXTS, threshold=0.6, shingle="word:3") as index:
        right = [index.query([text]).to_pylist() for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda n: index.query([TEXTS[n % 300]]).to_pylist(), range(3000))) == right * 10


def test_a_question_that_is_in_use_is_not_given_to_others():
    settings = DigestSettings(Shingling("word", 3), plan=tune(0.6))
    one, other = borrow_question(settings), borrow_question(settings)
    assert one is not other
    return_question(other)
    return_question(one)
    assert borrow_question(settings) is one


@pytest.mark.parametrize("shingle", ["word:2", "char:5", "stopword:3"])
@pytest.mark.parametrize("bag", [False, True])
def test_keys_and_shingles_are_those_of_many_texts(shingle, bag):
    texts = [*TEXTS[:20], *UNUSUAL]
    settings = DigestSettings(Shingling.parse(shingle, bag=bag), plan=tune(0.7))
    together, question = keyed_sets(strings_to_arrow(texts), settings), Question(settings)
    for row, text in enumerate(texts):
        assert question.take(text) == together.there[row]
        keys, elements, counts, _, *_ = question.of_table
        assert counts[DISTINCT] == -1
        set_of = together.sets.elements[together.sets.indptr[row] : together.sets.indptr[row + 1]]
        assert np.unique(elements[: counts[LISTED]]).tolist() == set_of.tolist()
        assert not question.take(text) or keys.tolist() == together.keys[:, row].tolist()


@pytest.mark.parametrize("integers", [True, False])
def test_answers_stay_as_they_are_when_others_follow(integers):
    rows, given = AnswerRows("similarity", integers), []
    while (table := rows.add([b"%d" % len(given), b"-7"], [1.0, 0.5])) is not None:
        given.append(table)
    assert len(given) == ROWS // 2
    for number, table in enumerate(given):
        table.validate(full=True)
        first = number if integers else str(number)
        last = -7 if integers else "-7"
        assert table.to_pydict() == {"left": [0, 0], "right": [first, last], "similarity": [1.0, 0.5], "rank": [1, 2]}


def test_ids_may_be_longer_than_the_space_for_them(tmp_path):
    names = ["n" * LETTERS, "", "ß" * (LETTERS // 3), "m" * (LETTERS + 1)]
    with la.Index.create(tmp_path / "index") as index:
        index.add([{"id": name, "text": "a rose is a rose"} for name in names])
        assert index.query(["a rose is a rose"])["right"].to_pylist() == names
        index.remove(names[-1:])
        found = [index.query(["a rose is a rose"]) for _ in range(3)]
        assert [table["right"].to_pylist() for table in found] == [names[:-1]] * 3


@pytest.mark.parametrize("name", ["jaccard", "dice", "cosine", "containment", "overlap"])
def test_the_measure_of_one_pair_is_that_of_many(name):
    draw = np.random.default_rng(1)
    sizes, others = draw.integers(1, 1 << 31, (2, 1000))
    overlaps = (np.minimum(sizes, others) * draw.random(1000)).astype(np.int64)
    measure = Measure.parse(name, 1)
    together = measure.of_overlaps(overlaps, sizes, others).tolist()
    one_by_one = [measure.of_overlap(*one) for one in zip(overlaps.tolist(), sizes.tolist(), others.tolist())]
    assert together == one_by_one
