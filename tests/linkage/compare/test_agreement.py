from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agreement
from lookalike.engine.workers import Workers
from lookalike.errors import UsageError
from lookalike.linkage.compare.levels import LEVELS, Comparer, measure_records
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.nicknames import Nicknames
from lookalike.types import strings_to_arrow

WORDS = st.lists(st.text("abé漢09", min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join)
DATES = st.builds("{:04}-{:02}-{:02}".format, st.integers(1989, 1991), st.integers(0, 13), st.integers(0, 32))
VALUES = {
    "person": WORDS,
    "place": WORDS,
    "text": WORDS,
    "address": WORDS,
    "code": st.text("ab12", min_size=1, max_size=8),
    "phone": st.text("12", min_size=1, max_size=10),
    "email": st.builds("{}@{}".format, st.text("abc", max_size=6), st.text("xy.", max_size=4))
    | st.text("ab@", min_size=1),
    "date": DATES | DATES.map(lambda d: d[:7]) | DATES.map(lambda d: d[:4]) | st.text("1908", min_size=1, max_size=8),
    "number": st.integers(-30, 30).map(str)
    | st.integers(95, 125).map(str)
    | st.integers(995, 1005).map(str)
    | st.sampled_from(["1e50", "1e9999", "1.2.3", "about 3", "0.5"]),
}


@st.composite
def fields(draw, kind):
    """Values of a field; about every second one is another with a typing error."""
    values = draw(st.lists(VALUES[kind] | st.none(), min_size=1, max_size=6))
    whole = [value for value in values if value is not None]
    for _ in range(draw(st.integers(0, 5)) if whole and kind != "number" else 0):
        value = draw(st.sampled_from(whole))
        place = draw(st.integers(0, len(value)))
        words = value.split(" ")
        changed = draw(
            st.sampled_from(
                [
                    value[:place] + "1" + value[place:],
                    value[:place] + value[place + 1 :],
                    value[:place] + value[place : place + 2][::-1] + value[place + 2 :],
                    value[: place // 2] + "b2",
                    value[place:] + value,
                    " ".join(words[::-1]),
                    " ".join(word[:1] for word in words),
                    " ".join(words[1:]),
                ]
            )
        )
        values.append(" ".join(changed.split()) or "1")
    return values


def column_of(kind: str, values: list[str | None]) -> Column:
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    codes = [-1 if value is None else distinct.index(value) for value in values]
    return Column("field", kind, np.array(codes, np.int32), strings_to_arrow(distinct))


def compare(column: Column, left, right, each=map):
    return Comparer(column).compare(left, right, each)


def all_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.meshgrid(np.arange(count), np.arange(count))
    return left.ravel(), right.ravel()


@pytest.mark.parametrize("kind", LEVELS)
def test_levels_are_those_of_their_definitions(kind):
    reached = set()

    @settings(derandomize=True, max_examples=120)  # which levels are reached must not hang on luck
    @given(fields(kind))
    def check(values):
        column = column_of(kind, values)
        left, right = np.triu_indices(len(values))
        levels = compare(column, left, right)
        assert levels.dtype == np.int8
        for i, j, level in zip(left, right, levels):
            a, b = values[i], values[j]
            expected = 0 if a is None or b is None else 1 if a == b else agreement.LEVEL_OF[kind](a, b)
            assert level == expected, (a, b)
        assert (levels == compare(column, right, left)).all()
        reached.update(levels.tolist())

    check()
    assert reached == set(range(len(LEVELS[kind]) + 1))


NICKNAMES = (("ab", "a"), ("b", "12"), ("ab", "b", "ba"), ("漢é", "12"))


NAMES = st.lists(st.sampled_from(["ab", "ba", "a", "b", "漢é", "12", "1"]), max_size=2).map(" ".join)


@given(st.lists(NAMES, min_size=4, max_size=10))
def test_nicknames_come_after_equal(values):
    column = column_of("person", [value or None for value in values])
    comparer = Comparer(column, Nicknames("mine", NICKNAMES).words_of(column))
    assert comparer.levels == ("equal", "equal by nickname", *LEVELS["person"][1:])
    left, right = all_pairs(len(values))
    for i, j, level, plain in zip(left, right, comparer.compare(left, right), compare(column, left, right)):
        if plain <= 1:
            assert level == plain
        else:
            assert level == (2 if agreement.are_nicknames(values[i], values[j], NICKNAMES) else plain + 1)


EXAMPLES = [
    ("person", "jeffrey", "jeffery", 2),
    ("person", "john smith", "smith john", 5),
    ("person", "j r r tolkien", "john ronald reuel tolkien", 6),
    ("person", "mary", "john", 7),
    ("text", "the wasa2 workflow system", "workflow system", 3),
    ("address", "316 n pulaski rd", "316 n pulaski", 2),
    ("address", "27 washington st", "29 washington st", 4),
    ("code", "60302", "60320", 2),
    ("code", "12", "13", 4),
    ("code", "60302", "603021234", 3),
    ("phone", "3125550123", "5550123", 2),
    ("phone", "3125550123", "7735550123", 2),
    ("phone", "3125550123", "3125550124", 3),
    ("email", "ann@a.com", "ann@b.org", 2),
    ("date", "1990-04-03", "1990-03-04", 2),
    ("date", "1990-04-03", "1990-04-08", 2),
    ("date", "1990-04-03", "1990-04-28", 3),
    ("date", "1990-04-28", "1990-05-11", 4),
    ("date", "1990-04-28", "1990-05-29", 4),
    ("date", "1990-04-28", "1990-05-30", 5),
    ("date", "1990", "1991", 4),
    ("date", "1990", "1980", 5),
    ("number", "100", "99", 2),
    ("number", "100", "-100", 5),
]


@pytest.mark.parametrize(("kind", "a", "b", "level"), EXAMPLES)
def test_examples(kind, a, b, level):
    assert compare(column_of(kind, [a, b]), np.array([0]), np.array([1])).tolist() == [level]


@pytest.mark.parametrize("kind", ["person", "text", "address", "code", "email"])
def test_values_longer_than_a_word_of_bits(kind):
    """Beside short ones, in any order: what was noted of one value must not be left when the next is compared."""
    rng = np.random.default_rng(3)
    values = []
    for length in (10, 64, 65, 130, 200) * 2:
        value = "".join(rng.choice(list("abcdefg1@"), length))
        for _ in range(2):
            place = int(rng.integers(1, len(value)))
            values.append(value[:place] + "b" + value[place + 1 :])  # of just that length
            values.append(value[:place] + " " + value[place + 1 :] if 1 < place < length - 1 else value)
    column = column_of(kind, values)
    left, right = all_pairs(len(values))
    lengths = np.array([len(value) for value in values])
    edge = np.flatnonzero((lengths[left] == 65) & (lengths[right] <= 65))  # one more than a word holds
    mixed = rng.permutation(np.append(edge, rng.integers(0, len(left), 150)))
    left, right = left[mixed], right[mixed]
    expected = [
        1 if values[i] == values[j] else agreement.LEVEL_OF[kind](values[i], values[j]) for i, j in zip(left, right)
    ]
    assert compare(column, left, right).tolist() == expected


@pytest.mark.parametrize("kind", ["text", "address"])
def test_long_texts_are_compared_by_words(kind):
    """Around the length from which they are, and with so many words in common that every level comes up."""
    rng = np.random.default_rng(4)
    vocabulary = ["".join(rng.choice(list("abcdefgh"), 7)) + ("1" if n % 9 == 0 else "") for n in range(400)]
    base = rng.choice(vocabulary, 130, replace=False)
    values = []
    for kept in (130, 128, 120, 105, 100, 80, 60, 20, 0):
        others = rng.choice(vocabulary, 130 - kept)
        values.append(" ".join(rng.permutation([*base[:kept], *others])))
    values.append(values[0][:900].rsplit(" ", 1)[0])
    column = column_of(kind, values)
    left, right = all_pairs(len(values))
    few = (left != len(values) - 1) & (right != len(values) - 1) | (left + right == len(values) - 1)
    left, right = left[few], right[few]
    expected = [1 if i == j else agreement.LEVEL_OF[kind](values[i], values[j]) for i, j in zip(left, right)]
    assert compare(column, left, right).tolist() == expected
    assert len(set(expected)) >= 4
    assert {len(values[i]) + len(values[j]) > 2000 for i, j in zip(left, right)} == {True, False}


def test_no_pairs_and_no_values():
    empty = np.empty(0, np.int64)
    for kind in LEVELS:
        assert compare(column_of(kind, ["a", "b"]), empty, empty).tolist() == []
        assert compare(column_of(kind, [None, None]), np.array([0]), np.array([1])).tolist() == [0]


@pytest.mark.parametrize("kind", LEVELS)
def test_threads_and_chunks_change_nothing(kind):
    rng = np.random.default_rng(5)
    values = ["".join(rng.choice(list("ab 12"), 6)).strip() or "a" for _ in range(80)]
    values = [" ".join(value.split()) for value in values]
    column = column_of(kind, values)
    left, right = all_pairs(len(values))
    at_once = compare(column, left, right)
    with Workers(3) as workers:
        assert (Comparer(column, chunk=100).compare(left, right, workers.map) == at_once).all()
    assert (compare(column, left.astype(np.int32), right.astype(np.int32)) == at_once).all()


def test_values_of_a_slice():
    values = strings_to_arrow(["zzz", "ann lee", "a lee"]).slice(1)
    column = Column("name", "person", np.array([0, 1], np.int32), values)
    assert compare(column, np.array([0]), np.array([1])).tolist() == [agreement.person("ann lee", "a lee")]


def test_dates_and_numbers_can_be_measured():
    dates = column_of("date", ["1970-02-01", "1970", None, "nonsense", "1970-13-01", "1969-12-31"])
    np.testing.assert_array_equal(measure_records(dates), [31, 0, np.nan, np.nan, np.nan, -1])
    numbers = column_of("number", ["-1.5", None, "1e50", "about 3"])
    np.testing.assert_array_equal(measure_records(numbers), [-1.5, np.nan, 1e50, np.nan])
    with pytest.raises(UsageError, match="field field: only dates and numbers"):
        measure_records(column_of("person", ["ann"]))


@pytest.mark.parametrize("kind", ["text", "address"])
def test_only_the_beginning_of_a_very_long_text_is_searched_for_abbreviations(kind):
    """Their words are compared whole."""
    shared, others = ["north", *(f"mile{n:05}x" for n in range(300))], [f"walk{n:05}y" for n in range(600)]
    values = ["n", " ".join(others) + " north", " ".join(shared), " ".join(shared + others[:50])]
    levels = compare(column_of(kind, values), np.array([0, 0, 2]), np.array([1, 2, 3])).tolist()
    assert levels == {"text": [6, 4, 2], "address": [5, 3, 2]}[kind]


@pytest.mark.parametrize("kind", ["person", "text", "address", "email"])
def test_values_of_a_megabyte_are_compared_at_once(kind):
    """Among them one word beside very many: each of those must not be compared with the whole of the one."""
    rng = np.random.default_rng(5)
    values = ["".join(rng.choice(list(letters), 1_000_000)) for letters in ("abcdefgh", "abcdefgh ", "abcdefgh@1")]
    began = process_time()
    compare(column_of(kind, values), *all_pairs(3))
    assert process_time() - began < 5
