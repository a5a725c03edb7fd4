"""Linking one table of words whose records are related without being the same entity."""

from __future__ import annotations

import random

import numpy as np
import pytest

import lookalike as la
from lookalike.linkage.scoring.words.alike import alike_bits


def make_word(draw, syllables):
    return "".join(
        draw.choice("bdfgklmnprst") + draw.choice(("a", "e", "i", "o", "un", "ar")) for _ in range(syllables)
    )


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


def test_a_pair_with_less_in_common_than_not_loses_bits():
    bits = alike_bits(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert bits.round().tolist() == [-10, -5, -1, 0, 0]
