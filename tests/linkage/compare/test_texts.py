from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.linkage.compare.texts import TextComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import Texts, chance_pairs
from lookalike.types import strings_to_arrow

TRIGRAMS, UNION, SHORTER, CONFLICT, CODES = range(5)


def column(texts):
    values = sorted({text for text in texts if text})
    codes = [values.index(text) if text else -1 for text in texts]
    return Column("title", "text", np.array(codes, np.int32), strings_to_arrow(values))


def compare(texts, left, right):
    return TextComparer(column(texts)).compare(np.array([left]), np.array([right]))[0]


def grams(text):
    return [f" {word} "[at : at + 3] for word in text.split() for at in range(len(word))]


def cosine(texts, a, b):
    """The definition in plain Python."""
    known = [text for text in texts if text]
    often = {gram: sum(gram in grams(text) for text in known) for text in known for gram in grams(text)}

    def vector(text):
        counts = {gram: grams(text).count(gram) for gram in grams(text)}
        raw = {g: (1 + math.log(n)) * (math.log((1 + len(known)) / (1 + often[g])) + 1) for g, n in counts.items()}
        length = math.sqrt(sum(weight**2 for weight in raw.values()))
        return {gram: weight / length for gram, weight in raw.items()}

    one, other = vector(a), vector(b)
    return sum(weight * other.get(gram, 0) for gram, weight in one.items())


WORDS = st.lists(st.sampled_from(["red", "blue", "lamp", "cable", "lámp", "x1", "usb 3"]), min_size=1, max_size=5)


@settings(max_examples=15)
@given(st.lists(WORDS.map(" ".join), min_size=2, max_size=8))
def test_trigrams_are_the_weighted_cosine(texts):
    found = compare(texts, 0, 1)
    assert found[TRIGRAMS] == pytest.approx(cosine(texts, texts[0], texts[1]), abs=1e-5)


@settings(max_examples=15)
@given(st.lists(WORDS.map(" ".join), min_size=3, max_size=8))
def test_shares_are_symmetric_and_at_most_one(texts):
    there, back = compare(texts, 0, 1), compare(texts, 1, 0)
    assert there == pytest.approx(back, abs=1e-6)
    assert (there[:CODES] >= 0).all()
    assert (there[:CODES] <= 1.00001).all()


def test_trigrams_are_the_same_to_the_last_bit_in_either_direction():
    draw = np.random.default_rng(7)
    words = ["".join(draw.choice(list("abcdefgh"), 5)) for _ in range(60)]
    comparer = TextComparer(column([" ".join(draw.choice(words, 12)) for _ in range(150)]))
    left, right = (side.ravel() for side in np.indices((150, 150)))
    assert np.array_equal(comparer.compare(left, right)[:, TRIGRAMS], comparer.compare(right, left)[:, TRIGRAMS])


OTHERS = ["table lamp", "desk lamp", "floor lamp", "lamp shade", "usb cable", "red cable"]


def test_rare_words_count_more():
    rare = compare(["zeppelin lamp", "zeppelin cable", *OTHERS], 0, 1)
    common = compare(["zeppelin lamp", "walnut lamp", *OTHERS], 0, 1)
    assert rare[UNION] > common[UNION]


def test_order_of_words_and_a_longer_side():
    found = compare(["sony walkman", "walkman by sony with case", *OTHERS], 0, 1)
    assert found[SHORTER] == pytest.approx(1)
    assert found[UNION] < 0.8


def test_one_misspelling_counts_nearly_as_an_equal_word():
    wrong = compare(["zeppelin", "zepelin model", *OTHERS], 0, 1)
    other = compare(["zeppelin", "walnut model", *OTHERS], 0, 1)
    assert wrong[SHORTER] > 0.7
    assert other[SHORTER] == 0


def test_short_words_must_be_equal():
    assert compare(["cat", "car door", *OTHERS], 0, 1)[SHORTER] == 0


