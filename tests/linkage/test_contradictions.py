"""Matches that contradict each other show that levels have failed; names are then compared as texts."""

import random

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.linkage.link import UNRELIABLE


def make_airports(towns, listed, seed=1):
    """Airports of towns with similar names: some listed briefly, all of them in full; ids end with the same number."""
    draw = random.Random(seed)
    letters = "bcdfghlmnprst", "aeiou", "lnrst", "aeiou", "dklmnt"
    stems = ["".join(map(draw.choice, letters)).title() for _ in range(towns // 6)]
    names = [stem + end for stem in stems for end in ("ville", "ton", "field", "burg", "ia", "port")]
    draw.shuffle(names)
    of = [f"{name} {draw.choice(['Municipal', 'County', 'Regional', 'Memorial'])}" for name in names]
    rows = [{"id": f"{number:04}", "name": name, "city": city} for number, (name, city) in enumerate(zip(of, names))]
    full = [row | {"id": "full" + row["id"], "name": row["name"] + " Airport"} for row in rows]
    return pa.Table.from_pylist(rows[:listed]), pa.Table.from_pylist(full)


def judge(result, listed):
    """The precision and recall of the links."""
    links = zip(*(result.links[side].to_pylist() for side in ("left", "right")))
    right = sum(left[-4:] == other[-4:] for left, other in links)
    return right / max(1, result.links.num_rows), right / listed


def contradiction(result):
    return next((note for note in result.run["notes"] if "contradict" in note), "")


def test_names_of_two_tables_are_compared_as_texts():
    result = la.link(*make_airports(300, 100), fields="name,city", id="id", threads=1)
    assert min(judge(result, 100)) > 0.95
    assert result.run["model"] == {"name": "words", "reason": "name and city are of kind text"}
    assert contradiction(result).endswith(
        "of the matches contradict each other, so names and addresses are compared as texts"
    )


def test_words_that_convince_are_used_although_an_address_identifies_records():
    tables = [table.rename_columns(["id", "name", "address"]) for table in make_airports(300, 100)]
    result = la.link(*tables, fields="name,address", id="id", threads=1)
    assert min(judge(result, 100)) > 0.95
    assert result.run["model"]["name"] == "words"
    assert contradiction(result).endswith("compared as texts")


def test_names_of_one_table_are_compared_as_texts():
    table = pa.concat_tables(make_airports(600, 200))
    result = la.link(table, fields="name,city", id="id", threads=1)
    assert min(judge(result, 200)) > 0.85
    assert result.run["model"]["name"] == "words"


def test_specified_kinds_are_kept_with_a_warning():
    result = la.link(*make_airports(300, 100), fields="name:person,city:person", id="id", threads=1)
    assert result.run["model"]["name"] == "levels"
    assert judge(result, 100)[0] < 0.5
    assert contradiction(result).endswith(UNRELIABLE)


@pytest.mark.parametrize("share", [0.3, 1])
def test_people_with_several_records_in_each_table_are_scored_by_levels(share):
    draw = random.Random(4)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    people = [
        {
            "name": " ".join("".join(draw.choices(syllables, k=3)).title() for _ in range(2)),
            "phone": f"555{draw.randrange(10**7):07}",
        }
        for _ in range(150)
    ]
    rows = [(number, person) for number, person in enumerate(people) for _ in range(draw.randint(1, 6))]
    tables = [
        pa.Table.from_pylist(
            [
                {"id": f"{side}{place}-{number:04}", **person}
                for place, (number, person) in enumerate(rows)
                if draw.random() < share
            ]
        )
        for side in "ab"
    ]
    result = la.link(*tables, fields="name,phone", id="id", threads=1)
    assert result.run["model"]["name"] == "levels"
    assert contradiction(result) == ""
    assert judge(result, 1)[0] > 0.98
