"""Linking two shops whose products come in variants: every record has look-alikes in its own table."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.support.catalogues import make_variants

import lookalike as la


def link_variants(share, variants, divided):
    """The run, F1 and true precision."""
    case = make_variants(500, share, 1, variants, divided)
    found = la.link(case.left, case.right, fields=case.fields, id="id", threads=1)
    pairs = set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))
    hits = len(pairs & case.truth)
    return found.run, 2 * hits / (len(pairs) + len(case.truth)), hits / max(1, len(pairs))


@pytest.mark.parametrize("variants", [2, 3, 5])
def test_all_products_are_linked_if_both_shops_have_all_variants(variants):
    """A product with a mistyped name is more similar to another variant, which has a match of its own."""
    run, f1, true = link_variants(1.0, variants, False)
    assert f1 > 0.97
    assert run["precision"]["estimate"] == pytest.approx(true, abs=0.1)


@pytest.mark.parametrize(("share", "variants", "divided"), [
    (0.2, 2, False), (0.5, 3, True), (0.2, 5, False), (0.2, 5, True),
])  # fmt: skip
def test_a_product_is_linked_though_its_variants_are_nearly_the_same(share, variants, divided):
    run, f1, true = link_variants(share, variants, divided)
    assert f1 > 0.7
    assert run["precision"]["estimate"] == pytest.approx(true, abs=0.15)


def test_a_record_that_arrives_later_is_linked_to_what_is_left():
    """The best partner of the new product, another variant, has a match of its own."""
    case = make_variants(300, 1.0, 1, 3, False)
    left, right = (table.to_pylist() for table in (case.left, case.right))
    names = {row["id"]: row["title"] for row in left}
    mistyped = [
        (one, other) for one, other in sorted(case.truth)
        if set(names[one].split()) - set(next(row["title"] for row in right if row["id"] == other).split())
    ][:20]  # fmt: skip
    late = {other for _, other in mistyped}
    first = la.link(case.left, [row for row in right if row["id"] not in late], fields="title:text", id="id", threads=1)
    later = la.link([row for row in right if row["id"] in late], against=first, into="right", threads=1)
    pairs = set(zip(later.links["left"].to_pylist(), later.links["right"].to_pylist()))
    assert len(pairs & set(mistyped)) >= 18


def test_what_is_left_is_linked_with_labels_too():
    case = make_variants(300, 1.0, 1, 3, False)
    truth = sorted(case.truth)
    labels = [{"left": one, "right": other, "match": True} for one, other in truth[:40]]
    labels += [{"left": one, "right": other, "match": False} for (one, _), (_, other) in pairwise(truth[:41])]
    found = la.link(case.left, case.right, fields="title:text", id="id", labels=labels, threads=1)
    pairs = set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))
    assert len(pairs & case.truth) > 0.95 * len(truth)


def test_variants_are_not_several_records_of_a_product():
    """Both shops lack some variants of the other's, so that these have the same best partner."""
    run = link_variants(0.2, 5, False)[0]
    assert not [note for note in run["notes"] if "several records" in note]
