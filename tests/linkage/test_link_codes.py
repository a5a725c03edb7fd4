"""Linking two tables of words that have a code, such as an ISBN, or only numbers that look like one."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.support.catalogues import make_word

import lookalike as la
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.words.equal import judge_equal
from lookalike.linkage.scoring.words.evidence import Feature

SHARED, RECORDS = 40, 400


def make_shop(draw, name, codes):
    """Products in a series of three each, so that every one has look-alikes, with the given codes."""
    series = [" ".join(make_word(draw, 3) for _ in range(3)) for _ in range(RECORDS // 3 + 1)]
    kinds = [f"{one} {kind}" for one in series for kind in ("basic", "plus", "pro")]
    return [{"id": f"{name}{n}", "title": title, "code": code} for n, (title, code) in enumerate(zip(kinds, codes))]


def make_shops(code_of, seed=3):
    """Two shops; the first products of both are the same, sometimes with a title of which little is left."""
    draw = random.Random(seed)
    left = make_shop(draw, "a", [code_of("a", n) for n in range(RECORDS)])
    right = make_shop(draw, "b", [code_of("b", n) for n in range(RECORDS)])
    for n in range(SHARED):
        words = left[n]["title"].split()
        right[n]["title"] = " ".join([words[0], "by", words[2]] if n % 8 == 0 else [*words[1:], words[0]])
    return left, right


def link_shops(left, right, fields="title:text,code:code", **options):
    found = la.link(left, right, fields=fields, id="id", threads=1, **options)
    return found, set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))


MATCHES = {(f"a{n}", f"b{n}") for n in range(SHARED)}


def an_isbn(shop, n):
    """A number that both shops give to the same product only."""
    return str(random.Random(n if n < SHARED else f"{shop}{n}").randint(9_780_000_000_000, 9_789_999_999_999))


def test_records_with_the_same_isbn_are_linked_however_they_are_called():
    found, pairs = link_shops(*make_shops(an_isbn))
    assert pairs == MATCHES
    assert found.run["precision"]["estimate"] > 0.95
    assert found.run["precision"]["low"] > 0.8


@pytest.mark.parametrize("fields", ["title,code", "all"])
def test_records_with_the_same_row_number_are_not_linked(fields):
    left, right = make_shops(lambda shop, n: str(10_000 + n))
    random.Random(2).shuffle(right)
    right = [{**row, "code": str(10_000 + n)} for n, row in enumerate(right)]
    found, pairs = link_shops(left, right, fields)
    alone = link_shops(left, right, "title")[1]
    assert pairs == alone
    assert len(pairs & MATCHES) > SHARED / 2
    assert [note for note in found.run["notes"] if note.startswith("code is not compared")]


def test_a_number_is_compared_if_its_kind_is_given():
    left, right = make_shops(lambda shop, n: str(10_000 + n))
    random.Random(2).shuffle(right)
    found = link_shops(left, [{**row, "code": str(10_000 + n)} for n, row in enumerate(right)], "title,code:code")[0]
    assert "code" in found.links.column_names


def test_a_number_that_two_branches_share_identifies_neither():
    """Every code occurs twice in a shop, with different titles, so an equal code says little."""

    def of_branches(shop, n):
        return an_isbn(shop, n) if n < SHARED else str(5_000_000 + (n % (RECORDS // 2)))

    assert judge(of_branches) == 0.0
    assert judge(an_isbn) > 0.9


def test_equal_row_numbers_identify_nothing():
    """Every number occurs once in both shops, but few of the products with the same number have the same title."""
    assert judge(lambda shop, n: str(10_000 + n)) == 0.0


def judge(code_of):
    """The share of matches among the pairs with equal codes, if the titles of the first products are equal."""
    numbers = {code: n for n, code in enumerate({code_of(shop, n) for shop in "ab" for n in range(RECORDS)})}
    codes = np.array([numbers[code_of(shop, n)] for shop in "ab" for n in range(RECORDS)], np.int32)
    titles = np.arange(2 * RECORDS, dtype=np.int32)
    titles[RECORDS : RECORDS + SHARED] = np.arange(SHARED)
    columns = [Column("title", "text", titles, pa.array([""])), Column("code", "code", codes, pa.array([""]))]
    left, right = np.divmod(np.arange(RECORDS**2, dtype=np.int32), RECORDS)
    right += RECORDS
    measured = np.stack([column.codes[left] == column.codes[right] for column in columns], axis=1).astype(np.float32)
    features = [Feature(0, "trigrams", True), Feature(1, "agreement", True)]
    return judge_equal(columns, left, right, (RECORDS, RECORDS), measured, features)[0][2]


def test_products_listed_twice_do_not_make_their_code_look_shared():
    """They have equal texts and other prices."""
    left, right = make_shops(an_isbn)
    again = [{**row, "id": f"{row['id']} again", "price": "9"} for row in left[100:300]]
    left, right = ([{"price": "7", **row} for row in rows] for rows in (left, right))
    found, pairs = link_shops([*left, *again], right, "title:text,code:code,price:number")
    assert pairs == MATCHES
    assert found.run["precision"]["estimate"] > 0.95


@pytest.mark.parametrize("known", [True, False])
def test_a_record_that_arrives_later_is_linked_by_its_isbn(known):
    left, right = make_shops(an_isbn)
    first = link_shops(left, right)[0]
    words = left[200]["title"].split()
    new = {"id": "late", "title": f"{words[0]} by mail", "code": left[200]["code"] if known else "9790000000001"}
    later = la.link([new], against=first, into="right", threads=1)
    pairs = set(zip(later.links["left"].to_pylist(), later.links["right"].to_pylist()))
    assert pairs - MATCHES == ({("a200", "late")} if known else set())
