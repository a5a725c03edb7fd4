"""Linking records made of words, some of which lack a field that tells the others apart."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.support.catalogues import make_word

import lookalike as la
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import Texts
from lookalike.linkage.scoring.words.evidence import FEATURES, WholeRecord
from lookalike.types import strings_to_arrow

RECORDS = 600


def make_cases(share, seed):
    """Court cases of two lists; four in ten of the second one lack the citation, but have a docket number."""
    draw = random.Random(seed)
    names = [make_word(draw, 3) for _ in range(300)]
    shared = int(share * RECORDS)
    made = [
        {"name": f"{draw.choice(names)} v. {draw.choice(names)}", "year": str(draw.randrange(1950, 2024)),
         "cite": f"{draw.randrange(1, 900)} F.2d {draw.randrange(1, 1200)}"}
        for _ in range(2 * RECORDS - shared)
    ]  # fmt: skip
    left = [{"id": str(n), **one} for n, one in enumerate(made[:RECORDS])]
    right = []
    for n, one in list(enumerate(made))[RECORDS - shared :]:
        docket = f"{draw.randrange(10, 99)}-{draw.randrange(100, 9999)}"
        name = one["name"].replace("v.", "versus") + f" (No. {docket})"
        cite = "" if draw.random() < 0.4 else one["cite"].replace("F.2d", "F. 2d")
        right.append({"id": str(n), "name": name, "year": one["year"], "cite": cite})
    return left, right


@pytest.mark.parametrize(("share", "seed"), [(0.5, 1), (0.1, 1), (0.1, 2)])
def test_records_without_the_field_are_linked_by_the_others(share, seed):
    left, right = make_cases(share, seed)
    found = la.link(left, right, fields="name:text,year:number,cite:text", id="id", threads=1).links
    links = set(zip(found["left"].to_pylist(), found["right"].to_pylist()))
    assert sum(one == other for one, other in links) > 0.85 * len(links)
    lacking = {one["id"] for one in right if not one["cite"] and int(one["id"]) < RECORDS}
    assert sum(one == other and one in lacking for one, other in links) > 0.8 * len(lacking) > 0


def test_what_one_record_lacks_counts_for_a_match_but_not_against_one():
    def column(name, kind, values):
        codes = np.array([values.index(one) if one else -1 for one in values], np.int32)
        return Column(name, kind, codes, strings_to_arrow(values))

    title = column("title", "text", ["red lamp 77", "red lamp", "lamp xk350 red", "blue desk", "desk 99"])
    model = column("model", "code", ["", "xk350", "", "12345", ""])
    texts = Texts([title, model])
    whole, plain = WholeRecord([title, model], texts), texts.of(-1)
    left, right = np.array([0, 1, 3, 0]), np.array([1, 2, 4, 2])
    now, before = whole.compare(left, right), plain.compare(left, right)
    conflicts, codes, words = (FEATURES.index(one) for one in ("conflicting numbers", "codes", "words"))
    assert before[0, conflicts] == 1
    assert now[0, conflicts] == 0
    assert now[0, words] > before[0, words]
    assert now[1, codes] == before[1, codes] > 0  # the title of one has the model of the other
    assert now[2, conflicts] == 0
    assert before[2, conflicts] == 1
    assert now[3].tolist() == before[3].tolist()  # both lack it
