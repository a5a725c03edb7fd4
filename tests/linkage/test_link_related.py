"""Linking one table of words whose records are related without being the same entity."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.support.catalogues import make_word

import lookalike as la
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.words.alike import alike_bits
from lookalike.linkage.scoring.words.equal import count_twins, lone_pairs, share_of_matches
from lookalike.linkage.scoring.words.partner_bits import partner_bits
from lookalike.linkage.scoring.words.weights import probability_of


def make_places(twice, seed, records=600):
    """Names and addresses as one text, some with the same number or street; the first `twice` are listed again."""
    draw = random.Random(seed)
    streets, towns = [[make_word(draw, 3) for _ in range(count)] for count in (300, 30)]
    texts = [
        f"{make_word(draw, 4)} {make_word(draw, 3)}, {draw.randint(1, 250)} {draw.choice(streets)} street, "
        f"{draw.choice(towns)} {draw.choice(('grill', 'bar', 'cafe', 'diner'))}"
        for _ in range(records - twice)
    ]
    rows = [{"id": f"{n}-0", "place": text} for n, text in enumerate(texts)]
    rows += [{"id": f"{n}-1", "place": text.replace("street", "st")} for n, text in enumerate(texts[:twice])]
    draw.shuffle(rows)
    return rows


@pytest.mark.parametrize("seed", [1, 2])
def test_places_with_the_same_number_are_not_the_same(seed):
    found = la.link(make_places(0, seed), fields="place:text", id="id", threads=1)
    assert len(found.links) <= 20


def test_places_that_are_listed_twice_are_found():
    found = la.link(make_places(60, 1), fields="place:text", id="id", threads=1)
    pairs = zip(found.links["left"].to_pylist(), found.links["right"].to_pylist())
    hits = sum(one.partition("-")[0] == other.partition("-")[0] for one, other in pairs)
    assert 2 * hits / (len(found.links) + 60) >= 0.95


def test_equal_records_are_linked_even_if_others_are_similar():
    """Some restaurants have a garden that is listed, too."""
    rows = make_places(0, 3)
    copied = rows[:60]
    rows += [{"id": f"garden of {row['id']}", "place": f"{row['place']} garden"} for row in rows[:5]]
    found = la.link([*rows, *({**row, "id": f"copy of {row['id']}"} for row in copied)], fields="place:text", id="id")
    pairs = {frozenset(pair) for pair in zip(found.links["left"].to_pylist(), found.links["right"].to_pylist())}
    assert {frozenset((row["id"], f"copy of {row['id']}")) for row in copied} <= pairs


def make_volumes(draw, books):
    """Books of two volumes each, so that every record has a look-alike in its own table."""
    titles = [" ".join(make_word(draw, 3) for _ in range(4)) for _ in range(books)]
    return [{"title": f"{title} volume {n}", "price": draw.randint(5, 90)} for title in titles for n in (1, 2)]


@pytest.mark.parametrize("shared", [0, 8, 20])
def test_equal_records_of_two_tables_stand_out_from_look_alikes_within_them(shared):
    draw = random.Random(4)
    left, right = make_volumes(draw, 150), make_volumes(draw, 150)
    tables = [[{**row, "id": f"{name}{n}"} for n, row in enumerate(rows)]
              for name, rows in (("a", left), ("b", [*left[: 2 * shared : 2], *right]))]  # fmt: skip
    found = la.link(*tables, fields="title:text,price", id="id", threads=1)
    pairs = set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))
    assert pairs == {(f"a{2 * n}", f"b{n}") for n in range(shared)}
    assert shared == 0 or found.run["precision"]["estimate"] > 0.8


@pytest.mark.parametrize(("names", "shared", "share"), [(3_000, 0, 0.0), (3_000, 100, 0.55), (10**6, 100, 0.99)])
def test_the_share_of_matches_among_equal_records(names, shared, share):
    """Names are drawn at random, so that different records have the same name; the last ones of both tables match."""
    draw, sizes = np.random.default_rng(7), (700, 600)
    codes = draw.integers(0, names, sum(sizes)).astype(np.int32)
    codes[sizes[0] : sizes[0] + shared] = codes[:shared] = names + np.arange(shared)
    left, right = (part.ravel() for part in np.meshgrid(np.arange(sizes[0]), np.arange(sizes[0], sum(sizes))))
    lone = lone_pairs(left, right, codes[left] == codes[right], sum(sizes))
    column = Column("name", "text", codes, pa.array([""]))
    twins = count_twins([column], 0, sizes[0]) + count_twins([column], sizes[0], sum(sizes))
    assert share_of_matches(int(lone.sum()), twins, sizes) == pytest.approx(share, abs=0.15)


def test_equal_pairs_are_at_least_as_likely_as_they_are_on_average():
    left, right, score = np.array([0, 2, 0], np.int32), np.array([1, 3, 2], np.int32), np.array([4.0, 4.0, 3.9])
    common, column = np.ones(3), Column("name", "text", np.array([0, 0, 1, 1], np.int32), pa.array(["a", "b"]))
    alone = score + partner_bits(left, right, score, 4, "alone", common)
    score[1] = 3.0  # the other record is a better partner of the third than its copy
    before, now = (score + partner_bits(left, right, score, 4, "alone", common, some) for some in ([], [column]))
    assert before[0] == now[0] < alone[0] + 1e-9
    assert before[1] < now[1] < now[0]
    assert before[2] == now[2]
    assert probability_of(now[1:2]) == pytest.approx(probability_of(before[:2]).mean())


def test_a_pair_with_less_in_common_than_not_loses_bits():
    bits = alike_bits(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert bits.round().tolist() == [-10, -5, -1, 0, 0]
