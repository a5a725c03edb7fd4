"""One table with a column that says nothing about which records are the same: a key, an identifier, a count."""

from __future__ import annotations

import random
import uuid

import pytest
from tests.support.catalogues import make_word

import lookalike as la

RECORDS, TWICE = 300, 60


def make_recipes(extra, seed=1):
    """Recipes, some of them twice in other words, each with a further value."""
    draw = random.Random(seed)
    words = [make_word(draw, 3) for _ in range(400)]
    rows = []
    for n in range(RECORDS):
        title, parts = draw.sample(words, 3), draw.sample(words, 7)
        rows.append({"id": f"a{n}", "title": " ".join(title), "parts": ", ".join(parts)})
        if n < TWICE:
            shuffled = draw.sample(parts, 7)
            rows.append({"id": f"b{n}", "title": " ".join(title[::-1]), "parts": "; ".join(shuffled)})
    return [one if extra is None else {**one, "extra": extra(draw, one["id"])} for one in rows]


def link_recipes(extra):
    found = la.link(make_recipes(extra), fields="all", id="id", threads=1)
    links = set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))
    return found, sum(one[1:] == other[1:] for one, other in links), len(links)


EXTRAS = {
    "nothing": None,
    "uuid": lambda draw, _: str(uuid.UUID(int=draw.getrandbits(128))),
    "key": lambda draw, one: f"recipes/{make_word(draw, 2)}{one}",
    "page": lambda draw, _: f"https://example.org/recipes/{draw.randrange(10**7)}",
    "count": lambda draw, _: draw.randrange(2_000),
    "few counts": lambda draw, _: draw.randrange(40),
}


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
def test_it_does_not_change_what_is_linked(extra):
    found, right, links = link_recipes(extra)
    assert found.run["model"]["name"] == "words"
    assert right > 0.9 * TWICE
    assert right > 0.95 * links


def test_a_key_that_no_two_records_share_is_named_and_left_out():
    found, _, _ = link_recipes(EXTRAS["uuid"])
    [note] = [one for one in found.run["notes"] if one.startswith("extra")]
    assert note == "extra is not compared: no two records share a value of it (extra:code compares it all the same)"


def test_a_code_that_records_of_an_entity_share_decides():
    found, right, _ = link_recipes(lambda _, one: f"x{int(one[1:]) * 7919 % 10_007}y")
    assert found.run["model"] == {"name": "levels", "reason": "extra distinguishes most records"}
    assert right == TWICE
