"""Two tables of words that list records twice, without a change."""

from __future__ import annotations

import pytest
from tests.support.catalogues import make_products

import lookalike as la

FIELDS = "title:text,description:text,maker,price"


def twice(table):
    rows = table.to_pylist()
    return rows + [{**row, "id": f"{row['id']}-copy"} for row in rows]


def link(left, right, one_to_one="auto"):
    found = la.link(left, right, fields=FIELDS, id="id", threads=1, one_to_one=one_to_one)
    return set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))


def names(links):
    return {tuple(name.removesuffix("-copy") for name in pair) for pair in links}


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("both", [True, False])
def test_the_same_entities_are_linked_as_without_the_copies(share, both):
    left, right = make_products(200, 200, share)
    before = link(left, right)
    assert len(before) > 0.7 * share * 200
    after = link(twice(left), twice(right) if both else right.to_pylist())
    assert len(names(after) & before) > 0.95 * len(before)
    more = names(after) - before
    assert len([1 for one, other in more if one[1:] != other[1:]]) < 0.05 * len(before)  # the others are matches


def test_copies_are_linked_too_unless_each_record_has_one_partner():
    left, right = make_products(200, 200, 0.5)
    every, one = (link(twice(left), twice(right), how) for how in ("no", "optimal"))
    assert len(every) > 3.8 * len(names(every)) > 0
    assert len({one for one, _ in one}) == len(one) == len({other for _, other in one})


def test_a_later_run_treats_copies_in_the_same_way():
    left, right = make_products(200, 200, 0.5)
    old = la.link(twice(left), right.to_pylist()[:150], fields=FIELDS, id="id", threads=1, one_to_one="no")
    later = la.link(right.to_pylist()[150:], against=old, into="right", threads=1)
    links = set(zip(later.links["left"].to_pylist(), later.links["right"].to_pylist()))
    assert len(links) > 1.9 * len(names(links)) > 100


def test_labels_treat_copies_in_the_same_way():
    left, right = make_products(200, 200, 1.0)
    given = {"left": twice(left), "right": twice(right), "fields": FIELDS, "id": "id", "threads": 1, "one_to_one": "no"}
    before = la.link(**given)
    review = la.link(review=60, **given).review.to_pylist()
    true = set(zip(before.links["left"].to_pylist(), before.links["right"].to_pylist()))
    after = la.link(labels=[dict(row, match=int((row["left"], row["right"]) in true)) for row in review], **given)
    assert after.links.num_rows > 0.9 * before.links.num_rows > 0
