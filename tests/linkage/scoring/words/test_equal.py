"""Equal records: which pairs are judged, how many equal records there are within a table, and which fields identify."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.words.equal import (
    are_equal,
    count_twins,
    judge_equal,
    least_likely,
    lone_pairs,
    share_of_matches,
)
from lookalike.linkage.scoring.words.evidence import CONFLICTS, WHOLE, Feature

rows = st.lists(st.tuples(*[st.integers(-1, 1)] * 2), min_size=1, max_size=5)
"""The values of a few records in two fields; -1 for a missing one."""


def columns_of(rows, kinds=("text", "code")):
    return [Column(kind, kind, np.array(codes, np.int32), pa.array([""])) for kind, codes in zip(kinds, zip(*rows))]


@given(rows, rows, st.tuples(*[st.sampled_from([0.0, 0.3, 0.6, 0.9])] * 3))
def test_lone_pairs_by_definition(one, other, shares):
    records, columns = one + other, columns_of(one + other)
    pairs = list(product(range(len(one)), range(len(one), len(records))))
    left, right = np.array(pairs, np.int32).T.copy()
    least = dict.fromkeys(pairs, 0.0)
    for fields, share in zip(([0, 1], [0], [1]), shares):
        values = [[row[field] for field in fields] for row in records]
        same = [(a, b) for a, b in pairs if values[a] == values[b] and max(values[a]) >= 0]
        often = Counter(end for pair in same for end in pair)
        lone = [pair for pair in same if often[pair[0]] == often[pair[1]] == 1]
        found = are_equal([columns[field] for field in fields], left, right)
        assert [pair for pair, yes in zip(pairs, found) if yes] == same
        assert [pair for pair, yes in zip(pairs, lone_pairs(left, right, found, len(records))) if yes] == lone
        least.update({pair: max(least[pair], share) for pair in lone})
    assert least_likely(columns, left, right, shares).tolist() == list(least.values())


@given(rows, st.lists(st.integers(0, 1), min_size=9, max_size=9), st.integers(0, 2))
def test_twins_by_definition(rows, texts, start):
    """Records that are equal in the text, too, count as one."""
    *columns, text = columns_of([(*row, text) for row, text in zip(rows, texts)], ("code", "phone", "text"))
    known = [(row, text) for row, text in zip(rows[start:], texts[start:]) if max(row) >= 0]
    for more, counted in (([], known), ([text], sorted(set(known)))):
        often = Counter(row for row, _ in counted)
        assert count_twins(columns, start, len(rows), more) == list(often.values()).count(2)


def test_the_share_of_matches_by_hand():
    """Of 24 pairs between the tables, 4 * 24 / 21 are equal by chance if 3 of the 6 + 15 pairs within them are."""
    assert share_of_matches(10, 3, (4, 6)) == pytest.approx(1 - 4 * 24 / 21 / 10)
    assert share_of_matches(4, 0, (1, 1)) == 0.75  # no pairs within the tables
    assert share_of_matches(0, 0, (4, 6)) == 0.0


SIZES = (21, 15)
"""There are as many pairs within these tables as between them: 315. So one equal pair by chance is assumed."""


def judge(phones, confirmed, emails=0, twins=("text", "phone", "email")):
    """Judge records of which the first 13 of both tables have equal titles, and fewer have equal phones and emails.

    The titles of those with equal phones are best partners (`confirmed`), or else conflict. The last two of the right
    table are equal in the fields `twins`.
    """
    left, right = (ends.ravel().astype(np.int32) for ends in np.indices(SIZES))
    columns = []
    for kind, same in (("text", 13), ("phone", phones), ("email", emails)):
        codes = np.arange(sum(SIZES), dtype=np.int32)
        codes[SIZES[0] : SIZES[0] + same] = np.arange(same)
        codes[-1] = codes[-2 if kind in twins else -1]
        columns.append(Column(kind, kind, codes, pa.array([""])))
    partners = left == right
    measured = [partners & (left < confirmed), partners & (left >= confirmed), partners, partners, partners & False]
    features = [
        Feature(0, "trigrams", True), Feature(0, CONFLICTS, False), Feature(0, WHOLE + "trigrams", True),
        Feature(1, "agreement", True), Feature(2, "agreement", True, 0.0),
    ]  # fmt: skip
    table = np.stack(measured, axis=1).astype(np.float32)
    return judge_equal(columns, left, right + np.int32(SIZES[0]), SIZES, table, features)


@pytest.mark.parametrize(
    ("phones", "confirmed", "share"),
    [
        (12, 12, 11 / 12),
        (12, 9, 11 / 12),  # three in four are confirmed
        (12, 8, 0.0),
        (10, 10, 0.9),
        (9, 9, 0.0),  # one in nine is due to chance
    ],
)
def test_a_field_identifies_if_most_equal_pairs_are_matches_and_confirmed(phones, confirmed, share):
    shares, most = judge(phones, confirmed)
    assert shares == pytest.approx((0.0, 0.0, share, 0.0))
    assert most == pytest.approx(phones - 1 if share else 0.0)


def test_the_greatest_number_of_matches_is_that_of_one_field_or_of_all():
    """Two of the ten pairs that are equal in all fields are due to chance, because two records of a table are equal."""
    shares, most = judge(12, 12, 10)
    assert shares == pytest.approx((0.8, 0.0, 11 / 12, 0.9))
    assert most == pytest.approx(11)
    shares, most = judge(9, 9, 9)
    assert shares == pytest.approx((7 / 9, 0.0, 0.0, 0.0))
    assert most == pytest.approx(7)


def test_records_with_equal_phones_are_one_if_their_titles_are_equal():
    assert judge(12, 12, twins=("text", "phone"))[0][2] == pytest.approx(11 / 12)
    assert judge(12, 12, twins=("phone", "email"))[0][2] == 0.0


@pytest.mark.parametrize("sizes", [SIZES, SIZES[::-1]])
def test_equal_records_are_counted_in_both_tables(sizes):
    """The first and the last record of each table are equal, the 13 others of the smaller table have an equal one."""
    codes = np.arange(sum(sizes), dtype=np.int32)
    codes[sizes[0] + 1 : sizes[0] + 14] = codes[1:14]
    codes[[sizes[0] - 1, -1]] = codes[[0, sizes[0]]]
    left, right = (ends.ravel().astype(np.int32) for ends in np.indices(sizes))
    column = Column("title", "text", codes, pa.array([""]))
    shares, _ = judge_equal([column], left, right + np.int32(sizes[0]), sizes, np.empty((315, 0), np.float32), [])
    assert shares == pytest.approx((1 - 3 / 13, 0.0))


@pytest.mark.parametrize("candidates", [400, 20])
def test_a_field_identifies_nothing_if_there_are_no_others(candidates):
    """Even if the pairs that are equal in it are the only candidates, and thus each other's best partners."""
    codes = np.append(np.arange(20), np.arange(20)).astype(np.int32)
    left, right = (ends.ravel().astype(np.int32)[:: 420 // candidates] for ends in np.indices((20, 20)))
    measured, features = (left == right)[:, None].astype(np.float32), [Feature(0, "agreement", True)]
    column = Column("code", "code", codes, pa.array([""]))
    shares, _ = judge_equal([column], left, right + np.int32(20), (20, 20), measured, features)
    assert shares == pytest.approx((1 - 20 / 19 / 20, 0.0))
