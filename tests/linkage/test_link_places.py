"""Places and other things with a name of their own, a single word, and with columns that many of them share."""

from __future__ import annotations

import random

import pytest
from tests.support.catalogues import make_word

import lookalike as la

ENDS = ("ville", "ton", "field", "burg", "ia", "port")


def make_places(count, seed=1):
    """Places with a name of their own, which resembles that of others, a country, a population and coordinates."""
    draw = random.Random(seed)
    names: list[str] = []
    while len(names) < count:
        stem = make_word(draw, 2).title()
        names += [stem + end for end in draw.sample(ENDS, 2)]
    draw.shuffle(names)
    countries = [make_word(draw, 3).title() for _ in range(12)]
    return [
        {
            "name": name, "country": draw.choice(countries), "people": f"{draw.randrange(10_000, 900_000)}",
            "lat": f"{draw.uniform(40, 60):.6f}", "lon": f"{draw.uniform(-5, 20):.6f}",
        }
        for name in dict.fromkeys(names[:count])
    ]  # fmt: skip


def make_lists(count, share, seed=1):
    """Two lists of places, of which a share is in both, with other coordinates nearby and another population."""
    places, draw = make_places(2 * count, seed), random.Random(seed + 1)
    left = [{"id": f"a{n}", **one} for n, one in enumerate(places[:count])]
    first = count - int(share * count)
    right = []
    for n, one in enumerate(places[first : first + count], first):
        moved = {at: f"{float(one[at]) + draw.uniform(-0.01, 0.01):.6f}" for at in ("lat", "lon")}
        grown = f"{int(int(one['people']) * draw.uniform(0.9, 1.1))}"
        right.append({"id": f"b{n}", **one, **moved, "people": one["people"] if n % 3 else grown})
    draw.shuffle(right)
    return left, right


def judge(result):
    """Precision, and the number of correct links."""
    links = list(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist()))
    correct = sum(one[1:] == other[1:] for one, other in links)
    return correct / max(1, len(links)), correct


FIELDS = ["name", "name,country", "name,lat,lon", "name,country,people", "name,country,people,lat,lon"]


@pytest.mark.parametrize("fields", FIELDS)
def test_places_of_two_lists_are_linked_whatever_else_is_compared(fields):
    precision, correct = judge(la.link(*make_lists(500, 0.6), fields=fields, threads=1))
    assert precision > 0.95
    assert correct > 0.9 * 300


@pytest.mark.parametrize("fields", ["name", "name,country", "name,country,lat,lon"])
def test_places_that_one_list_has_twice_are_linked(fields):
    left, right = make_lists(500, 0.6)
    precision, correct = judge(la.link([*left, *right], fields=fields, threads=1))
    assert precision > 0.8
    assert correct > 0.9 * 300


@pytest.mark.parametrize("fields", FIELDS)
def test_lists_without_a_common_place_have_hardly_any_links(fields):
    left, right = make_lists(500, 0)
    result = la.link(left, right, fields=fields, threads=1)
    assert len(result.links) < 60
    assert not len(result.links) or (result.run["precision"]["low"] or 0) < 0.5


def test_a_column_that_few_records_have_does_not_hide_the_others():
    left, right = make_lists(500, 1)
    left, right = ([{**one, "kind": "port" if n % 50 == 0 else None} for n, one in enumerate(table)]
                   for table in (left, sorted(right, key=lambda one: int(one["id"][1:]))))  # fmt: skip
    precision, correct = judge(la.link(left, right, fields="name,kind", threads=1))
    assert precision > 0.99
    assert correct > 0.95 * 500


def test_columns_of_yes_and_no_are_not_matched_by_their_values():
    left, right = make_lists(60, 0.5)
    left = [{**one, "harbour": n % 2 == 0} for n, one in enumerate(left)]
    right = [{**one, "listed": n % 3 == 0} for n, one in enumerate(right)]
    found = la.link(left, right, fields="all", threads=1).run["options"]["fields"]
    assert [(one["left"], one["right"]) for one in found] == [(one, one) for one in make_places(1)[0]]
