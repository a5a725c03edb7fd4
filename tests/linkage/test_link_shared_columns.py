"""Columns that describe the group of a record, such as its agency, do not make its group a match."""

import random
from itertools import combinations

import pyarrow as pa
import pytest

import lookalike as la
from linking import make_people

OF_AGENCY = ("agency", "website", "plan", "fund", "lead", "contact")


def make_sites(listed, agencies=8, seed=1):
    """Sites of a few agencies, each with one to three records; `listed` says which ones describe the agency."""
    draw = random.Random(seed)

    def word(syllables):
        return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(syllables))

    def digits():
        return str(draw.randrange(2_000_000, 9_999_999))

    streets, rows = [word(3) for _ in range(60)], []
    owners = [
        {"agency": f"{word(2)} {word(3)}", "website": f"www.{word(3)}.org", "fund": f"{word(3)} fund",
         "plan": draw.choice(["half day", "full day", "both"]), "lead": f"{word(2)} {word(3)}"}
        for _ in range(agencies)
    ]  # fmt: skip
    for entity in range(300):
        owner, phone = draw.choice(owners), digits()
        name, street = f"{owner['agency']} {word(2)}", f"{draw.randrange(100, 9999)} {draw.choice(streets)}"
        for number in range(draw.choice([1, 2, 3])):
            row = {
                "id": f"{entity}-{number}",
                "name": draw.choice([name, f"{name} center"]),
                "address": f"{street} {draw.choice(['st', 'st', 'st', 'street'])}",
                "phone": phone if draw.random() < 0.8 else digits(),
            }
            known = listed(entity, number)
            owner["contact"] = f"{word(3)} {word(2)}"  # of the site, but as rarely known as the agency
            rows.append(row | {column: owner[column] if known else None for column in OF_AGENCY})
    return rows


def left_out(result):
    return [note for note in result.run["notes"] if "not compared" in note]


def judge(result, rows):
    """F1 of the pairs within clusters."""
    clusters: dict[int, list[str]] = {}
    for row in result.clusters.to_pylist():
        clusters.setdefault(row["cluster"], []).append(row["id"])
    found = {pair for ids in clusters.values() for pair in combinations(sorted(ids), 2)}
    ids = sorted(row["id"] for row in rows)
    true = {(one, other) for one, other in combinations(ids, 2) if one.split("-")[0] == other.split("-")[0]}
    return 2 * len(found & true) / (len(found) + len(true))


@pytest.mark.parametrize("some", [True, False])
def test_columns_of_an_agency_are_left_out(some):
    """In all records, or in a few of one source."""
    rows = make_sites(lambda entity, number: not some or (number == 0 and entity % 3 == 0))
    rows = rows if some else [{name: row[name] for name in row if name != "contact"} for row in rows]
    result = la.link(rows, fields="all", threads=1)
    own = la.link(rows, fields="name,address,phone", threads=1)
    assert judge(result, rows) == pytest.approx(judge(own, rows))
    assert judge(own, rows) > 0.7
    (note,) = left_out(result)
    assert note.startswith("agency, website, plan, fund")
    assert "are not compared: most pairs that agree there differ in what tells records apart" in note
    assert [one["left"] for one in result.run["options"]["fields"]] == ["name", "address", "phone"]


def test_two_tables():
    rows = make_sites(lambda entity, number: True)
    first = [row for row in rows if row["id"].endswith("0")]
    others = [row for row in rows if row["id"].endswith("1")]
    result = la.link(first, others, fields="name:person,address,phone,agency,fund:person,lead,plan:code", threads=1)
    links = list(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist()))
    right = sum(left.split("-")[0] == other.split("-")[0] for left, other in links)
    assert right > 0.9 * len(links)
    assert right > 0.5 * len(others)


def test_a_name_is_not_left_out_because_of_one_field_that_differs():
    """Inventors: their name, town and firm recur in each of their patents. A title is that of two inventors."""
    draw, rows = random.Random(5), []
    words = ["".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(400)]
    people = [
        {"name": f"{draw.choice(words)} {draw.choice(words)}", "town": draw.choice(words), "firm": draw.choice(words)}
        for _ in range(40)
    ]
    for patent in range(600):
        title = " ".join(draw.sample(words, 4))
        rows += [people[n] | {"id": f"{n}-{patent}", "title": title} for n in draw.sample(range(40), 2)]
    result = la.link(pa.Table.from_pylist(rows), fields="name,town:person,firm:person,title:person", threads=1)
    assert judge(result, rows) > 0.95
    assert left_out(result) == []


def test_towns_of_people_stay():
    """Most people who share a town differ in all else, but they are no matches."""
    left, right, _ = make_people(400, 400, 0.4, errors=0.4, seed=3)
    towns = [[{**row, "town": f"town {len(row['id'] + row['name']) % 7}"} for row in side.to_pylist()]
             for side in (left, right)]  # fmt: skip
    result = la.link(*towns, fields="name,address,phone,town:person", id="id", threads=1)
    assert left_out(result) == []
    assert len(result.links) > 100
