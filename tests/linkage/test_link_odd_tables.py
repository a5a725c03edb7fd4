"""Tables that are unlike others, with the fields that a user would type first: no silent zero, no flood of links."""

from __future__ import annotations

import random

import pandas as pd
import pyarrow as pa
import pytest

import lookalike as la

SYLLABLES = [one + two for one in "bdfgklmnrst" for two in "aeiou"]


def shops(records: int = 300) -> tuple[list[dict], list[dict], set[tuple[str, str]]]:
    """Two shops that share two thirds of their products; titles end in a model number."""
    draw = random.Random(8)
    words = ["".join(draw.choices(SYLLABLES, k=3)) for _ in range(200)]
    makers = ["".join(draw.choices(SYLLABLES, k=2)) for _ in range(20)]

    def product() -> dict:
        maker = draw.choice(makers)
        title = [maker, *draw.sample(words, 4), f"{draw.choice('abcdef')}{draw.randrange(10, 10**4)}"]
        return {"title": title, "maker": maker, "price": draw.uniform(5, 500)}

    def write(one: dict, name: str, other: bool) -> dict:
        kept = [word for word in one["title"] if not other or draw.random() < 0.8] or one["title"][:1]
        if other:
            draw.shuffle(kept)
        return {"id": name, "title": " ".join(kept), "maker": one["maker"], "price": f"{one['price']:.2f}"}

    made, both = [product() for _ in range(records * 4 // 3)], records * 2 // 3
    left = [write(one, f"a{n}", False) for n, one in enumerate(made[:records])]
    right = [write(made[n], f"b{n}", True) for n in [*range(both), *range(records, len(made))]]
    return left, right, {(f"a{n}", f"b{n}") for n in range(both)}


def f1_of(result: la.LinkResult, truth: set[tuple[str, str]]) -> float:
    found = set(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist()))
    return 2 * len(found & truth) / max(1, len(found) + len(truth))


def test_titles_with_model_numbers_are_texts():
    left, right, truth = shops()
    result = la.link(left, right, fields=["title"], threads=1)
    assert [one["kind"] for one in result.run["options"]["fields"]] == ["text"]
    assert f1_of(result, truth) > 0.85


def test_other_names_and_order_of_columns():
    left, right, truth = shops()
    other = [{"cost": one["price"], "brand": one["maker"], "id": one["id"], "label": one["title"]} for one in right]
    result = la.link(left, other, fields="all", threads=1)
    fields = {(one["left"], one["right"]) for one in result.run["options"]["fields"]}
    assert {("title", "label"), ("maker", "brand")} <= fields
    assert f1_of(result, truth) > 0.9


def test_a_name_that_is_the_only_field_is_compared_as_a_text():
    draw = random.Random(3)
    signs = [chr(0x4E00 + n) for n in range(2000)]
    names = [draw.choices(signs, k=draw.randint(4, 6)) for _ in range(300)]

    def vary(name: list[str]) -> str:
        at = draw.randrange(len(name))
        return "".join([*name[:at], draw.choice(signs), *name[at + 1 :]])

    left = [{"id": f"a{n}", "name": "".join(name)} for n, name in enumerate(names[:200])]
    right = [{"id": f"b{n}", "name": vary(name)} for n, name in enumerate(names) if n >= 100]
    result = la.link(left, right, fields=["name"], threads=1)
    assert f1_of(result, {(f"a{n}", f"b{n}") for n in range(100, 200)}) > 0.95
    assert "no other field tells records apart" in result.run["options"]["fields"][0]["why"]
    asked_for = la.link(left, right, fields=["name:person"], threads=1)
    assert asked_for.run["options"]["fields"][0]["kind"] == "person"


def test_nested_values_are_not_a_field():
    left, right, _ = shops(150)
    lines = [[{**one, "offer": '{"price": 3}'} for one in side] for side in (left, right)]
    result = la.link(*lines, fields="all", threads=1)
    assert [one["left"] for one in result.run["options"]["fields"]] == ["title", "maker", "price"]


def test_values_and_ids_of_extension_types():
    texts = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['"Ann Lee"', '"Ann Lee"', '"Bob Ray"']))
    ids = pa.array(pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]))
    found = la.link(pa.table({"name": texts, "id": ids}), fields="name", id="id").links.to_pylist()
    first = found[0]  # of three records, the model can tell little about the others
    assert (first["left"], first["right"]) == ({"left": 0, "right": 1}, {"left": 1, "right": 2})


def make_townspeople(size: int, shared: int) -> tuple[list[dict], list[dict]]:
    """People with a given name, a surname and a town of one word each; only surnames have many different values."""
    draw = random.Random(1)

    def word() -> str:
        return "".join(draw.choice(signs) for signs in ("bdfgklmnrst", "aeiou") * 3)

    given, surnames, towns = ([word() for _ in range(size)] for size in (150, 900, 40))

    def mistype(text: str, often: float) -> str:
        at = draw.randrange(len(text) - 1)
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :] if draw.random() < often else text

    people = [(draw.choice(given), draw.choice(surnames), draw.choice(towns)) for _ in range(2 * size - shared)]
    again = [tuple(mistype(value, 0.3) for value in one) for one in people[:shared]] + people[size:]
    names = ("given", "surname", "town")
    left = [dict(zip(names, one), id=f"a{n}") for n, one in enumerate(people[:size])]
    return left, [dict(zip(names, one), id=f"b{n}") for n, one in enumerate(again)]


def test_names_of_single_words_are_scored_by_levels():
    left, right = make_townspeople(1500, 75)
    result = la.link(left, right, fields="given,surname,town", threads=1)
    assert result.run["model"]["name"] == "levels"
    assert f1_of(result, {(f"a{n}", f"b{n}") for n in range(75)}) > 0.9


@pytest.mark.parametrize("tables", [1, 2])
def test_people_without_a_match_are_not_compared_as_texts(tables):
    left, right = make_townspeople(300, 0)
    result = la.link(*[left, right][:tables], fields="given,surname,town", threads=1)
    assert len(result.links) < 5
    assert result.run["model"]["name"] == "levels"


def test_no_link_is_never_silent():
    """Matches are expected, but no pair is likely to be one."""
    left, right = make_townspeople(300, 60)
    result = la.link(left, right, fields="given,surname", probability=0.9999999, threads=1)
    assert (len(result.links), result.run["notes"][-1][:32]) == (0, "no pair has a probability of 1 o")


def test_an_empty_table_with_a_code():
    assert la.link([], None, "title:text,zip:code").links.num_rows == 0
