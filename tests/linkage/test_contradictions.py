"""Matches that contradict each other show that levels have failed; names are then compared as texts."""

import random

import pyarrow as pa
import pyarrow.compute
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


def make_branches(companies, seed=1):
    """Two tables with one to four records of each company: a name of many words, an address and a phone number."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(["ka", "lo", "mi", "ru", "se", "ta", "vo", "ni"], k=3)) for _ in range(300)]
    kinds = ["early learning centre", "day care and preschool", "community school of arts", "house for children"]
    tables = [], []
    for number in range(companies):
        name = f"{' '.join(draw.choices(words, k=2))} {draw.choice(kinds)}"
        place, phone = f"{draw.randrange(1, 900)} {draw.choice(words)} street", f"312555{draw.randrange(10**4):04}"
        for side, table in zip("ab", tables):
            for copy in range(draw.randint(1, 4)):
                row = {"name": name, "address": place, "phone": phone}
                wrong = draw.choice(list(row))
                row[wrong] = {"name": name.replace(" ", ", ", 1) + " inc", "address": place[:-4], "phone": None}[wrong]
                table.append({"id": f"{side}{copy}-{number:04}", **row})
    return [pa.Table.from_pylist(table) for table in tables]


def test_several_records_in_both_tables_are_scored_by_levels_if_a_field_identifies_them():
    left, right = make_branches(150)
    result = la.link(left, right, fields="name:text,address,phone", id="id", threads=1)
    assert result.run["model"]["name"] == "levels"
    assert result.run["model"]["reason"].startswith("both tables seem to have several records of an entity")
    found = {one[-4:]: len(left.filter(pa.compute.ends_with(left["id"], one[-4:]))) for one in left["id"].to_pylist()}
    pairs = sum(found[one[-4:]] for one in right["id"].to_pylist())
    precision, recall = judge(result, pairs)
    assert precision > 0.95
    assert recall > 0.9
