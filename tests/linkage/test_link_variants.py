"""Linking two shops whose products come in variants: every record has look-alikes in its own table."""

from __future__ import annotations

import random

import pytest

import lookalike as la
from tests.linkage.test_link_related import make_word

VARIANTS = ("basic", "plus", "pro", "max", "mini")


def make_shops(variants, share, divided, records=500, seed=1):
    """Two shops and the products that both have; a shop has all variants of its other products, or some if `divided`."""
    draw = random.Random(seed)
    words = [make_word(draw, draw.choice((2, 3))) for _ in range(1500)]
    left, right, both = [], [], set()
    while min(len(left), len(right)) < records:
        name, place = draw.sample(words, draw.choice((2, 3, 4))), draw.random()
        for variant in VARIANTS[:variants]:
            number, place = len(left) + len(right), draw.random() if divided else place
            shared = draw.random() < share / (2 - share)
            title = [*name, variant]
            if shared or place < 0.5:
                left.append({"id": f"a{number}", "title": " ".join(title)})
            if shared or place >= 0.5:
                kept = [word if draw.random() > 0.1 else word[:-1] + draw.choice("aeiou") for word in title]
                right.append({"id": f"b{number}", "title": " ".join(draw.sample(kept, len(kept)))})
            if shared:
                both.add((f"a{number}", f"b{number}"))
    return left, right, both


def link_shops(*given):
    left, right, both = make_shops(*given)
    found = la.link(left, right, fields="title", id="id", threads=1)
    pairs = set(zip(found.links["left"].to_pylist(), found.links["right"].to_pylist()))
    true = len(pairs & both) / max(1, len(pairs))
    return found, 2 * len(pairs & both) / (len(pairs) + len(both)), true


@pytest.mark.parametrize(("variants", "share", "divided"), [
    (2, 1.0, False), (2, 0.2, False), (3, 0.5, True), (3, 0.2, False), (5, 0.2, True),
])  # fmt: skip
def test_a_product_is_linked_though_its_variants_are_nearly_the_same(variants, share, divided):
    found, f1, true = link_shops(variants, share, divided)
    assert f1 > 0.7
    assert found.run["precision"]["estimate"] == pytest.approx(true, abs=0.25)


def test_variants_are_not_several_records_of_a_product():
    """Both shops lack some variants of the other's, so that these have the same best partner."""
    found = link_shops(5, 0.2, False)[0]
    assert not [note for note in found.run["notes"] if "several records" in note]
