"""Linking two shops whose products come in variants: every record has look-alikes in its own table."""

from __future__ import annotations

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


@pytest.mark.parametrize(("share", "variants", "divided"), [
    (1.0, 2, False), (0.2, 2, False), (0.5, 3, True), (0.2, 5, False), (0.2, 5, True),
])  # fmt: skip
def test_a_product_is_linked_though_its_variants_are_nearly_the_same(share, variants, divided):
    run, f1, true = link_variants(share, variants, divided)
    assert f1 > 0.7
    assert run["precision"]["estimate"] == pytest.approx(true, abs=0.25)


def test_variants_are_not_several_records_of_a_product():
    """Both shops lack some variants of the other's, so that these have the same best partner."""
    run = link_variants(0.2, 5, False)[0]
    assert not [note for note in run["notes"] if "several records" in note]