def test_numbers_conflict():
    assert compare(["pen 12 pack", "pen 24 pack", *OTHERS], 0, 1)[CONFLICT] == 1
    assert compare(["pen 12 pack", "pen 12 pack blue", *OTHERS], 0, 1)[CONFLICT] == 0
    assert compare(["pen 12 pack", "pen pack", *OTHERS], 0, 1)[CONFLICT] == 0


def test_codes_written_as_two_words():
    found = compare(["phone kx tg67", "kxtg67", *OTHERS], 0, 1)
    assert found[CODES] > 0
    assert found[SHORTER] == pytest.approx(1)
    assert compare(["phone kx tg67", "kxtg68", *OTHERS], 0, 1)[CODES] == 0


def test_a_missing_value_is_not_evidence():
    assert not compare(["lamp", None, *OTHERS], 0, 1).any()


def test_partners_are_the_most_similar_records():
    texts = ["zeppelin lamp", *OTHERS, "lamp zeppelin red", "zeppelin"]
    found = TextComparer(column(texts)).partners((0, 1), (1, 9), 3)
    scores = TextComparer(column(texts)).compare(np.zeros(8, int), np.arange(1, 9))[:, TRIGRAMS]
    assert found[0].tolist() == (1 + np.argsort(-scores, kind="stable")[:3]).tolist()


@pytest.mark.parametrize("words", [8, 2000], ids=["nearly all records share something", "few do"])
def test_partners_are_those_of_brute_force(words):
    draw = np.random.default_rng(words)
    vocabulary = ["".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(words)]
    comparer = TextComparer(column([" ".join(draw.choice(vocabulary, 5)) for _ in range(300)]))
    left, right = (side.ravel() for side in np.indices((300, 300)))
    scores = comparer.compare(left, right)[:, TRIGRAMS].reshape(300, 300)
    np.fill_diagonal(scores, 0)
    found = comparer.partners((0, 300), (0, 300), 4)
    best = -np.sort(-scores, axis=1)[:, :4]
    assert np.array_equal(found == -1, best == 0)
    assert np.where(found < 0, 0, np.take_along_axis(scores, found, 1)) == pytest.approx(best, abs=1e-5)


def test_some_records_are_compared_as_if_there_were_no_others():
    texts = ["zeppelin lamp", *OTHERS, "lamp zeppelin red", "zeppelin", "table lamp"]
    some = np.array([0, 2, 3, 7, 8, 9])
    alone = TextComparer(column([texts[record] for record in some]))
    taken = TextComparer(column(texts)).take(some)
    left, right = (side.ravel() for side in np.indices((6, 6)))
    assert taken.compare(left, right) == pytest.approx(alone.compare(left, right), abs=1e-6)
    assert (taken.partners((0, 6), (0, 6), 5) == alone.partners((0, 6), (0, 6), 5)).all()


def test_partners_do_not_depend_on_threads_and_are_never_the_record_itself():
    texts = [f"{a} {b}" for a in ("red", "blue", "green") for b in ("lamp", "cable", "desk")]
    comparer = TextComparer(column(texts))
    once = comparer.partners((0, 9), (0, 9), 4)
    assert (once != np.arange(9)[:, None]).all()
    assert (once == comparer.partners((0, 9), (0, 9), 4, lambda work, spans: map(work, reversed(spans)))).all()


def test_a_sample_of_all_records_finds_the_partners_of_all():
    draw = np.random.default_rng(3)
    words = ["".join(draw.choice(list("abcdefgh"), 4)) for _ in range(40)]
    texts = [" ".join(draw.choice(words, 4)) for _ in range(120)]
    whole, sample = (chance_pairs(Texts([column(texts)]), 70, 120, large=large) for large in (1_000, 10))
    assert len(whole.left) > 100
    assert sample.sampled.all()
    assert sample.searched.all()
    assert set(zip(sample.left.tolist(), sample.right.tolist())) >= set(zip(whole.left.tolist(), whole.right.tolist()))
    assert all(left < right and (left < 70) == (right < 70) for left, right in zip(sample.left, sample.right))
